//! Whatever a file says, reading it ends in a study or in a mistake with a place, never in a panic.

use proptest::prelude::*;
use wirespeed_scenario::parse;

/// Every key once, each with a value that is good.
const LINES: &[(&str, &str)] = &[
    ("", "schema = 1"),
    ("", "name = \"t\""),
    ("[path]", ""),
    ("rate", "\"1 Gbit/s\""),
    ("rtt", "\"10 ms\""),
    ("loss", "1e-5"),
    ("buffer", "\"1 bdp\""),
    ("queue", "{ kind = \"red\", min = \"30 packets\" }"),
    ("outages", "[[\"1 s\", \"2 s\"]]"),
    ("policer", "{ rate = \"1 Gbit/s\", burst = \"2 packets\" }"),
    ("forward", "{ delay = \"1 ms\" }"),
    ("[path.reverse]", ""),
    ("queue.kind", "\"fq-codel\""),
    ("queue.target", "\"1 ms\""),
    ("queue.quantum", "\"1 packets\""),
    ("loss_model.kind", "\"gilbert-elliott\""),
    ("loss_model.good_to_bad", "1e-4"),
    ("loss_model.bad_to_good", "0.1"),
    ("port_limit.rate", "\"900 Mbit/s\""),
    ("port_limit.burst", "\"0.5 bdp\""),
    ("[topology]", ""),
    ("kind", "\"dumbbell\""),
    ("senders", "2"),
    ("[host.sender]", ""),
    ("mtu", "\"9000 B\""),
    ("nic_rate", "\"10 Gbit/s\""),
    ("access_delay", "\"1 ms\""),
    ("tcp_rmem_max", "\"8 MiB\""),
    ("[[flow]]", ""),
    ("congestion", "\"bic\""),
    ("window", "\"2 bdp\""),
    ("count", "3"),
    ("start", "\"1 s\""),
    ("stagger", "\"1 s\""),
    ("duration", "\"2 s\""),
    ("[[flow]]", ""),
    ("kind", "\"udp\""),
    ("rate", "\"10 Mbit/s\""),
    ("datagram", "\"1000 B\""),
    ("[run]", ""),
    ("duration", "\"10 s\""),
    ("sample", "\"10 ms\""),
    ("[sweep]", ""),
    ("\"path.loss\"", "[0, 1e-4]"),
    ("[expect]", ""),
    ("goodput_bps", "{ min = \"1 Mbit/s\" }"),
];

fn text(changed: usize, value: &str) -> String {
    let line = |(i, (key, good)): (usize, &(&str, &str))| match (i == changed, *good) {
        (true, _) if !key.is_empty() && !key.starts_with('[') => format!("{key} = {value}\n"),
        (_, "") => format!("{key}\n"),
        (_, good) if key.is_empty() => format!("{good}\n"),
        (_, good) => format!("{key} = {good}\n"),
    };
    LINES.iter().enumerate().map(line).collect()
}

fn value() -> impl Strategy<Value = String> {
    let unit = prop::sample::select(vec![
        "ps", "ms", "s", "h", "bit/s", "Gbit/s", "Tbit/s", "B", "GiB", "TiB", "bdp", "packets", "",
    ]);
    prop_oneof![
        (any::<u64>(), unit.clone()).prop_map(|(n, unit)| format!("\"{n} {unit}\"")),
        (0..1_000_000u64, unit).prop_map(|(n, unit)| format!("\"{}.{} {unit}\"", n / 1000, n % 1000)),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:e}")),
        "\\PC{0,12}",
        "\"\\PC{0,12}\"",
        "\"(drop-tail|drop-tail-packets|red|codel|fq-codel|bit-error|gilbert-elliott)\"",
        "[\\[\\]{}\", =a-z0-9]{0,16}",
    ]
}

#[test]
fn the_unchanged_file_is_good() {
    parse(&text(usize::MAX, ""), "t.toml", &[], None).unwrap();
}

proptest! {
    #[test]
    fn a_wild_value_is_a_study_or_a_mistake(changed in 0..LINES.len(), value in value()) {
        let text = text(changed, &value);
        if let Err(error) = parse(&text, "t.toml", &[], None) {
            let mistake = error.mistake().unwrap();
            prop_assert!(mistake.line >= 1 && mistake.column >= 1);
            prop_assert!(mistake.span.offset() + mistake.span.len() <= text.len());
        }
    }

    #[test]
    fn a_wild_override_is_a_study_or_a_mistake(key in "[a-z.\"0-9]{0,16}|path.(rate|rtt|loss|queue|loss_model|outages|policer)(.(kind|rate|burst|min|0|0.1))?|flow.[0-9].window", value in value()) {
        let sets = [(key, value)];
        let _ = parse(&text(usize::MAX, ""), "t.toml", &sets, Some(3));
    }

    #[test]
    fn noise_is_a_mistake(noise in "\\PC{0,64}") {
        prop_assert!(parse(&noise, "t.toml", &[], None).is_err());
    }
}
