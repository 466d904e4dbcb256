use super::*;
use wirespeed_scenario::run::Fec;
use wirespeed_scenario::testing::run;

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
fn a_protected_link_is_measured_without_its_repair_packets() {
    let mut protected = path();
    protected.links[0].forward.fec =
        Some(Fec { data: 8, interleave: vec![1], flush: Fec::FLUSH, hold: Span::ZERO });
    assert!(!plan(&protected).unwrap().links[0].is_protected());
    assert_eq!(path_of(&plan(&protected).unwrap()), path_of(&plan(&path()).unwrap()));
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

/// Three links, of which the second is slowest.
fn chain(rates: [u64; 3]) -> Run {
    let mut run = run(3, &[("a", 0), ("c", 1), ("b", 3)], &[("a", "b")]);
    for (link, rate) in run.links.iter_mut().zip(rates) {
        (link.forward.rate, link.reverse.rate) = (Rate::mbit(rate), Rate::mbit(rate));
        (link.forward.delay, link.reverse.delay) = (Span::ms(3), Span::ms(2));
        (link.forward.buffer, link.reverse.buffer) = (Bytes::kib(100), Bytes::kib(100));
    }
    run
}

/// What is measured of a chain that is one link of that rate, one-way delay and queue.
fn of_chain(run: &Run, rate: f64, delay_ns: i64, buffer: f64) -> Vec<PathCheck> {
    let plan = plan(run).unwrap();
    assert_eq!((plan.flows[0].from.as_str(), plan.flows[0].to.as_str()), ("a", "b"));
    measure(&plan, &through(&plan, rate, delay_ns, buffer))
}

#[test]
fn several_links_are_measured_as_one() {
    let chain = chain([1000, 100, 200]);
    // 15 ms both ways, of which half each.
    let checks = of_chain(&chain, 1e8, 7_500_000, 102_400.0);
    let told: Vec<_> = checks.iter().map(|check| (check.quantity.as_str(), check.asked)).collect();
    assert_eq!(told, [("rtt", 15e6), ("rate", 1e8), ("queue", 102_400.0)]);
    assert_eq!(checks[1].link, chain.links[1].name);
    for check in &checks {
        assert!(check.measured.is_some() && !check.is_off(), "{check}");
    }
    let off = |rate, delay_ns, buffer| -> Vec<String> {
        let checks = of_chain(&chain, rate, delay_ns, buffer);
        checks.into_iter().filter(PathCheck::is_off).map(|check| check.quantity).collect()
    };
    assert_eq!(off(0.9e8, 7_500_000, 102_400.0), ["rate"]);
    assert_eq!(off(1e8, 8_500_000, 102_400.0), ["rtt"]);
    assert_eq!(off(1e8, 7_500_000, 60_000.0), ["queue"]);
}

#[test]
fn a_queue_that_is_not_the_only_one_is_not_measured() {
    // 110 Mbit/s is less than what is offered to a link of 100.
    let checks = of_chain(&chain([110, 100, 200]), 1e8, 7_500_000, 102_400.0);
    assert!(checks[1].measured.is_some() && checks[2].measured.is_none(), "{checks:?}");
}

#[test]
fn losses_behind_the_bottleneck_have_passed_it() {
    let mut chain = chain([1000, 100, 200]);
    chain.links[2].forward.loss = 0.1;
    let checks = of_chain(&chain, 0.9e8, 7_500_000, 102_400.0);
    assert!(!checks[1].is_off() && checks[2].measured.is_none(), "{checks:?}");
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
