/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP LoLa (Hock, Neumeister, Zitterbart, Bless, LCN 2017), from the paper: keeps the queueing delay between two bounds
 * whatever the round-trip time, and gives each flow the same share of the queue.
 *
 * A cubic increase fills the path; from a queueing delay of LOW_US on each flow grows to hold X(t) = (t/phi)^3 packets in
 * the queue; beyond TARGET_US all hold still for HOLD_US, so that every flow notices, and then take their packets out of
 * the queue. Times are in microseconds.
 */
#include "wide.h"

/* Queueing delay that shows that the path is full, and at which flows hold and retreat. */
#define LOW_US 1000
#define TARGET_US 5000
#define HOLD_US 250000
#define PHI_US 35000ULL
/* A retreat leaves this part of what fits without queue; a loss that of the window, as CUBIC: in 1/1024. */
#define GAMMA 973
#define LOSS_KEEPS 717
#define SCALE 1024
/* A window of C t^3 packets after t microseconds: C = 0.4 packets a second cubed, so 10^18 / 0.4. */
#define US3_PER_PACKET 2500000000000000000ULL
/* Most packets that the window is to come back by: two thousand million, 3 TB. */
#define MOST_PACKETS 0x7fffffffU
/* Longest time that counts in a curve: an hour. */
#define LONGEST_US 3600000000ULL
/* No curve asks for more packets. */
#define CEILING (1ULL << 40)

enum lola_state { INCREASE, BALANCE, HOLD };

struct lola {
	/* Balance: since when. Hold: until when. */
	u64 mark_us;
	/* The curve since the last decrease. */
	u64 epoch_us;
	/* Packets the window may still grow by in this round trip to reach the flow's share of the queue. */
	u64 share_left;
	u32 epoch_k_us;
	u32 epoch_origin;
	/* The window before the last decrease; zero if there was none. */
	u32 last_max;
	/* Least round-trip time of the connection, of this round (zero: none yet), of the last round. */
	u32 min_rtt;
	u32 round_rtt;
	u32 rtt;
	/* The largest while holding. */
	u32 held_rtt;
	u32 round_end;
	u8 state;
	bool in_epoch;
};
_Static_assert(sizeof(struct lola) <= STATE_BYTES, "more state than a socket has room for");

static inline void lola_init(struct sock *sk)
{
	struct lola *s = state_of(sk);

	s->mark_us = 0;
	s->share_left = 0;
	s->last_max = 0;
	s->min_rtt = 0;
	s->round_rtt = 0;
	s->rtt = 0;
	s->held_rtt = 0;
	s->round_end = tcp_sk(sk)->snd_nxt;
	s->state = INCREASE;
	s->in_epoch = false;
}
HOOK_INIT(lola_init)

static inline u32 queueing_us(const struct lola *s)
{
	return s->min_rtt ? less(s->rtt, s->min_rtt) : 0;
}

/* X(t) = (t / phi)^3 in packets. */
static inline u64 share(u64 t_us)
{
	u64 t = least(t_us, LONGEST_US);

	return least(mul_div(t, t * t, PHI_US * PHI_US * PHI_US), CEILING);
}

/* (1 - queued share) gamma of the window: what fits the path without queue, and a little less. */
static inline void retreat(struct lola *s, struct tcp_sock *tp)
{
	u64 min_rtt = s->min_rtt ? s->min_rtt : s->held_rtt, cwnd = tp->snd_cwnd;
	u64 fitting = per(cwnd * min_rtt, most(most(s->held_rtt, min_rtt), 1));

	s->last_max = cwnd;
	set_window(tp, most(fitting * GAMMA / SCALE, 2));
	set_ssthresh(tp, least(tp->snd_ssthresh, tp->snd_cwnd));
	tp->snd_cwnd_cnt = 0;
	s->in_epoch = false;
	s->state = INCREASE;
}

/* Once a round trip, with its least delay. */
static inline void decide(struct lola *s, struct tcp_sock *tp)
{
	u64 now = now_us(tp);
	u32 queueing = queueing_us(s);

	if (in_slow_start(tp)) {
		if (queueing > 2 * LOW_US)
			set_ssthresh(tp, most(tp->snd_cwnd, 2));
		return;
	}
	if (s->state == INCREASE && queueing > LOW_US) {
		s->state = BALANCE;
		s->mark_us = now;
	} else if (s->state == BALANCE && queueing < LOW_US) {
		s->state = INCREASE;
	}
	if (s->state == BALANCE) {
		if (queueing > TARGET_US) {
			s->held_rtt = s->rtt;
			s->state = HOLD;
			s->mark_us = now + HOLD_US;
		} else {
			u64 queued = per((u64)tp->snd_cwnd * queueing, most(s->rtt, 1));

			s->share_left = less(share(now - s->mark_us), queued);
		}
	}
	if (s->state == HOLD) {
		s->held_rtt = most(s->held_rtt, s->rtt);
		if (now >= s->mark_us)
			retreat(s, tp);
	}
}

static inline void lola_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lola *s = state_of(sk);
	u32 rtt = rtt_of(sample);

	if (!rtt)
		return;
	s->min_rtt = s->min_rtt ? least(s->min_rtt, rtt) : rtt;
	s->round_rtt = s->round_rtt ? least(s->round_rtt, rtt) : rtt;
	if (!is_after(tp->snd_una, s->round_end))
		return;
	s->round_end = tp->snd_nxt;
	s->rtt = s->round_rtt;
	s->round_rtt = 0;
	s->share_left = 0;
	if (!is_reducing(phase_of(sk)))
		decide(s, tp);
}
HOOK_ACKED(lola_acked)

/* W(t) = C (t - K)^3 + W_max, one round trip ahead. */
static inline u64 cubic(struct lola *s, const struct tcp_sock *tp)
{
	u64 now = now_us(tp), t, apart, delta;
	u32 cwnd = tp->snd_cwnd;

	if (!s->in_epoch) {
		s->in_epoch = true;
		s->epoch_us = now;
		s->epoch_k_us = cube_root(US3_PER_PACKET, least(less(s->last_max, cwnd), MOST_PACKETS));
		s->epoch_origin = most(s->last_max, cwnd);
	}
	t = least(now - s->epoch_us + s->min_rtt, LONGEST_US);
	apart = most(less(t, s->epoch_k_us), less(s->epoch_k_us, t));
	delta = least(mul_div(apart, apart * apart, US3_PER_PACKET), CEILING);
	return t < s->epoch_k_us ? less(s->epoch_origin, delta) : s->epoch_origin + delta;
}

static inline void lola_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lola *s = state_of(sk);
	u64 cwnd;

	acked = after_slow_start(sk, acked);
	if (!acked)
		return;
	cwnd = tp->snd_cwnd;
	if (s->state == INCREASE) {
		u64 target = cubic(s, tp), price = 100 * cwnd;

		if (target > cwnd)
			price = per(cwnd, target - cwnd);
		increase(tp, most(price, 2), acked);
	} else if (s->state == BALANCE && s->share_left) {
		/* Spread over the round trip, and no faster than slow start. */
		increase(tp, per(cwnd, s->share_left), acked);
		s->share_left = less(s->share_left, less(tp->snd_cwnd, cwnd));
	}
}
HOOK_GROW(lola_grow)

static inline u32 lola_ssthresh(struct sock *sk)
{
	struct lola *s = state_of(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	s->last_max = cwnd;
	s->in_epoch = false;
	s->state = INCREASE;
	return threshold(cwnd * LOSS_KEEPS / SCALE);
}
HOOK_SSTHRESH(lola_ssthresh)

static inline void lola_phase(struct sock *sk, u8 to)
{
	struct lola *s = state_of(sk);

	if (to != LOSS || !is_new(sk, to))
		return;
	s->last_max = 0;
	s->in_epoch = false;
	s->state = INCREASE;
}
HOOK_PHASE(lola_phase)

static inline void lola_event(struct sock *sk, u32 event)
{
	struct lola *s = state_of(sk);

	if (event != WINDOW_RESTART)
		return;
	s->in_epoch = false;
	s->state = INCREASE;
}
HOOK_EVENT(lola_event)

static inline u32 lola_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(lola_undo)

CONTROL(lola,
	.init = HOOK(lola_init),
	.cong_avoid = HOOK(lola_grow),
	.ssthresh = HOOK(lola_ssthresh),
	.set_state = HOOK(lola_phase),
	.cwnd_event = HOOK(lola_event),
	.pkts_acked = HOOK(lola_acked),
	.undo_cwnd = HOOK(lola_undo),
);
