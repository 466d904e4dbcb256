//! Time-sequence figures of a TCP connection, from the points that crate `trace` collects.
//!
//! - [`page`] is an HTML page that is complete in itself. It shows each packet at its time and sequence number, as W. R. Stevens
//!   and tcptrace draw it, with panels for windows, RTT, rate and bursts. It zooms smoothly over a million packets.
//! - [`Plot`] lists the files of the same graphs for xplot and jPlot, as tcptrace writes them.

mod packed;
mod page;
mod plot;
mod xplot;

pub use page::page;
pub use plot::Plot;

use wirespeed_trace::{ConnectionSequence, ConnectionTrace, FlowSequence, FlowTrace};

/// A connection with its points.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The analysis.
    pub connection: &'a ConnectionTrace,
    /// The points of the same connection.
    pub sequence: &'a ConnectionSequence,
    /// Name of the capture, for titles.
    pub capture: &'a str,
    /// Name and version of the program.
    pub generated_by: &'a str,
}

/// A direction of a connection that has data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub flow: &'a FlowTrace,
    pub points: &'a FlowSequence,
}

impl<'a> Subject<'a> {
    /// Directions with data, the one with most first.
    pub(crate) fn directions(&self) -> Vec<Direction<'a>> {
        let Subject { connection, sequence, .. } = *self;
        let (client, server) = (connection.client.as_str(), connection.server.as_str());
        let both = [
            (client, server, &connection.from_client, &sequence.from_client),
            (server, client, &connection.from_server, &sequence.from_server),
        ];
        let mut directions: Vec<Direction<'a>> = both
            .into_iter()
            .filter_map(|(from, to, flow, points)| {
                Some(Direction { from, to, flow: flow.as_ref()?, points: points.as_ref()? })
            })
            .collect();
        directions.sort_by_key(|direction| std::cmp::Reverse(direction.flow.unique_bytes));
        directions
    }
}
