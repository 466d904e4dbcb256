//! What settings of a host's inside do to a run: each has its effect, and nothing of it is decided anywhere in the code.

mod support;

use support::{carry_out, goodput, scenario};
use wirespeed_sim::Outcome;

/// One flow as kit-2019 has them, its receiver's interrupts on core 8 and its reader, which is the limit, on core 9 unless
/// `receiver` says otherwise.
fn kit(receiver: &str) -> Outcome {
    let path = "rate = \"100 Gbit/s\"\nrtt = \"0.2 ms\"\nbuffer = \"1.25 GB\"";
    let hosts = format!(
        "[host.sender]\npreset = \"kit-2019-tuned\"\nirq = \"8\"\napps = \"9\"\n\
         [host.receiver]\npreset = \"kit-2019-tuned\"\napps = \"9\"\n{receiver}\n"
    );
    carry_out(&scenario(path, &["congestion = \"cubic\""], "duration = \"500 ms\"", &hosts)).1
}

/// Two flows as cornell-2010 has them, from a sender that is never the limit.
fn cornell(flow: &str, receiver: &str) -> Outcome {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"0.1 ms\"\nbuffer = \"4 MiB\"";
    let hosts = format!(
        "[host.sender]\npreset = \"cornell-2010\"\nirq = \"0\"\napps = \"4,8\"\nspeed = 5\n\
         [host.receiver]\npreset = \"cornell-2010\"\napps = \"4,8\"\n{receiver}\n"
    );
    let flow = format!("congestion = \"cubic\"\ncount = 2\n{flow}");
    carry_out(&scenario(path, &[&flow], "duration = \"1 s\"", &hosts)).1
}

/// Goodput in Gbit/s of all flows once they have settled.
fn rate(outcome: &Outcome) -> f64 {
    let flows = outcome.flows.last().map_or(0, |row| row.flow + 1);
    (0..flows).map(|flow| goodput(outcome, flow, 250_000_000)).sum::<f64>() / 1e9
}

/// Cores of the receiver that interrupts came to.
fn interrupted(outcome: &Outcome) -> usize {
    let end = outcome.cores.last().map_or(0, |row| row.t_ns);
    let last = outcome.cores.iter().filter(|row| row.t_ns == end && row.host == "receiver");
    last.filter(|row| row.hardirq_ns > 0).count()
}

#[test]
fn other_work_on_the_readers_core_takes_its_share() {
    let (alone, beside) =
        (rate(&kit("irq = \"8\"")), rate(&kit("irq = \"8\"\nload = [{ core = 9, share = 0.5 }]")));
    assert!((0.4..0.6).contains(&(beside / alone)), "{beside} beside other work, {alone} alone");
}

#[test]
fn interrupts_on_the_readers_twin_slow_it() {
    // Core 25 is the hyper-thread twin of core 9, core 24 that of core 8.
    let (other, twin) = (rate(&kit("irq = \"24\"")), rate(&kit("irq = \"25\"")));
    assert!(twin < 0.9 * other, "{twin} on the twin, {other} elsewhere");
}

#[test]
fn a_core_at_half_speed_carries_half() {
    let (whole, half) = (rate(&kit("irq = \"8\"")), rate(&kit("irq = \"8\"\nspeed = 0.5")));
    assert!((0.45..0.55).contains(&(half / whole)), "{half} at half speed, {whole} at full speed");
}

#[test]
fn packet_steering_relieves_the_core_of_the_interrupts() {
    let with = |rps: &str| rate(&cornell("", &format!("irq = \"0\"\n{rps}")));
    let (one, steered) = (with(""), with("rps = \"1-2\""));
    assert!(steered > 1.3 * one, "{steered} with steering, {one} without");
}

#[test]
fn irqbalance_moves_interrupts_from_core_to_core() {
    // Not so much that the ring is never empty: polling goes on where it is.
    let with = |irq: &str| interrupted(&cornell("max_rate = \"500 Mbit/s\"", irq));
    assert_eq!(with("irq = \"0\""), 1);
    let balanced = with("irq = \"balanced\"\nirqbalance_interval = \"50 ms\"");
    assert!(balanced > 5, "{balanced} cores of 16 in 20 intervals");
}
