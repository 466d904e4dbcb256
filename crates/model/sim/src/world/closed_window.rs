//! A connection by itself, on a line that the test has in its hand: what a reader does that does not read.

use super::build;
use super::flow::{Endpoint, Flow, Tcp};
use super::path::Way;
use crate::net::{Body, Train};
use wirespeed_units::{SimTime, Span};

/// One way of the line.
const DELAY: Span = Span::ms(5);

const SCENARIO: &str = "schema = 1\nname = \"test\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\n\
    [host.receiver]\npreset = \"xeon-2023-100g\"\ntcp_rmem = [\"4 KiB\", \"64 KiB\", \"64 KiB\"]\nrmem_max = \"64 KiB\"\n\
    [[flow]]\ncongestion = \"reno\"\n[run]\nduration = \"1 s\"\n";

/// A flow, and what is on its way.
struct Line {
    flow: Flow,
    under_way: Vec<Train>,
    now: SimTime,
    /// When probes left.
    probes: Vec<SimTime>,
    /// ACKs that left since the last look.
    acks: u32,
}

impl Line {
    fn open() -> Line {
        let study = wirespeed_scenario::parse(SCENARIO, "test", &[], None).expect("the scenario is in order");
        let (_, mut flows) = build::build(&study.runs[0]).expect("the model has it all");
        let mut line = Line {
            flow: flows.remove(0),
            under_way: Vec::new(),
            now: SimTime::START,
            probes: Vec::new(),
            acks: 0,
        };
        let mut out = Vec::new();
        line.tcp().sender.connect(SimTime::START, &mut out);
        line.send(out);
        line
    }

    fn tcp(&mut self) -> &mut Tcp {
        match &mut self.flow.endpoint {
            Endpoint::Tcp(tcp) => tcp,
            Endpoint::Udp(_) => unreachable!("the flow is TCP"),
        }
    }

    fn send(&mut self, out: Vec<Train>) {
        for mut train in out {
            match &train.body {
                Body::WindowProbe { .. } => self.probes.push(train.at),
                body if Way::of(body) == Way::Back => self.acks += train.packets,
                _ => {}
            }
            train.at = train.at + DELAY;
            self.under_way.push(train);
        }
    }

    /// Lets everything happen until `end`.
    fn run_until(&mut self, end: SimTime) {
        loop {
            let (sender, receiver) = (self.flow.sender_deadline(), self.flow.receiver_deadline());
            let first = self.under_way.iter().map(|train| train.at).min();
            let timer = sender.min(receiver);
            let due = [first, timer.is_set().then(|| timer.time())].into_iter().flatten().min();
            let Some(at) = due.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            let mut out = Vec::new();
            if first == Some(at) {
                let index = self.under_way.iter().position(|train| train.at == at).expect("it is there");
                let train = self.under_way.remove(index);
                self.flow.take(&train, &mut out);
            } else {
                let now = self.now;
                let tcp = self.tcp();
                tcp.sender.on_timer(now, &mut out);
                tcp.receiver.on_timer(now, &mut out);
            }
            self.send(out);
        }
        self.now = end;
    }

    /// The window closes, and the reader takes all; what that makes the receiver say is not sent yet.
    fn fill_and_read(&mut self) -> (u64, Vec<Train>) {
        self.run_until(ms(1_000));
        let filled = self.delivered();
        let (now, mut out) = (self.now, Vec::new());
        self.tcp().receiver.read_some(now, filled, &mut out);
        (filled, out)
    }

    fn delivered(&mut self) -> u64 {
        self.tcp().receiver.delivered()
    }
}

fn ms(milliseconds: i64) -> SimTime {
    SimTime::START + Span::ms(milliseconds)
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely_and_answered_no_more_than_twice_a_second() {
    let mut line = Line::open();
    line.run_until(ms(500));
    let filled = line.delivered();
    assert!(filled > 20, "{filled} packets fill the buffer");
    let before = line.tcp().sender.state().counts().packets_out;
    line.acks = 0;
    line.probes.clear();
    line.run_until(ms(30_000));
    assert_eq!(line.delivered(), filled, "nobody reads");
    assert!(line.probes.len() >= 5, "{:?}", line.probes);
    for three in line.probes.windows(3) {
        // The timer wheel is late by up to an eighth.
        let ratio = (three[2] - three[1]).picoseconds() as f64 / (three[1] - three[0]).picoseconds() as f64;
        assert!((1.6..2.4).contains(&ratio), "{ratio}: {:?}", line.probes);
    }
    let answers = line.acks as usize;
    assert!((line.probes.len() - 2..=line.probes.len()).contains(&answers), "{answers} answers");
    assert_eq!(line.tcp().sender.state().counts().packets_out, before, "a probe carries no data");
    let shortage = line.tcp().receiver.shortage();
    assert_eq!(shortage, Default::default(), "the window was respected, and the memory sufficed");
}

#[test]
fn the_loss_of_the_ack_that_opens_a_window_stops_a_flow_only_until_the_next_probe() {
    let mut line = Line::open();
    let (filled, out) = line.fill_and_read();
    assert_eq!(out.len(), 1, "the window is open again, and the sender is told so");
    drop(out);
    line.probes.clear();
    line.run_until(ms(1_005));
    assert_eq!(line.delivered(), filled, "it has not heard of it");
    while line.delivered() == filled && line.now < ms(5_000) {
        line.run_until(line.now + Span::ms(1));
    }
    // The probe, its answer, and the data, each for 5 ms.
    let probe = *line.probes.last().expect("the window was probed");
    assert!(line.now - probe <= Span::ms(16), "{:?} at {}", line.probes, line.now);
    line.run_until(line.now + Span::ms(50));
    assert!(line.delivered() > filled + 20, "{} packets after {filled}", line.delivered());
}

#[test]
fn data_leave_at_once_when_a_closed_window_opens() {
    let mut line = Line::open();
    let (filled, out) = line.fill_and_read();
    line.send(out);
    line.probes.clear();
    line.run_until(ms(1_011));
    assert!(line.delivered() > filled && line.probes.is_empty());
}
