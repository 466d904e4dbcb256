//! `wirespeed trace --out`: the time-sequence page of a million segments in a browser, and the files for xplot.

#[path = "time_sequence/generated.rs"]
mod generated;
mod support;

use std::fs;
use std::path::Path;
use support::browser::{browser, document_after};
use support::{errors, skip, wirespeed};

/// Runs the command, and returns the folder's page.
fn traced(folder: &Path) -> String {
    let ran = wirespeed(folder, &["trace", "flow.pcap", "--out", "traced", "--xplot"]);
    assert_eq!(ran.status.code(), Some(0), "{}", errors(&ran));
    assert_eq!(errors(&ran), "", "everything is drawn");
    fs::read_to_string(folder.join("traced/time-sequence.html")).unwrap()
}

/// The value of a data attribute of the root element.
fn state<'a>(document: &'a str, name: &str) -> &'a str {
    let root = document.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).unwrap().0;
    let value = root.split_once(&format!(" data-{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.unwrap_or_else(|| panic!("no data-{name} in <html{root}>")).0
}

fn number(document: &str, name: &str) -> f64 {
    state(document, name).parse().unwrap()
}

/// Opens a page with a view, and a script that runs after the first drawing.
fn open(browser: &str, folder: &Path, page: &str, view: &str, script: &str) -> String {
    let script = format!(
        "<script>(() => {{ const root = document.documentElement; const figure = document.getElementById('figure');\n\
         const overlay = document.getElementById('overlay');\n\
         const wheel = (x, y, deltaY) => {{ const b = overlay.getBoundingClientRect(); overlay.dispatchEvent(\
           new WheelEvent('wheel', {{ clientX: b.left + x, clientY: b.top + y, deltaY, cancelable: true }})); }};\n\
         const key = (name) => figure.dispatchEvent(new KeyboardEvent('keydown', {{ key: name }}));\n\
         const start = () => {{ if (!root.dataset.drawn) return setTimeout(start, 20); {script}\n\
           setTimeout(() => {{ root.dataset.acted = true; }}, 1000); }}; start(); }})();</script></body>"
    );
    let file = folder.join("opened.html");
    fs::write(&file, page.replace("</body>", &script)).unwrap();
    // A headless browser on a busy machine may print the document before the points are unpacked.
    let url = format!("file://{}{view}", file.display());
    let mut documents = (0..4).map(|_| document_after(browser, &url, 30_000));
    documents.find(|document| document.contains("data-acted=")).expect("the page draws its figure")
}

#[test]
fn page_of_a_million_segments_draws_and_zooms() {
    let Some(browser) = browser() else {
        return skip(
            "page_of_a_million_segments_draws_and_zooms",
            "there is no Chromium (chromium, google-chrome)",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let content = generated::write(&folder.path().join("flow.pcap"), 1_000_000);
    assert!(content.retransmitted >= 100 && content.copies >= 50, "{content:?}");
    let page = traced(folder.path());
    let look = |view: &str, script: &str| open(browser, folder.path(), &page, view, script);

    let all = look("", "");
    // With the SYN, and the SYN-ACK.
    let packets = content.data + content.copies + 1;
    assert_eq!(number(&all, "data"), packets as f64);
    assert_eq!(number(&all, "acks"), (content.acks + 1) as f64);
    for (words, count) in
        [("retransmitted (R, RTO, TLP)", content.retransmitted), ("hardware duplicates (HD)", content.copies)]
    {
        assert!(all.contains(&format!("{words}: {count}")), "{words}: {count}");
    }
    assert!(all.contains("1,000,") && !all.contains("data-failed"), "counts have their thousands separated");

    // Round 9 begins at 0.29 s. Its packet 166 is lost, and retransmitted 1.74 ms and an RTT later.
    let part = look("#from=0.289&to=0.319&theme=dark", "");
    assert_eq!(state(&part, "theme"), "dark");
    assert_eq!((number(&part, "data"), number(&part, "from")), (501.0, 0.289));
    assert_eq!(number(&part, "letters"), 1.0, "the retransmission has a letter");

    // Eight steps of the wheel at the middle: the view is e^(-0.002 * 500 * 8) of the whole.
    let zoomed =
        look("", "for (let step = 0; step < 8; step += 1) wheel(overlay.clientWidth / 2, 150, 500 * -1);");
    let span = |document: &str| number(document, "to") - number(document, "from");
    let share = span(&zoomed) / span(&all);
    assert!((share / (-8.0_f64).exp() - 1.0).abs() < 1e-6, "{share}");
    assert!(number(&zoomed, "data") < 1_500.0 && number(&zoomed, "data") > 100.0);

    // The keys: the next mark is in the middle of the view, and its words are shown; 0 shows all again.
    let marked = look("#from=0.20&to=0.23", "key('n');");
    for words in ["hardware duplicate", "in flight: ", "1,448 B"] {
        assert!(state(&marked, "tip").contains(words), "`{words}` is missing in {}", state(&marked, "tip"));
    }
    let back = look("#from=0.20&to=0.23", "key('0');");
    assert_eq!(number(&back, "data"), packets as f64);
}

#[test]
fn files_for_xplot_have_every_packet() {
    let folder = tempfile::tempdir().unwrap();
    let content = generated::write(&folder.path().join("flow.pcap"), 20_000);
    let page = traced(folder.path());
    assert!(page.contains("10.0.0.1:40000") && page.contains("flow.pcap"));
    let names = ["owin.xpl", "rtt.xpl", "throughput.xpl", "time-sequence.xpl"];
    let mut written: Vec<String> = fs::read_dir(folder.path().join("traced"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".xpl"))
        .collect();
    written.sort();
    assert_eq!(written, names, "the server has no data, and no figures");
    let plot = fs::read_to_string(folder.path().join("traced/time-sequence.xpl")).unwrap();
    let upwards = plot.lines().filter(|line| line.starts_with("uarrow ")).count() as u64;
    assert_eq!(upwards, content.data + content.copies + 1);
    let labels = |text: &str| plot.lines().filter(|line| *line == text).count() as u64;
    assert_eq!((labels("R"), labels("HD"), labels("SYN")), (content.retransmitted, content.copies, 1));
}

#[test]
fn connection_that_is_asked_for_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    generated::write(&folder.path().join("flow.pcap"), 1_000);
    let ran = wirespeed(folder.path(), &["trace", "flow.pcap", "--out", "traced", "--connection", "1"]);
    assert_eq!(ran.status.code(), Some(0), "{}", errors(&ran));
    assert!(folder.path().join("traced/time-sequence.html").exists());
    let ran = wirespeed(folder.path(), &["trace", "flow.pcap"]);
    assert_eq!(ran.status.code(), Some(0), "{}", errors(&ran));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "without --out, nothing is written");
}
