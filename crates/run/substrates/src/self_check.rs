//! Is the emulated path what was asked for? Before a run, datagrams measure what the substrate has built: the round-trip
//! time with few of them, rate and queue with more than the link can take. A path is measured once, in a world of its own, so
//! that the runs themselves are not touched.

use crate::substrate::{Control, Progress, Substrate, SubstrateError};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use wirespeed_record::{Datagram, PathCheck, Recording, RunDirectory, SubstrateKind};
use wirespeed_scenario::run::{Flow, FlowKind, Host, KernelChoice, Link, Run};
use wirespeed_units::{Bytes, Rate, Span};

/// A substrate that measures each path before it is used.
pub struct SelfChecked {
    inner: Box<dyn Substrate>,
    known: Mutex<BTreeMap<String, Vec<PathCheck>>>,
}

impl SelfChecked {
    /// Measures paths of `inner`.
    pub fn new(inner: Box<dyn Substrate>) -> SelfChecked {
        SelfChecked { inner, known: Mutex::default() }
    }

    fn measured(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Vec<PathCheck>, SubstrateError> {
        let Some(plan) = plan(run) else { return Ok(Vec::new()) };
        let key = path_of(&plan);
        if let Some(known) = self.known.lock().expect("nobody panics holding it").get(&key) {
            return Ok(known.clone());
        }
        let mut checks = self.measure(&plan, directory, control)?;
        // In real time a sender that is woken when its flood should be over sends nothing: that measures nothing.
        for _ in 1..ATTEMPTS {
            if checks.iter().all(|check| check.quantity != RATE || check.measured.is_some()) {
                break;
            }
            checks = self.measure(&plan, directory, control)?;
        }
        self.known.lock().expect("nobody panics holding it").insert(key, checks.clone());
        Ok(checks)
    }

    fn measure(
        &self,
        plan: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Vec<PathCheck>, SubstrateError> {
        let folder = directory.raw().join("self-check");
        fs::create_dir_all(&folder).map_err(SubstrateError::io("create", &folder))?;
        let own = RunDirectory::create(&folder)?;
        let quiet = Control { cancel: control.cancel, progress: &|_: Progress| () };
        let recording = self.inner.carry_out(plan, &own, &quiet)?;
        fs::remove_dir_all(&folder).map_err(SubstrateError::io("remove", &folder))?;
        Ok(measure(plan, &recording))
    }
}

impl Substrate for SelfChecked {
    fn kind(&self) -> SubstrateKind {
        self.inner.kind()
    }

    fn build(&self, kernel: Option<&KernelChoice>) -> Option<String> {
        self.inner.build(kernel)
    }

    fn program(&self) -> Option<&'static str> {
        self.inner.program()
    }

    fn check(&self, run: &Run) -> Result<(), SubstrateError> {
        self.inner.check(run)
    }

    fn depends_on_seed(&self, run: &Run) -> bool {
        self.inner.depends_on_seed(run)
    }

    fn recorded(&self, run: &Run) -> serde_json::Value {
        self.inner.recorded(run)
    }

    fn one_at_a_time(&self) -> bool {
        self.inner.one_at_a_time()
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError> {
        let checks = self.measured(run, directory, control)?;
        if let Some(wrong) = checks.iter().find(|check| check.is_grossly_off()) {
            return Err(SubstrateError::Environment(format!(
                "the path that was built is not the one that was asked for: {wrong}; ask for what this machine can make, or run \
                 it with --self-check off"
            )));
        }
        let mut recording = self.inner.carry_out(run, directory, control)?;
        let off = checks.iter().filter(|check| check.is_off());
        recording
            .info
            .warnings
            .extend(off.map(|check| format!("the path is not quite what was asked for: {check}")));
        recording.info.path_checks = checks;
        Ok(recording)
    }
}

/// What makes two runs have the same path.
fn path_of(plan: &Run) -> String {
    let hosts: Vec<_> = plan
        .hosts
        .iter()
        .map(|host| (&host.name, host.nic_rate, host.access_delay, host.mtu, host.router))
        .collect();
    serde_json::to_string(&(hosts, &plan.links)).expect("a run is plain data")
}

/// How often a rate is measured at most, until something arrives that tells it.
const ATTEMPTS: usize = 5;
/// The quantity of that check.
const RATE: &str = "rate";

/// Flows of the measuring run.
const THERE: u32 = 0;
const BACK: u32 = 1;
const FLOOD: u32 = 2;

/// When the link is offered more than it takes: before, the round-trip time is measured.
const FLOOD_FROM: Span = Span::ms(200);
/// How much more.
const FLOOD_PART: i64 = 4;
/// The longest flood; a queue that takes longer to fill is not measured.
const LONGEST_FLOOD: Span = Span::ms(1000);
/// Datagrams of a flood at most: what takes more is not measured, for it would take longer than the run itself.
const MOST_DATAGRAMS: u64 = 500_000;
/// Headers of a datagram (RFC 768, RFC 791), and with those of Ethernet.
const UDP_HEADERS: u64 = 28;
const FRAME_HEADERS: u64 = 42;
/// Payload of the few datagrams.
const SMALL: u64 = 64;

/// The links between the outermost hosts of a run, in the order of its data, and what is known of them before anything is measured.
struct Way<'a> {
    links: &'a [Link],
    /// The slowest link; the first of them if there are several.
    bottleneck: usize,
}

impl<'a> Way<'a> {
    fn of(run: &'a Run) -> Option<Way<'a>> {
        let rates = run.links.iter().map(|link| link.forward.rate).enumerate();
        let (bottleneck, _) = rates.min_by_key(|(index, rate)| (*rate, *index))?;
        Some(Way { links: &run.links, bottleneck })
    }

    fn bottleneck(&self) -> &'a Link {
        &self.links[self.bottleneck]
    }

    fn rate(&self) -> Rate {
        self.bottleneck().forward.rate
    }

    /// What is sent to fill the bottleneck.
    fn offered(&self) -> Rate {
        let rate = self.rate().get();
        Rate::bps(rate + rate / FLOOD_PART as u64)
    }

    /// Whether a flood makes a queue at the bottleneck only: then the longest delay tells how large that is. Behind it no
    /// more comes than a link takes.
    fn has_one_queue(&self) -> bool {
        self.links[..self.bottleneck].iter().all(|link| link.forward.rate >= self.offered())
    }

    fn others(&self) -> impl Iterator<Item = &'a Link> + use<'a> {
        let bottleneck = self.bottleneck;
        self.links.iter().enumerate().filter(move |(index, _)| *index != bottleneck).map(|(_, link)| link)
    }

    /// Part of what leaves the bottleneck that is not lost by chance on the way from there.
    fn kept_after_bottleneck(&self) -> f64 {
        self.links[self.bottleneck + 1..].iter().map(|link| 1.0 - link.forward.loss).product()
    }

    fn loses_by_chance(&self) -> bool {
        self.links.iter().any(|link| link.forward.loss > 0.0)
    }

    /// Both ways, without what hosts add.
    fn delay(&self) -> Span {
        self.links.iter().fold(Span::ZERO, |sum, link| sum + link.forward.delay + link.reverse.delay)
    }

    /// Until all queues that a flood may have filled are empty.
    fn emptied(&self) -> Span {
        let queues = self.links.iter().filter(|link| link.forward.rate < self.offered());
        queues.fold(Span::ZERO, |sum, link| sum + link.forward.rate.serialisation(link.forward.buffer))
    }

    /// What the way is called.
    fn name(&self) -> String {
        match self.links {
            [first, .., last] => format!("{} to {}", first.name, last.name),
            _ => self.bottleneck().name.clone(),
        }
    }
}

/// The time a frame takes on these links, there, in nanoseconds.
fn frame_ns<'a>(links: impl IntoIterator<Item = &'a Link>, frame: u64) -> f64 {
    links.into_iter().map(|link| frame as f64 * 8e9 / link.forward.rate.get() as f64).sum()
}

/// The run that measures the path of another, between its outermost hosts.
fn plan(run: &Run) -> Option<Run> {
    let way = Way::of(run)?;
    let from = run.hosts.iter().find(|host| host.router == 0)?;
    let to = run.hosts.iter().find(|host| host.router == run.links.len())?;
    let (rate, offered) = (way.rate(), way.offered());
    let large = Bytes::new(from.mtu.get().min(to.mtu.get()) - UDP_HEADERS);
    let fill = rate.serialisation(way.bottleneck().forward.buffer) * FLOOD_PART;
    let most = Rate::bps(offered.get()).serialisation(large * MOST_DATAGRAMS);
    let flood = (fill + Span::ms(50)).min(LONGEST_FLOOD).min(most);
    let slower = |host: &Host| host.nic_rate.is_some_and(|nic| nic <= rate);
    let rtt = way.delay() + (from.access_delay + to.access_delay) * 2;
    let duration = FLOOD_FROM + flood + rtt + way.emptied() + Span::ms(100);
    // A twentieth of the link at most.
    let few = Rate::bps((rate.get() / 20).min(1_000_000));
    let flow = |label: &str, from: &Host, to: &Host, start, stop, rate, datagram| Flow {
        label: label.into(),
        from: from.name.clone(),
        to: to.name.clone(),
        start,
        stop,
        bytes: None,
        kind: FlowKind::Udp { rate, datagram, rcvbuf: Some(Bytes::mib(64)) },
        route: Vec::new(),
        dscp: None,
        ecn: None,
        route_back: Vec::new(),
        leg: None,
        application: None,
    };
    let small = Bytes::new(SMALL);
    let mut flows = vec![
        flow("there", from, to, Span::ZERO, FLOOD_FROM, few, small),
        flow("back", to, from, Span::ZERO, FLOOD_FROM, few, small),
    ];
    if !slower(from) {
        flows.push(flow("flood", from, to, FLOOD_FROM, FLOOD_FROM + flood, offered, large));
    }
    let mut plan = run.clone();
    plan.id = "self-check".into();
    (plan.flows, plan.captures) = (flows, Vec::new());
    // The link itself is measured: repair packets would take a part of its rate.
    for link in &mut plan.links {
        (link.forward.fec, link.reverse.fec) = (None, None);
    }
    (plan.duration, plan.omit, plan.sample) = (duration, Span::ZERO, Span::ms(10));
    Some(plan)
}

/// What the datagrams tell.
fn measure(plan: &Run, recording: &Recording) -> Vec<PathCheck> {
    let way = Way::of(plan).expect("a plan has links");
    let link = way.bottleneck();
    let rate = way.rate().get() as f64;
    let of = |flow: u32| -> Vec<&Datagram> {
        recording.datagrams.iter().filter(|row| row.flow == flow && !row.duplicate).collect()
    };
    let least = |flow: u32| of(flow).iter().filter_map(|row| Some(row.arrived_ns? - row.sent_ns)).min();
    let check =
        |link: &str, quantity: &str, unit: &str, asked: f64, measured: Option<f64>, tolerance: f64| {
            PathCheck {
                link: link.into(),
                quantity: quantity.into(),
                unit: unit.into(),
                asked,
                measured,
                tolerance,
            }
        };
    // A bucket that has saved up sends at once: then it is less than nothing.
    let small_ns = frame_ns(way.links, SMALL + FRAME_HEADERS);
    let round_trip =
        least(THERE).zip(least(BACK)).map(|(there, back)| ((there + back) as f64 - 2.0 * small_ns).max(0.0));
    let asked_rtt = plan.base_rtt(&plan.flows[THERE as usize]).nanoseconds() as f64;
    // Two wake-ups of a real machine.
    const WAKING_NS: f64 = 300_000.0;
    let mut checks =
        vec![check(&way.name(), "rtt", "ns", asked_rtt, round_trip, asked_rtt * 0.02 + WAKING_NS)];
    let Some(Flow { kind: FlowKind::Udp { datagram, .. }, .. }) = plan.flows.get(FLOOD as usize) else {
        return checks;
    };
    let frame = datagram.get() + FRAME_HEADERS;
    let frame_bits = frame as f64 * 8.0;
    let flood = of(FLOOD);
    let measured_rate = arrival_rate(&flood, frame_bits).map(|arrived| arrived / way.kept_after_bottleneck());
    checks.push(check(&link.name, RATE, "bit/s", rate, measured_rate, rate * 0.03));
    let overflowed = flood.iter().any(|row| row.arrived_ns.is_none());
    let longest = flood.iter().filter_map(|row| Some(row.arrived_ns? - row.sent_ns)).max();
    let buffer = link.forward.buffer.get() as f64;
    // A large frame takes longer on the other links as well, which is no queue.
    let larger_ns = frame_ns(way.others(), frame) - frame_ns(way.others(), SMALL + FRAME_HEADERS);
    // Without random loss, whatever is missing found the queue full.
    let queue = longest
        .zip(least(THERE))
        .filter(|_| overflowed && way.has_one_queue() && !way.loses_by_chance())
        .map(|(longest, least)| {
            ((longest - least) as f64 - larger_ns) / 1e9 * measured_rate.unwrap_or(rate) / 8.0
        });
    let late_bytes = WAKING_NS / 1e9 * rate / 8.0;
    let tolerance = buffer * 0.1 + 2.0 * frame_bits / 8.0 + late_bytes;
    checks.push(check(&link.name, "queue", "B", buffer, queue, tolerance));
    checks
}

/// Bits per second at which datagrams of a flood arrived, once the link was full.
fn arrival_rate(flood: &[&Datagram], frame_bits: f64) -> Option<f64> {
    let mut arrived: Vec<i64> = flood.iter().filter_map(|row| row.arrived_ns).collect();
    arrived.sort_unstable();
    // The first fifth fills whatever saves up.
    let steady = &arrived[arrived.len() / 5..];
    let (first, last) = (steady.first()?, steady.last()?);
    (last > first).then(|| (steady.len() - 1) as f64 * frame_bits * 1e9 / (last - first) as f64)
}

#[cfg(test)]
mod tests;
