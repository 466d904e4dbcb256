/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BIC (Xu, Harfoush, Rhee, INFOCOM 2004): binary search between the window after and before the last loss, at most
 * MAX_INCREMENT packets a round trip, then a search beyond it.
 */
#include "control.h"

/* The search goes 1/B of the way to the target each round trip. */
#define B 4
#define MAX_INCREMENT 16
/* As Reno below this window, packets. */
#define LOW_WINDOW 14
/* Window kept after a loss, in 1/1024. */
#define BETA 819
#define BETA_SCALE 1024
/* Round trips from the peak less B to the peak. */
#define SMOOTH_PART 20
/* The ratio of packets to acknowledgements is kept in sixteenths. */
#define RATIO_SHIFT 4
/* At most this many packets per increment while no loss is known: five percent a round trip. */
#define MOST_BEFORE_LOSS 20
/* The same window is looked at again after this many milliseconds (1/32 s). */
#define LOOK_AGAIN 31

struct bic {
	/* Packets acknowledged for one packet more. */
	u32 per_increment;
	/* The window at the last loss; zero if none is known. */
	u32 last_max;
	u32 last_cwnd;
	/* Packets per acknowledgement, in sixteenths. */
	u32 packets_per_ack;
	u64 last_ms;
};

static inline void forget(struct bic *s)
{
	s->per_increment = 0;
	s->last_max = 0;
	s->last_cwnd = 0;
	s->packets_per_ack = 2 << RATIO_SHIFT;
	s->last_ms = 0;
}

static inline void bic_init(struct sock *sk)
{
	forget(state_of(sk));
}
HOOK_INIT(bic_init)

/* Packets to acknowledge for one more, at a window above the low one. */
static inline u64 search(const struct bic *s, u64 cwnd)
{
	u64 smooth = cwnd * SMOOTH_PART / B, linear = cwnd / MAX_INCREMENT, last_max = s->last_max;

	if (cwnd < last_max) {
		u64 step = (last_max - cwnd) / B;

		if (step > MAX_INCREMENT)
			return linear;
		return step <= 1 ? smooth : cwnd / step;
	}
	if (cwnd < last_max + B)
		return smooth;
	if (cwnd < last_max + MAX_INCREMENT * (B - 1))
		return per(cwnd * (B - 1), cwnd - last_max);
	return linear;
}

static inline void update(struct bic *s, u32 cwnd, u64 now)
{
	u64 packets;

	if (s->last_cwnd == cwnd && now - s->last_ms <= LOOK_AGAIN)
		return;
	s->last_cwnd = cwnd;
	s->last_ms = now;
	if (cwnd <= LOW_WINDOW) {
		s->per_increment = cwnd;
		return;
	}
	packets = search(s, cwnd);
	if (!s->last_max)
		packets = least(packets, MOST_BEFORE_LOSS);
	/* Delayed acknowledgements are made up for: fewer packets per increment in proportion. */
	s->per_increment = fit32(most(per(packets << RATIO_SHIFT, s->packets_per_ack), 1));
}

static inline void bic_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *s = state_of(sk);

	acked = after_slow_start(sk, acked);
	if (!acked)
		return;
	update(s, tp->snd_cwnd, now_ms(tp));
	increase(tp, s->per_increment, acked);
}
HOOK_GROW(bic_grow)

static inline u32 bic_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *s = state_of(sk);
	u64 cwnd = tp->snd_cwnd;

	/* Fast convergence: leave room while the peak shrinks. */
	s->last_max = cwnd < s->last_max ? cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) : cwnd;
	return cwnd <= LOW_WINDOW ? half(tp) : threshold(cwnd * BETA / BETA_SCALE);
}
HOOK_SSTHRESH(bic_ssthresh)

static inline void bic_phase(struct sock *sk, u8 to)
{
	if (to == LOSS && is_new(sk, to))
		forget(state_of(sk));
}
HOOK_PHASE(bic_phase)

static inline void bic_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct bic *s = state_of(sk);

	/* A moving average: 15/16 of the old ratio and 1/16 of the new. */
	if (phase_of(sk) == OPEN)
		s->packets_per_ack += sample->pkts_acked - (s->packets_per_ack >> RATIO_SHIFT);
}
HOOK_ACKED(bic_acked)

static inline u32 bic_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(bic_undo)

CONTROL(bic,
	.init = HOOK(bic_init),
	.cong_avoid = HOOK(bic_grow),
	.ssthresh = HOOK(bic_ssthresh),
	.set_state = HOOK(bic_phase),
	.pkts_acked = HOOK(bic_acked),
	.undo_cwnd = HOOK(bic_undo),
);
