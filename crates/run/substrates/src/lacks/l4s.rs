//! L4S and explicit congestion notification: what of them a kernel lacks.

use super::beyond_the_wire;
use wirespeed_record::SubstrateKind;
use wirespeed_scenario::congestion_control;
use wirespeed_scenario::run::{
    Congestion, Direction, DualPi2, EcnFeedback, EcnField, Emulator, FlowKind, KERNEL_KEY, KernelVersion,
    Link, Queue, Run, Step,
};

/// `tcp_ecn` of hosts with Accurate ECN (Linux 6.18, Documentation/networking/ip-sysctl.rst).
const ACCURATE_ECN: u8 = 3;

/// A link with the queue of L4S: in virtual time, from the version of Linux on that has all of L4S.
pub(super) fn beyond_the_line(
    run: &Run,
    link: &Link,
    direction: &Direction,
    settings: &DualPi2,
    substrate: SubstrateKind,
    version: KernelVersion,
) -> Option<String> {
    let refused = |what: &str| {
        format!("{what} is not available on substrate {substrate}; run it --on model or leave it out")
    };
    match substrate {
        SubstrateKind::Kernel if !version.has_l4s() => return Some(needs_l4s("queue dualpi2", version)),
        SubstrateKind::Kernel => {}
        _ => return Some(refused("queue dualpi2")),
    }
    // kernel/qdisc/sch_line.c lacks these features of sch_wire.c.
    let named = |on: bool, name: &str| on.then(|| format!("{name} beside queue dualpi2"));
    let moderated = run.hosts.iter().any(|host| host.moderation.is_some());
    let plain = Direction { queue: Queue::default(), ..direction.clone() };
    beyond_the_wire(&plain)
        .or(named(link.emulator == Emulator::Netem, "emulator netem"))
        .or(named(direction.reorder.is_some(), "reorder"))
        .or(named(direction.duplicate.is_some(), "duplicate"))
        .or(named(!direction.changes.is_empty(), "a change of the link"))
        .or(named(moderated, "coalesce of a host"))
        .or_else(|| beyond_linux(settings))
        .map(|what| refused(&what))
}

/// A setting of `dualpi2` that the kernel cannot represent, and why.
fn beyond_linux(settings: &DualPi2) -> Option<String> {
    /// Largest gain (`ALPHA_BETA_MAX` in sch_dualpi2.c), in Hz.
    const LARGEST_GAIN: f64 = ((1_u64 << 23) - 1) as f64 / 256.0;
    let step = match settings.step {
        Step::Time(time) => Some(time),
        Step::Packets(_) => None,
    };
    let times = [("target", Some(settings.target)), ("tupdate", Some(settings.tupdate)), ("step", step)];
    let times = times.into_iter().find_map(|(key, time)| {
        let time = time.filter(|time| time.picoseconds() % 1_000_000 != 0)?;
        Some(format!("{key} = \"{time}\" of queue dualpi2, which Linux rounds to whole microseconds,"))
    });
    let gains = [("alpha", settings.alpha_per_s), ("beta", settings.beta_per_s)];
    let gains = gains.into_iter().find_map(|(key, gain)| {
        let fits = (1.0 / 512.0..=LARGEST_GAIN).contains(&gain);
        (!fits).then(|| format!("{key} = {gain} of queue dualpi2, of which Linux has 1/256 to 32767,"))
    });
    let coupling = (settings.coupling.fract() != 0.0).then(|| {
        format!("coupling = {} of queue dualpi2, of which Linux has whole numbers,", settings.coupling)
    });
    times.or(gains).or(coupling)
}

/// The message for a feature that needs L4S, on a kernel without it.
fn needs_l4s(what: &str, version: KernelVersion) -> String {
    let first = KernelVersion::L4S;
    format!(
        "{what} needs Linux {first} or later, and this run's kernel is {}; set {KERNEL_KEY} = \"{first}\", run it --on model, \
         or leave it out",
        version.in_full()
    )
}

/// An algorithm that sends ECT(1), with a kernel that cannot.
pub(super) fn without_l4s(
    congestion: &Congestion,
    substrate: SubstrateKind,
    version: KernelVersion,
) -> Option<String> {
    let control = congestion_control(&congestion.name).filter(|_| !congestion.own)?;
    if !control.needs_l4s() {
        return None;
    }
    let what = format!("congestion control {}", control.name);
    match substrate {
        SubstrateKind::Kernel if version.has_l4s() => None,
        SubstrateKind::Kernel => Some(needs_l4s(&what, version)),
        // It is a module of ours, in the kernel that we build.
        _ => Some(format!(
            "{what} is not available on substrate {substrate}; run it --on model, or --on kernel with {KERNEL_KEY} = \"{}\"",
            KernelVersion::L4S
        )),
    }
}

/// Accurate ECN and ECN fields of flows in virtual time. A UDP socket sets its field itself; of TCP the kernel decides, by
/// algorithm.
pub(super) fn beyond_the_ecn_of(run: &Run, version: KernelVersion) -> Option<String> {
    let accurate = run.hosts.iter().find(|host| host.tcp.ecn == ACCURATE_ECN && !version.has_l4s());
    let host = accurate
        .map(|host| needs_l4s(&format!("host {}: ecn = {ACCURATE_ECN} (Accurate ECN)", host.name), version));
    let flow = run.flows.iter().find_map(|flow| {
        let FlowKind::Tcp { congestion, .. } = &flow.kind else { return None };
        let asked = flow.ecn?;
        let is_l4s = congestion_control(&congestion.name).is_some_and(|control| control.needs_l4s());
        let sent = if is_l4s { EcnField::Ect1 } else { EcnField::Ect0 };
        let agreed = run.ecn_feedback(flow) != EcnFeedback::Off;
        (asked != sent || !agreed).then(|| {
            format!(
                "flow {}: ecn is not available for {} on substrate kernel, where the congestion control decides it; run it \
                 --on model or leave it out",
                flow.label, congestion.name
            )
        })
    });
    host.or(flow)
}

/// Accurate ECN and code points of flows, where wirespeed does not choose the kernel.
pub fn beyond_classic_ecn(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let host = run.hosts.iter().find(|host| host.tcp.ecn == ACCURATE_ECN).map(|host| {
        format!(
            "host {}: ecn = {ACCURATE_ECN} (Accurate ECN) is not available on substrate {substrate}; run it --on model, or set ecn = 1",
            host.name
        )
    });
    let flow = run.flows.iter().find(|flow| flow.ecn.is_some()).map(|flow| {
        format!(
            "flow {}: ecn is not available on substrate {substrate}; run it --on model or leave it out",
            flow.label
        )
    });
    host.or(flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lacks::lacks;
    use crate::lacks::tests::using;
    use wirespeed_scenario::run::{Moderation, Reorder};
    use wirespeed_scenario::testing::run;
    use wirespeed_units::Span;

    #[test]
    fn l4s_is_refused_by_name() {
        let chain = || run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        assert_eq!(beyond_classic_ecn(&chain(), SubstrateKind::Hosts), None);
        let mut accurate = chain();
        accurate.hosts[1].tcp.ecn = 3;
        let message = lacks(&accurate, SubstrateKind::Netns, KernelVersion::TODAY).unwrap_or_default();
        assert!(message.contains("host b: ecn = 3") && message.contains("--on model"), "{message}");
        let mut marked = chain();
        marked.flows[0].ecn = Some(EcnField::Ect1);
        let message = beyond_classic_ecn(&marked, SubstrateKind::Hosts).unwrap_or_default();
        assert!(message.contains("flow a-b: ecn is not available on substrate hosts"), "{message}");
        assert!(
            using("prague", &[], false).is_some_and(|message| message.contains("congestion control prague"))
        );
        assert_eq!(using("prague", &[], true), None, "a C source of the user's own");
    }

    #[test]
    fn l4s_needs_a_kernel_that_has_it() {
        const FILE: &str = "schema = 1\nname = \"t\"\n\
            path = { rate = \"40 Mbit/s\", rtt = \"10 ms\", queue = \"dualpi2\" }\n\
            flow = [{ congestion = \"prague\" }, { kind = \"udp\", rate = \"1 Mbit/s\", ecn = \"ect1\" }]\n\
            run = { duration = \"1 s\" }\n";
        let run = || wirespeed_scenario::parse(FILE, "t.toml", &[], None).unwrap().runs.remove(0);
        let on = |run: &Run, version| lacks(run, SubstrateKind::Kernel, version);
        let newest = KernelVersion::new(7, 2, 11);
        assert_eq!(on(&run(), newest), None);
        assert_eq!(
            on(&run(), KernelVersion::new(6, 12, 117)).as_deref(),
            Some(
                "link bottleneck, forward: queue dualpi2 needs Linux 7.2 or later, and this run's kernel is 6.12.117; set \
                 run.kernel = \"7.2\", run it --on model, or leave it out"
            )
        );
        let mut plain = run();
        let link = &mut plain.links[0];
        (link.forward.queue, link.reverse.queue) = (Queue::default(), Queue::default());
        let message = on(&plain, KernelVersion::TODAY).unwrap_or_default();
        assert!(message.starts_with("congestion control prague needs Linux 7.2"), "{message}");
        let message = lacks(&plain, SubstrateKind::Netns, newest).unwrap_or_default();
        assert!(message.contains("prague is not available on substrate netns"), "{message}");
        plain.flows.remove(0);
        assert_eq!(on(&plain, KernelVersion::TODAY), None, "a UDP socket sets its own ECN field");
        plain.hosts[0].tcp.ecn = ACCURATE_ECN;
        assert_eq!(on(&plain, newest), None);
        let message = on(&plain, KernelVersion::TODAY).unwrap_or_default();
        assert!(message.contains("ecn = 3 (Accurate ECN) needs Linux 7.2"), "{message}");

        type Edit = fn(&mut Run);
        let changes: [(&str, Edit); 5] = [
            ("emulator netem beside", |run| run.links[0].emulator = Emulator::Netem),
            ("reorder beside", |run| {
                run.links[0].forward.reorder = Some(Reorder { probability: 0.1, delay: Span::ms(1) });
            }),
            ("coalesce of a host beside", |run| {
                run.hosts[1].moderation = Some(Moderation { interval: Span::us(50), frames: 0 });
            }),
            ("whole microseconds", |run| {
                if let Queue::DualPi2(settings) = &mut run.links[0].forward.queue {
                    settings.target = Span::ns(500);
                }
            }),
            ("ecn is not available for prague", |run| run.flows[0].ecn = Some(EcnField::Ect0)),
        ];
        for (words, change) in changes {
            let mut changed = run();
            change(&mut changed);
            let message = on(&changed, newest).unwrap_or_default();
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    fn settings() -> DualPi2 {
        const FILE: &str = "schema = 1\nname = \"t\"\n\
            path = { rate = \"40 Mbit/s\", rtt = \"10 ms\", queue = \"dualpi2\" }\nflow = [{}]\n\
            run = { duration = \"1 s\" }\n";
        let mut run = wirespeed_scenario::parse(FILE, "t.toml", &[], None).unwrap().runs.remove(0);
        match std::mem::take(&mut run.links[0].forward.queue) {
            Queue::DualPi2(settings) => settings,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_linux_cannot_represent_is_named() {
        assert_eq!(beyond_linux(&settings()), None);
        let beyond = [
            ("step", DualPi2 { step: Step::Time(Span::ns(500)), ..settings() }),
            ("alpha", DualPi2 { alpha_per_s: 1e6, ..settings() }),
            ("coupling", DualPi2 { coupling: 1.5, ..settings() }),
        ];
        for (key, settings) in beyond {
            assert!(beyond_linux(&settings).is_some_and(|told| told.starts_with(key)), "{key}");
        }
    }
}
