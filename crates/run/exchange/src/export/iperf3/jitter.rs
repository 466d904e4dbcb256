//! Jitter and order of the datagrams of a UDP stream, as iperf3 defines them, from the table of datagrams.

use wirespeed_record::Datagram;

/// Of a flow's datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagrams {
    /// Mean deviation of the transit time (RFC 1889, section 6.3.1), in milliseconds.
    pub jitter_ms: f64,
    /// Datagrams that arrived after one with a higher number.
    pub out_of_order: u64,
}

/// Of the datagrams of a flow; `None` if there are none in the table.
pub fn of(datagrams: &[Datagram], flow: u32) -> Option<Datagrams> {
    let mut arrived: Vec<(i64, &Datagram)> = datagrams
        .iter()
        .filter(|datagram| datagram.flow == flow && !datagram.duplicate)
        .filter_map(|datagram| Some((datagram.arrived_ns?, datagram)))
        .collect();
    if arrived.is_empty() {
        return None;
    }
    arrived.sort_by_key(|(arrived_ns, _)| *arrived_ns);
    let (mut jitter_ns, mut before) = (0.0, None);
    let mut out_of_order = 0;
    for (arrived_ns, datagram) in arrived {
        let transit_ns = arrived_ns.saturating_sub(datagram.sent_ns);
        if let Some(before) = before.replace(transit_ns) {
            let change_ns = transit_ns.abs_diff(before) as f64;
            jitter_ns += (change_ns - jitter_ns) / 16.0;
        }
        out_of_order += u64::from(datagram.reordered_by > 0);
    }
    Some(Datagrams { jitter_ms: jitter_ns / 1e6, out_of_order })
}
