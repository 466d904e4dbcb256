//! The last measurement of each pair in Prometheus' text format 0.0.4, for the node exporter's textfile collector.

use super::{Delay, Measured};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Gauges of the last measurement of each pair.
pub fn prometheus(all: &[Measured]) -> String {
    let mut last: BTreeMap<(&str, &str), &Measured> = BTreeMap::new();
    for row in all {
        last.insert((&row.from, &row.to), row);
    }
    let mut text = String::new();
    let mut family = |name: &str, help: &str, value: &dyn Fn(&Measured) -> Option<f64>| {
        let _ = writeln!(text, "# HELP wirespeed_mesh_{name} {help}\n# TYPE wirespeed_mesh_{name} gauge");
        for ((from, to), row) in &last {
            if let Some(value) = value(row) {
                let (from, to) = (label(from), label(to));
                let _ = writeln!(text, "wirespeed_mesh_{name}{{from=\"{from}\",to=\"{to}\"}} {value}");
            }
        }
    };
    let measured =
        |of: fn(&Measured) -> u64| move |row: &Measured| row.failure.is_none().then(|| of(row) as f64);
    family("up", "1 if the last probe of the pair was carried out.", &|row| {
        Some(if row.failure.is_none() { 1.0 } else { 0.0 })
    });
    family("time_seconds", "When the sweep of the last probe began.", &|row| Some(row.at as f64));
    family("sent_packets", "Datagrams sent in the last probe.", &measured(|row| row.sent));
    family("lost_packets", "Datagrams lost in the last probe.", &measured(|row| row.lost));
    family("loss_ratio", "Part of the datagrams lost in the last probe.", &Measured::loss);
    family("reordered_packets", "Datagrams that came after one sent later.", &measured(|row| row.reordered));
    family("duplicate_packets", "Datagrams that came again.", &measured(|row| row.duplicates));
    family("loss_burst_packets", "Most datagrams lost one after the other.", &measured(|row| row.burst));
    let seconds = |of: fn(&Delay) -> i64| {
        move |row: &Measured| row.delay.filter(|_| row.failure.is_none()).map(|delay| of(&delay) as f64 / 1e9)
    };
    family("delay_seconds", "Median one-way delay.", &seconds(|delay| delay.median_ns));
    family("delay_error_seconds", "Most by which clocks differ.", &seconds(|delay| delay.error_ns));
    family("jitter_seconds", "Mean difference of successive delays.", &seconds(|delay| delay.jitter_ns));
    let name = "lost_packets_by_stage";
    let _ = writeln!(
        text,
        "# HELP wirespeed_mesh_{name} Datagrams lost in the last probe, by where.\n# TYPE wirespeed_mesh_{name} gauge"
    );
    for ((from, to), row) in &last {
        for (stage, packets) in &row.stages {
            let (from, to, stage) = (label(from), label(to), label(stage));
            let _ = writeln!(
                text,
                "wirespeed_mesh_{name}{{from=\"{from}\",to=\"{to}\",stage=\"{stage}\"}} {packets}"
            );
        }
    }
    text
}

/// A label's value, with backslashes, quotes and line ends escaped.
pub fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_measurement_of_a_pair_is_told() {
        let row = |at, lost| Measured {
            at,
            from: "a\"b".into(),
            to: "c".into(),
            sent: 1000,
            lost,
            stages: [("network".to_owned(), lost)].into(),
            ..Default::default()
        };
        let text = prometheus(&[row(1, 0), row(2, 5)]);
        for line in [
            "wirespeed_mesh_up{from=\"a\\\"b\",to=\"c\"} 1",
            "wirespeed_mesh_time_seconds{from=\"a\\\"b\",to=\"c\"} 2",
            "wirespeed_mesh_loss_ratio{from=\"a\\\"b\",to=\"c\"} 0.005",
            "wirespeed_mesh_lost_packets_by_stage{from=\"a\\\"b\",to=\"c\",stage=\"network\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_pair_that_failed_is_down_and_has_no_numbers() {
        let row =
            Measured { from: "a".into(), to: "b".into(), failure: Some("gone".into()), ..Default::default() };
        let text = prometheus(&[row]);
        assert!(text.contains("wirespeed_mesh_up{from=\"a\",to=\"b\"} 0"));
        assert!(!text.contains("wirespeed_mesh_lost_packets{"));
    }
}
