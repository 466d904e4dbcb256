//! Applications of flows that are more than one transfer.

use super::{Flow, Run};
use serde::{Deserialize, Serialize};
use wirespeed_units::{Bytes, Span};

/// Bytes that introduce a file on its connection, or that begin a request: its number, its size and when it began. A request of
/// XRootD has as many (XRootD Protocol 5.0, section "Client Request Format").
pub const EXCHANGE_HEADER: Bytes = Bytes::new(24);
/// The largest request.
pub const LARGEST_REQUEST: Bytes = Bytes::mib(1);
/// Bytes by which the receiver confirms that it has read a whole file: a response header of XRootD (section "Server Response
/// Format").
pub const CONFIRMATION: Bytes = Bytes::new(8);

/// The application of a TCP flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Application {
    /// The flow is a stream of a data set. It sends one file after the other: the next one of the set, when the receiver has
    /// confirmed the last one.
    DataSet {
        /// Number of the data set in [`Run::data_sets`].
        set: u32,
    },
    /// The receiver sends requests, one at a time, and the sender answers each.
    Requests {
        /// Size of a request.
        request: Bytes,
        /// Sizes of the responses, in turn; the first follows the last. At least one.
        responses: Vec<Bytes>,
        /// From the end of a response to the next request.
        think: Span,
        /// How many requests; `None`: until the flow stops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
}

/// Files that the streams of a data set share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Label of its streams, without their numbers.
    pub label: String,
    /// Sizes of its files, in the order in which streams take them. At least one; none is empty.
    pub files: Vec<Bytes>,
}

impl DataSet {
    /// Bytes of all files.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.files.iter().map(|file| file.get()).fold(0, u64::saturating_add))
    }
}

impl Flow {
    /// Number of the data set whose files it sends.
    pub fn data_set(&self) -> Option<usize> {
        match self.application {
            Some(Application::DataSet { set }) => Some(set as usize),
            _ => None,
        }
    }
}

impl Run {
    /// The first thing about the application of `flow` that no resolved run has.
    ///
    /// # Errors
    /// It, for a message.
    pub fn check_application(&self, flow: &Flow) -> Result<(), String> {
        let Some(application) = &flow.application else { return Ok(()) };
        if !flow.is_tcp() {
            return Err("only TCP has an application".into());
        }
        match application {
            Application::DataSet { set } => match self.data_sets.get(*set as usize) {
                None => Err(format!("there is no data set {set}")),
                Some(found) if found.files.is_empty() || found.files.contains(&Bytes::ZERO) => {
                    Err(format!("data set {set} has no files, or an empty one"))
                }
                Some(_) => Ok(()),
            },
            Application::Requests { request, .. }
                if !(EXCHANGE_HEADER..=LARGEST_REQUEST).contains(request) =>
            {
                Err(format!("its requests are not from {EXCHANGE_HEADER} to {LARGEST_REQUEST}"))
            }
            Application::Requests { responses, .. }
                if responses.is_empty() || responses.contains(&Bytes::ZERO) =>
            {
                Err("it has no responses, or an empty one".into())
            }
            Application::Requests { think, .. } if *think < Span::ZERO => {
                Err("its think time is negative".into())
            }
            Application::Requests { .. } => Ok(()),
        }
    }
}
