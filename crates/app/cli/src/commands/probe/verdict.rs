//! The results of a probe in a few numbers: for thresholds, for a comparison with an earlier one, and for a ticket.

use super::options::Arguments;
use crate::failure::Failure;
use std::path::Path;
use wirespeed_campaign::Judged;
use wirespeed_record::{RunInfo, Transport};
use wirespeed_report::with_unit;

/// The numbers of one measurement.
pub struct Verdict {
    /// Facts of the run, its hosts among them.
    pub info: RunInfo,
    /// Payload that arrived in order, in bit/s; `None` if nothing did.
    pub goodput_bps: Option<f64>,
    /// Lost packets over sent ones.
    pub loss: Option<f64>,
    /// Packets that TCP sent again.
    pub retransmissions: Option<f64>,
    /// Median of the smoothed round-trip time.
    pub rtt_ns: Option<f64>,
    /// What limited it, in a sentence.
    pub limit: Option<String>,
}

impl Verdict {
    /// Of a run that was judged.
    pub fn of(judged: &Judged) -> Verdict {
        let metric = |name: &str| -> Option<f64> {
            judged.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
        };
        Verdict {
            info: judged.recording.info.clone(),
            goodput_bps: metric("goodput_bps").filter(|goodput| *goodput > 0.0),
            loss: metric("udp_loss_fraction").or_else(|| metric("loss_fraction")),
            retransmissions: metric("retransmissions_packets"),
            rtt_ns: metric("rtt_median_ns"),
            limit: judged.analysis.diagnosis.sentence(),
        }
    }

    /// Whether it is as good as the user wants it to be, and a measurement at all.
    ///
    /// # Errors
    /// If not; what is worse.
    pub fn check(&self, arguments: &Arguments) -> Result<(), Failure> {
        let Some(goodput) = self.goodput_bps else {
            return Err(Failure::Environment(format!(
                "{}: no payload arrived, so there is no goodput; the events and warnings of the recording say what failed",
                self.info.id
            )));
        };
        if let Some(least) = arguments.fail_below
            && goodput < least.get() as f64
        {
            let goodput = with_unit(goodput, "bit/s");
            return Err(Failure::Threshold(format!("goodput is {goodput}, below --fail-below \"{least}\"")));
        }
        match (arguments.fail_loss, self.loss) {
            (Some(most), Some(loss)) if loss > most => Err(Failure::Threshold(format!(
                "a share of {loss:.2e} of the packets was lost, above --fail-loss {most:e}"
            ))),
            (Some(_), None) => Err(Failure::Threshold(
                "--fail-loss: nobody counted the packets at the other end, so that their loss is unknown"
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    /// When it began, or that this is not recorded.
    pub fn time(&self) -> &str {
        self.info.started.as_deref().unwrap_or("time not recorded")
    }

    /// A paragraph for a ticket.
    pub fn summary(&self, arguments: &Arguments, out: &Path) -> String {
        let info = &self.info;
        let (from, to) = arguments.ends();
        let flows = match info.flows.len() {
            1 => "1 flow".to_owned(),
            count => format!("{count} flows"),
        };
        let first = info.flows.first();
        let of = match first.map(|flow| (flow.kind, flow.congestion.as_deref())) {
            Some((Transport::Tcp, Some(congestion))) => format!("TCP {congestion}, {flows}"),
            Some((Transport::Udp, _)) => format!("UDP, {flows}"),
            _ => format!("TCP, {flows}"),
        };
        let direction = if arguments.bidir { "and" } else { "to" };
        let lasted = with_unit((info.duration_ns - info.omit_ns) as f64, "ns");
        let cut = if info.interrupted { " (interrupted)" } else { "" };
        let mut text = format!(
            "wirespeed probe, {}: {} {direction} {}, {of}, {lasted}{cut}.",
            self.time(),
            host(info, "sender", &from.ssh),
            host(info, "receiver", &to.ssh)
        );
        match self.goodput_bps {
            Some(goodput) => text += &format!(" Goodput {}.", with_unit(goodput, "bit/s")),
            None => text += " No payload arrived.",
        }
        if let Some(rtt) = self.rtt_ns {
            text += &format!(" Median round trip {}.", with_unit(rtt, "ns"));
        }
        text += &match self.loss {
            Some(0.0) => " No packet was lost.".to_owned(),
            Some(loss) => format!(" Share of packets lost: {loss:.2e}."),
            None => " Loss is not known.".to_owned(),
        };
        if let Some(again) = self.retransmissions.filter(|again| *again > 0.0) {
            text += &format!(" {again:.0} packets were retransmitted.");
        }
        if let Some(limit) = &self.limit {
            text += &format!(" {}.", limit.trim_end_matches('.'));
        }
        text + &format!(" Recording: {}.", out.display())
    }
}

/// A machine by its name for ssh, with its own name and its kernel.
fn host(info: &RunInfo, name: &str, ssh: &str) -> String {
    let settings = info.hosts.iter().find(|host| host.name == name).map(|host| &host.settings);
    let setting = |key: &str| settings?.get(key);
    let own = setting("host.name").filter(|own| *own != ssh);
    let details = [own, setting("interface.address"), setting("kernel.release")];
    let details: Vec<&str> = details.into_iter().flatten().map(String::as_str).collect();
    if details.is_empty() { ssh.to_owned() } else { format!("{ssh} ({})", details.join(", ")) }
}

#[cfg(test)]
pub mod tests {
    use super::super::options::tests::arguments;
    use super::*;
    use wirespeed_record::{FlowInfo, HostInfo};

    /// A measurement of a TCP flow.
    pub fn verdict(goodput_bps: Option<f64>, loss: Option<f64>) -> Verdict {
        let host = |name: &str, own: &str| HostInfo {
            name: name.into(),
            settings: [("host.name", own), ("net.ipv4.tcp_rmem", "4096 131072 33554432")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..HostInfo::default()
        };
        let flow = FlowInfo { kind: Transport::Tcp, congestion: Some("bbr".into()), ..Default::default() };
        let info = RunInfo {
            started: Some("2026-11-24T18:01:16Z".into()),
            duration_ns: 10_000_000_000,
            hosts: vec![host("sender", "dtn-a.example.org"), host("receiver", "b")],
            flows: vec![flow],
            ..Default::default()
        };
        let limit = Some("Limited by the path".into());
        Verdict { info, goodput_bps, loss, retransmissions: Some(3.0), rtt_ns: Some(2e6), limit }
    }

    #[test]
    fn missed_threshold_and_missing_goodput_are_failures() {
        let check = |words: &[&str], goodput, loss| {
            verdict(goodput, loss).check(&arguments(&[&["a", "b"], words].concat()).unwrap())
        };
        assert!(check(&[], Some(1e9), None).is_ok());
        assert!(matches!(check(&[], None, Some(1.0)), Err(Failure::Environment(_))));
        let below = ["--fail-below", "2 Gbit/s"];
        assert!(matches!(check(&below, Some(1e9), None), Err(Failure::Threshold(_))));
        assert!(check(&below, Some(3e9), None).is_ok());
        let loss = ["--fail-loss", "1e-4"];
        assert!(matches!(check(&loss, Some(1e9), Some(2e-4)), Err(Failure::Threshold(_))));
        assert!(matches!(check(&loss, Some(1e9), None), Err(Failure::Threshold(_))));
        assert!(check(&loss, Some(1e9), Some(1e-4)).is_ok());
    }

    #[test]
    fn summary_says_when_between_whom_and_what() {
        let text =
            verdict(Some(9.41e9), Some(0.0)).summary(&arguments(&["a", "b"]).unwrap(), Path::new("out"));
        for words in [
            "2026-11-24T18:01:16Z",
            "a (dtn-a.example.org)",
            "TCP bbr, 1 flow",
            "9.41 Gbit/s",
            "No packet was lost",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\n'));
    }
}
