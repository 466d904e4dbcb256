//! Applications of flows: data sets, whose streams take one file after the other, and requests of the receiver, which the sender
//! answers.

use super::World;
use super::flow::{Endpoint, Flow, Tcp};
use crate::net::Train;
use wirespeed_record::Exchange;
use wirespeed_scenario::run::{self, Application, CONFIRMATION, EXCHANGE_HEADER, Run};
use wirespeed_units::{SimTime, Span};

/// The applications of a run.
#[derive(Debug, Default)]
pub(super) struct Applications {
    sets: Vec<Set>,
    /// By flow; empty if no flow has an application.
    of_flow: Vec<Option<Process>>,
    rows: Vec<Exchange>,
}

/// The files of a data set.
#[derive(Debug)]
struct Set {
    files: Vec<u64>,
    /// Number of the next one that a stream takes.
    next: usize,
}

/// The application of a flow.
#[derive(Debug)]
struct Process {
    /// Number of the flow.
    flow: u32,
    /// No exchange begins then or later.
    stop: SimTime,
    /// Row of the exchange that has begun, or of the last one.
    row: Option<usize>,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// A stream of a data set.
    Files { set: usize },
    /// Requests of the receiver.
    Requests(Requests),
}

#[derive(Debug)]
struct Requests {
    request: u32,
    responses: Vec<u64>,
    think: Span,
    count: u64,
    /// Number of the request that is planned or sent.
    number: u64,
    stage: Stage,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The connection is not open yet at the receiver.
    Closed,
    /// It is planned or sent.
    Asked,
    /// The sender has written the response.
    Answered,
    /// There are no more.
    Over,
}

impl Process {
    fn of(planned: &run::Flow, flow: u32) -> Option<Process> {
        let work = match planned.application.as_ref()? {
            Application::DataSet { set } => Work::Files { set: *set as usize },
            Application::Requests { request, responses, think, count } => Work::Requests(Requests {
                request: request.get() as u32,
                responses: responses.iter().map(|response| response.get()).collect(),
                think: *think,
                count: count.map_or(u64::MAX, u64::from),
                number: 0,
                stage: Stage::Closed,
            }),
        };
        Some(Process { flow, stop: SimTime::START + planned.stop, row: None, work })
    }
}

impl Applications {
    /// Those of a run, whose senders have nothing to send yet.
    pub fn of(run: &Run, flows: &mut [Flow]) -> Applications {
        if run.flows.iter().all(|flow| flow.application.is_none()) {
            return Applications::default();
        }
        for (planned, flow) in run.flows.iter().zip(flows) {
            if let (Some(_), Endpoint::Tcp(tcp)) = (&planned.application, &mut flow.endpoint) {
                tcp.sender.await_writer();
            }
        }
        let sets = run.data_sets.iter();
        let sets = sets.map(|set| Set { files: set.files.iter().map(|file| file.get()).collect(), next: 0 });
        let of_flow = run.flows.iter().zip(0..).map(|(planned, flow)| Process::of(planned, flow));
        Applications { sets: sets.collect(), of_flow: of_flow.collect(), rows: Vec::new() }
    }

    /// A row for each exchange that was begun.
    pub fn take_rows(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.rows)
    }
}

/// Whether the exchange of a row has ended, by the times that the receiver noted.
fn has_ended(row: &mut Exchange, tcp: &Tcp) -> bool {
    if row.end_ns.is_none() {
        [row.first_ns, row.end_ns] = tcp.receiver.message_times().map(|time| time.map(SimTime::nanoseconds));
    }
    row.end_ns.is_some()
}

fn begun(flow: u32, number: u64, bytes: u64, at: SimTime) -> Exchange {
    Exchange { flow, number, bytes, begin_ns: at.nanoseconds(), first_ns: None, end_ns: None }
}

impl Process {
    /// The ends of the flow have been at work until `now`: its application continues.
    fn carry_on(
        &mut self,
        tcp: &mut Tcp,
        now: SimTime,
        sets: &mut [Set],
        rows: &mut Vec<Exchange>,
        out: &mut Vec<Train>,
    ) {
        match &mut self.work {
            Work::Files { set } => {
                let set = &mut sets[*set];
                self.send_file(tcp, now, set, rows, out);
            }
            Work::Requests(_) => self.ask_or_answer(tcp, now, rows, out),
        }
    }

    fn send_file(
        &mut self,
        tcp: &mut Tcp,
        now: SimTime,
        set: &mut Set,
        rows: &mut Vec<Exchange>,
        out: &mut Vec<Train>,
    ) {
        let is_sending = self.row.is_some_and(|row| !has_ended(&mut rows[row], tcp));
        if is_sending || !tcp.sender.awaits_message() {
            return;
        }
        let now = tcp.sender.now().max(now);
        let Some(bytes) = set.files.get(set.next).copied() else {
            return tcp.sender.end_messages(now, out);
        };
        self.row = Some(rows.len());
        rows.push(begun(self.flow, set.next as u64, bytes, now));
        set.next += 1;
        tcp.sender.begin_message(now, bytes + EXCHANGE_HEADER.get(), out);
        tcp.receiver.await_message(tcp.sender.message_end(), Some(CONFIRMATION.get() as u32));
    }

    fn ask_or_answer(&mut self, tcp: &mut Tcp, now: SimTime, rows: &mut Vec<Exchange>, out: &mut Vec<Train>) {
        let Work::Requests(requests) = &mut self.work else { return };
        if requests.stage == Stage::Closed && tcp.receiver.is_confirmed() {
            requests.stage = Stage::Asked;
            tcp.receiver.plan_request(now, requests.request);
        }
        let bytes = requests.responses[(requests.number % requests.responses.len() as u64) as usize];
        if requests.stage == Stage::Asked
            && self.row.is_none()
            && let Some(at) = tcp.receiver.asked()
        {
            self.row = Some(rows.len());
            rows.push(begun(self.flow, requests.number, bytes, at));
        }
        // One that comes twice is answered once.
        let comes = tcp.sender.take_request();
        if comes && requests.stage == Stage::Asked && tcp.sender.awaits_message() {
            requests.stage = Stage::Answered;
            tcp.sender.begin_message(tcp.sender.now().max(now), bytes, out);
            tcp.receiver.await_message(tcp.sender.message_end(), None);
        }
        if requests.stage == Stage::Answered
            && let Some(row) = self.row
            && has_ended(&mut rows[row], tcp)
        {
            self.row = None;
            requests.number += 1;
            let next = tcp.receiver.now().max(now) + requests.think;
            if requests.number < requests.count && next < self.stop {
                requests.stage = Stage::Asked;
                tcp.receiver.plan_request(next, requests.request);
            } else {
                requests.stage = Stage::Over;
            }
        }
        if requests.stage == Stage::Over && tcp.sender.awaits_message() {
            tcp.sender.end_messages(tcp.sender.now().max(now), out);
        }
    }
}

impl World {
    /// A flow's ends have been at work: its application continues.
    #[inline]
    pub(super) fn apply(&mut self, index: u32) {
        if !self.applications.of_flow.is_empty() {
            self.apply_to(index);
        }
    }

    fn apply_to(&mut self, index: u32) {
        let Applications { sets, of_flow, rows } = &mut self.applications;
        let Some(process) = &mut of_flow[index as usize] else { return };
        let Endpoint::Tcp(tcp) = &mut self.flows[index as usize].endpoint else { return };
        process.carry_on(tcp, self.now, sets, rows, &mut self.outgoing);
        if !self.outgoing.is_empty() {
            self.send_outgoing();
        }
        self.plan_timers(index);
    }
}
