//! Applications of flows: data sets, and requests with their responses.

use super::drawn::{self, Sizes};
use super::flows::Labelled;
use super::named_file::NamedFile;
use super::positive;
use crate::error::Complaint;
use crate::file::{Carrier, FilesChoice, FilesTable, FlowTable, RequestsTable};
use crate::resolve::LONGEST_RUN;
use crate::run::{Application, DataSet, EXCHANGE_HEADER, LARGEST_REQUEST};
use crate::sweep;
use crate::tree::Node;
use std::path::{Path, PathBuf};
use wirespeed_congestion::Random;
use wirespeed_units::{Bytes, Span};

/// The most files of a run.
const MOST_FILES: usize = 100_000;
/// A list of so many files has no more MiB.
const MOST_LIST_MIB: u64 = 16;
/// The most requests of a flow.
const MOST_REQUESTS: u32 = 1_000_000;
const DEFAULT_REQUEST: Bytes = Bytes::new(100);
/// Responses that are drawn for a flow. Those after them have the same sizes again.
const DRAWN_RESPONSES: u32 = 1000;
/// 1 PiB: no run sends as much.
const LARGEST: u64 = 1 << 50;

/// A data set before the seed of a run is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedSet {
    /// Number of its `[[flow]]` table.
    table: usize,
    label: String,
    files: Files,
}

#[derive(Debug, Clone, PartialEq)]
enum Files {
    Given(Vec<Bytes>),
    Drawn { count: u32, sizes: Sizes },
}

impl PlannedSet {
    /// As a run with that seed has it.
    pub fn of_run(&self, seed: u64) -> DataSet {
        let files = match &self.files {
            Files::Given(files) => files.clone(),
            Files::Drawn { count, sizes } => {
                let mut random = Random::new(sweep::stream_of_flows(seed, self.table));
                (0..*count).map(|_| sizes.draw(&mut random)).collect()
            }
        };
        DataSet { label: self.label.clone(), files }
    }

    fn count(&self) -> usize {
        match &self.files {
            Files::Given(files) => files.len(),
            Files::Drawn { count, .. } => *count as usize,
        }
    }
}

/// The application of the flows of a table.
pub(super) struct Planned {
    pub application: Application,
    /// Sizes of responses, if the seed decides them.
    pub responses: Option<Sizes>,
}

/// The application of the flows of table `number`, if they have one. A data set is added to `sets`.
pub(super) fn application(
    table: &FlowTable,
    number: usize,
    sets: &mut Vec<PlannedSet>,
    node: &Node,
) -> Result<Option<Planned>, Complaint> {
    let key = match (&table.files, &table.requests) {
        (None, None) if table.streams.is_some() => {
            return Err(Complaint::at(
                &node.place_of(&["streams"]),
                "flow.streams: the streams of a data set, and flow.files is missing",
            )
            .label("has no effect")
            .help("add files = [\"1 GB\", \"20 MB\"], or write count for flows that share nothing"));
        }
        (None, None) => return Ok(None),
        (Some(_), None) => "files",
        (None, Some(_)) => "requests",
        (Some(_), Some(_)) => {
            return Err(Complaint::at(
                &node.place_of(&["requests"]),
                "flow.requests: flow.files decides which data the flow carries",
            )
            .label("not possible together")
            .help("write two [[flow]] tables"));
        }
    };
    let counts = if key == "files" { "streams decides how many connections there are" } else { "" };
    let refused = [
        ("bytes", table.bytes.is_some(), "decides how much is sent"),
        ("sizes", table.sizes.is_some(), "decides how much is sent"),
        ("arrivals", table.arrivals.is_some(), "keeps its connections open"),
        ("count", table.count.is_some() && key == "files", counts),
        ("streams", table.streams.is_some() && key == "requests", "has count connections"),
    ];
    if let Some((other, _, why)) = refused.iter().find(|(_, is_given, _)| *is_given) {
        return Err(Complaint::at(&node.place_of(&[other]), format!("flow.{other}: flow.{key} {why}"))
            .label("not possible together")
            .help("remove one of both"));
    }
    if table.kind == Carrier::Udp {
        return Err(Complaint::at(
            &node.place_of(&[key]),
            format!("flow.{key}: UDP has no such application"),
        )
        .label("only with TCP")
        .help("remove it, or set kind = \"tcp\""));
    }
    if let Some(files) = &table.files {
        let label = table.label.clone().unwrap_or_else(|| {
            table.congestion.as_ref().map_or("cubic".to_owned(), |congestion| congestion.name.clone())
        });
        let set = PlannedSet { table: number, label, files: planned_files(files, node)? };
        let all = sets.iter().map(PlannedSet::count).sum::<usize>() + set.count();
        if all > MOST_FILES {
            return Err(fault(node, &["files"], format!("{all} files; a run has at most {MOST_FILES}"))
                .help("write fewer, here or in the tables before"));
        }
        let application = Application::DataSet { set: sets.len() as u32 };
        sets.push(set);
        return Ok(Some(Planned { application, responses: None }));
    }
    table.requests.as_ref().map(|requests| planned_requests(requests, node)).transpose()
}

fn fault(node: &Node, path: &[&str], message: String) -> Complaint {
    Complaint::at(&node.place_of(path), format!("flow.{}: {message}", path.join("."))).label("out of range")
}

fn planned_files(choice: &FilesChoice, node: &Node) -> Result<Files, Complaint> {
    let help = "write for example { count = 100, bytes = \"10 MB\" }, { count = 100, sizes = \"web-search\" } or { list = \
                \"FILE\" }";
    let all_of = |files: Vec<Bytes>, path: &[&str]| {
        let empty = files.is_empty() || files.contains(&Bytes::ZERO);
        if empty || files.iter().any(|file| file.get() > LARGEST) {
            return Err(fault(node, path, "there is no file, an empty one, or one above 1 PiB".into())
                .help("write sizes above zero, for example [\"1 GB\", \"20 MB\"]"));
        }
        Ok(Files::Given(files))
    };
    match choice {
        FilesChoice::Given(files) => all_of(files.clone(), &["files"]),
        FilesChoice::Table(FilesTable { count: None, bytes: None, sizes: None, list: Some(list) }) => {
            all_of(listed(list, node)?, &["files", "list"])
        }
        FilesChoice::Table(FilesTable { count: Some(count), bytes, sizes, list: None }) => {
            if *count == 0 || *count as usize > MOST_FILES {
                return Err(fault(
                    node,
                    &["files", "count"],
                    format!("{count} is not from 1 to {MOST_FILES}"),
                )
                .help(help));
            }
            match (bytes, sizes) {
                (Some(bytes), None) => all_of(vec![*bytes; *count as usize], &["files", "bytes"]),
                (None, Some(sizes)) => {
                    let at = node.get("files").and_then(|files| files.get("sizes")).unwrap_or(node);
                    Ok(Files::Drawn { count: *count, sizes: drawn::sizes(sizes, "flow.files.sizes", at)? })
                }
                _ => Err(fault(node, &["files"], "either bytes or sizes is needed".into()).help(help)),
            }
        }
        FilesChoice::Table(_) => {
            Err(fault(node, &["files"], "either count or list is needed".into()).help(help))
        }
    }
}

/// The sizes in a file.
fn listed(list: &Path, node: &Node) -> Result<Vec<Bytes>, Complaint> {
    let at = node.place_of(&["files", "list"]);
    let help = "; write one size on each line, such as 10 MB";
    let file = NamedFile::new(&at, "flow.files.list", list, help);
    let source = file.read(MOST_LIST_MIB)?;
    let lines = source.text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let sizes = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(number, line): (usize, &str)| {
        let plain = line.parse().map(Bytes::new).ok();
        plain
            .map_or_else(|| line.parse::<Bytes>(), Ok)
            .map_err(|error| file.complaint(&format!("line {number}: {error}")))
    };
    sizes.map(read).collect()
}

fn planned_requests(given: &RequestsTable, node: &Node) -> Result<Planned, Complaint> {
    let request = given.size.unwrap_or(DEFAULT_REQUEST);
    if request < EXCHANGE_HEADER || request > LARGEST_REQUEST {
        let message = format!("{request} is not from {EXCHANGE_HEADER} to {LARGEST_REQUEST}");
        return Err(fault(node, &["requests", "size"], message).help("write for example \"100 B\""));
    }
    let think = given.think.unwrap_or(Span::ZERO);
    if think > Span::ZERO {
        positive(think, "flow.requests.think", node.place_of(&["requests", "think"]), LONGEST_RUN)?;
    }
    if let Some(count) = given.count.filter(|count| !(1..=MOST_REQUESTS).contains(count)) {
        let message = format!("{count} is not from 1 to {MOST_REQUESTS}");
        return Err(fault(node, &["requests", "count"], message).help("leave it out for no limit"));
    }
    let (responses, drawn) = match (given.response, &given.responses) {
        (Some(response), None) if response == Bytes::ZERO || response.get() > LARGEST => {
            return Err(fault(
                node,
                &["requests", "response"],
                format!("{response} is not from 1 B to 1 PiB"),
            )
            .help("write for example \"10 kB\""));
        }
        (Some(response), None) => (vec![response], None),
        (None, Some(sizes)) => {
            let at = node.get("requests").and_then(|requests| requests.get("responses")).unwrap_or(node);
            (Vec::new(), Some(drawn::sizes(sizes, "flow.requests.responses", at)?))
        }
        _ => {
            let message = "either response or responses is needed".into();
            return Err(fault(node, &["requests"], message).help("add response = \"10 kB\""));
        }
    };
    let application = Application::Requests { request, responses, think, count: given.count };
    Ok(Planned { application, responses: drawn })
}

/// Draws the sizes of a flow's responses.
pub(super) fn draw_responses(application: &mut Option<Application>, sizes: &Sizes, random: &mut Random) {
    if let Some(Application::Requests { responses, count, .. }) = application {
        let drawn = count.unwrap_or(DRAWN_RESPONSES).min(DRAWN_RESPONSES);
        *responses = (0..drawn).map(|_| sizes.draw(random)).collect();
    }
}

/// Refuses a flow with an application that a splitter would cut.
pub(super) fn check_legs(
    flow: usize,
    labelled: &Labelled,
    legs: usize,
    node: &Node,
) -> Result<(), Complaint> {
    let key = match labelled.flows[flow].application {
        None => return Ok(()),
        Some(_) if legs == 1 => return Ok(()),
        Some(Application::DataSet { .. }) => "files",
        Some(Application::Requests { .. }) => "requests",
    };
    let message = format!("flow.{key}: a splitter is between its hosts, and relays one direction only");
    Err(Complaint::at(&node.place_of(&[key]), message)
        .label("not possible beside a splitter")
        .help("remove the splitter, or write bytes instead"))
}

/// The lists of files that a scenario names, as written.
pub(super) fn lists(root: &Node) -> Vec<PathBuf> {
    let flows = root.get("flow").map_or(&[][..], Node::elements);
    flows.iter().filter_map(|flow| flow.get("files")?.get("list")?.text()).map(PathBuf::from).collect()
}
