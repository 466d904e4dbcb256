//! What Linux has changed about who gets a core: softirq work, the thread that takes it over, and the turns of threads;
//! and about sockets whose memory runs out.

use super::cost::part;
use wirespeed_scenario::run::{KernelVersion, Machine};
use wirespeed_units::{SimTime, Span};

/// The rules of a host's kernel.
#[derive(Debug, Clone)]
pub struct Rules {
    /// A round of softirq polls each queue once; what has more waits for the next (commit d75b1ade567f, 3.19). Before,
    /// it polls until nothing is left or the budget is used up.
    pub once_a_round: bool,
    /// A stretch of softirq work ends for a thread that is to take the core over, and after [`Rules::LONGEST`] (commit
    /// c10d73671ad3, 3.9). Before, only after [`Rules::ROUNDS`].
    pub yields: bool,
    /// While ksoftirqd wants to run, interrupts leave softirq work to it (commit 4cd13c21b207, 4.9; taken back by
    /// d15121be7485, 6.4). Else the next interrupt, or the tick, goes on with it.
    pub leaves_to_ksoftirqd: bool,
    /// A round of softirq ends with the tick that is so many after the one it began in (`net_rx_action`).
    round: i64,
    /// Entries of a shared receive ring that a poll can have mapped: mlx5 has one under way (`umr_in_progress`)
    /// until 5.2, several since (`umr_last_bulk`).
    pub mapped: u32,
    /// How far a sender looks for what an acknowledgement reports selectively.
    pub sack_walk: SackWalk,
    /// How threads share a core.
    pub turns: Turns,
}

/// How a sender finds what an acknowledgement reports selectively among what it has in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SackWalk {
    /// From the first packet in flight, for each block.
    EachBlock,
    /// From the first packet, for all blocks together; where only the first block has grown, from where it ended
    /// (commit 6a438bbe68c7, 2.6.15).
    Once,
    /// What was reported before is skipped (commit 68f8353b480e, 2.6.25).
    Skips,
}

impl SackWalk {
    /// That of a kernel.
    pub fn of(kernel: KernelVersion) -> SackWalk {
        if kernel >= KernelVersion::new(2, 6, 25) {
            SackWalk::Skips
        } else if kernel >= KernelVersion::new(2, 6, 15) {
            SackWalk::Once
        } else {
            SackWalk::EachBlock
        }
    }
}

/// How threads of a core take turns.
#[derive(Debug, Clone)]
pub struct Turns {
    /// What those who want the core share (`sched_latency`); `None`: the least turn for each.
    latency: Option<Span>,
    /// The least turn (`sched_min_granularity`, EEVDF's `base_slice`).
    least: Span,
    /// Who slept may be ahead of the others by so much (`place_entity`).
    pub credit: Span,
    /// Who wakes takes over at once if the one that runs has had so much more (`check_preempt_wakeup`).
    pub ahead: Span,
}

/// How often the scheduler looks whether a turn is over, or a waiting thread should move (a tick at HZ = 250).
const TICK: Span = Span::ms(4);

/// The first tick after `at`; ticks are even in time.
pub fn next_tick(at: SimTime) -> SimTime {
    SimTime::ps((at.picoseconds() / TICK.picoseconds() + 1) * TICK.picoseconds())
}

impl Rules {
    /// Rounds before ksoftirqd takes over (MAX_SOFTIRQ_RESTART).
    pub const ROUNDS: u32 = 10;
    /// The longest stretch of softirq work where there is such a limit (MAX_SOFTIRQ_TIME).
    pub const LONGEST: Span = Span::ms(2);

    /// Those of a machine's kernel.
    pub fn of(machine: &Machine) -> Rules {
        let since = |major, minor, patch| machine.kernel >= KernelVersion::new(major, minor, patch);
        let least = machine.granularity;
        let turns = if since(2, 6, 23) && !since(6, 6, 0) {
            // The fair scheduler: its latency is eight least turns, five at first (2.6.35); who slept is ahead by half
            // of it (GENTLE_FAIR_SLEEPERS, 2.6.32), by all of it at first.
            let gentle = since(2, 6, 32);
            let latency = least * if since(2, 6, 35) { 8 } else { 5 };
            let credit = if gentle { part(latency, 2) } else { latency };
            // `sched_wakeup_granularity`: 4/3 of the least turn, 5/2 at first.
            let ahead = if since(2, 6, 35) { part(least * 4, 3) } else { part(least * 5, 2) };
            Turns { latency: Some(latency), least, credit, ahead }
        } else {
            Turns { latency: None, least, credit: least, ahead: part(least, 2) }
        };
        Rules {
            once_a_round: since(3, 19, 0),
            yields: since(3, 9, 0),
            leaves_to_ksoftirqd: since(4, 9, 0) && !since(6, 4, 0),
            round: match () {
                // Two ticks again (commit a4837980fd9f).
                () if since(5, 7, 0) => 2,
                // 2000 us, which are a tick of 4 ms (`usecs_to_jiffies` rounds up; commit 7acf8a1e8a28).
                () if since(4, 12, 0) => 1,
                // `jiffies + 2` (commit 24f8b2385e03).
                () if since(2, 6, 29) => 2,
                // `jiffies != start_time` (commit bea3348eef27).
                () if since(2, 6, 24) => 1,
                // `jiffies - start_time > 1`.
                () => 2,
            },
            mapped: if since(5, 2, 0) { u32::MAX } else { 1 },
            sack_walk: SackWalk::of(machine.kernel),
            turns,
        }
    }
}

impl Rules {
    /// The same where an operator has set the time of a round (`netdev_budget_usecs`), if so.
    pub fn with_round(self, time: Option<Span>) -> Rules {
        let ticks = |time: Span| (time + TICK - Span::ps(1)).picoseconds() / TICK.picoseconds();
        Rules { round: time.map_or(self.round, ticks), ..self }
    }

    /// Whether the time of a round of softirq that began at `began` is over at `at`.
    pub fn round_is_over(&self, began: SimTime, at: SimTime) -> bool {
        let tick = |time: SimTime| time.picoseconds() / TICK.picoseconds();
        tick(at) >= tick(began) + self.round
    }
}

impl Turns {
    /// How long a turn lasts when so many want the core: `sched_slice`, seen at the tick (`check_preempt_tick`).
    pub fn lasts(&self, wanting: u32) -> Span {
        let Some(latency) = self.latency else { return self.least };
        let slice = part(latency, wanting).max(self.least);
        TICK * ((slice + TICK - Span::ps(1)).picoseconds() / TICK.picoseconds())
    }
}

/// Packets of 1460 bytes that RFC 2414 lets leave at first.
const RFC_2414: u64 = 4;

/// What a receiving TCP socket does about its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketRules {
    /// Packets that wait in a socket are put together while there is room for their fragments, and what describes them
    /// occupies memory once (`tcp_try_coalesce`; commits c8628155ece3, 1402d366019f, 3.5).
    pub coalesces: bool,
    /// A reader that leaves too much unread gets no larger window for the rest of the connection (`tcp_clamp_window`
    /// until commit 09e9ec87111b, 2.6.14).
    pub clamps_to_unread: bool,
    /// What is out of order is thrown away as a whole; since commit 36a6503fedda, 4.9, from the end and an eighth of the
    /// buffer at a time (`tcp_prune_ofo_queue`).
    pub prunes_all: bool,
    /// A packet for which there is no memory is answered with a window of 0 (commit e2142825c120, 6.6), not with silence.
    pub closes_window: bool,
    /// ACKs that only report what is out of order are held back for a moment and sent as one (`tcp_comp_sack_nr`; commit
    /// 5d9f4262b7ea, 4.18). Before, each packet, or what GRO merged, is answered.
    pub compresses_sacks: bool,
    /// A single full packet with PSH is answered as soon as it has been read (commit 4720852ed9af, 6.6).
    pub answers_pushed: bool,
    /// Packets that a receiver without news offers room for at first, of 1460 bytes; `None`: as many as 64 KiB hold (commit
    /// a337531b942b, 4.20). Before, twice the initial window of 10 (commit 85f16525a2eb, 3.12), once (356f039822b8, 2.6.38),
    /// that of RFC 2414 (`tcp_select_initial_window`).
    offers: Option<u64>,
    /// The socket counts its whole buffer as offered with the SYN-ACK, whose field has room for 64 KiB (commit 378979e94e95, 6.11).
    /// Before, no more than that.
    offers_all: bool,
    /// What may wait behind the socket's lock.
    backlog: Backlog,
}

/// Limits of what waits behind a socket's lock, in memory (`tcp_add_backlog`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backlog {
    /// None.
    Unlimited,
    /// The receive buffer (commit c377411f2494, 2.6.35).
    Receive,
    /// And the send buffer (commit da882c1f2eca, 3.5).
    Both,
    /// And 64 KiB (commit c9c3321257e1, 4.9).
    BothAndMore,
    /// Of the send buffer half (commit ec791d8149ff, 6.1).
    HalfAndMore,
    /// The receive buffer twice (commit ec00ed472bdb, 6.10).
    TwiceAndMore,
}

impl SocketRules {
    /// The most that a receiver offers at first, in bytes, to packets of `mss` bytes; `shift`: the window's scale, which may be
    /// too coarse for such a limit (`tcp_select_initial_window`, `tcp_default_init_rwnd`).
    pub fn first_window(&self, mss: u64, shift: u32) -> u64 {
        const USUAL: u64 = 1460;
        let most = if self.offers_all { u64::MAX } else { u64::from(u16::MAX) };
        let packets = match self.offers {
            Some(_) if mss <= 1 << shift => return most,
            None => return most,
            // RFC 2414, equation 1.
            Some(RFC_2414) if mss > 3 * USUAL => 2,
            Some(RFC_2414) if mss > USUAL => 3,
            Some(packets) if mss > USUAL => (USUAL * packets / mss).max(2),
            Some(packets) => packets,
        };
        most.min(packets * mss)
    }

    /// Those of a kernel.
    pub fn of(kernel: KernelVersion) -> SocketRules {
        let since = |major, minor, patch| kernel >= KernelVersion::new(major, minor, patch);
        SocketRules {
            coalesces: since(3, 5, 0),
            clamps_to_unread: !since(2, 6, 14),
            prunes_all: !since(4, 9, 0),
            closes_window: since(6, 6, 0),
            compresses_sacks: since(4, 18, 0),
            answers_pushed: since(6, 6, 0),
            offers: match () {
                () if since(4, 20, 0) => None,
                () if since(3, 12, 0) => Some(20),
                () if since(2, 6, 38) => Some(10),
                () => Some(RFC_2414),
            },
            offers_all: since(6, 11, 0),
            backlog: match () {
                () if since(6, 10, 0) => Backlog::TwiceAndMore,
                () if since(6, 1, 0) => Backlog::HalfAndMore,
                () if since(4, 9, 0) => Backlog::BothAndMore,
                () if since(3, 5, 0) => Backlog::Both,
                () if since(2, 6, 35) => Backlog::Receive,
                () => Backlog::Unlimited,
            },
        }
    }

    /// What a socket with such buffers may hold, unread or behind its lock, before a further packet behind the lock is
    /// dropped, in bytes of memory (`sk_rcvqueues_full`).
    pub fn backlog_limit(&self, receive: u64, send: u64) -> u64 {
        const MORE: u64 = 64 * 1024;
        match self.backlog {
            Backlog::Unlimited => u64::MAX,
            Backlog::Receive => receive,
            Backlog::Both => receive + send,
            Backlog::BothAndMore => receive + send + MORE,
            Backlog::HalfAndMore => receive + send / 2 + MORE,
            Backlog::TwiceAndMore => 2 * receive + send / 2 + MORE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::Bytes;

    fn rules(kernel: KernelVersion) -> Rules {
        Rules::of(&Machine {
            nodes: 1,
            cores_per_node: 8,
            twin_speed: None,
            speed: 1.0,
            cache: Bytes::kib(1),
            interlink: None,
            memory: None,
            granularity: Span::ms(3),
            kernel,
        })
    }

    #[test]
    fn softirq_leaves_a_core_sooner_from_version_to_version() {
        let of = |version: &str| {
            let rules = rules(version.parse().unwrap());
            (rules.yields, rules.once_a_round, rules.leaves_to_ksoftirqd)
        };
        assert_eq!(of("2.6.24"), (false, false, false));
        assert_eq!(of("3.10"), (true, false, false));
        assert_eq!(of("4.4"), (true, true, false));
        assert_eq!(of("4.15"), (true, true, true));
        assert_eq!(of("6.6"), (true, true, false));
    }

    #[test]
    fn a_round_ends_with_a_tick_of_the_version_or_the_operator() {
        let over = |version: &str, time: Option<Span>, ms: i64| {
            let rules = rules(version.parse().unwrap()).with_round(time);
            // It begins 3 ms into a tick.
            rules.round_is_over(SimTime::START + Span::ms(43), SimTime::START + Span::ms(ms))
        };
        for (version, first) in
            [("2.6.23", 48), ("2.6.24", 44), ("2.6.29", 48), ("3.10", 48), ("4.15", 44), ("6.12", 48)]
        {
            assert!(!over(version, None, first - 1) && over(version, None, first), "{version}");
        }
        let set = |microseconds| Some(Span::us(microseconds));
        assert!(over("6.12", set(0), 43), "after every poll");
        assert!(!over("6.12", set(4000), 43) && over("6.12", set(4000), 44));
        assert!(!over("6.12", set(4001), 47) && over("6.12", set(4001), 48), "a tick that has begun counts");
    }

    #[test]
    fn backlog_behind_a_lock_grows_from_version_to_version() {
        let of = |version: &str| SocketRules::of(version.parse().unwrap()).backlog_limit(1 << 20, 1 << 16);
        assert_eq!(of("2.6.24"), u64::MAX);
        assert_eq!(of("3.2"), 1 << 20);
        assert_eq!(of("3.10"), (1 << 20) + (1 << 16));
        assert_eq!(of("4.15"), (1 << 20) + (2 << 16));
        assert_eq!(of("6.6"), (1 << 20) + (1 << 15) + (1 << 16));
        assert_eq!(of("6.12"), (2 << 20) + (1 << 15) + (1 << 16));
    }

    #[test]
    fn two_threads_share_the_latency_and_many_have_the_least_turn() {
        let turns = rules(KernelVersion::new(4, 15, 0)).turns;
        assert_eq!(
            (turns.lasts(2), turns.lasts(3), turns.lasts(20)),
            (Span::ms(12), Span::ms(8), Span::ms(4))
        );
        assert_eq!((turns.credit, turns.ahead), (Span::ms(12), Span::ms(4)));
        assert_eq!(rules(KernelVersion::TODAY).turns.lasts(2), Span::ms(3), "EEVDF's slice");
    }
}
