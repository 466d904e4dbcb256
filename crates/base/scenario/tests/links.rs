//! What the queues, loss models, outages and limits of links mean once they are resolved.

use wirespeed_scenario::run::{
    Direction, DualPi2, LossModel, Overload, Policer, PortLimit, Queue, Run, Step,
};
use wirespeed_scenario::{Study, parse};
use wirespeed_units::{Bytes, Rate, Span};

/// A bandwidth-delay product of 1.25 MB, 825 packets.
fn study(path: &str, more: &str) -> Study {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\n{path}\n[[flow]]\n[run]\n\
         duration = \"10 s\"\n{more}\n"
    );
    parse(&text, "t.toml", &[], None).unwrap_or_else(|e| panic!("{e:#}\n{text}"))
}

fn run(path: &str, more: &str) -> Run {
    let study = study(path, more);
    assert_eq!(study.warnings, Vec::<String>::new());
    study.runs[0].clone()
}

/// The forward direction of the one link.
fn forward(path: &str) -> Direction {
    run(path, "").links[0].forward.clone()
}

const BDP: Bytes = Bytes::new(1_250_000);

#[test]
fn a_link_that_says_nothing_more_is_plain() {
    let link = &run("", "").links[0];
    let plain = Direction::plain(Rate::gbit(1), Span::ms(5), 0.0, BDP);
    assert_eq!((&link.forward, &link.reverse), (&plain, &plain));
    assert_eq!(run("queue = \"drop-tail\"\nloss_model = \"independent\"\noutages = []", ""), run("", ""));
}

#[test]
fn defaults_are_stored_as_before() {
    let stored = serde_json::to_string(&run("", "")).unwrap();
    for key in ["queue", "loss_model", "outages", "policer", "port_limit", "trains", "own"] {
        assert!(!stored.contains(&format!("\"{key}\"")), "{key} in {stored}");
    }
}

#[test]
fn every_setting_survives_being_stored() {
    let queues = ["drop-tail", "drop-tail-packets", "red", "codel", "fq-codel"];
    let mut paths: Vec<String> = queues.iter().map(|q| format!("queue = \"{q}\"")).collect();
    paths.push(
        "loss_model = { kind = \"gilbert-elliott\", good_to_bad = 1e-4, bad_to_good = 0.3 }\n\
         outages = [[\"1 s\", \"1.2 s\"]]\npolicer = { rate = \"500 Mbit/s\", burst = \"1 MiB\" }\n\
         port_limit = { rate = \"970 Mbit/s\", burst = \"10 packets\" }"
            .into(),
    );
    for path in &paths {
        let run = run(path, "trains = false");
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&json).unwrap(), run, "{json}");
    }
}

#[test]
fn a_queue_is_a_word_with_every_default() {
    let (target, interval) = (Span::ms(5), Span::ms(100));
    assert_eq!(forward("queue = \"codel\"").queue, Queue::CoDel { target, interval, ecn: false });
    let fq_codel = Queue::FqCodel { target, interval, quantum: Bytes::new(1514), ecn: true };
    assert_eq!(forward("queue = \"fq-codel\"").queue, fq_codel);
    // A quarter of the buffer, and a third of that (tc-red).
    let Queue::Red { min, max, probability, weight, ecn } = forward("queue = \"red\"").queue else {
        panic!("not RED")
    };
    assert_eq!((min, max, probability, ecn), (Bytes::new(104_166), Bytes::new(312_500), 0.02, false));
    assert_eq!(weight, 1.0 / 64.0);
    let packets = forward("queue = \"drop-tail-packets\"");
    assert_eq!(packets.queue, Queue::DropTailPackets { packets: 825, mark_above: None });
    assert_eq!(packets.buffer, Bytes::new(825 * 1514));
}

#[test]
fn dualpi2_has_the_defaults_of_linux_and_one_threshold() {
    let default = DualPi2 {
        target: Span::ms(15),
        tupdate: Span::ms(16),
        alpha_per_s: 0.16,
        beta_per_s: 3.2,
        coupling: 2.0,
        step: Step::Time(Span::ms(1)),
        min_qlen_step: 0,
        classic_protection_percent: 10,
        overload: Overload::Drop,
    };
    assert_eq!(forward("queue = \"dualpi2\"").queue, Queue::DualPi2(default));
    let given = forward(
        "queue = { kind = \"dualpi2\", coupling = 1.5, step_packets = 4, overload = \"overflow\", classic_protection = 50 }",
    );
    let expected = DualPi2 {
        coupling: 1.5,
        step: Step::Packets(4),
        overload: Overload::Overflow,
        classic_protection_percent: 50,
        ..default
    };
    assert_eq!(given.queue, Queue::DualPi2(expected));
    let after = study("queue = { kind = \"drop-tail\", mark_after = \"1 ms\" }", "");
    let queue = &after.runs[0].links[0].forward.queue;
    assert_eq!(*queue, Queue::DropTail { mark_above: Some(Bytes::new(125_000)) }, "1 Gbit/s for 1 ms");
}

#[test]
fn a_queue_is_a_table_with_its_settings() {
    let codel = forward("queue = { target = \"1 ms\", kind = \"codel\", interval = \"20 ms\" }");
    assert_eq!(codel.queue, Queue::CoDel { target: Span::ms(1), interval: Span::ms(20), ecn: false });
    assert_eq!(codel.buffer, BDP);
    let red = forward("queue = { kind = \"red\", min = \"30 packets\", probability = 0.1, weight = 0.002 }");
    let (min, max) = (Bytes::new(30 * 1514), Bytes::new(90 * 1514));
    assert_eq!(red.queue, Queue::Red { min, max, probability: 0.1, weight: 0.002, ecn: false });
    let packets = forward("queue = { kind = \"drop-tail-packets\", packets = 20 }");
    assert_eq!(packets.queue, Queue::DropTailPackets { packets: 20, mark_above: None });
    assert_eq!(packets.buffer, Bytes::new(20 * 1514));
    let mtu = "mtu = \"9000 B\"";
    let jumbo =
        run("queue = \"drop-tail-packets\"", &format!("[host.sender]\n{mtu}\n[host.receiver]\n{mtu}"));
    assert_eq!(jumbo.links[0].forward.queue, Queue::DropTailPackets { packets: 138, mark_above: None });
    assert_eq!(jumbo.links[0].forward.buffer, Bytes::new(138 * 9014));
}

#[test]
fn a_packets_queue_overrides_the_buffer_of_a_preset_and_of_the_file() {
    let text = "schema = 1\nname = \"t\"\n[path]\npreset = \"ulm-12ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n[run]\nduration = \"1 s\"\n";
    let sets = [("path.queue.kind", "drop-tail-packets"), ("path.queue.packets", "100")];
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let study = parse(text, "t.toml", &sets, None).unwrap();
    assert_eq!(study.runs[0].links[0].forward.buffer, Bytes::new(100 * 1514));
}

#[test]
fn everything_goes_both_ways_but_losses_and_each_way_may_differ() {
    let run = run(
        "queue = { kind = \"codel\", target = \"2 ms\" }\n\
         loss_model = { kind = \"bit-error\", rate = 1e-12 }\n\
         outages = [[\"1 s\", \"1.2 s\"], [\"1.2 s\", \"20 s\"]]\n\
         policer = { rate = \"500 Mbit/s\", burst = \"1 MiB\" }\n\
         port_limit = { rate = \"970 Mbit/s\", burst = \"10 packets\" }\n\
         reverse = { queue = \"drop-tail\", outages = [], policer = { rate = \"1 Mbit/s\", burst = \"2 packets\" } }",
        "",
    );
    let (forward, reverse) = (&run.links[0].forward, &run.links[0].reverse);
    assert_eq!(forward.queue, Queue::CoDel { target: Span::ms(2), interval: Span::ms(100), ecn: false });
    assert_eq!(reverse.queue, Queue::default());
    assert_eq!(forward.loss_model, LossModel::BitError { rate: 1e-12 });
    assert_eq!(reverse.loss_model, LossModel::Independent);
    let ms = Span::ms;
    assert_eq!(forward.outages, [(ms(1000), ms(1200)), (ms(1200), ms(20_000))]);
    assert_eq!(reverse.outages, []);
    assert_eq!(forward.policer, Some(Policer { rate: Rate::mbit(500), burst: Bytes::mib(1) }));
    assert_eq!(reverse.policer, Some(Policer { rate: Rate::mbit(1), burst: Bytes::new(3028) }));
    let limit = Some(PortLimit { rate: Rate::mbit(970), burst: Bytes::new(15_140) });
    assert_eq!((forward.port_limit, reverse.port_limit), (limit, limit));
}

#[test]
fn bursts_of_loss_are_gilberts_unless_more_is_said() {
    let model = |more: &str| {
        let table = format!("{{ kind = \"gilbert-elliott\", good_to_bad = 1e-4, bad_to_good = 0.25{more} }}");
        forward(&format!("loss_model = {table}")).loss_model
    };
    let expected = |loss_good, loss_bad| LossModel::GilbertElliott {
        good_to_bad: 1e-4,
        bad_to_good: 0.25,
        loss_good,
        loss_bad,
    };
    assert_eq!(model(""), expected(0.0, 1.0));
    assert_eq!(model(", loss_good = 1e-6, loss_bad = 0.5"), expected(1e-6, 0.5));
}

#[test]
fn queues_are_swept_by_name_and_by_setting() {
    let sweep = "[sweep]\n\"path.queue\" = [\"drop-tail\", \"codel\", \"fq-codel\", \"red\"]";
    let swept = study("", sweep);
    let names: Vec<&str> = swept.runs.iter().map(|r| r.links[0].forward.queue.name()).collect();
    assert_eq!(names, ["drop-tail", "codel", "fq-codel", "red"]);
    assert_eq!(swept.runs[1].id, "queue=codel,r0");
    let targets = study(
        "",
        "[sweep]\n\"path.queue\" = [\"codel\", \"fq-codel\"]\n\"path.queue.target\" = [\"1 ms\", \"5 ms\"]",
    );
    assert_eq!(targets.runs[2].id, "queue=fq-codel,target=1ms,r0");
    assert!(
        matches!(targets.runs[2].links[0].forward.queue, Queue::FqCodel { target, .. } if target == Span::ms(1))
    );
    let model = "loss_model = { kind = \"gilbert-elliott\", good_to_bad = 1e-4, bad_to_good = 0.25 }";
    let bursts = study(model, "[sweep]\n\"path.loss_model.bad_to_good\" = [0.5, 0.1]");
    assert_eq!(bursts.runs[1].id, "bad_to_good=0.1,r0");
    let limits = study(
        "port_limit = { rate = \"970 Mbit/s\", burst = \"10 packets\" }",
        "[sweep]\n\"path.port_limit.rate\" = [\"900 Mbit/s\", \"970 Mbit/s\"]",
    );
    assert_eq!(limits.runs[0].links[0].forward.port_limit.unwrap().rate, Rate::mbit(900));
}

#[test]
fn a_link_of_a_chain_may_have_another_queue_than_the_path() {
    let run = run(
        "queue = { kind = \"red\", min = \"30 packets\" }",
        "[topology]\nkind = \"parking-lot\"\n[[link]]\n[[link]]\nqueue = { kind = \"codel\", target = \"1 ms\" }\n\
         [[link]]\nqueue = { kind = \"red\", probability = 0.1 }\n[[link]]\nqueue = \"drop-tail\"",
    );
    let queues: Vec<&Queue> = run.links.iter().map(|l| &l.forward.queue).collect();
    assert!(matches!(queues[0], Queue::Red { probability: 0.02, .. }));
    assert_eq!(queues[1], &Queue::CoDel { target: Span::ms(1), interval: Span::ms(100), ecn: false });
    assert!(matches!(queues[2], Queue::Red { min, probability: 0.1, .. } if min.get() == 30 * 1514));
    assert_eq!(queues[3], &Queue::default());
}

#[test]
fn marking_without_ecn_is_warned_about() {
    let marking = "queue = { kind = \"drop-tail\", mark_above = \"65 packets\" }";
    assert_eq!(study(marking, "").warnings.len(), 1);
    assert!(study(marking, "[host.sender]\necn = 1").warnings.is_empty());
    assert!(study("queue = \"fq-codel\"", "").warnings.is_empty(), "it marks by default, nobody asked");
    let dctcp = study(marking, "[sweep]\n\"flow.congestion\" = [\"dctcp\"]");
    assert!(dctcp.warnings.is_empty(), "DCTCP asks for ECN by itself");
    let mark_above = Some(Bytes::new(65 * 1514));
    assert_eq!(dctcp.runs[0].links[0].forward.queue, Queue::DropTail { mark_above });
}

#[test]
fn a_port_limit_that_limits_nothing_is_warned_about() {
    let limit = |rate: &str| format!("port_limit = {{ rate = \"{rate}\", burst = \"10 packets\" }}");
    assert_eq!(study(&limit("1 Gbit/s"), "").warnings.len(), 1);
    assert!(study(&limit("999 Mbit/s"), "").warnings.is_empty());
}

#[test]
fn trains_are_on_unless_switched_off() {
    assert!(run("", "").trains);
    assert!(!run("", "trains = false").trains);
    let both = study("", "[sweep]\n\"run.trains\" = [true, false]");
    assert_eq!(both.runs[1].id, "trains=false,r0");
    assert!(!both.runs[1].trains);
}
