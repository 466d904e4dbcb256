/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FAST TCP (Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006): once a round trip the window moves half of the way to the
 * one that keeps ALPHA packets in the queue; a loss halves it. Delays are in microseconds.
 */
#include "wide.h"

/* Packets it keeps in the queue. */
#define ALPHA 200
/* Part of the way it goes each round trip, percent. */
#define GAMMA_PERCENT 50
/* Leave slow start above this queueing delay. */
#define LEAVE_US 750
/* log2 of the scale of the average delay: fine enough that no sample is lost at a window of ten million packets. */
#define DELAY_SHIFT 32
/* Longer round-trip times count as this (268 s), so that three of them fit in 63 bits with that scale. */
#define RTT_MAX (1U << 28)

struct fast {
	/* Average round-trip time, scaled; zero: none yet. */
	u64 average;
	/* Least round-trip time; zero: none yet. */
	u32 base;
	u32 round_end;
};

static inline void fast_init(struct sock *sk)
{
	struct fast *s = state_of(sk);

	s->average = 0;
	s->base = 0;
	s->round_end = tcp_sk(sk)->snd_nxt;
}
HOOK_INIT(fast_init)

static inline void fast_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct fast *s = state_of(sk);
	u32 rtt = least(rtt_of(sample), RTT_MAX);
	/* Weight min(3 / w, 1 / 4): the average covers a third of a window (paper, section IV-B). */
	u64 divisor = most(tcp_sk(sk)->snd_cwnd, 12), scaled = (u64)rtt << DELAY_SHIFT;

	if (!rtt)
		return;
	s->base = s->base ? least(s->base, rtt) : rtt;
	/* Each way by itself: BPF divides unsigned numbers only. */
	if (!s->average)
		s->average = scaled;
	else if (scaled >= s->average)
		s->average += (scaled - s->average) * 3 / divisor;
	else
		s->average -= (s->average - scaled) * 3 / divisor;
}
HOOK_ACKED(fast_acked)

/* w = min(2 w, (1 - gamma) w + gamma (base / rtt w + alpha)) (paper, equation 1). */
static inline u64 target(const struct fast *s, u32 cwnd)
{
	u64 base = (u64)s->base << DELAY_SHIFT;
	u64 fitting = mul_div(cwnd, base, most(s->average, base)) + ALPHA;
	u64 moved = ((100 - GAMMA_PERCENT) * (u64)cwnd + GAMMA_PERCENT * fitting) / 100;

	return most(least(moved, 2ULL * cwnd), 2);
}

static inline void fast_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fast *s = state_of(sk);
	u64 cwnd;

	if (!s->base || !s->average)
		return;
	if (in_slow_start(tp)) {
		if (less(s->average >> DELAY_SHIFT, s->base) <= LEAVE_US) {
			if (window_limits(sk))
				tcp_slow_start(tp, acked);
			return;
		}
		set_ssthresh(tp, most(tp->snd_cwnd, 2));
	}
	if (!is_after(tp->snd_una, s->round_end))
		return;
	s->round_end = tp->snd_nxt;
	cwnd = target(s, tp->snd_cwnd);
	/* A window that is not used may shrink, not grow. */
	if (!window_limits(sk))
		cwnd = least(cwnd, tp->snd_cwnd);
	set_window(tp, cwnd);
	set_ssthresh(tp, least(tp->snd_ssthresh, most(tp->snd_cwnd, 2)));
}
HOOK_GROW(fast_grow)

static inline u32 fast_ssthresh(struct sock *sk)
{
	return half(tcp_sk(sk));
}
HOOK_SSTHRESH(fast_ssthresh)

static inline void fast_event(struct sock *sk, u32 event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fast *s = state_of(sk);

	if (event != WINDOW_RESTART)
		return;
	s->average = 0;
	s->round_end = tp->snd_nxt;
}
HOOK_EVENT(fast_event)

static inline u32 fast_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(fast_undo)

CONTROL(fast,
	.init = HOOK(fast_init),
	.cong_avoid = HOOK(fast_grow),
	.ssthresh = HOOK(fast_ssthresh),
	.cwnd_event = HOOK(fast_event),
	.pkts_acked = HOOK(fast_acked),
	.undo_cwnd = HOOK(fast_undo),
);
