//! Adaptive interrupt moderation as mlx5 and other drivers have it (Linux `lib/dim`, `net_dim.h`; in 4.15 mlx5's own
//! `en_rx_am.c`): a queue tries the profiles in turn and stays with that which moves the most at the fewest interrupts.

use wirespeed_units::{SimTime, Span};

/// A profile: the interrupt comes with the `packets`-th packet, or when none has come for `idle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Time without a packet.
    pub idle: Span,
    /// Packets.
    pub packets: u32,
}

/// Those for interfaces whose timer starts anew with each packet (`NET_DIM_RX_CQE_PROFILES`).
const PROFILES: [Profile; 5] =
    [profile(2, 256), profile(8, 128), profile(16, 64), profile(32, 64), profile(64, 64)];
/// The one it begins with (`NET_DIM_DEF_PROFILE_CQE`).
const FIRST: usize = 1;
/// Interrupts from one decision to the next (`NET_DIM_NEVENTS`).
const EVENTS: u32 = 64;
/// A difference of more than so many hundredths counts (`IS_SIGNIFICANT_DIFF`).
const SIGNIFICANT: f64 = 0.1;
/// So many steps make it tired.
const TIRED: u32 = 2 * PROFILES.len() as u32;

const fn profile(idle_us: i64, packets: u32) -> Profile {
    Profile { idle: Span::us(idle_us), packets }
}

/// The state of a queue.
#[derive(Debug)]
pub struct Dim {
    /// Of the profile in use.
    index: usize,
    walk: Walk,
    before: Option<Rates>,
    /// Where the present measurement began: time, packets, bytes.
    start: Option<(SimTime, u64, u64)>,
    events: u32,
}

impl Default for Dim {
    fn default() -> Self {
        Dim { index: FIRST, walk: Walk::default(), before: None, start: None, events: 0 }
    }
}

/// What it is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Course {
    /// Stays while nothing changes.
    #[default]
    OnTop,
    /// Rests from having tried for too long.
    Tired,
    Right,
    Left,
}

#[derive(Debug, Default)]
struct Walk {
    course: Course,
    right: u32,
    left: u32,
    tired: u32,
}

/// What moved in the time of a measurement, a second.
#[derive(Debug, Clone, Copy)]
struct Rates {
    bytes: f64,
    packets: f64,
    events: f64,
}

#[derive(PartialEq)]
enum Change {
    Better,
    Worse,
    Same,
}

impl Dim {
    /// The profile in use.
    pub fn profile(&self) -> Profile {
        PROFILES[self.index]
    }

    /// A stretch of polling is over, after so many packets and bytes in all.
    pub fn polled(&mut self, now: SimTime, packets: u64, bytes: u64) {
        self.events += 1;
        let Some((since, packets_then, bytes_then)) = self.start else {
            (self.start, self.events) = (Some((now, packets, bytes)), 0);
            return;
        };
        let seconds = (now - since).as_secs_f64();
        if self.events < EVENTS || seconds <= 0.0 {
            return;
        }
        let rates = Rates {
            bytes: (bytes - bytes_then) as f64 / seconds,
            packets: (packets - packets_then) as f64 / seconds,
            events: f64::from(self.events) / seconds,
        };
        (self.start, self.events) = (Some((now, packets, bytes)), 0);
        self.decide(rates);
    }

    fn decide(&mut self, rates: Rates) {
        let course = self.walk.course;
        match course {
            Course::OnTop => {
                if rates.against(self.before) != Change::Same {
                    self.set_out();
                }
            }
            Course::Tired => {
                self.walk.tired -= 1;
                if self.walk.tired == 0 {
                    self.set_out();
                }
            }
            Course::Right | Course::Left => {
                if rates.against(self.before) != Change::Better {
                    self.walk.turn();
                }
                if self.walk.is_past_the_top() {
                    self.walk = Walk::default();
                } else {
                    self.step();
                }
            }
        }
        if course != Course::OnTop || self.walk.course != Course::OnTop {
            self.before = Some(rates);
        }
    }

    fn set_out(&mut self) {
        self.walk.course = if self.index > 0 { Course::Left } else { Course::Right };
        self.step();
    }

    fn step(&mut self) {
        if self.walk.tired == TIRED {
            self.walk = Walk { course: Course::Tired, tired: TIRED, ..Walk::default() };
            return;
        }
        let right = self.walk.course == Course::Right;
        let edge = if right { PROFILES.len() - 1 } else { 0 };
        if self.index == edge {
            self.walk = Walk::default();
            return;
        }
        if right {
            self.index += 1;
            self.walk.right += 1;
        } else {
            self.index -= 1;
            self.walk.left += 1;
        }
        self.walk.tired += 1;
    }
}

impl Walk {
    fn turn(&mut self) {
        if self.course == Course::Right {
            (self.course, self.left) = (Course::Left, 0);
        } else {
            (self.course, self.right) = (Course::Right, 0);
        }
    }

    /// It has turned back after more than one step the other way.
    fn is_past_the_top(&self) -> bool {
        match self.course {
            Course::Right => self.left > 1 && self.right == 1,
            Course::Left => self.right > 1 && self.left == 1,
            Course::OnTop | Course::Tired => true,
        }
    }
}

impl Rates {
    /// More bytes are better, else more packets, else fewer interrupts.
    fn against(&self, before: Option<Rates>) -> Change {
        let Some(before) = before else { return Change::Better };
        let fewer_events = (-self.events, -before.events);
        for (now, then) in [(self.bytes, before.bytes), (self.packets, before.packets), fewer_events] {
            if (now - then).abs() > SIGNIFICANT * then.abs() {
                return if now > then { Change::Better } else { Change::Worse };
            }
        }
        Change::Same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that gets packets of 9000 B at an even rate, each interrupt bringing what its profile says.
    fn settles(rate_pps: f64) -> (Dim, u32) {
        let mut dim = Dim::default();
        let (mut now, mut packets, mut changes) = (0.0, 0.0, 0);
        for _ in 0..20_000 {
            let before = dim.profile();
            // Where packets are rarer than the time without one, each comes alone.
            let idle = before.idle.as_secs_f64();
            let batch = if 1.0 / rate_pps > idle { 1.0 } else { f64::from(before.packets) };
            packets += batch;
            now += batch / rate_pps;
            dim.polled(SimTime::ps((now * 1e12) as i64), packets as u64, packets as u64 * 9000);
            changes += u32::from(dim.profile() != before);
        }
        (dim, changes)
    }

    #[test]
    fn it_settles_where_interrupts_are_fewest() {
        // 2.2 us from packet to packet: only the first profile's timer lets interrupts come one by one.
        let (dim, changes) = settles(450_000.0);
        assert!(dim.profile().packets >= 64 && dim.profile() != PROFILES[0], "{:?}", dim.profile());
        assert!(changes < 40, "it rests: {changes} changes in 312 decisions");
    }

    #[test]
    fn a_change_of_load_sets_it_out_again() {
        let mut dim = Dim { before: Some(Rates { bytes: 1e9, packets: 1e5, events: 1e4 }), ..Dim::default() };
        dim.decide(Rates { bytes: 1.05e9, packets: 1.05e5, events: 1.05e4 });
        assert_eq!(dim.profile(), PROFILES[FIRST], "five in a hundred are noise");
        dim.decide(Rates { bytes: 2e9, packets: 2e5, events: 1e4 });
        assert_ne!(dim.profile(), PROFILES[FIRST]);
    }
}
