//! What a source of counters is, and the list of all.

use crate::collector::Collector;
use crate::reading::Row;
use crate::root::Root;
use crate::sources::{
    cores, interrupts, link, nic, protocols, qdisc, qstats, sockets, softirqs, softnet, standard,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::io;

/// A source of counters: one interface of the kernel.
pub trait Source: Sync {
    /// Its name, the first part of `SOURCE/COUNTER`.
    fn name(&self) -> &'static str;

    /// What it reads, in a clause.
    fn about(&self) -> &'static str;

    /// What it needs of kernel and permission.
    fn needs(&self) -> &'static str;

    /// Where its meaning is documented: a file of the kernel or a page.
    fn documented(&self) -> &'static str;

    /// What its counters mean, first match first; counters without a row have no known meaning.
    fn rows(&self) -> &'static [Row];

    /// Whether it can be read here, tried without keeping anything.
    ///
    /// # Errors
    /// What is missing, and the remedy.
    fn can_run(&self, root: &mut Root) -> Result<(), Unavailable> {
        let mut collector = Collector::default();
        self.read(root, &mut collector);
        let (readings, mut unavailable) = collector.finish();
        match unavailable.pop() {
            Some(unavailable) if readings.is_empty() => Err(unavailable),
            _ => Ok(()),
        }
    }

    /// Reads everything once. What cannot be read is reported as unavailable; the rest is read.
    fn read(&self, root: &mut Root, into: &mut Collector);
}

/// Something a source could not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Unavailable {
    /// Name of the source.
    pub source_name: Cow<'static, str>,
    /// What was to be read: a file, a request, an interface.
    pub what: String,
    /// What the kernel said.
    pub why: String,
    /// What would help.
    pub remedy: Cow<'static, str>,
}

impl Unavailable {
    /// From the error of the kernel.
    pub fn new(
        source: &'static str,
        what: impl Into<String>,
        error: &io::Error,
        remedy: &'static str,
    ) -> Unavailable {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        let remedy = if denied { "run as root, or with the capability CAP_NET_ADMIN" } else { remedy };
        Unavailable {
            source_name: source.into(),
            what: what.into(),
            why: error.to_string(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}; {}", self.source_name, self.what, self.why, self.remedy)
    }
}

/// Every source, in the order in which a snapshot reads them: what changes fastest stands close together.
pub fn sources() -> &'static [&'static dyn Source] {
    &[
        &link::Link,
        &nic::Ethtool,
        &standard::Standard,
        &qstats::QueueStatistics,
        &qdisc::Qdiscs,
        &softnet::Softnet,
        &protocols::Protocols,
        &sockets::Sockets,
        &interrupts::Interrupts,
        &softirqs::Softirqs,
        &cores::Cores,
    ]
}

/// The source of a name.
pub fn source(name: &str) -> Option<&'static dyn Source> {
    sources().iter().copied().find(|source| source.name() == name)
}
