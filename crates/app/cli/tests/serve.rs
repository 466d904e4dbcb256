//! `wirespeed serve` in a real browser, over results that the model made.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::browser::{browser, document};
use support::{command, errors, skip, wirespeed};

/// Eight runs, in which both factors vary.
const SWEEP: &str = "schema = 1\nname = \"pair\"\nabout = \"Which one needs less buffer?\"\n\
                     [path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n[run]\nduration = \"2 s\"\nrepeat = 2\n\
                     [sweep]\n\"flow.congestion\" = [\"cubic\", \"bic\"]\n\"path.loss\" = [1e-4, 1e-3]\n";

/// The program while it serves a folder.
struct Served {
    program: Child,
    url: String,
}

impl Served {
    fn new(folder: &Path) -> Served {
        Served::with(folder, &[])
    }

    fn with(folder: &Path, more: &[&str]) -> Served {
        let mut program =
            command(folder, &[&["serve", "out"], more].concat()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url =
            line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap_or_default();
        assert!(!url.is_empty(), "it prints its address: {line}");
        Served { url: url.trim_end_matches('/').into(), program }
    }

    /// Waits for the report, for at most a minute: until then its page shows the progress only.
    fn wait_for_report(&self) {
        let address = self.url.trim_start_matches("http://");
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let mut stream = TcpStream::connect(address).unwrap();
            let request = format!("GET /api/report HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            if answer.replace(' ', "").contains("\"is_finished\":true") {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the report is not finished after a minute");
    }

    /// Interrupts it as Ctrl-C does; its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let signal = Command::new("kill").args(["-INT", &self.program.id().to_string()]).status();
        assert!(signal.unwrap().success());
        self.program.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn every_page_is_drawn_in_a_browser_without_an_error() {
    let Some(browser) = browser() else {
        return skip(
            "every_page_is_drawn_in_a_browser_without_an_error",
            "there is no Chromium (chromium, google-chrome)",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    let ran = wirespeed(folder.path(), &["run", "s.toml", "--out", "out"]);
    assert_eq!(ran.status.code(), Some(0), "{}", errors(&ran));
    let marked = folder.path().join("out/runs/congestion=vegas,loss=1e-4,r0");
    fs::create_dir(&marked).unwrap();
    fs::write(marked.join("INCOMPLETE"), "the <b>power</b> failed\n").unwrap();
    let served = Served::new(folder.path());
    served.wait_for_report();
    let page = |target: &str| document(browser, &format!("{}{target}", served.url));

    let list = page("/");
    assert_eq!(list.matches("<tr class=\"run\"").count(), 9, "{list}");
    for words in [
        "8 complete",
        "1 incomplete",
        "the &lt;b&gt;power&lt;/b&gt; failed",
        "goodput",
        "Mbit/s",
        ">congestion<select",
    ] {
        assert!(list.contains(words), "`{words}` is missing in the list:\n{list}");
    }
    // A figure is drawn when it comes into view. A headless browser on a busy machine may print the document before its first frame.
    let drawn = |target: &str| {
        let mut pages = (0..4).map(|_| page(target));
        pages
            .find(|page| page.contains("class=\"main-svg\""))
            .unwrap_or_else(|| panic!("{target} has no figure"))
    };
    let report = drawn("/report");
    assert!(report.contains("Which one needs less buffer?"));
    let id = list.split("/run/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(drawn(&format!("/run/{id}")).contains("class=\"site\""));
    let figure = drawn("/figure?kind=line&metric=goodput_bps&x=path.loss&by=flow.congestion");
    for words in ["Goodput", "cubic", "bic", "<option value=\"line\" selected"] {
        assert!(figure.contains(words), "`{words}` is missing in the figure");
    }
    let setting = |congestion: &str| {
        let runs = fs::read_dir(folder.path().join("out/runs")).unwrap();
        let mut ids: Vec<String> = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
        ids.sort();
        let id = ids.into_iter().find(|id| id.contains(congestion)).unwrap();
        id.rsplit_once(",r").unwrap().0.replace('=', "%3D").replace(',', "%2C")
    };
    let compared = drawn(&format!("/compare?a={}&b={}", setting("cubic"), setting("bic")));
    assert!(compared.contains("Goodput (Mbit/s)"), "the comparison has no goodput");
    let progress = page("/progress");
    for words in ["8 of 8 runs are finished", "the campaign has ended", "<td>ended</td>"] {
        assert!(progress.contains(words), "`{words}` is missing in the progress:\n{progress}");
    }
    assert_eq!(served.interrupt(), Some(0));
}

#[test]
fn plan_is_served_beside_its_runs() {
    let Some(browser) = browser() else {
        return skip("plan_is_served_beside_its_runs", "there is no Chromium (chromium, google-chrome)");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = ["plan", "--rate", "100 Mbit/s", "--rtt", "10 ms", "--mtu", "1500 B", "--congestion", "reno"];
    let more = ["--flows", "1", "--effort", "low", "--out", "out"];
    let planned = wirespeed(folder.path(), &[&path[..], &more].concat());
    assert_eq!(planned.status.code(), Some(0), "{}", errors(&planned));
    let served = Served::new(folder.path());
    let list = document(browser, &format!("{}/", served.url));
    assert!(list.contains("href=\"/plan\""), "the list has no link to the plan");
    // The page draws its curve when it comes into view, the surfaces are drawn already.
    let plan = document(browser, &format!("{}/plan", served.url));
    for words in
        ["What the path will give", "Goodput of reno, 1 flow, over loss rate and RTT", "class=\"drawing"]
    {
        assert!(plan.contains(words), "`{words}` is missing in the plan");
    }
    assert_eq!(served.interrupt(), Some(0));
}

#[test]
fn playground_runs_the_model_in_the_page_of_the_server() {
    const NAME: &str = "playground_runs_the_model_in_the_page_of_the_server";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/playground/playground.html");
    let Some(browser) = browser() else {
        return skip(NAME, "there is no Chromium (chromium, google-chrome)");
    };
    if !page.exists() {
        return skip(NAME, "target/playground/playground.html does not exist; type `make playground`");
    }
    // Node 20 has web sockets only with this option.
    let node =
        |arguments: &[&str]| Command::new("node").arg("--experimental-websocket").args(arguments).output();
    if !node(&["--version"]).is_ok_and(|output| output.status.success()) {
        return skip(NAME, "node is not installed, or older than 20");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("out/runs")).unwrap();
    let served = Served::with(folder.path(), &["--playground", page.to_str().unwrap()]);
    // It drags a slider, opens a shared address, and fails if the browser prints an error, such as one of the policy.
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../playground/tests/browser.mjs");
    let output = node(&[driver.to_str().unwrap(), browser, &format!("{}/playground", served.url)]).unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", errors(&output));
    assert_eq!(served.interrupt(), Some(0));
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let refused = |arguments: &[&str]| {
        let output = wirespeed(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        errors(&output).split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ")
    };
    let remedy = "give the folder that `wirespeed run` wrote";
    for (folder, what) in [("empty", "empty has no runs"), ("gone", "cannot list gone")] {
        let message = refused(&["serve", folder]);
        assert!(message.contains(what) && message.contains(remedy), "{message}");
    }
    fs::create_dir_all(folder.path().join("out/runs")).unwrap();
    fs::write(folder.path().join("other.html"), "<title>another page</title>").unwrap();
    for (page, what) in [
        ("gone.html", "cannot read gone.html: "),
        ("other.html", "other.html is not a playground page"),
        ("out", "cannot read out: "),
    ] {
        let message = refused(&["serve", "out", "--playground", page]);
        assert!(message.contains(what) && message.contains("`make playground`"), "{message}");
    }
    let served = Served::new(folder.path());
    let port = served.url.rsplit(':').next().unwrap().to_owned();
    let message = refused(&["serve", "out", "--port", &port]);
    assert!(
        message.contains(&format!("port {port} is in use")) && message.contains("another --port"),
        "{message}"
    );
    assert_eq!(served.interrupt(), Some(0));
}
