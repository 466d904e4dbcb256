//! What happens when a receiver's memory runs out, and when its window closes: nothing of it is decided anywhere in the code.

mod support;

use support::{carry_out, invariants, samples, scenario};
use wirespeed_record::FlowSample;
use wirespeed_sim::Outcome;

fn count(outcome: &Outcome, host: &str, name: &str) -> u64 {
    outcome.counters.iter().find(|c| c.host == host && c.counter == name).map_or(0, |c| c.after)
}

/// A run in which everything is accounted for, and its flow's last sample.
fn run(scenario: &str) -> (Outcome, FlowSample) {
    let (run, outcome) = carry_out(scenario);
    invariants::check(&run, &outcome).unwrap_or_else(|what| panic!("{what}\n{scenario}"));
    let last = samples(&outcome, 0).pop().expect("a flow has samples").clone();
    (outcome, last)
}

/// A reader that takes 1.25 MB/s, in pieces of `call`.
fn slow(call: &str) -> String {
    format!(
        "apps = \"0\"\nirq = \"1-2\"\n[host.receiver.costs]\ncall = \"{call}\"\n\
         copy_cached = \"800 ns\"\ncopy_memory = \"800 ns\"\n"
    )
}

/// Five megabytes for the slow reader of a host whose interface puts every packet into 9216 bytes of memory. The receive
/// buffer is of a megabyte.
fn in_large_buffers(kernel: &str, call: &str) -> (Outcome, FlowSample) {
    let slow = slow(call);
    // Until 6.6 the window is a fixed part of the buffer.
    let scale = match kernel {
        "6.10" | "6.12" => "",
        "4.15" => "adv_win_scale = 1",
        _ => "adv_win_scale = 2",
    };
    let host = format!(
        "[host.receiver]\npreset = \"xeon-2023-100g\"\ntcp_rmem = [\"4 KiB\", \"1 MiB\", \"1 MiB\"]\n\
         rmem_max = \"1 MiB\"\n{scale}\nrx_buffer = \"9216 B\"\ngro = false\n{slow}\
         [host.receiver.machine]\nkernel = \"{kernel}\"\n"
    );
    run(&scenario(
        "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 MB\"",
        &["congestion = \"cubic\"\nbytes = \"5 MB\""],
        "duration = \"60 s\"\nseed = 1",
        &host,
    ))
}

#[test]
fn small_packets_in_large_buffers_are_copied_together_where_a_late_reader_leaves_them() {
    for (kernel, window) in [("2.4.20", 98_304), ("2.6.24", 98_304)] {
        let (outcome, last) = in_large_buffers(kernel, "4 KiB");
        let of = |name| count(&outcome, "receiver", name);
        assert_eq!(last.delivered_bytes, Some(5_000_000), "{kernel}");
        assert!(of("TcpExtPruneCalled") > 50, "{kernel}: {}", of("TcpExtPruneCalled"));
        let packets = last.data_packets_in.expect("the model counts what arrives");
        let collapsed = of("TcpExtTCPRcvCollapsed");
        assert!(
            collapsed > packets / 2 && collapsed <= packets,
            "{kernel}: {collapsed} of {packets} packets"
        );
        assert_eq!(of("TcpExtTCPRcvQDrop") + of("TcpExtRcvPruned"), 0, "{kernel}: copying makes room enough");
        // The window went back to two segments and grew again, as far as such packets let it (`tcp_grow_window`).
        let offered = last.snd_wnd_bytes.expect("the flow is established");
        assert!(offered <= window + 2 * 1448, "{kernel}: {offered}");
    }
    // Since 6.6 the socket learns with the first packet what such packets occupy. Since 6.11 it has then promised half of its
    // buffer already, which such packets fill once.
    for (kernel, tidied) in [("6.10", 0), ("6.12", 1)] {
        let (outcome, last) = in_large_buffers(kernel, "4 KiB");
        assert_eq!(last.delivered_bytes, Some(5_000_000), "{kernel}");
        assert_eq!(count(&outcome, "receiver", "TcpExtPruneCalled"), tidied, "{kernel}");
    }
}

#[test]
fn packets_are_tidied_away_again_and_again_and_all_data_arrives() {
    // Segments of 88 bytes, of which 6.12 thinks that they fill half of their memory, a buffer of 2304 bytes, and losses:
    // what is out of order fills it, as on a kernel (TcpExt of substrate `kernel`: PruneCalled 10, OfoPruned 6).
    let small = "[host.sender]\nmtu = \"140 B\"\n[host.receiver]\nmtu = \"140 B\"\n";
    let (mut tidied, mut pruned, mut dropped) = (0, 0, 0);
    for seed in 0..10 {
        let (outcome, last) = run(&scenario(
            "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"200 kB\"\nloss = 0.1",
            &["congestion = \"cubic\"\nwindow = \"3 packets\"\nbytes = \"20 kB\""],
            &format!("duration = \"120 s\"\nseed = {seed}"),
            small,
        ));
        let of = |name| count(&outcome, "receiver", name);
        assert_eq!((last.delivered_bytes, last.read_bytes), (Some(20_000), Some(20_000)), "seed {seed}");
        tidied += of("TcpExtPruneCalled");
        pruned += of("TcpOfoPrunedPackets");
        dropped += of("TcpExtTCPOFODrop");
        assert!(of("TcpExtRcvPruned") >= of("TcpExtTCPOFODrop") + of("TcpExtTCPRcvQDrop"), "seed {seed}");
        assert!(
            of("TcpOfoPrunedPackets") >= of("TcpExtOfoPruned"),
            "seed {seed}: each pruning takes a packet"
        );
        // What arrived was in order, out of order, came twice, or was not taken.
        let arrived = last.data_packets_in.expect("the model counts what arrives");
        let needed = 20_000_u64.div_ceil(88);
        assert!(arrived >= needed + of("TcpOfoPrunedPackets") + of("TcpExtTCPOFODrop"), "seed {seed}");
    }
    assert!(tidied > 10 && pruned > 2 && dropped > 2, "{tidied} {pruned} {dropped}");
}

#[test]
fn backlog_behind_a_lock_is_limited_by_the_kernels_version() {
    // A call holds the lock for 26 ms, in which 217 packets come: 2 MB of memory.
    let drops = |kernel: &str| {
        let (outcome, last) = in_large_buffers(kernel, "32 KiB");
        assert_eq!(last.delivered_bytes, Some(5_000_000), "{kernel}");
        count(&outcome, "receiver", "TcpExtTCPBacklogDrop")
    };
    assert!(drops("4.15") > 0, "receive buffer, send buffer and 64 KiB");
    assert_eq!(drops("2.6.24"), 0, "no limit");
}
