//! How much work a run is expected to be.

use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Flow, FlowKind};
use wirespeed_units::Bytes;

/// The cost of a run without any packet: directory, tables and checksums. Measured on the model at 4 million packets a second.
const FIXED_PACKETS: u64 = 20_000;
/// Share of a packet that a sample of a flow costs on the model.
const PACKETS_A_SAMPLE: u64 = 1;

/// An upper bound of the data packets of a run: as many as its links carry, its flows send in its time, or random losses let
/// through. Samples count, too. Only the ratio between runs means anything.
pub(crate) fn expected_packets(run: &Run) -> u64 {
    let carried: u64 = run
        .links
        .iter()
        .map(|link| volume(link.forward.rate.volume(run.duration)))
        .fold(0, u64::saturating_add);
    let mtu = run.hosts.iter().map(|host| host.mtu.get()).min().unwrap_or(1500).max(1);
    let sent = run.flows.iter().map(|flow| most_bytes(flow).min(most_despite_losses(run, flow, mtu)));
    let sent = sent.fold(0, u64::saturating_add);
    let grid = run.sample.nanoseconds().max(1);
    let samples = run.duration.nanoseconds().max(0) / grid;
    let samples = (samples as u64).saturating_mul(run.flows.len() as u64).saturating_mul(PACKETS_A_SAMPLE);
    FIXED_PACKETS.saturating_add(carried.min(sent) / mtu).saturating_add(samples)
}

/// The most bytes that a flow sends.
fn most_bytes(flow: &Flow) -> u64 {
    let time = flow.stop - flow.start;
    let rate = match &flow.kind {
        FlowKind::Udp { rate, .. } => Some(*rate),
        FlowKind::Tcp { max_rate, .. } => *max_rate,
    };
    let by_rate = rate.map_or(u64::MAX, |rate| volume(rate.volume(time)));
    by_rate.min(flow.bytes.map_or(u64::MAX, volume))
}

/// The most bytes that random losses let a flow send, by the window that the least careful algorithm has at their rate.
fn most_despite_losses(run: &Run, flow: &Flow, mtu: u64) -> u64 {
    let FlowKind::Tcp { congestion, .. } = &flow.kind else { return u64::MAX };
    // They do not take a loss for congestion, or nothing is known of them.
    if congestion.own || congestion.name.starts_with("bbr") {
        return u64::MAX;
    }
    let crossed = run.way_out(flow).into_iter().map(|(index, is_forward)| {
        let link = &run.links[index];
        if is_forward { link.forward.loss } else { link.reverse.loss }
    });
    let loss: f64 = crossed.sum();
    if loss <= 0.0 {
        return u64::MAX;
    }
    // Reno (Mathis et al., CCR 1997), HighSpeed and Scalable (RFC 3649, section 5 and appendix).
    let window = (1.22 / loss.sqrt()).max(0.12 / loss.powf(0.835)).max(0.08 / loss);
    let round_trips =
        (flow.stop - flow.start).picoseconds() as f64 / run.base_rtt(flow).picoseconds().max(1) as f64;
    (window * round_trips * mtu as f64) as u64
}

fn volume(bytes: Bytes) -> u64 {
    bytes.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(text: &str) -> u64 {
        let head =
            "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n";
        let study = wirespeed_scenario::parse(&format!("{head}{text}"), "t.toml", &[], None).unwrap();
        expected_packets(&study.runs[0])
    }

    #[test]
    fn longer_and_larger_runs_are_more_work() {
        let second = packets("[[flow]]\n[run]\nduration = \"1 s\"\n");
        let minute = packets("[[flow]]\n[run]\nduration = \"60 s\"\n");
        // 1 Gbit/s are 83,333 packets of 1,500 bytes a second.
        assert!((83_000..110_000).contains(&second), "{second}");
        assert!(minute > 40 * second, "{minute}");
    }

    #[test]
    fn losses_leave_less_work_unless_an_algorithm_does_not_heed_them() {
        let of = |loss: &str, congestion: &str| {
            packets(&format!(
                "loss = {loss}\n[[flow]]\ncongestion = \"{congestion}\"\n[run]\nduration = \"60 s\"\n"
            ))
        };
        assert!(of("1e-2", "cubic") < of("1e-3", "cubic") / 2);
        assert!(of("1e-3", "cubic") < of("0", "cubic") / 2);
        assert_eq!(of("1e-2", "bbr"), of("0", "bbr"));
    }

    #[test]
    fn short_transfer_is_little_work_however_long_the_run() {
        let short = packets("[[flow]]\nbytes = \"15 kB\"\n[run]\nduration = \"60 s\"\n");
        assert!(short < 30_000, "{short}");
    }
}
