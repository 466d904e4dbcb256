mod support;
#[test]
fn hand() {
    let Ok(path) = std::env::var("TRACE_FILE") else { return };
    let t = support::analyze(&std::fs::read(path).unwrap());
    let mut f = support::flow(&t).clone();
    for r in f.rounds.iter().take(20) {
        println!("{:3} t={:.3} d={:.3} pk={} rtx={} dup={} first={:?} inflight={} rtt={:?} rate={:.0?}M before={:.0?}M {:?}", r.number, r.start_ns as f64/1e9, r.duration_ns() as f64/1e9, r.packets, r.retransmitted, r.duplicates, r.first_duplicate, r.max_in_flight_bytes/1448, r.rtt_ns.map(|x|x/1000), r.rate_bps.unwrap_or(0.)/1e6, r.rate_before_duplicates_bps.unwrap_or(0.)/1e6, r.limit);
    }
    f.rounds.clear(); f.windows.clear(); let n = f.each_retransmission.len(); f.each_retransmission.truncate(30);
    println!("{f:#?} {n}");
}
