//! The last measurement of a pair in Prometheus' text format 0.0.4, for the node exporter's textfile collector.

use super::options::Arguments;
use super::verdict::Verdict;
use std::fmt::Write;
use std::time::SystemTime;
use wirespeed_mesh::prometheus_label;

/// Gauges of a measurement.
pub fn of(arguments: &Arguments, verdict: &Verdict) -> String {
    text(arguments, Some(verdict))
}

/// Gauges of one that could not be made.
pub fn of_failure(arguments: &Arguments) -> String {
    text(arguments, None)
}

fn text(arguments: &Arguments, verdict: Option<&Verdict>) -> String {
    let (from, to) = arguments.ends();
    let labels = format!("{{from=\"{}\",to=\"{}\"}}", prometheus_label(&from.ssh), prometheus_label(&to.ssh));
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs() as f64);
    let goodput = verdict.and_then(|verdict| verdict.goodput_bps);
    let rtt = verdict.and_then(|verdict| verdict.rtt_ns);
    let rows = [
        (
            "up",
            "1 if the last probe of the pair has a goodput.",
            Some(f64::from(u8::from(goodput.is_some()))),
        ),
        ("time_seconds", "When the last probe ended.", Some(now)),
        ("goodput_bits_per_second", "Payload that arrived in order in the last probe.", goodput),
        (
            "loss_ratio",
            "Part of the packets lost in the last probe.",
            verdict.and_then(|verdict| verdict.loss),
        ),
        (
            "retransmitted_packets",
            "Packets that TCP retransmitted in the last probe.",
            verdict.and_then(|verdict| verdict.retransmissions),
        ),
        ("rtt_seconds", "Median of the smoothed round-trip time in the last probe.", rtt.map(|ns| ns / 1e9)),
    ];
    let mut text = String::new();
    for (name, help, value) in rows {
        let Some(value) = value else { continue };
        let _ = writeln!(text, "# HELP wirespeed_probe_{name} {help}\n# TYPE wirespeed_probe_{name} gauge");
        let _ = writeln!(text, "wirespeed_probe_{name}{labels} {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::arguments;
    use super::super::verdict::tests::verdict;
    use super::*;

    #[test]
    fn failed_probe_is_down_and_has_no_rate() {
        let arguments = arguments(&["a", "b\"c"]).unwrap();
        let up = of(&arguments, &verdict(Some(9e9), Some(0.25)));
        assert!(
            up.contains("wirespeed_probe_goodput_bits_per_second{from=\"a\",to=\"b\\\"c\"} 9000000000"),
            "{up}"
        );
        assert!(up.contains("wirespeed_probe_up{from=\"a\",to=\"b\\\"c\"} 1"), "{up}");
        assert!(up.contains("wirespeed_probe_loss_ratio{from=\"a\",to=\"b\\\"c\"} 0.25"), "{up}");
        let down = of_failure(&arguments);
        assert!(down.contains("_up{from=\"a\",to=\"b\\\"c\"} 0") && !down.contains("goodput_bits"), "{down}");
    }
}
