//! An earlier measurement of the same pair, and whether a later one is worse.

use super::verdict::Verdict;
use crate::commands::report::runs_in;
use crate::failure::Failure;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wirespeed_campaign::judge_run;
use wirespeed_record::RunInfo;
use wirespeed_report::with_unit;

/// An earlier measurement.
pub struct Baseline {
    place: PathBuf,
    verdict: Verdict,
}

impl Baseline {
    /// Reads it from its folder.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn read(folder: &Path) -> Result<Baseline, Failure> {
        let refuse = |what: &str| Failure::Usage {
            message: format!("--baseline: {} {what}", folder.display()),
            remedy: "give the folder of an earlier probe; the first probe of a pair has none".into(),
        };
        // A link leads to another folder later.
        let place = folder.canonicalize().map_err(|_| refuse("does not exist"))?;
        let runs = runs_in(&place)?;
        let [run] = &runs[..] else { return Err(refuse("holds several runs")) };
        let verdict = Verdict::of(&judge_run(run)?);
        Ok(Baseline { place, verdict })
    }

    /// The changes since then as text; and the regression, if the goodput has dropped by a larger share than `max_drop`.
    pub fn compare(&self, now: &Verdict, max_drop: f64) -> (String, Option<String>) {
        let before = &self.verdict;
        let mut text = format!("\nCompared with {} ({}):\n", before.time(), self.place.display());
        let rate = |value: Option<f64>| value.map_or("none".into(), |value| with_unit(value, "bit/s"));
        let change = match (before.goodput_bps, now.goodput_bps) {
            (Some(before), Some(now)) => Some(now / before - 1.0),
            _ => None,
        };
        let percent = change.map_or(String::new(), |change| format!(" ({:+.1} %)", change * 100.0));
        let goodput = format!("goodput {}, was {}{percent}", rate(now.goodput_bps), rate(before.goodput_bps));
        let _ = writeln!(text, "  {goodput}");
        if let (Some(loss), Some(was)) = (now.loss, before.loss) {
            let _ = writeln!(text, "  share of packets lost {loss:.2e}, was {was:.2e}");
        }
        if let (Some(rtt), Some(was)) = (now.rtt_ns, before.rtt_ns) {
            let (rtt, was) = (with_unit(rtt, "ns"), with_unit(was, "ns"));
            let _ = writeln!(text, "  median round trip {rtt}, was {was}");
        }
        for line in changed_settings(&before.info, &now.info) {
            let _ = writeln!(text, "  {line}");
        }
        let is_worse = change.is_some_and(|change| change < -max_drop);
        let worse = is_worse.then(|| format!("{goodput}: more than --max-drop {max_drop} is missing"));
        (text, worse)
    }
}

/// Settings of hosts that are others than before.
fn changed_settings(before: &RunInfo, now: &RunInfo) -> Vec<String> {
    let mut lines = Vec::new();
    for host in &now.hosts {
        let Some(was) = before.hosts.iter().find(|found| found.name == host.name) else { continue };
        let names: BTreeSet<&String> = host.settings.keys().chain(was.settings.keys()).collect();
        // Measurements of the clocks differ each time.
        for name in
            names.into_iter().filter(|name| !name.starts_with("clock.") && !name.starts_with("iperf3."))
        {
            let of = |settings: &std::collections::BTreeMap<String, String>| {
                settings.get(name).cloned().unwrap_or_else(|| "not recorded".into())
            };
            let [value, was] = [of(&host.settings), of(&was.settings)];
            if value != was {
                lines.push(format!("{}: {name} is {value}, was {was}", host.name));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::verdict;
    use super::*;

    #[test]
    fn drop_of_more_than_the_allowed_share_is_a_regression_and_settings_are_named() {
        let baseline = |bps| Baseline { place: "earlier".into(), verdict: verdict(Some(bps), Some(0.0)) };
        let mut now = verdict(Some(8.9e9), Some(1e-3));
        let name = "net.ipv4.tcp_rmem".to_owned();
        now.info.hosts[1].settings.insert(name, "4096 4096 16384".into());
        let (text, worse) = baseline(10e9).compare(&now, 0.1);
        assert!(worse.unwrap().contains("(-11.0 %)"));
        assert!(
            text.contains("receiver: net.ipv4.tcp_rmem is 4096 4096 16384, was 4096 131072 33554432"),
            "{text}"
        );
        assert!(baseline(9.5e9).compare(&now, 0.1).1.is_none());
    }
}
