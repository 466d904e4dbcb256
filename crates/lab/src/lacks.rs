//! What a scenario can ask for that the virtual-time kernel does not have: refused by name, never left out silently.

use wirespeed_scenario::congestion_control;
use wirespeed_scenario::run::{Congestion, Direction, FlowKind, LossModel, Queue, Run};

/// The first thing the run asks for that the kernel lacks, and the remedy.
pub fn lacks(run: &Run) -> Option<String> {
    let directions = run
        .links
        .iter()
        .flat_map(|link| [(link, "forward", &link.forward), (link, "reverse", &link.reverse)]);
    let in_links = directions.filter_map(|(link, way, direction)| {
        let feature = beyond_the_wire(direction)?;
        Some(format!(
            "link {}, {way}: {feature} is not available on substrate kernel; run it --on model or leave it out",
            link.name
        ))
    });
    let in_flows = run.flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Tcp { congestion, .. } => unknown_to_linux(congestion),
        FlowKind::Udp { .. } => None,
    });
    in_links.chain(in_flows).next()
}

/// What a direction has that kernel/qdisc/sch_wire.c has not.
fn beyond_the_wire(direction: &Direction) -> Option<String> {
    let named = |on: bool, name: &str| on.then(|| name.to_owned());
    let queue = match &direction.queue {
        Queue::DropTail { mark_above: None } => None,
        Queue::DropTail { mark_above: Some(_) } => Some("marking (mark_above)".to_owned()),
        other => Some(format!("queue {}", other.name())),
    };
    let loss = match direction.loss_model {
        LossModel::Independent => None,
        other => Some(format!("loss_model {}", other.name())),
    };
    queue
        .or(loss)
        .or(named(!direction.outages.is_empty(), "an outage"))
        .or(named(direction.policer.is_some(), "a policer"))
        .or(named(direction.port_limit.is_some(), "a port_limit"))
}

/// What of a congestion control Linux has not. A C file of the user's own is in the kernel, whatever it is called.
fn unknown_to_linux(congestion: &Congestion) -> Option<String> {
    if congestion.own {
        return None;
    }
    let control = congestion_control(&congestion.name)?;
    let name = control.name;
    if control.linux.is_none() {
        // A dot would make two keys of it.
        let key = if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() };
        return Some(format!(
            "congestion control {name} is the model's, Linux has none of that name: it is not available on substrate \
             kernel; run it --on model, or add a C source under [congestion.{key}]"
        ));
    }
    let of_model = |parameter: &&String| control.parameter(parameter).is_some_and(|p| p.linux.is_none());
    let parameter = congestion.parameters.keys().find(of_model)?;
    Some(format!(
        "parameter {parameter} of congestion control {name} is the model's, Linux has none of that name: it is not \
         available on substrate kernel; run it --on model or leave it out"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::run;
    use wirespeed_scenario::Factor;
    use wirespeed_scenario::run::{Policer, PortLimit};
    use wirespeed_units::{Bytes, Rate, Span};

    fn with(change: impl FnOnce(&mut Direction)) -> Option<String> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        change(&mut run.links[0].reverse);
        lacks(&run)
    }

    fn using(name: &str, parameters: &[&str], own: bool) -> Option<String> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let parameters = parameters.iter().map(|p| ((*p).to_owned(), Factor::Integer(1))).collect();
        let congestion = Congestion { name: name.into(), parameters, own };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None };
        lacks(&run)
    }

    #[test]
    fn a_plain_link_is_available() {
        assert_eq!(with(|_| ()), None);
    }

    #[test]
    fn whatever_goes_beyond_a_plain_link_is_refused_by_name() {
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
            ("marking", with(|d| d.queue = Queue::DropTail { mark_above: Some(burst) })),
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
    fn what_only_the_model_has_of_congestion_control_is_refused() {
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
}
