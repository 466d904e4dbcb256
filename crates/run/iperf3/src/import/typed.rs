//! From the JSON as it is written to what it says: which half of a total is this side's own, which is the other's
//! word, and which was never known though a number stands there.

use super::error::ImportError;
use super::raw::{Connected, Halves, Raw, Sample, Start, TestStart};
use super::report::{
    Congestion, Cpu, Endpoint, Interval, Length, Protocol, Received, Report, Side, State, Stream, Total,
};
use serde_json::Value;

/// Longest test taken, in seconds: 100 days; iperf3 itself takes part for a day.
const LONGEST_S: f64 = 8_640_000.0;

pub fn report(raw: Raw) -> Result<Report, ImportError> {
    let Raw { start, intervals, end, error, server_output_json } = raw;
    let start = start.ok_or_else(|| missing("start"))?;
    let nothing = || ImportError::NothingMeasured { reason: error.clone() };
    let test = start.test_start.clone().ok_or_else(nothing)?;
    if start.connected.is_empty() {
        return Err(nothing());
    }
    let side = side(&start)?;
    let protocol = protocol(&test)?;
    let is_client = matches!(side, Side::Client { .. });
    let mut streams: Vec<Stream> =
        start.connected.iter().map(|connected| stream(connected, &test, is_client)).collect();
    for (number, interval) in intervals.into_iter().enumerate() {
        for (place, sample) in interval.streams.into_iter().enumerate() {
            let name = format!("intervals[{number}].streams[{place}]");
            add_interval(find(&mut streams, &sample, &name)?, &sample, protocol, &name)?;
        }
    }
    // A server prints before it has the client's results, and numbers stand there all the same: 0.
    let exchanged = is_client && error.is_none() && end.as_ref().is_some_and(|end| !end.streams.is_empty());
    let end = end.unwrap_or_default();
    for (place, halves) in end.streams.iter().enumerate() {
        let name = format!("end.streams[{place}]");
        let Some(any) = halves.udp.as_ref().or(halves.sender.as_ref()).or(halves.receiver.as_ref()) else {
            continue;
        };
        let stream = find(&mut streams, any, &name)?;
        stream.total = total(halves, stream.sends, exchanged, &name)?;
    }
    // Of UDP the totals by stream have no received bytes; of a single stream the sum has.
    if let ([only], Protocol::Udp, Some(sum)) = (&mut streams[..], protocol, &end.sum_received)
        && exchanged
        && let Some(received) = &mut only.total.received
    {
        received.bytes = sum.bytes;
        received.lasted_ns = Some(time_ns(sum.end, "end.sum_received.end")?);
    }
    if streams.iter().all(|stream| stream.intervals.is_empty() && stream.total.own_bytes.is_none()) {
        return Err(nothing());
    }
    let cpu = end.cpu_utilization_percent.as_ref();
    let server = server_output_json.map(|raw| self::report(*raw)).transpose()?;
    Ok(Report {
        version: start.version.clone(),
        system: start.system_info.clone(),
        started_unix_s: start.timestamp.as_ref().and_then(|time| time.timesecs),
        cookie: start.cookie.clone(),
        side,
        protocol,
        block_bytes: test.blksize,
        target_bps: test.target_bitrate.filter(|rate| *rate > 0),
        length: length(&test)?,
        omit_ns: time_ns(test.omit.unwrap_or(0.0), "start.test_start.omit")?,
        streams,
        exchanged,
        cpu: cpu.and_then(|cpu| percent([cpu.host_total, cpu.host_user, cpu.host_system])),
        peer_cpu: cpu
            .filter(|_| exchanged)
            .and_then(|cpu| percent([cpu.remote_total, cpu.remote_user, cpu.remote_system])),
        congestion: Congestion { sender: end.sender_tcp_congestion, receiver: end.receiver_tcp_congestion },
        error,
        server: server.map(Box::new),
        settings: settings(&test),
    })
}

/// What was asked for: what is 0 was not, and older versions do not have it.
fn settings(test: &TestStart) -> Value {
    let mut settings = serde_json::to_value(test).expect("settings are plain data");
    if let Value::Object(all) = &mut settings {
        all.retain(|_, value| !value.is_null() && value.as_f64() != Some(0.0));
    }
    settings
}

fn missing(field: &str) -> ImportError {
    ImportError::Field { field: field.into(), reason: "it is missing".into() }
}

fn side(start: &Start) -> Result<Side, ImportError> {
    match (&start.connecting_to, &start.accepted_connection) {
        (Some(server), _) => Ok(Side::Client { server: server.host.clone(), port: server.port }),
        (None, Some(client)) => Ok(Side::Server { client: client.host.clone() }),
        (None, None) => Err(missing("start.connecting_to (or start.accepted_connection, of a server)")),
    }
}

fn protocol(test: &TestStart) -> Result<Protocol, ImportError> {
    match test.protocol.as_str() {
        "TCP" => Ok(Protocol::Tcp),
        "UDP" => Ok(Protocol::Udp),
        other => Err(ImportError::Field {
            field: "start.test_start.protocol".into(),
            reason: format!("`{other}` is neither TCP nor UDP, of which recordings are made"),
        }),
    }
}

fn length(test: &TestStart) -> Result<Length, ImportError> {
    Ok(match (test.bytes, test.blocks, test.duration) {
        (Some(bytes @ 1..), _, _) => Length::Bytes(bytes),
        (_, Some(blocks @ 1..), _) => Length::Blocks(blocks),
        (_, _, Some(seconds)) if seconds > 0.0 => {
            Length::Time(time_ns(seconds, "start.test_start.duration")?)
        }
        _ => Length::Unknown,
    })
}

fn stream(connected: &Connected, test: &TestStart, is_client: bool) -> Stream {
    let end = |host: &str, port| Endpoint { host: host.into(), port };
    // Until the first interval says so itself, as newer versions do.
    let reverse = test.reverse.unwrap_or(0) != 0;
    Stream {
        socket: connected.socket,
        local: end(&connected.local_host, connected.local_port),
        remote: end(&connected.remote_host, connected.remote_port),
        sends: is_client != reverse,
        intervals: Vec::new(),
        total: Total::default(),
    }
}

fn find<'a>(streams: &'a mut [Stream], sample: &Sample, name: &str) -> Result<&'a mut Stream, ImportError> {
    streams.iter_mut().find(|stream| stream.socket == sample.socket).ok_or_else(|| ImportError::Field {
        field: format!("{name}.socket"),
        reason: format!("{} is none of start.connected", sample.socket),
    })
}

fn add_interval(
    stream: &mut Stream,
    sample: &Sample,
    protocol: Protocol,
    name: &str,
) -> Result<(), ImportError> {
    // iperf3 starts to count anew where the measurement begins.
    let omitted_ns = stream.intervals.iter().rfind(|interval| interval.omitted).map_or(0, |i| i.to_ns);
    let offset_ns = if sample.omitted { 0 } else { omitted_ns };
    let from_ns = offset_ns + time_ns(sample.start, &format!("{name}.start"))?;
    let to_ns = offset_ns + time_ns(sample.end, &format!("{name}.end"))?;
    let before_ns = stream.intervals.last().map_or(0, |interval| interval.to_ns);
    if to_ns < from_ns || to_ns < before_ns {
        return Err(ImportError::Field {
            field: format!("{name}.end"),
            reason: format!("{} s is before what came before", sample.end),
        });
    }
    stream.sends = sample.sender.unwrap_or(stream.sends);
    let bytes = sample.bytes.ok_or_else(|| missing(&format!("{name}.bytes")))?;
    let received = !stream.sends;
    let state = State {
        retransmits: sample.retransmits,
        cwnd_bytes: sample.snd_cwnd.filter(|window| *window > 0),
        snd_wnd_bytes: sample.snd_wnd.filter(|window| *window > 0),
        rtt_us: sample.rtt.filter(|rtt| *rtt > 0),
        rttvar_us: sample.rttvar.filter(|_| sample.rtt.is_some_and(|rtt| rtt > 0)),
    };
    let told = state != State::default();
    stream.intervals.push(Interval {
        from_ns,
        to_ns,
        omitted: sample.omitted,
        bytes,
        packets: sample.packets,
        lost: sample.lost_packets.filter(|_| received),
        jitter_ms: sample.jitter_ms.filter(|_| received),
        tcp: (protocol == Protocol::Tcp && stream.sends && told).then_some(state),
    });
    Ok(())
}

/// What a stream came to, for the side that sends on it or not.
fn total(halves: &Halves, sends: bool, exchanged: bool, name: &str) -> Result<Total, ImportError> {
    let lasted = |sample: &Sample, half: &str| time_ns(sample.end, &format!("{name}.{half}.end")).map(Some);
    if let Some(udp) = &halves.udp {
        let received = (!sends || exchanged).then(|| Received {
            bytes: None,
            lasted_ns: None,
            packets: udp.packets,
            lost: udp.lost_packets,
            jitter_ms: udp.jitter_ms,
            // Nobody tells the other side that; a sender's is always 0.
            out_of_order: udp.out_of_order.filter(|_| !sends),
        });
        // A receiver's are the sender's, or 0 where it does not know them.
        let own_bytes = udp.bytes.filter(|_| sends);
        return Ok(Total { lasted_ns: lasted(udp, "udp")?, own_bytes, retransmits: None, received });
    }
    let (own, half) = if sends { (&halves.sender, "sender") } else { (&halves.receiver, "receiver") };
    let Some(own) = own else { return Ok(Total::default()) };
    let receiver = halves.receiver.as_ref().filter(|_| !sends || exchanged);
    let received = match receiver {
        Some(sample) => Some(Received {
            bytes: sample.bytes,
            lasted_ns: lasted(sample, "receiver")?,
            ..Received::default()
        }),
        None => None,
    };
    let sender = halves.sender.as_ref().filter(|_| sends || exchanged);
    Ok(Total {
        lasted_ns: lasted(own, half)?,
        own_bytes: own.bytes,
        retransmits: sender.and_then(|sample| sample.retransmits),
        received,
    })
}

fn percent([total, user, system]: [Option<f64>; 3]) -> Option<Cpu> {
    Some(Cpu { total_percent: total?, user_percent: user?, system_percent: system? })
}

/// Seconds of a test in nanoseconds.
fn time_ns(seconds: f64, field: &str) -> Result<i64, ImportError> {
    if (0.0..=LONGEST_S).contains(&seconds) {
        return Ok((seconds * 1e9).round() as i64);
    }
    Err(ImportError::Field {
        field: field.into(),
        reason: format!("{seconds} s is no time of a test (0 to {LONGEST_S} s)"),
    })
}
