//! scratch
mod support;
#[test]
fn show() {
    let text = std::fs::read_to_string(std::env::var("FILE").unwrap()).unwrap();
    let (run, o) = support::carry_out(&text);
    let every = (o.flows.len() / 60).max(1);
    for (i, r) in o.flows.iter().enumerate() {
        if i % every == 0 || i + 1 == o.flows.len() {
            println!(
                "{:>10.4} f{} sent {} del {} read {} ack {:?} cwnd {:?} ss {:?} rtt {:?} min {:?} un {:?} sk {:?} lo {:?} re {:?} ca {:?} rto {:?} pac {:?} wnd {:?} ns {:?} ret {:?} to {:?} bw {:?} g {:?} a {:?}",
                r.t_ns as f64 / 1e9,
                r.flow,
                r.sent_bytes,
                r.delivered_bytes,
                r.read_bytes,
                r.acked_bytes,
                r.cwnd_bytes.map(|c| c / u64::from(r.mss_bytes.unwrap())),
                r.ssthresh_bytes.map(|c| c / u64::from(r.mss_bytes.unwrap())),
                r.rtt_ns,
                r.min_rtt_ns,
                r.unacked_packets,
                r.sacked_packets,
                r.lost_packets,
                r.retrans_out_packets,
                r.ca_state,
                r.rto_ns,
                r.pacing_rate_bps,
                r.snd_wnd_bytes,
                r.notsent_bytes,
                r.retrans_packets,
                r.rto_count,
                r.bbr_bw_bps,
                r.bbr_pacing_gain_ratio,
                r.dctcp_alpha_ratio
            );
        }
    }
    let last = o.queues.last().unwrap().t_ns;
    for q in o.queues.iter().filter(|q| q.t_ns == last) {
        println!("{q:?}");
    }
    for c in &o.counters {
        println!("{} {} {}", c.host, c.counter, c.after);
    }
    println!("{:?} packets {} handled {} {:?}", o.in_flight, o.packets, o.handled, o.warnings);
    println!("{:?}", support::invariants::check(&run, &o));
}
#[test]
fn over() {
    let text = std::fs::read_to_string(std::env::var("FILE").unwrap()).unwrap();
    let (run, o) = support::carry_out(&text);
    let (mut first, mut worst) = (true, 0);
    for r in o.queues.iter().filter(|r| r.queue == "bottleneck/forward") {
        let could = (run.links[0].forward.rate.get() as i128 * r.t_ns as i128 / 8_000_000_000) as i64;
        let over = r.sent_bytes as i64 - could;
        if over > worst {
            worst = over;
            println!(
                "{:.3} sent {} could {could} over {over} = {:.3} ms backlog {} {}",
                r.t_ns as f64 / 1e6,
                r.sent_bytes,
                over as f64 * 8e3 / run.links[0].forward.rate.get() as f64,
                r.backlog_packets,
                r.backlog_bytes
            );
        }
        let _ = &mut first;
    }
}
