//! The report as a reader gets it.

mod recordings;
mod xml;

use recordings::{flow, one_run, queue, study};
use wirespeed_record::{
    Datagram, Direction, Entry, FlowSample, LedgerRow, Recording, Stage, ValidatedRegion,
};
use wirespeed_report::{Builder, ExpectOutcome, MetricValue, Report, RunResult};
use xml::well_formed;

fn goodput(value: f64) -> Vec<MetricValue> {
    vec![MetricValue { name: "goodput_bps".into(), unit: "bit/s".into(), value, headline: true }]
}

fn add(builder: &mut Builder, recording: &Recording, metrics: Vec<MetricValue>) {
    builder.add(RunResult { metrics, ..RunResult::of(recording) }).unwrap();
}

fn report_of(recordings: &[Recording]) -> Report {
    let mut builder = Builder::new(study());
    for (index, recording) in recordings.iter().enumerate() {
        add(&mut builder, recording, goodput(1e9 * (index + 1) as f64));
    }
    builder.finish()
}

/// The page without the plotly.js in it and without the data: what this crate writes as HTML.
fn markup(report: &Report) -> String {
    let html = report.html();
    let mut out = String::new();
    let mut rest = html.as_str();
    while let Some(start) = rest.find("<script") {
        let end = rest[start..].find("</script>").expect("every script ends") + start;
        out.push_str(&rest[..start]);
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn the_page_loads_nothing() {
    let html = report_of(&[one_run("reno", 0), one_run("bic", 0)]).html();
    let page = html.to_lowercase();
    for place in
        ["src=\"http", "src='http", "src=http", "src=\"//", "href=\"http", "href='http", "@import", "<link"]
    {
        // plotly.js may name such things in code it never runs here; the markup may not, and the policy forbids it.
        let found = page.match_indices(place).find(|(at, _)| is_markup(&page, *at));
        assert_eq!(found, None, "{place}");
    }
    assert!(html.contains("Content-Security-Policy\" content=\"default-src 'none'"));
}

fn is_markup(page: &str, at: usize) -> bool {
    let opened = page[..at].rfind("<script").map_or(0, |i| i + 1);
    let closed = page[..at].rfind("</script>").map_or(0, |i| i + 1);
    closed >= opened
}

#[test]
fn scripts_end_where_they_should() {
    let mut recording = one_run("reno", 0);
    recording.info.flows[0].label = "</script><script>alert(1)</script>".into();
    let html = report_of(&[recording]).html();
    // The data, plotly.js, and the page's own.
    assert_eq!(html.matches("</script>").count(), 3);
    assert_eq!(html.matches("<script").count(), 3);
}

#[test]
fn hostile_text_stays_text_everywhere() {
    const EVIL: &str = "<script>x</script>\"'><img src=y onerror=z>&";
    let mut recording = one_run("reno", 0);
    recording.info.id = EVIL.into();
    recording.info.flows[0].label = EVIL.into();
    recording.info.flows[0].congestion = Some(EVIL.into());
    recording.info.warnings = vec![EVIL.into()];
    recording.info.command = EVIL.into();
    recording.info.hosts[0].name = EVIL.into();
    recording.info.hosts[0].settings.insert(EVIL.into(), EVIL.into());
    recording.info.factors.insert(EVIL.into(), EVIL.into());
    recording.info.links[0].name = EVIL.into();
    recording.queues.iter_mut().for_each(|q| q.queue = EVIL.into());
    recording.ledger = vec![ledger(Entry::Sent, None, 3)];
    recording.ledger[0].place = EVIL.into();
    let mut info = study();
    info.name = EVIL.into();
    info.about = EVIL.into();
    info.scenario_text = EVIL.into();
    let mut builder = Builder::new(info);
    let metrics = vec![MetricValue { name: EVIL.into(), unit: EVIL.into(), value: 1.0, headline: true }];
    let expectations =
        vec![ExpectOutcome { metric: EVIL.into(), bound: EVIL.into(), value: None, passed: false }];
    builder
        .add(RunResult {
            per_flow: vec![metrics.clone()],
            metrics,
            expectations,
            ..RunResult::of(&recording)
        })
        .unwrap();
    builder.add_incomplete(EVIL, EVIL);
    let report = builder.finish();

    let markup = markup(&report);
    assert!(!markup.contains("<script>x") && !markup.contains("<img"), "escaped in the page");
    assert!(markup.contains("&lt;script&gt;x"), "and still there to read");
    for (name, svg) in report.svgs() {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{name}");
        well_formed(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{name}");
    }
}

#[test]
fn svgs_are_well_formed_and_have_names_of_their_own() {
    let files = report_of(&[one_run("reno", 0), one_run("bic", 0), one_run("bic", 0)]).svgs();
    let mut names: Vec<&String> = files.iter().map(|f| &f.0).collect();
    assert!(names.len() > 10, "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), files.len(), "two runs of one name must not overwrite each other");
    for (name, svg) in &files {
        well_formed(svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        let tags: String = svg.split('<').filter_map(|part| part.split('>').next()).collect();
        assert!(!tags.contains("NaN") && !tags.contains("inf"), "{name} has a coordinate that is no number");
    }
}

#[test]
fn figures_for_print_are_light_and_name_the_conditions() {
    let report = report_of(&[one_run("reno", 0), one_run("bic", 0)]);
    let files = report.figure_files();
    let cwnd = files.iter().find(|file| file.figure_name() == "cwnd").expect("it is drawn");
    assert_eq!(files.iter().filter(|file| file.figure_name() == "cwnd").count(), 2, "one for each run");
    assert!(cwnd.name().ends_with("-cwnd"), "{}", cwnd.name());
    assert!(cwnd.svg().contains("prefers-color-scheme:dark"));
    let print = cwnd.print_svg();
    well_formed(&print).unwrap();
    assert!(!print.contains("@media") && print.contains("fill:#ffffff"));
    assert!(print.contains("reno · ") && print.contains("substrate "), "{print}");
    let across = files.iter().find(|file| file.name().starts_with("study-")).expect("it is drawn");
    assert!(across.print_svg().contains("2 runs · "), "{}", across.name());
}

/// Ids of the figures of the first run.
fn figures(recording: Recording) -> Vec<String> {
    let prefix = format!("{}-", recording.info.id);
    let files = report_of(&[recording]).svgs();
    files.iter().filter_map(|f| Some(f.0.strip_prefix(&prefix)?.strip_suffix(".svg")?.to_string())).collect()
}

#[test]
fn a_figure_is_there_if_its_data_are() {
    let found = figures(one_run("reno", 0));
    assert_eq!(found, ["throughput", "cwnd", "rtt", "rtt-cdf", "queue", "drops"]);

    let mut without = one_run("reno", 0);
    without.flows.iter_mut().for_each(|s| s.cwnd_bytes = None);
    without.flows.iter_mut().for_each(|s| (s.rtt_ns, s.min_rtt_ns) = (None, None));
    without.queues.clear();
    assert_eq!(figures(without), ["throughput"], "what was not measured is absent and not 0");

    let mut nothing = one_run("reno", 0);
    nothing.flows.clear();
    nothing.queues.clear();
    assert!(figures(nothing).is_empty());
}

#[test]
fn of_a_crowd_the_spread_is_drawn_and_not_every_flow() {
    let mut recording = one_run("reno", 0);
    let first = recording.flows.clone();
    for number in 1..60 {
        recording.info.flows.push(flow(&format!("bic-{number}"), "bic"));
        recording.flows.extend(first.iter().map(|s| FlowSample { flow: number, ..s.clone() }));
    }
    recording.flows.sort_by_key(|s| s.t_ns);
    let report = report_of(&[recording]);
    let files = report.svgs();
    // One group is the flow that the others were made of; each has five lines.
    for name in ["throughput", "cwnd", "rtt"] {
        let svg = &files.iter().find(|f| f.0.ends_with(&format!("-{name}.svg"))).expect("it is drawn").1;
        assert_eq!(svg.matches("stroke-linejoin=").count(), 2 * 5, "{name}");
        assert!(svg.contains("bic") && svg.contains("median of 59"), "{name}");
    }
    let stacked = &files.iter().find(|f| f.0.ends_with("-throughput-stacked.svg")).expect("it is drawn").1;
    assert!(stacked.contains("bic, 59 together"));
    assert!(markup(&report).contains("<summary>All 60 flows</summary>"));
}

#[test]
fn several_flows_are_stacked_and_compared() {
    let mut recording = one_run("reno", 0);
    recording.info.flows.push(flow("b", "bic"));
    let second: Vec<_> = recording.flows.iter().map(|s| FlowSample { flow: 1, ..s.clone() }).collect();
    recording.flows.extend(second);
    let found = figures(recording);
    assert!(found.contains(&"throughput-stacked".to_string()), "{found:?}");
    assert!(found.contains(&"fairness".to_string()), "{found:?}");
}

#[test]
fn pacing_is_shown_for_controls_that_pace() {
    let mut recording = one_run("bbr", 0);
    recording.flows.iter_mut().for_each(|s| s.pacing_rate_bps = Some(1_000_000_000));
    assert!(figures(recording.clone()).contains(&"rates".to_string()));
    recording.info.flows[0].congestion = Some("reno".into());
    assert!(!figures(recording).contains(&"rates".to_string()), "its pacing rate only follows cwnd / RTT");
}

#[test]
fn datagrams_have_a_figure_where_there_are_some() {
    let mut recording = one_run("reno", 0);
    recording.datagrams = (0..100)
        .map(|i| Datagram {
            flow: 0,
            sequence: i,
            sent_ns: i as i64 * 100_000_000,
            arrived_ns: (i % 7 != 0).then_some(i as i64 * 100_000_000 + 6_000_000),
            reordered_by: 0,
            duplicate: false,
        })
        .collect();
    let report = report_of(&[recording]);
    let svg =
        &report.svgs().into_iter().find(|f| f.0.ends_with("-datagrams.svg")).expect("the figure is there").1;
    assert!(svg.contains("lost: 15"), "i % 7 == 0 for 15 of 100");
}

#[test]
fn report_without_losses_states_it() {
    let mut recording = one_run("reno", 0);
    recording.queues.iter_mut().for_each(|q| (q.dropped_packets, q.lost_packets) = (0, Some(0)));
    let report = report_of(&[recording]);
    assert!(markup(&report).contains("No packet was lost at"));
    assert!(!report.svgs().iter().any(|f| f.0.ends_with("-drops.svg")));
}

#[test]
fn figures_across_runs_follow_the_factors() {
    let mut runs = Vec::new();
    for control in ["reno", "bic"] {
        for loss in [1e-6, 1e-4] {
            for repeat in 0..2 {
                let mut run = one_run(control, repeat);
                run.info.factors.insert("path.loss".into(), loss.into());
                runs.push(run);
            }
        }
    }
    let names: Vec<String> = report_of(&runs).svgs().into_iter().map(|f| f.0).collect();
    for figure in
        ["study-goodput.svg", "study-goodput-by-factor.svg", "study-repeats.svg", "study-throughput-all.svg"]
    {
        assert!(names.iter().any(|n| n == figure), "{figure} is missing in {names:?}");
    }
    let single = report_of(&[one_run("reno", 0)]).svgs();
    assert!(!single.iter().any(|f| f.0.starts_with("study-")), "one run is not compared");
}

#[test]
fn a_probe_of_one_sample_is_still_in_the_picture() {
    let mut recording = one_run("bbr", 0);
    let template = recording.flows[0].clone();
    recording.info.sample_ns = 1_000_000;
    recording.flows = (0..60_000)
        .map(|i| {
            let cwnd = if i == 31_234 { 5_792 } else { 14_000_000 + i % 97 };
            let t_ns = i as i64 * 1_000_000;
            wirespeed_record::FlowSample { t_ns, cwnd_bytes: Some(cwnd), ..template.clone() }
        })
        .collect();
    let html = report_of(&[recording]).html();
    let data = &html[html.find("id=\"data\"").expect("the data are there")..];
    let data = &data[..data.find("</script>").expect("they end")];
    let cwnd = &data[data.find("\"cwnd\":").expect("the figure is there")..];
    assert!(cwnd.contains("0.005792"), "the dip to 4 packets, in MB");
    assert!(data.len() < 400_000, "{} bytes for 60,000 samples", data.len());
}

#[test]
fn the_answer_names_the_first_and_by_how_much() {
    let report = report_of(&[one_run("reno", 0), one_run("bic", 0)]);
    let text = report.terminal(100, false).replace('\n', " ");
    assert!(text.contains("bic has the highest goodput: 2 Gbit/s"), "{text}");
    assert!(text.contains("2 times that of reno (1 Gbit/s)"), "{text}");
    assert!(text.contains("ran once"), "single runs are no proof: {text}");
}

#[test]
fn the_answer_says_what_each_flow_of_a_single_run_got() {
    let mut recording = one_run("reno", 0);
    recording.info.flows = vec![flow("reno", "reno"), flow("bic", "bic")];
    let mut builder = Builder::new(study());
    let per_flow = vec![goodput(1e8), goodput(9e8)];
    builder.add(RunResult { metrics: goodput(1e9), per_flow, ..RunResult::of(&recording) }).unwrap();
    let text = builder.finish().terminal(100, false).replace('\n', " ");
    assert!(text.contains("Flow by flow: bic 900 Mbit/s, reno 100 Mbit/s."), "{text}");
}

#[test]
fn overlapping_repeats_are_no_lead() {
    let mut builder = Builder::new(study());
    for (control, values) in [("reno", [4e9, 6e9]), ("bic", [5e9, 5.5e9])] {
        for (repeat, value) in values.into_iter().enumerate() {
            add(&mut builder, &one_run(control, repeat as u32), goodput(value));
        }
    }
    let text = builder.finish().terminal(100, false).replace('\n', " ");
    assert!(text.contains("no clear lead over reno"), "{text}");
}

#[test]
fn a_run_that_is_not_steady_is_marked_everywhere() {
    let mut restless = one_run("reno", 0);
    restless.flows.iter_mut().for_each(|sample| sample.retrans_packets = Some(0));
    let report = report_of(&[restless, one_run("bic", 0)]);
    let text = report.terminal(100, false);
    assert_eq!(text.lines().filter(|line| line.starts_with("~  reno")).count(), 1, "{text}");
    assert!(text.lines().any(|line| line.starts_with("   bic")), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "0 window cycles of a in the measured 10 s; run at least 100 s";
    assert!(words.contains("1 of 2 runs is not steady (~)") && words.contains(why), "{text}");
    let page = markup(&report);
    assert!(page.contains(&format!("<p class=\"warning\">Not steady: {why}.</p>")));
    assert_eq!(page.matches("~ not steady</span>").count(), 1);
}

#[test]
fn repeats_share_a_row_with_their_mean_and_interval() {
    let mut builder = Builder::new(study());
    for (repeat, value) in [4e9, 5e9, 6e9].into_iter().enumerate() {
        add(&mut builder, &one_run("reno", repeat as u32), goodput(value));
    }
    for repeat in 0..3 {
        let mut certain = one_run("bic", repeat);
        certain.info.depends_on_seed = Some(false);
        add(&mut builder, &certain, goodput(3e9));
    }
    let text = builder.finish().terminal(100, false);
    let row = |control: &str| {
        let line = text.lines().find(|line| line.starts_with(control)).expect("there is a row");
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    // Standard deviation 1, n = 3: 4.303 / sqrt(3).
    assert_eq!((row("reno").as_str(), row("bic").as_str()), ("3 5.00 ±2.48", "1 3.00"), "{text}");
    assert!(text.contains("Means over repeats, ± half of their 95 % confidence interval."), "{text}");
}

#[test]
fn a_long_table_ends_and_says_so() {
    let runs: Vec<Recording> = (0..130)
        .map(|index| {
            let mut run = one_run("reno", 0);
            run.info.factors.insert("path.rtt".into(), format!("{index} ms").into());
            run
        })
        .collect();
    let text = report_of(&runs).terminal(100, false);
    assert!(text.contains("and 30 more rows; the page and --json have all"), "{text}");
    assert!(text.contains(" 99 ms ") && !text.contains(" 100 ms "), "{text}");
}

fn ledger(entry: Entry, stage: Option<Stage>, packets: i64) -> LedgerRow {
    let (place, source) = ("sender".into(), "counter".into());
    LedgerRow { direction: Direction::Data, entry, stage, place, cause: None, packets, source }
}

#[test]
fn the_ledger_says_whether_it_balances() {
    let mut recording = one_run("reno", 0);
    recording.ledger = vec![
        ledger(Entry::Sent, None, 100),
        ledger(Entry::Delivered, None, 97),
        ledger(Entry::Lost, Some(Stage::Network), 3),
    ];
    assert!(markup(&report_of(&[recording.clone()])).contains("balances: every packet"));
    recording.ledger[1].packets = 90;
    let page = markup(&report_of(&[recording.clone()]));
    assert!(page.contains("off by 7 packets") && page.contains("does not balance"));
    recording.ledger.clear();
    assert!(!markup(&report_of(&[recording])).contains("Loss ledger"), "no ledger, no claim");
}

fn long_ids() -> Report {
    let mut builder = Builder::new(study());
    for (index, control) in ["reno", "cubic", "scalable"].into_iter().enumerate() {
        let mut recording = one_run(control, 0);
        recording.info.id = format!("study-{}-{control}-{index}", "very-long-name-".repeat(12));
        recording
            .info
            .factors
            .insert("path.a-factor-with-a-very-long-name-indeed".into(), "x".repeat(90).into());
        let metric = |i: u32| MetricValue {
            name: format!("metric_number_{i}_bps"),
            unit: "bit/s".into(),
            value: 1e9 + f64::from(i),
            headline: true,
        };
        let expectations = vec![ExpectOutcome {
            metric: "metric_number_1_bps".into(),
            bound: "at least 2 Gbit/s".into(),
            value: Some(1e9),
            passed: index > 0,
        }];
        let metrics = (0..14).map(metric).collect();
        builder.add(RunResult { metrics, expectations, ..RunResult::of(&recording) }).unwrap();
    }
    builder.add_incomplete("y".repeat(300), "the disk is full");
    builder.finish()
}

#[test]
fn the_table_fits_whatever_the_names() {
    for width in [40, 80, 100, 132] {
        for (index, line) in long_ids().terminal(width, false).lines().enumerate() {
            assert!(line.chars().count() <= width, "line {index} at {width}: {line}");
        }
    }
}

#[test]
fn the_terminal_needs_no_colour() {
    let plain = long_ids().terminal(100, false);
    assert!(!plain.contains('\x1b'));
    assert!(plain.contains('✗') && plain.contains("expected at least 2 Gbit/s"), "{plain}");
    assert!(plain.contains("Gbit/s") && plain.contains("incomplete"), "{plain}");
    assert!(long_ids().terminal(100, true).contains('\x1b'));
}

#[test]
fn the_validated_region_stands_below_the_table_and_on_the_page() {
    let with = |congestion: &str, repeat, outside: &[&str]| {
        let mut recording = one_run(congestion, repeat);
        recording.info.validated_region = Some(ValidatedRegion {
            is_inside: outside.is_empty(),
            section: "fast".into(),
            outside: outside.iter().map(|word| (*word).to_owned()).collect(),
        });
        recording
    };
    let shown = report_of(&[with("reno", 0, &[]), with("reno", 1, &[])]).terminal(100, false);
    assert!(shown.ends_with("Validated region: inside (section fast)\n"), "{shown}");
    let mixed = report_of(&[with("reno", 0, &["UDP", "2 links"]), with("bic", 0, &[]), with("bic", 1, &[])]);
    for text in [mixed.terminal(100, false), markup(&mixed)] {
        assert!(text.contains("Validated region: inside (section fast): 2 runs"), "{text}");
        assert!(text.contains("Validated region: outside (UDP; 2 links): 1 run"), "{text}");
    }
    assert!(!report_of(&[one_run("reno", 0)]).terminal(100, false).contains("Validated"));
}

#[test]
fn a_missing_metric_is_a_dash_and_not_zero() {
    let mut builder = Builder::new(study());
    add(&mut builder, &one_run("reno", 0), goodput(1e9));
    add(&mut builder, &one_run("bic", 0), vec![]);
    add(&mut builder, &one_run("cubic", 0), goodput(f64::NAN));
    let table = builder.finish().terminal(100, false);
    let rows =
        |name: &str| table.lines().find(|l| l.starts_with(name)).expect("each run has a row").to_string();
    assert!(
        rows("bic").contains('–') && rows("cubic").contains('–') && !rows("reno").contains('–'),
        "{table}"
    );
}

#[test]
fn empty_and_incomplete_studies_are_reports_too() {
    let empty = Builder::new(study()).finish();
    assert!(empty.svgs().is_empty());
    assert!(empty.html().contains("There are no runs"));
    assert!(empty.terminal(100, true).contains("There are no runs"));

    let mut builder = Builder::new(study());
    builder.add_incomplete("a", "interrupted");
    builder.add_incomplete("b", "kernel panic");
    let incomplete = builder.finish();
    assert!(incomplete.html().contains("kernel panic"));
    assert!(incomplete.terminal(100, false).contains("None of the 2 runs completed"));

    // A run that recorded nothing at all.
    let mut builder = Builder::new(study());
    add(&mut builder, &Recording::default(), vec![]);
    let bare = builder.finish();
    assert!(bare.svgs().is_empty());
    assert!(bare.html().contains("No run has a goodput") && !bare.terminal(20, false).is_empty());
}

#[test]
fn the_same_input_gives_the_same_page() {
    let make = || report_of(&[one_run("reno", 0), one_run("bic", 1)]);
    assert!(make().html() == make().html() && make().svgs() == make().svgs());
}

#[test]
fn idle_queues_are_told_and_not_drawn() {
    let mut recording = one_run("reno", 0);
    recording.queues = (0..10).map(|i| queue(i * 1_000_000_000, 0, 0)).collect();
    let report = report_of(&[recording]);
    assert!(markup(&report).contains("No queue held anything"));
}
