//! Is the emulated path what was asked for? Before a run, datagrams measure what the substrate has built: the round-trip
//! time with few of them, rate and queue with more than the link can take. A path is measured once, in a world of its own, so
//! that the runs themselves are not touched.

use crate::substrate::{Control, LabError, Progress, Substrate};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use wirespeed_record::{Datagram, PathCheck, Recording, RunDirectory};
use wirespeed_scenario::run::{Flow, FlowKind, Host, Run};
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
    ) -> Result<Vec<PathCheck>, LabError> {
        let Some(plan) = plan(run) else { return Ok(Vec::new()) };
        let key = path_of(&plan);
        if let Some(known) = self.known.lock().expect("nobody panics holding it").get(&key) {
            return Ok(known.clone());
        }
        let folder = directory.raw().join("self-check");
        fs::create_dir_all(&folder).map_err(LabError::io("create", &folder))?;
        let own = RunDirectory::create(&folder)?;
        let quiet = Control { cancel: control.cancel, progress: &|_: Progress| () };
        let recording = self.inner.carry_out(&plan, &own, &quiet)?;
        fs::remove_dir_all(&folder).map_err(LabError::io("remove", &folder))?;
        let checks = measure(&plan, &recording);
        self.known.lock().expect("nobody panics holding it").insert(key, checks.clone());
        Ok(checks)
    }
}

impl Substrate for SelfChecked {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn build(&self) -> Option<String> {
        self.inner.build()
    }

    fn check(&self, run: &Run) -> Result<(), LabError> {
        self.inner.check(run)
    }

    fn depends_on_seed(&self, run: &Run) -> bool {
        self.inner.depends_on_seed(run)
    }

    fn one_at_a_time(&self) -> bool {
        self.inner.one_at_a_time()
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, LabError> {
        let checks = self.measured(run, directory, control)?;
        if let Some(wrong) = checks.iter().find(|check| check.is_grossly_off()) {
            return Err(LabError::Environment(format!(
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

/// The run that measures the path of another: between its outermost hosts, if it has one link.
fn plan(run: &Run) -> Option<Run> {
    let [link] = run.links.as_slice() else { return None };
    let from = run.hosts.iter().find(|host| host.router == 0)?;
    let to = run.hosts.iter().find(|host| host.router == 1)?;
    let rate = link.forward.rate;
    let offered = Rate::bps(rate.get() + rate.get() / FLOOD_PART as u64);
    let large = Bytes::new(from.mtu.get().min(to.mtu.get()) - UDP_HEADERS);
    let fill = rate.serialisation(link.forward.buffer) * FLOOD_PART;
    let most = Rate::bps(offered.get()).serialisation(large * MOST_DATAGRAMS);
    let flood = (fill + Span::ms(50)).min(LONGEST_FLOOD).min(most);
    let slower = |host: &Host| host.nic_rate.is_some_and(|nic| nic <= rate);
    let rtt = link.forward.delay + link.reverse.delay + (from.access_delay + to.access_delay) * 2;
    let emptied = rate.serialisation(link.forward.buffer);
    let duration = FLOOD_FROM + flood + rtt + emptied + Span::ms(100);
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
    (plan.duration, plan.omit, plan.sample) = (duration, Span::ZERO, Span::ms(10));
    Some(plan)
}

/// What the datagrams tell.
fn measure(plan: &Run, recording: &Recording) -> Vec<PathCheck> {
    let link = &plan.links[0];
    let rate = link.forward.rate.get() as f64;
    let of = |flow: u32| -> Vec<&Datagram> {
        recording.datagrams.iter().filter(|row| row.flow == flow && !row.duplicate).collect()
    };
    let least = |flow: u32| of(flow).iter().filter_map(|row| Some(row.arrived_ns? - row.sent_ns)).min();
    let check = |quantity: &str, unit: &str, asked: f64, measured: Option<f64>, tolerance: f64| PathCheck {
        link: link.name.clone(),
        quantity: quantity.into(),
        unit: unit.into(),
        asked,
        measured,
        tolerance,
    };
    // A bucket that has saved up sends at once: then it is less than nothing.
    let small_ns = (SMALL + FRAME_HEADERS) as f64 * 8e9 / rate;
    let round_trip =
        least(THERE).zip(least(BACK)).map(|(there, back)| ((there + back) as f64 - 2.0 * small_ns).max(0.0));
    let asked_rtt = plan.base_rtt(&plan.flows[THERE as usize]).nanoseconds() as f64;
    // Two wake-ups of a real machine.
    const WAKING_NS: f64 = 300_000.0;
    let mut checks = vec![check("rtt", "ns", asked_rtt, round_trip, asked_rtt * 0.02 + WAKING_NS)];
    let Some(Flow { kind: FlowKind::Udp { datagram, .. }, .. }) = plan.flows.get(FLOOD as usize) else {
        return checks;
    };
    let frame_bits = (datagram.get() + FRAME_HEADERS) as f64 * 8.0;
    let flood = of(FLOOD);
    let measured_rate = arrival_rate(&flood, frame_bits);
    checks.push(check("rate", "bit/s", rate, measured_rate, rate * 0.03));
    let overflowed = flood.iter().any(|row| row.arrived_ns.is_none());
    let longest = flood.iter().filter_map(|row| Some(row.arrived_ns? - row.sent_ns)).max();
    let buffer = link.forward.buffer.get() as f64;
    // Without random loss, whatever is missing found the queue full.
    let queue = longest
        .zip(least(THERE))
        .filter(|_| overflowed && link.forward.loss == 0.0)
        .map(|(longest, least)| (longest - least) as f64 / 1e9 * measured_rate.unwrap_or(rate) / 8.0);
    let late_bytes = WAKING_NS / 1e9 * rate / 8.0;
    checks.push(check("queue", "B", buffer, queue, buffer * 0.1 + 2.0 * frame_bits / 8.0 + late_bytes));
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
mod tests {
    use super::*;
    use crate::layout::tests::run;

    fn path() -> Run {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let link = &mut run.links[0];
        (link.forward.rate, link.reverse.rate) = (Rate::mbit(100), Rate::mbit(100));
        (link.forward.buffer, link.reverse.buffer) = (Bytes::kib(100), Bytes::kib(100));
        run
    }

    /// What a link of that rate, delay and queue makes of the measuring run.
    fn through(plan: &Run, rate: f64, delay_ns: i64, buffer: f64) -> Recording {
        let mut recording = Recording::default();
        let mut free_ns = 0.0f64;
        for (number, flow) in plan.flows.iter().enumerate() {
            let FlowKind::Udp { rate: offered, datagram, .. } = &flow.kind else { unreachable!() };
            let step = datagram.get() as f64 * 8e9 / offered.get() as f64;
            let frame = (datagram.get() + FRAME_HEADERS) as f64;
            let (from, to) = (flow.start.nanoseconds() as f64, flow.stop.nanoseconds() as f64);
            for sequence in 0..((to - from) / step) as u64 {
                let sent = from + sequence as f64 * step;
                let waits = (free_ns - sent).max(0.0);
                let fits = waits / 1e9 * rate / 8.0 + frame <= buffer;
                let leaves = sent + waits + frame * 8e9 / rate;
                if fits && number as u32 != BACK {
                    free_ns = leaves;
                }
                recording.datagrams.push(Datagram {
                    flow: number as u32,
                    sequence,
                    sent_ns: sent as i64,
                    arrived_ns: fits.then_some(leaves as i64 + delay_ns),
                    reordered_by: 0,
                    duplicate: false,
                });
            }
        }
        recording
    }

    #[test]
    fn a_path_that_is_as_asked_passes() {
        let plan = plan(&path()).unwrap();
        // 5 ms each way.
        let checks = measure(&plan, &through(&plan, 1e8, 5_000_000, 102_400.0));
        let quantities: Vec<&str> = checks.iter().map(|check| check.quantity.as_str()).collect();
        assert_eq!(quantities, ["rtt", "rate", "queue"]);
        for check in &checks {
            assert!(check.measured.is_some() && !check.is_off(), "{check}");
        }
    }

    #[test]
    fn another_rate_delay_or_queue_is_off() {
        let plan = plan(&path()).unwrap();
        let off = |rate, delay_ns, buffer| -> Vec<String> {
            let checks = measure(&plan, &through(&plan, rate, delay_ns, buffer));
            checks.into_iter().filter(PathCheck::is_off).map(|check| check.quantity).collect()
        };
        assert_eq!(off(0.9e8, 5_000_000, 102_400.0), ["rate"]);
        assert_eq!(off(1e8, 6_000_000, 102_400.0), ["rtt"]);
        assert_eq!(off(1e8, 5_000_000, 60_000.0), ["queue"]);
    }

    #[test]
    fn a_path_of_several_links_is_not_measured() {
        assert!(plan(&run(2, &[("a", 0), ("b", 2)], &[("a", "b")])).is_none());
    }

    #[test]
    fn runs_over_the_same_path_share_a_measurement() {
        let (first, mut second) = (path(), path());
        second.flows.clear();
        second.seed = 9;
        assert_eq!(path_of(&plan(&first).unwrap()), path_of(&plan(&second).unwrap()));
        second.links[0].forward.rate = Rate::mbit(99);
        assert_ne!(path_of(&plan(&first).unwrap()), path_of(&plan(&second).unwrap()));
    }
}
