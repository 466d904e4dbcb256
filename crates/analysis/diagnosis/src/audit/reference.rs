//! Pages of the documentation that follow from the rules and the formulas.

use super::path::{Path, Profile};
use super::{conflicts, needs, subjects};
use std::fmt::Write;

const MARK: &str = "<!-- Generated from crates/analysis/diagnosis by `WIRESPEED_BLESS=1 cargo test -p wirespeed-diagnosis --test reference`. Do not edit. -->";

/// The page `docs/reference/rules.md`.
pub fn reference() -> String {
    let mut out = format!(
        "# Audit rules\n\n{MARK}\n\nLook up here each rule of `wirespeed doctor`: the values that it reads, and the value wanted. \
         `wirespeed explain RULE`\nprints one. [Wanted values](wanted-values.md) has numbers for common paths, and \
         [Tune a host](../how-to/tune-a-host.md) the use.\n\nA value that a snapshot does not have gives no finding.\n"
    );
    for (subject, rules) in subjects() {
        let _ = write!(out, "\n## {subject}\n");
        for rule in *rules {
            let _ = write!(out, "\n### `{}`: {}\n\n", rule.id, rule.title);
            let unit = if rule.unit.is_empty() { String::new() } else { format!(", in {}", rule.unit) };
            let lines = [
                ("Reads", rule.reads.to_owned()),
                ("Applies to", rule.applies.to_owned()),
                ("Wanted", format!("`{}`{unit}", rule.wanted)),
                ("Severity", rule.severity.word().to_owned()),
                ("Effect", rule.effect.trim_end_matches('.').to_owned()),
                ("Source", rule.source.to_owned()),
            ];
            for (head, text) in lines {
                let _ = writeln!(out, "- {head}: {text}.");
            }
            for value in conflicts::of_rule(rule.id) {
                let _ = writeln!(out, "- {}: {} ({}).", value.guide, value.value, value.source);
            }
        }
    }
    out
}

/// The page `docs/reference/wanted-values.md`.
pub fn wanted_values() -> String {
    let mut out = format!(
        "# Wanted values\n\n{MARK}\n\nLook up here the values that a path needs, for three rates and three round-trip times. \
         The MTU is 9000 bytes, the\nprofile `wan`, and the kernel Linux 6.6 or later. `wirespeed doctor` computes them for your path.\n"
    );
    for flows in [1, 4] {
        let plural = if flows == 1 { "One flow".to_owned() } else { format!("{flows} flows") };
        let _ = write!(out, "\n## {plural}\n\n");
        out.push_str("| Rate | RTT | BDP (bytes) | Window of a flow | `tcp_rmem`, `tcp_wmem` | `tcp_mem` (pages) | Backlog | RX ring | Least flows |\n");
        out.push_str("|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for path in paths(flows) {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                needs::rate(path.rate_bps),
                needs::time(path.rtt_ns),
                needs::bdp_bytes(&path),
                needs::window(&path).value,
                needs::receive_buffer(&path, None).value,
                needs::memory_pages(&path, None, 4096).value,
                needs::backlog(&path, Profile::Wan).value,
                needs::receive_ring(&path, Profile::Wan, 0).value,
                needs::flows(&path).value,
            );
        }
    }
    out.push_str(
        "\nA path whose buffer is smaller than its BDP also needs pacing: rate / flows for each flow. With 4 flows \
         that is 2.5, 25\nand 100 Gbit/s.\n\n## Derivation\n\n`100 Gbit/s`, `20 ms`, 4 flows:\n\n",
    );
    let path = Path {
        rate_bps: 100_000_000_000,
        rtt_ns: 20_000_000,
        mtu_bytes: 9000,
        flows: 4,
        buffer_bytes: Some(10_000_000),
    };
    let derivations = [
        ("window of a flow", Some(needs::window(&path))),
        ("third value of `tcp_rmem`", Some(needs::receive_buffer(&path, None))),
        ("third value of `tcp_wmem`", Some(needs::send_buffer(&path))),
        ("`rmem_max`, `wmem_max`", Some(needs::requested_buffer(&path, Profile::Wan))),
        ("second value of `tcp_mem`", Some(needs::memory_pages(&path, None, 4096))),
        ("`netdev_max_backlog`", Some(needs::backlog(&path, Profile::Wan))),
        ("`netdev_budget`, 4 queues", Some(needs::budget(&path, 4))),
        ("queue of the interface", Some(needs::queue(&path, true))),
        ("receive ring", Some(needs::receive_ring(&path, Profile::Wan, 0))),
        ("`rx-usecs`", Some(needs::moderation(&path))),
        ("pacing, buffer of 10 MB", needs::pacing(&path)),
        ("least flows", Some(needs::flows(&path))),
    ];
    for (name, need) in derivations {
        if let Some(need) = need {
            let _ = writeln!(out, "- {name} ({}): `{}`", need.unit, need.formula);
        }
    }
    out.push_str(
        "\n[Audit rules](rules.md) has the sources of the formulas. A pause is the time for which a core may leave its queues alone:\n\
         4 ms in profiles `wan` and `measurement`, 2 ms in `lan`, 1 ms in `low-latency`.\n\n## Other guides\n\n\
         The largest receive buffer of a guide is a ceiling for one flow: half of it in a round trip. Runs that show which \
         value is\nright are in [Where tuning guides differ](../explanation/where-guides-differ.md).\n\n\
         | Guide | Largest buffer (bytes) | 1 ms | 20 ms | 100 ms |\n|---|--:|--:|--:|--:|\n",
    );
    for value in conflicts::VALUES.iter().filter(|value| value.rule == "tcp.rmem") {
        let Some(bytes) = value.bytes else { continue };
        let at = |ms: u64| needs::rate(bytes / 2 * 8 * 1000 / ms);
        let _ = writeln!(out, "| {} | {bytes} | {} | {} | {} |", value.guide, at(1), at(20), at(100));
    }
    out.push_str("\n| Setting | Guide | Value | Source |\n|---|---|---|---|\n");
    for value in conflicts::VALUES {
        let _ = writeln!(out, "| `{}` | {} | {} | {} |", value.rule, value.guide, value.value, value.source);
    }
    out
}

fn paths(flows: u32) -> Vec<Path> {
    let rates = [10_000_000_000, 100_000_000_000, 400_000_000_000];
    let times = [1_000_000, 20_000_000, 100_000_000];
    let path = |rate_bps, rtt_ns| Path { rate_bps, rtt_ns, mtu_bytes: 9000, flows, buffer_bytes: None };
    rates.iter().flat_map(|rate| times.map(|time| path(*rate, time))).collect()
}
