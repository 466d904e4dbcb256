//! What a scenario can ask for that a kernel does not have, in virtual time or this machine's: refused by name, or warned
//! about where the run still means the same; never left out silently.

mod l4s;

pub use self::l4s::beyond_classic_ecn;
use self::l4s::{beyond_the_ecn_of, beyond_the_line, without_l4s};
use wirespeed_record::SubstrateKind;
use wirespeed_scenario::congestion_control;
use wirespeed_scenario::run::{
    Congestion, Direction, Emulator, Flow, FlowKind, HOST_DEFAULT, Host, KERNEL_KEY, KernelVersion, Link,
    LossModel, Queue, Run,
};
use wirespeed_units::Rate;

/// The first thing the run asks for that the kernel of a substrate, of this version of Linux, lacks, and the remedy.
pub fn lacks(run: &Run, substrate: SubstrateKind, version: KernelVersion) -> Option<String> {
    let directions = run
        .links
        .iter()
        .flat_map(|link| [(link, "forward", &link.forward), (link, "reverse", &link.reverse)]);
    let in_links = directions.filter_map(|(link, way, direction)| {
        if let Queue::DualPi2(settings) = &direction.queue {
            let told = beyond_the_line(run, link, direction, settings, substrate, version)?;
            return Some(format!("link {}, {way}: {told}", link.name));
        }
        let feature = beyond_the_wire(direction).or_else(|| beyond_netem(link, direction, substrate))?;
        Some(format!(
            "link {}, {way}: {feature} is not available on substrate {substrate}; run it --on model or leave it out",
            link.name
        ))
    });
    let in_flows = run.flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Tcp { congestion, window, .. } => unknown_to_linux(congestion, substrate)
            .or_else(|| without_l4s(congestion, substrate, version))
            .or_else(|| window.and_then(|_| older_window(run.host(&flow.to), flow, version))),
        FlowKind::Udp { .. } => None,
    });
    let kernel = kernel_of_the_machine(run, substrate);
    let ecn = match substrate {
        SubstrateKind::Kernel => beyond_the_ecn_of(run, version),
        _ => beyond_classic_ecn(run, substrate),
    };
    kernel
        .or_else(|| beside_the_chain(run, substrate))
        .or_else(|| moderation(run, substrate))
        .into_iter()
        .chain(in_links)
        .chain(in_flows)
        .chain(ecn)
        .next()
}

/// Moderated interrupts of hosts without hardware, where links are not ours.
fn moderation(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let host = run.hosts.iter().find(|host| host.moderation.is_some())?;
    let emulated = run.links.iter().any(|link| link.emulator == Emulator::Netem);
    let (what, remedy) = match substrate {
        SubstrateKind::Kernel if emulated => ("emulator netem", "choose emulator = \"wire\""),
        SubstrateKind::Kernel => return None,
        _ => ("real time", "run it --on model or kernel"),
    };
    Some(format!("host {}: coalesce is not available with {what}; {remedy}, or leave it out", host.name))
}

/// A kernel that the run asks for where the machine's own runs.
pub fn kernel_of_the_machine(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let kernel = run.kernel.as_ref()?;
    let machine = match substrate {
        SubstrateKind::Netns => "this machine's kernel",
        SubstrateKind::Hosts => "the kernels of the hosts",
        _ => return None,
    };
    Some(format!(
        "{KERNEL_KEY} = \"{kernel}\" is not available on substrate {substrate}, which runs {machine}; run it --on kernel, or \
         leave {KERNEL_KEY} out"
    ))
}

/// Links beside the chain and ways over them: on a kernel routers know one way to each host, and between real machines the
/// network decides.
pub fn beside_the_chain(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let remedy = "run it --on model or leave it out";
    let link = run.links.iter().find(|link| link.between.is_some()).map(|link| {
        let name = &link.name;
        format!("link {name}: a link beside the others (between) is not available on substrate {substrate}; {remedy}")
    });
    let flow = run.flows.iter().find_map(|flow| {
        let key = if !flow.route.is_empty() {
            "route"
        } else if !flow.route_back.is_empty() {
            "route_back"
        } else {
            return None;
        };
        Some(format!("flow {}: {key} is not available on substrate {substrate}; {remedy}", flow.label))
    });
    link.or(flow)
}

/// Flows that a splitter cuts, between real machines: their agents relay nothing.
pub fn split(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let flow = run.flows.iter().find(|flow| flow.is_split())?;
    let splitter = run.host(&flow.to).splitter.as_ref()?;
    Some(format!(
        "host {}: role = \"splitter\" is not available on substrate {substrate}; run it --on model, kernel or netns, or write \
         role = \"end\"",
        splitter.name
    ))
}

/// Settings of hosts without effect on a kernel of this version, a message for each. `inside`: what the inside of a host is
/// there.
pub fn without_effect(run: &Run, inside: &str, version: KernelVersion) -> Vec<String> {
    let hosts = run.hosts.iter().flat_map(|host| {
        let name = &host.name;
        let hardware = host.hardware.as_ref().map(|hardware| {
            let capture = if hardware.capture.is_some() { ", nor has its capture's cost" } else { "" };
            format!("host {name}: hardware has no effect{capture}: {inside}; run it --on model to see it")
        });
        let window = host.tcp.adv_win_scale.filter(|_| !version.shares_buffers_by_scale()).map(|scale| {
            format!(
                "host {name}: adv_win_scale = {scale} has no effect; Linux sizes windows by the payload that packets \
                 carry since 6.6"
            )
        });
        let queues = (!host.tcp.small_queues)
            .then(|| format!("host {name}: small_queues = false has no effect; Linux has them since 3.6"));
        let acks = (!host.tcp.stretch_acks)
            .then(|| format!("host {name}: stretch_acks = false has no effect; Linux counts packets since 4.0"));
        let first = host.tcp.initial_window.map(|packets| {
            format!("host {name}: initial_window = {packets} has no effect; the kernel begins with 10 packets")
        });
        [hardware, window, queues, acks, first].into_iter().flatten()
    });
    hosts.collect()
}

/// Flows that ask that nothing be copied, where a copy costs nothing or what the host's hardware says.
pub fn copied(run: &Run) -> Vec<String> {
    let asks = |flow: &&Flow| matches!(flow.kind, FlowKind::Tcp { zero_copy: true, .. });
    let told = |flow: &Flow| {
        format!("flow {}: zero_copy has no effect here; run it --on netns or hosts", flow.label)
    };
    run.flows.iter().filter(asks).map(told).collect()
}

/// Flows whose code point no queue of the model looks at.
pub fn marked(run: &Run) -> Vec<String> {
    let warning = |flow: &Flow| {
        let dscp = flow.dscp?;
        let label = &flow.label;
        Some(format!(
            "flow {label}: dscp = {} has no effect on the model; run it --on netns or hosts",
            dscp.number()
        ))
    };
    run.flows.iter().filter_map(warning).collect()
}

/// A window that older kernels cut out of a fixed buffer is another one since Linux 6.6.
fn older_window(to: &Host, flow: &Flow, version: KernelVersion) -> Option<String> {
    let scale = to.tcp.adv_win_scale.filter(|_| !version.shares_buffers_by_scale())?;
    Some(format!(
        "flow {}: host {} has adv_win_scale = {scale}, which was removed in Linux 6.6 and changes a fixed window; run it \
         --on model, or remove `window` or `adv_win_scale`",
        flow.label, to.name
    ))
}

/// What a direction has that kernel/qdisc/sch_wire.c has not.
fn beyond_the_wire(direction: &Direction) -> Option<String> {
    let named = |on: bool, name: &str| on.then(|| name.to_owned());
    let queue = match &direction.queue {
        Queue::DropTail { .. } => None,
        other => Some(format!("queue {}", other.name())),
    };
    let loss = match direction.loss_model {
        LossModel::Independent => None,
        other => Some(format!("loss_model {}", other.name())),
    };
    // A mark would change a packet behind its encoder, and the XOR of its group would not recover the others.
    let marks = matches!(direction.queue, Queue::DropTail { mark_above: Some(_) });
    queue
        .or(loss)
        .or(named(direction.fec.is_some() && marks, "marking (mark_above) beside fec"))
        .or(named(!direction.outages.is_empty(), "an outage"))
        .or(named(direction.policer.is_some(), "a policer"))
        .or(named(direction.port_limit.is_some(), "a port_limit"))
}

/// A setting of a direction that netem and tbf lack, where these stand for a link.
fn beyond_netem(link: &Link, direction: &Direction, substrate: SubstrateKind) -> Option<String> {
    if (substrate, link.emulator) != (SubstrateKind::Kernel, Emulator::Wire) {
        if matches!(direction.queue, Queue::DropTail { mark_above: Some(_) }) {
            return Some("marking (mark_above)".into());
        }
        // netem delays all packets but those that overtake.
        if direction.reorder.is_some() {
            return Some("reorder".into());
        }
        // netem counts none of its copies, and each takes its turn in the queue and on the line.
        if direction.duplicate.is_some() {
            return Some("duplicate".into());
        }
    }
    if direction.changes.is_empty() {
        return None;
    }
    let stands_still = || direction.changes.iter().any(|change| change.rate == Some(Rate::bps(0)));
    match (substrate, link.emulator) {
        (SubstrateKind::Kernel, Emulator::Wire) => None,
        (SubstrateKind::Kernel, Emulator::Netem) => Some("a change of a link of emulator netem".into()),
        // A token bucket always fills.
        _ => stands_still().then(|| "a change of the rate to zero".into()),
    }
}

/// Links that change, reorder, copy or correct, between real machines: the network is as it is.
pub fn beyond_a_real_path(run: &Run, substrate: SubstrateKind) -> Option<String> {
    let has = |link: &Link, f: fn(&Direction) -> bool| f(&link.forward) || f(&link.reverse);
    let beyond = |link: &Link| match link {
        link if link.changes() => Some(("a change of the link", "model, kernel or netns")),
        link if has(link, |side| side.reorder.is_some()) => Some(("reorder", "model or kernel")),
        link if has(link, |side| side.duplicate.is_some()) => Some(("duplicate", "model or kernel")),
        link if has(link, |side| side.fec.is_some()) => Some(("fec", "model, kernel or netns")),
        _ => None,
    };
    let (link, (what, others)) = run.links.iter().find_map(|link| Some((link, beyond(link)?)))?;
    Some(format!(
        "link {}: {what} is not available on substrate {substrate}; run it --on {others}, or leave it out",
        link.name
    ))
}

/// What of a congestion control Linux has not. A C file of the user's own is in the kernel, whatever it is called.
fn unknown_to_linux(congestion: &Congestion, substrate: SubstrateKind) -> Option<String> {
    if congestion.own {
        return None;
    }
    let name = &congestion.name;
    if name == HOST_DEFAULT {
        return Some(format!(
            "congestion control {name} is that of a real machine: it is not available on substrate {substrate}; name one, or \
             run it --on hosts"
        ));
    }
    let Some(control) = congestion_control(name) else {
        // A running kernel is asked.
        return (substrate == SubstrateKind::Kernel).then(|| {
            format!(
                "congestion control {name} is not in the virtual-time kernel; run it --on netns or hosts, or add a C source \
                 under [congestion.{name}]"
            )
        });
    };
    let name = control.name;
    if control.linux.is_none() {
        // A dot would make two keys of it.
        let key = if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() };
        return Some(format!(
            "congestion control {name} is the model's, Linux has none of that name: it is not available on substrate \
             {substrate}; run it --on model, or add a C source under [congestion.{key}]"
        ));
    }
    let of_model = |parameter: &&String| control.parameter(parameter).is_some_and(|p| p.linux.is_none());
    let parameter = congestion.parameters.keys().find(of_model)?;
    Some(format!(
        "parameter {parameter} of congestion control {name} is the model's, Linux has none of that name: it is not \
         available on substrate {substrate}; run it --on model or leave it out"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::Factor;
    use wirespeed_scenario::run::{Change, Duplicate, Fec, Policer, PortLimit, Reorder};
    use wirespeed_scenario::testing::run;
    use wirespeed_units::{Bytes, Span};

    /// As on a kernel of today.
    fn lacks(run: &Run, substrate: SubstrateKind) -> Option<String> {
        super::lacks(run, substrate, KernelVersion::TODAY)
    }

    fn with(change: impl FnOnce(&mut Direction)) -> Option<String> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        change(&mut run.links[0].reverse);
        lacks(&run, SubstrateKind::Kernel)
    }

    pub(super) fn using(name: &str, parameters: &[&str], own: bool) -> Option<String> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let parameters = parameters.iter().map(|p| ((*p).to_owned(), Factor::Integer(1))).collect();
        let congestion = Congestion { name: name.into(), parameters, own };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None, zero_copy: false };
        lacks(&run, SubstrateKind::Kernel)
    }

    #[test]
    fn a_flow_that_copies_nothing_is_told_that_it_changes_nothing() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let congestion = Congestion { name: "reno".into(), parameters: Default::default(), own: false };
        assert_eq!(copied(&run).len(), 0);
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None, zero_copy: true };
        let label = &run.flows[0].label;
        assert_eq!(
            copied(&run),
            [format!("flow {label}: zero_copy has no effect here; run it --on netns or hosts")]
        );
    }

    #[test]
    fn a_kernel_is_refused_where_the_machines_own_runs() {
        let mut chosen = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        assert_eq!(kernel_of_the_machine(&chosen, SubstrateKind::Netns), None);
        chosen.kernel = Some("6.1".parse().unwrap());
        assert_eq!(lacks(&chosen, SubstrateKind::Kernel), None);
        assert_eq!(
            lacks(&chosen, SubstrateKind::Netns).as_deref(),
            Some(
                "run.kernel = \"6.1\" is not available on substrate netns, which runs this machine's kernel; run it --on kernel, \
                 or leave run.kernel out"
            )
        );
        assert!(
            kernel_of_the_machine(&chosen, SubstrateKind::Hosts)
                .is_some_and(|message| message.contains("the kernels of the hosts"))
        );
    }

    #[test]
    fn a_splitter_is_refused_between_real_machines() {
        let text = "schema = 1\nname = \"t\"\n[topology]\nkind = \"parking-lot\"\nhops = 2\n[path]\nrate = \"1 Gbit/s\"\n\
            rtt = \"1 ms\"\n[host.box]\nrouter = 1\nrole = \"splitter\"\n[[flow]]\n[run]\nduration = \"1 s\"\n";
        let run = &wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs[0];
        assert!(split(run, SubstrateKind::Hosts).is_some_and(|told| told.contains("host box: role")));
        for kind in [SubstrateKind::Kernel, SubstrateKind::Netns] {
            assert_eq!(lacks(run, kind), None);
        }
    }

    #[test]
    fn a_plain_link_is_available() {
        assert_eq!(with(|_| ()), None);
    }

    #[test]
    fn forward_error_correction_is_refused_between_real_machines_and_beside_marks() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let fec = Fec { data: 8, interleave: vec![1], flush: Fec::FLUSH, hold: Span::ZERO };
        run.links[0].reverse.fec = Some(fec);
        for substrate in [SubstrateKind::Kernel, SubstrateKind::Netns] {
            assert_eq!(lacks(&run, substrate), None);
        }
        let of_hosts = beyond_a_real_path(&run, SubstrateKind::Hosts).unwrap_or_default();
        assert!(
            of_hosts.contains("link0: fec is not available")
                && of_hosts.contains("--on model, kernel or netns,"),
            "{of_hosts}"
        );
        run.links[0].reverse.queue = Queue::DropTail { mark_above: Some(Bytes::mib(1)) };
        let marking = lacks(&run, SubstrateKind::Kernel).unwrap_or_default();
        assert!(
            marking.contains("link0, reverse: marking (mark_above) beside fec is not available"),
            "{marking}"
        );
    }

    #[test]
    fn changes_are_refused_where_they_cannot_be_made() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let still = Change { at: Span::secs(1), rate: Some(Rate::bps(0)), ..Change::default() };
        run.links[0].forward.changes = vec![still];
        assert_eq!(lacks(&run, SubstrateKind::Kernel), None);
        let of_netns = lacks(&run, SubstrateKind::Netns).unwrap_or_default();
        assert!(of_netns.contains("a change of the rate to zero"), "{of_netns}");
        let of_hosts = beyond_a_real_path(&run, SubstrateKind::Hosts).unwrap_or_default();
        assert!(of_hosts.contains("link0: a change of the link"), "{of_hosts}");
        run.links[0].forward.changes = vec![Change { rate: Some(Rate::gbit(2)), ..still }];
        assert_eq!(lacks(&run, SubstrateKind::Netns), None);
        let mut reordered = run.clone();
        reordered.links[0].forward.changes.clear();
        reordered.links[0].forward.reorder = Some(Reorder { probability: 0.1, delay: Span::ms(1) });
        assert_eq!(lacks(&reordered, SubstrateKind::Kernel), None);
        let of_netns = lacks(&reordered, SubstrateKind::Netns).unwrap_or_default();
        assert!(of_netns.contains("reorder is not available"), "{of_netns}");
        assert!(
            beyond_a_real_path(&reordered, SubstrateKind::Hosts)
                .is_some_and(|told| told.contains("reorder is not") && told.contains("--on model or kernel,"))
        );
        let mut copied = reordered.clone();
        copied.links[0].forward.reorder = None;
        copied.links[0].reverse.duplicate = Some(Duplicate { probability: 0.1, delay: Span::ZERO });
        assert_eq!(lacks(&copied, SubstrateKind::Kernel), None);
        let of_netns = lacks(&copied, SubstrateKind::Netns).unwrap_or_default();
        assert!(of_netns.contains("duplicate is not available"), "{of_netns}");
        let of_hosts = beyond_a_real_path(&copied, SubstrateKind::Hosts).unwrap_or_default();
        assert!(of_hosts.contains("duplicate is not available"), "{of_hosts}");
        run.links[0].emulator = Emulator::Netem;
        let of_netem = lacks(&run, SubstrateKind::Kernel).unwrap_or_default();
        assert!(of_netem.contains("emulator netem"), "{of_netem}");
    }

    #[test]
    fn features_beyond_a_plain_link_are_refused_by_name() {
        let (rate, burst, interval) = (Rate::gbit(1), Bytes::mib(1), Span::ms(100));
        let codel = Queue::CoDel { target: Span::ms(5), interval, ecn: true };
        let expected = "link link0, reverse: queue codel is not available on substrate kernel; run it --on model or \
                        leave it out";
        assert_eq!(with(|d| d.queue = codel).as_deref(), Some(expected));
        let refused = [
            (
                "queue drop-tail-packets",
                with(|d| d.queue = Queue::DropTailPackets { packets: 100, mark_above: None }),
            ),
            ("loss_model bit-error", with(|d| d.loss_model = LossModel::BitError { rate: 1e-12 })),
            ("an outage", with(|d| d.outages = vec![(Span::secs(1), Span::secs(2))])),
            ("a policer", with(|d| d.policer = Some(Policer { rate, burst }))),
            ("a port_limit", with(|d| d.port_limit = Some(PortLimit { rate, burst }))),
        ];
        for (name, message) in refused {
            assert!(message.as_ref().is_some_and(|m| m.contains(name)), "{name}: {message:?}");
        }
    }

    #[test]
    fn marking_is_the_wires() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        run.links[0].reverse.queue = Queue::DropTail { mark_above: Some(Bytes::mib(1)) };
        assert_eq!(lacks(&run, SubstrateKind::Kernel), None);
        let of_netns = lacks(&run, SubstrateKind::Netns).unwrap_or_default();
        assert!(of_netns.contains("marking (mark_above) is not available on substrate netns"), "{of_netns}");
        run.links[0].emulator = Emulator::Netem;
        let of_netem = lacks(&run, SubstrateKind::Kernel).unwrap_or_default();
        assert!(of_netem.contains("marking (mark_above)"), "{of_netem}");
    }

    #[test]
    fn ways_of_their_own_are_refused_by_name() {
        let chain = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        assert_eq!(beside_the_chain(&chain, SubstrateKind::Hosts), None);
        let mut named = chain.clone();
        named.flows[0].route_back = vec!["link0".into()];
        let message =
            "flow a-b: route_back is not available on substrate kernel; run it --on model or leave it out";
        assert_eq!(lacks(&named, SubstrateKind::Kernel).as_deref(), Some(message));
        named.links.push(named.links[0].clone());
        named.links[1].between = Some([0, 1]);
        let message = "link link0: a link beside the others (between) is not available on substrate hosts; run it --on \
                       model or leave it out";
        assert_eq!(beside_the_chain(&named, SubstrateKind::Hosts).as_deref(), Some(message));
    }

    #[test]
    fn congestion_control_of_the_model_alone_is_refused() {
        assert_eq!(using("cubic", &["beta", "bic_scale"], false), None);
        assert_eq!(using("mine", &["gain"], true), None);
        assert_eq!(using("fast", &["alpha"], true), None, "a C file of that name is in the kernel");
        let refused = [
            (using("fast", &[], false), "under [congestion.fast]"),
            (using("bbr-4.15", &[], false), "under [congestion.\"bbr-4.15\"]"),
            (using("reno", &["max_ssthresh"], false), "parameter max_ssthresh of congestion control reno"),
        ];
        for (message, words) in refused {
            assert!(message.as_ref().is_some_and(|m| m.contains(words)), "{words}: {message:?}");
        }
    }

    #[test]
    fn windows_of_older_kernels_are_refused_where_they_are_fixed() {
        let windowed = |window: Option<Bytes>| {
            let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
            run.hosts[1].tcp.adv_win_scale = Some(2);
            let congestion = Congestion { name: "reno".into(), parameters: Default::default(), own: false };
            run.flows[0].kind = FlowKind::Tcp { congestion, window, max_rate: None, zero_copy: false };
            run
        };
        let fixed = windowed(Some(Bytes::mib(8)));
        assert!(
            lacks(&fixed, SubstrateKind::Kernel)
                .is_some_and(|message| message.contains("b has adv_win_scale = 2"))
        );
        let older = KernelVersion::new(6, 1, 192);
        assert_eq!(super::lacks(&fixed, SubstrateKind::Kernel, older), None);
        let tuned = windowed(None);
        assert_eq!(without_effect(&tuned, "free", older), Vec::<String>::new());
        assert_eq!(lacks(&tuned, SubstrateKind::Kernel), None);
        assert_eq!(
            without_effect(&tuned, "free", KernelVersion::TODAY),
            [
                "host b: adv_win_scale = 2 has no effect; Linux sizes windows by the payload that packets carry since 6.6"
            ]
        );
    }

    #[test]
    fn hardware_is_free_and_said_so() {
        const FILE: &str = r#"schema = 1
name = "t"
path = { rate = "1 Gbit/s", rtt = "1 ms" }
flow = [{}]
run = { duration = "1 s" }
[host.receiver]
preset = "epyc-2024-400g"
capture_core = 3
"#;
        let study = wirespeed_scenario::parse(FILE, "t.toml", &[], None).unwrap();
        assert_eq!(lacks(&study.runs[0], SubstrateKind::Kernel), None);
        assert_eq!(
            without_effect(&study.runs[0], "free", KernelVersion::TODAY),
            [
                "host receiver: hardware has no effect, nor has its capture's cost: free; run it --on model to see it"
            ]
        );
    }
}
