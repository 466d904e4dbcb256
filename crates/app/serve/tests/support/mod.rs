//! A server over folders of recordings that no run had to be executed for.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirespeed_campaign::{StudyReport, judge};
use wirespeed_record::{
    FlowInfo, LinkInfo, Recording, RunDirectory, SubstrateKind, Transport, find_runs, read_lazily,
};
use wirespeed_report::StudyInfo;
use wirespeed_serve::{Playground, Server};

/// A server in this process, which ends when it is dropped.
pub struct Served {
    pub port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub fn new(folder: &Path) -> Served {
        Served::start(Server::new(folder, None, "wirespeed test").unwrap())
    }

    pub fn with_playground(folder: &Path, page: &Path) -> Served {
        let server = Server::new(folder, None, "wirespeed test").unwrap();
        Served::start(server.with_playground(Playground::open(page).unwrap()))
    }

    fn start(server: Server) -> Served {
        let port = server.port();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let stop = stop.clone();
            move || server.run(&stop)
        });
        Served { port, stop, thread: Some(thread) }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may have closed its side before the end of a huge request.
        let _ = stream.write_all(request);
        answer(&mut stream)
    }

    pub fn get(&self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).as_bytes())
    }

    pub fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The list, once all runs have been read.
    pub fn runs(&self) -> Value {
        let mut list = Value::Null;
        self.until("all runs have been read", || {
            list = self.json("/api/runs");
            list["reading"].is_null()
        });
        list
    }

    /// Waits for what happens in another thread.
    pub fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "it did not happen: {what}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            thread::panicking() || ended.is_some_and(|ended| ended.is_ok()),
            "the server did not end cleanly"
        );
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    fields: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("not a response: {text}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let field =
        |line: &str| line.split_once(": ").map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()));
    Answer { status, fields: lines.filter_map(field).collect(), body: body.into() }
}

/// A run of one flow at a steady `rate` in bit/s for 2 s, in `folder/runs/ID`.
pub fn write_run(folder: &Path, control: &str, repeat: u32, rate: u64) {
    let mut recording = Recording::default();
    let info = &mut recording.info;
    info.format_version = wirespeed_record::FORMAT_VERSION;
    info.id = format!("congestion={control},r{repeat}");
    info.study = "steady".into();
    info.about = "Which one is faster?".into();
    info.substrate = SubstrateKind::Model;
    info.factors = [("flow.congestion".to_string(), json!(control))].into();
    (info.repeat, info.seed) = (repeat, u64::from(repeat) + 1);
    info.duration_ns = 2_000_000_000;
    info.sample_ns = 100_000_000;
    let congestion = Some(control.into());
    info.flows = vec![FlowInfo {
        label: control.into(),
        kind: Transport::Tcp,
        congestion,
        stop_ns: 2_000_000_000,
        ..FlowInfo::default()
    }];
    info.links = vec![LinkInfo { name: "bottleneck".into(), rate_bps: 1_000_000_000, ..LinkInfo::default() }];
    for step in 0..=20_u64 {
        let bytes = rate / 80 * step;
        let row = json!({
            "t_ns": step * 100_000_000, "flow": 0, "delivered_bytes": bytes, "read_bytes": bytes,
            "sent_bytes": bytes, "data_packets_out": bytes / 1448, "data_packets_in": bytes / 1448,
            "cwnd_bytes": 1_000_000, "rtt_ns": 12_000_000, "retrans_packets": 0,
        });
        recording.flows.push(serde_json::from_value(row).unwrap());
    }
    let path = folder.join("runs").join(&recording.info.id);
    RunDirectory::create(&path).unwrap().finish(&recording).unwrap();
}

/// Two settings with two repetitions each.
pub fn study() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (control, rate) in [("bic", 800_000_000), ("cubic", 600_000_000)] {
        for repeat in 0..2 {
            write_run(folder.path(), control, repeat, rate - u64::from(repeat) * 10_000_000);
        }
    }
    folder
}

/// A run that is not complete, for this reason.
pub fn mark(run: &Path, reason: &str) {
    RunDirectory::create(run).unwrap().mark(reason).unwrap();
}

/// `results.parquet`, as `wirespeed report` writes it.
pub fn write_summary(folder: &Path) {
    let mut study = StudyReport::new(StudyInfo::default());
    for run in find_runs(folder).unwrap() {
        study.add(judge(read_lazily(&run).unwrap(), None, &[]).unwrap()).unwrap();
    }
    study.finish().1.write(folder).unwrap();
}

/// The length of every file below `folder`.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let length = path.metadata().unwrap().len();
            found.insert(path, length);
        }
    }
    found
}

/// Takes the right to write from all folders, or gives it back.
pub fn read_only(folder: &Path, is_read_only: bool) {
    let mut permissions = folder.metadata().unwrap().permissions();
    permissions.set_readonly(is_read_only);
    if !is_read_only {
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    }
    std::fs::set_permissions(folder, permissions).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_only(&path, is_read_only);
        }
    }
}
