//! Random events for every algorithm. The fuzz target `congestion` includes this file too.

use wirespeed_congestion::{
    AckSample, Algorithm, CongestionControl, CongestionEvent, CongestionKind, Control, Phase, RateSample,
    Restart, RestartKind, Sent, Setup, Timestamps, Undo, algorithms,
};
use wirespeed_units::{Bytes, Packets, Rate, SimTime, Span};

/// Payload of a full segment.
pub const MSS: u64 = 1_448;

/// One thing that happens to a flow.
#[derive(Debug, Clone)]
pub enum Step {
    /// An acknowledgement.
    Ack {
        packets: u64,
        sacked: u64,
        lost: u64,
        rtt_us: Option<i64>,
        phase: Phase,
        limited: bool,
        marked: bool,
    },
    /// A loss or a mark.
    Congestion(CongestionKind),
    /// The last reduction was a mistake.
    Undo,
    /// Nothing was sent for so many milliseconds.
    Idle(i64),
    /// Only so many packets of the window were used.
    Underused(u64),
    /// The first packet after so many milliseconds.
    Start(i64),
    /// Another segment size.
    Mss(u64),
}

/// Steps from numbers, each with the microseconds before it; zeros are plain ACKs.
pub fn steps(numbers: &[u16]) -> Vec<(u32, Step)> {
    numbers.chunks(6).map(|of| (pause(of), step(of))).collect()
}

fn pause(of: &[u16]) -> u32 {
    // Mostly within a round trip; now and then seconds.
    let number = u32::from(of[0]);
    if number % 8 == 7 { number * 46 } else { number % 3_000 }
}

fn step(of: &[u16]) -> Step {
    let at = |index: usize| u64::from(of.get(index).copied().unwrap_or(0));
    match at(1) % 28 {
        20 | 21 => Step::Congestion(
            [
                CongestionKind::FastRetransmit,
                CongestionKind::Timeout,
                CongestionKind::EcnEcho,
                CongestionKind::LocalDrop,
                CongestionKind::TailLoss,
                CongestionKind::Requested,
            ][at(2) as usize % 6],
        ),
        22 => Step::Undo,
        23 => Step::Idle(at(2) as i64 * 2),
        24 => Step::Underused(at(2) % 10_000),
        25 => Step::Start(at(2) as i64 * 2),
        26 => Step::Mss([536, 1_448, 8_948][at(2) as usize % 3]),
        _ => Step::Ack {
            packets: at(2) % 5_000,
            sacked: (at(3) >> 8) % 100,
            lost: if at(3) % 4 == 3 { (at(3) >> 2) % 100 } else { 0 },
            rtt_us: (at(4) % 5 < 4).then_some(1 + at(4) as i64 * 31),
            phase: [
                Phase::Open,
                Phase::Open,
                Phase::Open,
                Phase::Open,
                Phase::Open,
                Phase::Open,
                Phase::Disorder,
                Phase::Cwr,
                Phase::Recovery,
                Phase::Loss,
            ][at(5) as usize % 10],
            limited: at(5) & 1 == 0,
            marked: at(5) & 2 == 2,
        },
    }
}

/// Windows to begin with, in packets: up to 1 GB and 10 GB.
pub const WINDOWS: [u64; 5] = [10, 1, 99, 690_000, 6_900_000];

/// Plays steps on every algorithm twice.
///
/// # Errors
/// Which algorithm leaves its bounds or does not repeat.
pub fn check(window: u64, seed: u64, steps: &[(u32, Step)]) -> Result<(), String> {
    for row in algorithms() {
        let said = play(row, window, seed, steps);
        let mut mss = MSS;
        for (control, (_, step)) in said.iter().zip(steps) {
            if let Step::Mss(new) = step {
                mss = *new;
            }
            let cwnd = control.cwnd.get();
            // 2^40 packets of 9 kB: the largest window there is.
            if !(mss..1 << 54).contains(&cwnd) {
                return Err(format!("{}: window of {cwnd} after {step:?}", row.name));
            }
            if control.ssthresh.is_some_and(|s| s.get() < 2 * mss) {
                return Err(format!("{}: threshold of {:?} after {step:?}", row.name, control.ssthresh));
            }
        }
        if said != play(row, window, seed, steps) {
            return Err(format!("{} does not repeat", row.name));
        }
    }
    Ok(())
}

/// Plays steps on a new instance and returns what it said after each.
pub fn play(row: &Algorithm, window: u64, seed: u64, steps: &[(u32, Step)]) -> Vec<Control> {
    let setup = Setup {
        seed,
        ssthresh: (window > 100).then_some(window),
        handshake_rtt: Some(Span::ms(20)),
        ..Setup::new(Bytes::new(MSS), window)
    };
    // Each parameter at its default, its least or its largest value.
    let chosen = row.parameters.iter().enumerate().map(|(index, parameter)| {
        let value = match (seed >> (2 * index)) & 3 {
            1 => parameter.min,
            2 => parameter.max,
            _ => parameter.default,
        };
        (parameter.name.to_owned(), value)
    });
    play_on(row.build(&setup, &chosen.collect()).unwrap().as_mut(), steps)
}

/// Plays steps on this instance and returns what it said after each. Crate `bpf` plays them on controls in C.
pub fn play_on(control: &mut dyn CongestionControl, steps: &[(u32, Step)]) -> Vec<Control> {
    let mut state = Played { now: SimTime::START, una: 0, nxt: 0, delivered: 0, marked: 0, lost: 0 };
    steps
        .iter()
        .map(|(pause_us, step)| {
            state.now = state.now + Span::us(i64::from(*pause_us));
            state.apply(control, step);
            control.control()
        })
        .collect()
}

struct Played {
    now: SimTime,
    una: u64,
    nxt: u64,
    delivered: u64,
    marked: u64,
    lost: u64,
}

impl Played {
    fn apply(&mut self, control: &mut dyn CongestionControl, step: &Step) {
        let (now, snd_nxt) = (self.now, self.nxt);
        match *step {
            Step::Ack { packets, sacked, lost, rtt_us, phase, limited, marked } => {
                self.una += packets * MSS;
                self.nxt = self.nxt.max(self.una) + packets * MSS;
                let prior = self.delivered.saturating_sub(packets);
                self.delivered += packets + sacked;
                self.lost += lost;
                self.marked += if marked { packets } else { 0 };
                let rtt = rtt_us.map(Span::us);
                let milliseconds = (now.picoseconds() / 1_000_000_000) as u32;
                control.on_ack(&AckSample {
                    now,
                    phase,
                    newly_acked: Packets::new(packets),
                    newly_delivered: Packets::new(packets + sacked),
                    newly_lost: Packets::new(lost),
                    may_grow: packets > 0,
                    cwnd_limited: limited,
                    cwnd: Packets::new(control.control().cwnd.get() / MSS),
                    predicted: !marked && sacked == 0,
                    snd_una: self.una,
                    snd_nxt: self.nxt,
                    rtt,
                    srtt: rtt,
                    prior_in_flight: Packets::new(packets + lost),
                    in_flight: Packets::new(sacked),
                    sacked_out: Packets::new(sacked),
                    delivered: Packets::new(self.delivered),
                    delivered_ce: Packets::new(self.marked),
                    lost: Packets::new(self.lost),
                    rate: rtt.map(|interval| RateSample {
                        delivered: Packets::new(packets + sacked),
                        interval,
                        prior_delivered: Packets::new(prior),
                        in_flight_at_send: Packets::new(packets + lost),
                        lost: Packets::new(lost),
                        app_limited: !limited,
                    }),
                    maybe_delayed: packets == 1,
                    pacing_rate: Rate::mbit(packets),
                    paced: marked,
                    earliest_departure: now,
                    timestamps: rtt_us.map(|rtt| Timestamps {
                        value: milliseconds,
                        echo: milliseconds.wrapping_sub((rtt / 1_000) as u32),
                    }),
                });
            }
            Step::Congestion(kind) => control.on_congestion(&CongestionEvent {
                now,
                kind,
                in_flight: Packets::new(0),
                newly_delivered: Packets::new(1),
                snd_una: self.una,
                snd_nxt,
            }),
            Step::Undo => control.on_undo(&Undo { now, snd_nxt }),
            Step::Idle(ms) => {
                let kind = RestartKind::Idle { idle: Span::ms(ms), rto: Span::ms(200) };
                control.on_restart(&Restart { now, kind, snd_nxt });
            }
            Step::Underused(used) => {
                let kind = RestartKind::Underused { used: Packets::new(used) };
                control.on_restart(&Restart { now, kind, snd_nxt });
            }
            Step::Start(ms) => control.on_sent(&Sent {
                now,
                packets: Packets::new(1),
                in_flight_before: Packets::new(0),
                since_last: Span::ms(ms),
                app_limited: true,
                snd_nxt,
            }),
            Step::Mss(mss) => control.on_mss(Bytes::new(mss)),
        }
    }
}
