//! The page, and files for xplot that are read back and compared with the points of a capture of the model.

use std::io::Cursor;
use wirespeed_capture::{Input, Settings};
use wirespeed_sequence::{Plot, Subject, page};
use wirespeed_trace::{DataClass, FlowSequence, Options, Trace};

const SCENARIO: &str = r#"
schema = 1
name = "plots"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 1e-3

[[flow]]
congestion = "reno"

[[capture]]
at = "sender"

[run]
duration = "1 s"
sample = "1 ms"
seed = 5
"#;

/// Elements of a file: colour, command, and its numbers or text.
#[derive(Debug, Default)]
struct Parsed {
    title: String,
    axes: [String; 2],
    elements: Vec<(String, String, Vec<f64>)>,
    texts: Vec<(String, f64, f64)>,
}

/// A strict reader: an unknown line is an error.
fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("dtime double"));
    let mut colour = String::new();
    let mut is_ended = false;
    while let Some(line) = lines.next() {
        assert!(!is_ended, "after `go`: {line}");
        let words: Vec<&str> = line.split(' ').collect();
        let numbers = || words[1..].iter().map(|word| word.parse().unwrap()).collect::<Vec<f64>>();
        match words[0] {
            "title" => parsed.title = lines.next().unwrap().into(),
            "xlabel" => parsed.axes[0] = lines.next().unwrap().into(),
            "ylabel" => parsed.axes[1] = lines.next().unwrap().into(),
            "white" | "green" | "red" | "blue" | "yellow" | "purple" | "orange" | "pink" => {
                colour = line.into();
            }
            "line" => {
                let numbers = numbers();
                assert_eq!(numbers.len(), 4, "{line}");
                parsed.elements.push((colour.clone(), "line".into(), numbers));
            }
            "uarrow" | "darrow" | "dtick" | "utick" | "diamond" | "dot" => {
                let numbers = numbers();
                assert_eq!(numbers.len(), 2, "{line}");
                parsed.elements.push((colour.clone(), words[0].into(), numbers));
            }
            "atext" => {
                let numbers = numbers();
                parsed.texts.push((lines.next().unwrap().into(), numbers[0], numbers[1]));
            }
            "go" => is_ended = true,
            _ => panic!("unknown: {line}"),
        }
    }
    assert!(is_ended, "the file ends with `go`");
    parsed
}

fn analysis() -> Trace {
    let run = wirespeed_scenario::parse(SCENARIO, "test", &[], None).unwrap().runs.remove(0);
    let outcome = wirespeed_sim::simulate(&run, &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"));
    let input = Input::Reader(Box::new(Cursor::new(outcome.captures[0].1.clone())));
    let options = Options { points: true, ..Options::default() };
    wirespeed_trace::read(input, &Settings::default(), options).unwrap().0
}

/// The connection with its points, for `look`.
fn with_subject(look: impl FnOnce(Subject<'_>, &FlowSequence)) {
    let trace = analysis();
    let sequence = trace.sequence.as_ref().unwrap();
    let points = sequence.from_client.as_ref().unwrap();
    let connection = &trace.connections[0];
    look(Subject { connection, sequence, capture: "a <b>.pcap", generated_by: "wirespeed" }, points);
}

fn plot(subject: Subject<'_>, name: &str) -> Parsed {
    let plots = Plot::all(subject);
    let plot = plots.iter().find(|plot| plot.file_name() == name).unwrap();
    let mut bytes = Vec::new();
    plot.write(&mut bytes).unwrap();
    parse(&String::from_utf8(bytes).unwrap())
}

#[test]
fn time_sequence_plot_has_each_packet_and_acknowledgment() {
    with_subject(|subject, points| {
        let plot = plot(subject, "time-sequence.xpl");
        assert!(plot.title.ends_with("(time sequence graph)") && plot.title.contains("_==>_"), "{plot:?}");
        assert_eq!(plot.axes, ["relative time", "sequence offset"]);
        let of = |command: &'static str| plot.elements.iter().filter(move |(_, name, _)| name == command);
        let starts: Vec<(i64, i64)> =
            of("darrow").map(|(_, _, at)| ((at[0] * 1e9).round() as i64, at[1] as i64)).collect();
        let expected: Vec<(i64, i64)> = points.data.t_ns.iter().zip(points.data.start.iter()).collect();
        assert_eq!(starts, expected);
        let ends: Vec<i64> = of("uarrow").map(|(_, _, at)| at[1] as i64).collect();
        let rows = points.data.start.iter().zip(points.data.length.iter());
        assert_eq!(ends, rows.map(|(start, length)| start + length).collect::<Vec<_>>());
        let ticks: Vec<i64> = plot
            .elements
            .iter()
            .filter(|(_, name, _)| name.ends_with("tick"))
            .map(|row| row.2[1] as i64)
            .collect();
        assert_eq!(ticks, points.acks.ack.iter().collect::<Vec<_>>());
        let retransmitted = points.data.class.iter().filter(|&class| class == DataClass::Fast as i64).count();
        let letters = plot.texts.iter().filter(|(text, ..)| text == "R").count();
        assert!(letters >= retransmitted && retransmitted > 0, "{letters} of {retransmitted}");
        let red = plot.elements.iter().filter(|(colour, name, _)| colour == "red" && name == "line").count();
        let is_red = |class: &i64| DataClass::of_number(*class).unwrap().is_retransmission();
        assert_eq!(red, points.data.class.iter().filter(is_red).count());
        let sacks =
            plot.elements.iter().filter(|(colour, name, _)| colour == "purple" && name == "line").count();
        assert_eq!(sacks, points.sacks.t_ns.len());
    });
}

#[test]
fn other_plots_have_each_sample() {
    with_subject(|subject, points| {
        let owin = plot(subject, "owin.xpl");
        let dots: Vec<i64> =
            owin.elements.iter().filter(|row| row.1 == "dot").map(|row| row.2[1] as i64).collect();
        assert_eq!(dots, points.data.in_flight.iter().collect::<Vec<_>>());
        let rtt = plot(subject, "rtt.xpl");
        assert_eq!(rtt.elements.len(), points.rtt_to_receiver.t_ns.len() + points.rtt_to_sender.t_ns.len());
        let least =
            rtt.elements.iter().filter(|row| row.0 == "red").map(|row| row.2[1]).fold(f64::MAX, f64::min);
        assert!((20.0..22.0).contains(&least), "{least} ms");
        let rate = plot(subject, "throughput.xpl");
        let last = rate.elements.iter().rfind(|row| row.1 == "line").unwrap().2[3];
        let bytes: i64 = points.data.length.iter().sum();
        assert!(last > 0.0 && last < bytes as f64 * 1.3, "{last} B/s of {bytes} B in a second");
    });
}

#[test]
fn page_loads_nothing_and_escapes_names() {
    with_subject(|subject, _| {
        let page = page(&subject);
        assert!(page.contains("a &lt;b&gt;.pcap") && !page.contains("a <b>.pcap"));
        for outside in ["http://", "https://", "src=\"", "<link", "@import"] {
            assert!(!page.contains(outside), "`{outside}` in the page");
        }
        assert!(page.contains("<noscript>") && page.contains("The connection in words"));
        assert_eq!(page, wirespeed_sequence::page(&subject), "the same points make the same page");
    });
}
