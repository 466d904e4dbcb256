/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * YeAH (Baiocchi, Castellani, Vacirca, PFLDnet 2007): Scalable while the queue is short; Reno when it is not, and once a
 * round trip it takes its own packets out of the queue.
 */
#include "delays.h"

/* Packets acknowledged for one more while the queue is short, as Scalable. */
#define PER_INCREMENT 100
/* Own packets in the queue from which on it counts as full (alpha). */
#define QUEUE_FULL 80
/* The delay may be above the base by this part of it (1/phi). */
#define DELAY_PART 8
/* A loss costs at least this part of the window, as a shift (delta). */
#define LEAST_DECREASE_SHIFT 3
/* Taking packets out of the queue costs at most this part of the window, as a shift (epsilon). */
#define MOST_EARLY_SHIFT 1
/* After this many slow round trips in a row others compete, and a loss halves (rho). */
#define COMPETITION 16
/* After this many fast round trips the estimate of Reno's window is dropped (zeta). */
#define ALONE 50
/* Largest window, packets: Linux' own. A BPF program may not set the socket's clamp, so it is applied here. */
#define LARGEST_WINDOW (0xffffffffU / 128)

struct yeah {
	struct delays delays;
	/* Own packets in the queue at the last look. */
	u32 queued;
	/* Slow round trips in a row. */
	u32 slow_rounds;
	u32 fast_rounds;
	/* What a Reno flow would have: early retreat goes no lower. */
	u32 reno_window;
};
_Static_assert(sizeof(struct yeah) <= STATE_BYTES, "more state than a socket has room for");

static inline void limit(struct tcp_sock *tp)
{
	if (tp->snd_cwnd > LARGEST_WINDOW)
		set_window(tp, LARGEST_WINDOW);
}

static inline void yeah_init(struct sock *sk)
{
	struct yeah *s = state_of(sk);

	start_delays(&s->delays, tcp_sk(sk));
	s->queued = 0;
	s->slow_rounds = 0;
	s->fast_rounds = 0;
	s->reno_window = 2;
	limit(tcp_sk(sk));
}
HOOK_INIT(yeah_init)

static inline void yeah_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct yeah *s = state_of(sk);

	measure_delay(&s->delays, sample);
}
HOOK_ACKED(yeah_acked)

static inline void look(struct yeah *s, struct tcp_sock *tp)
{
	u64 base = s->delays.base, rtt = s->delays.least, cwnd = tp->snd_cwnd;
	u64 queued = per(cwnd * (rtt - base), rtt);

	if (queued > QUEUE_FULL || rtt - base > base / DELAY_PART) {
		if (queued > QUEUE_FULL && cwnd > s->reno_window) {
			u64 retreat = least(queued, cwnd >> MOST_EARLY_SHIFT);

			set_window(tp, most(cwnd - retreat, s->reno_window));
			set_ssthresh(tp, tp->snd_cwnd);
		}
		s->reno_window = s->reno_window <= 2 ? half(tp) : s->reno_window + 1;
		s->slow_rounds++;
	} else {
		if (++s->fast_rounds > ALONE) {
			s->reno_window = 2;
			s->fast_rounds = 0;
		}
		s->slow_rounds = 0;
	}
	s->queued = queued;
}

static inline void yeah_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *s = state_of(sk);

	if (!window_limits(sk))
		return;
	acked = after_slow_start(sk, acked);
	limit(tp);
	if (acked) {
		increase(tp, s->slow_rounds ? tp->snd_cwnd : least(tp->snd_cwnd, PER_INCREMENT), acked);
		limit(tp);
	}
	if (is_after(tp->snd_una, s->delays.round_end)) {
		if (delays_are_known(&s->delays))
			look(s, tp);
		start_round(&s->delays, tp);
	}
}
HOOK_GROW(yeah_grow)

static inline u32 yeah_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *s = state_of(sk);
	u32 cost = half(tp);

	if (s->slow_rounds < COMPETITION)
		cost = most(least(s->queued, cost), tp->snd_cwnd >> LEAST_DECREASE_SHIFT);
	s->fast_rounds = 0;
	s->reno_window = most(s->reno_window / 2, 2);
	return threshold(less(tp->snd_cwnd, cost));
}
HOOK_SSTHRESH(yeah_ssthresh)

static inline void yeah_phase(struct sock *sk, u8 to)
{
	struct yeah *s = state_of(sk);

	delays_in_phase(&s->delays, sk, to);
}
HOOK_PHASE(yeah_phase)

static inline void yeah_start(struct sock *sk)
{
	struct yeah *s = state_of(sk);

	start_delays(&s->delays, tcp_sk(sk));
}
HOOK_START(yeah_start)

static inline void yeah_event(struct sock *sk, u32 event)
{
	if (event == TRANSMIT_START || event == WINDOW_RESTART)
		yeah_start(sk);
}
HOOK_EVENT(yeah_event)

static inline u32 yeah_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(yeah_undo)

CONTROL(yeah,
	.init = HOOK(yeah_init),
	.cong_avoid = HOOK(yeah_grow),
	.ssthresh = HOOK(yeah_ssthresh),
	.set_state = HOOK(yeah_phase),
	.cwnd_event = HOOK(yeah_event),
	.cwnd_event_tx_start = HOOK(yeah_start),
	.pkts_acked = HOOK(yeah_acked),
	.undo_cwnd = HOOK(yeah_undo),
);
