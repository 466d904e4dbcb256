/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Illinois (Liu, Basar, Srikant, VALUETOOLS 2006): Reno whose increase alpha and decrease beta are curves of the average
 * queueing delay of the last round trip. Delays are in microseconds, alpha in 1/128, beta in 1/64.
 */
#include "control.h"

/* One, and the bounds of alpha: 0.3 (in whole parts) and 10. */
#define ALPHA_ONE 128
#define ALPHA_MIN (3 * ALPHA_ONE / 10)
#define ALPHA_MAX (10 * ALPHA_ONE)
/* One, and the bounds of beta: an eighth and a half. */
#define BETA_ONE 64
#define BETA_MIN (BETA_ONE / 8)
#define BETA_MAX (BETA_ONE / 2)
/* Longer round-trip times count as this (3.3 s). */
#define RTT_MAX (0xffffffffU / ALPHA_MAX)
/* As Reno below this window, packets. */
#define LOW_WINDOW 15
/* Round trips of low delay before full growth. */
#define THETA 5

struct illinois {
	/* Round-trip times of this round trip: their sum and number. */
	u64 sum;
	u32 samples;
	u32 alpha;
	u32 beta;
	u32 base_rtt;
	u32 max_rtt;
	u32 round_end;
	/* Packets of the newest acknowledgement. */
	u32 acked;
	/* Round trips with low delay since it was high. */
	u32 low_rounds;
	/* The delay has been above the low threshold. */
	bool was_high;
};

static inline void illinois_round(struct illinois *s, const struct tcp_sock *tp)
{
	s->round_end = tp->snd_nxt;
	s->sum = 0;
	s->samples = 0;
}

static inline void illinois_init(struct sock *sk)
{
	struct illinois *s = state_of(sk);

	s->alpha = ALPHA_MAX;
	s->beta = BETA_MAX;
	s->base_rtt = 0xffffffffU;
	s->max_rtt = 0;
	s->acked = 0;
	s->low_rounds = 0;
	s->was_high = false;
	illinois_round(s, tcp_sk(sk));
}
HOOK_INIT(illinois_init)

static inline void illinois_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *s = state_of(sk);
	u32 rtt = least(rtt_of(sample), RTT_MAX);

	s->acked = sample->pkts_acked;
	if (!rtt)
		return;
	s->base_rtt = least(s->base_rtt, rtt);
	s->max_rtt = most(s->max_rtt, rtt);
	s->sum += rtt;
	s->samples++;
}
HOOK_ACKED(illinois_acked)

/*
 * Increase for an average delay if the largest is `largest`: ten while below a hundredth of it, then k1 / (k2 + average),
 * falling to 0.3 at the largest (paper, section 3.1).
 */
static inline u32 alpha_of(struct illinois *s, u64 average, u64 largest)
{
	u64 low = largest / 100;

	if (average <= low) {
		if (!s->was_high)
			return ALPHA_MAX;
		/* One good round trip is not enough to rush. */
		if (++s->low_rounds < THETA)
			return s->alpha;
		s->low_rounds = 0;
		s->was_high = false;
		return ALPHA_MAX;
	}
	s->was_high = true;
	average -= low;
	largest = less(largest, low);
	return per(largest * ALPHA_MAX, largest + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
}

/* Decrease: an eighth up to a tenth of the largest delay, a half from eight tenths on, a line between. */
static inline u32 beta_of(u64 average, u64 largest)
{
	u64 low = largest / 10, high = 8 * largest / 10;

	if (average <= low)
		return BETA_MIN;
	if (average >= high || high <= low)
		return BETA_MAX;
	return per(BETA_MIN * high + (BETA_MAX - BETA_MIN) * average - BETA_MAX * low, high - low);
}

static inline void illinois_update(struct illinois *s, const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < LOW_WINDOW) {
		s->alpha = ALPHA_ONE;
		s->beta = BETA_MAX;
	} else if (s->samples) {
		u64 average = less(per(s->sum, s->samples), s->base_rtt);
		u64 largest = less(s->max_rtt, s->base_rtt);

		s->alpha = alpha_of(s, average, largest);
		s->beta = beta_of(average, largest);
	}
	illinois_round(s, tp);
}

static inline void illinois_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *s = state_of(sk);
	u64 earned;

	if (is_after(tp->snd_una, s->round_end))
		illinois_update(s, tp);
	if (!window_limits(sk))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	tp->snd_cwnd_cnt += s->acked;
	s->acked = 1;
	earned = (u64)tp->snd_cwnd_cnt * s->alpha / ALPHA_ONE;
	if (earned >= tp->snd_cwnd) {
		set_window(tp, tp->snd_cwnd + per(earned, tp->snd_cwnd));
		tp->snd_cwnd_cnt = 0;
	}
}
HOOK_GROW(illinois_grow)

static inline u32 illinois_ssthresh(struct sock *sk)
{
	struct illinois *s = state_of(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	return threshold(cwnd - cwnd * s->beta / BETA_ONE);
}
HOOK_SSTHRESH(illinois_ssthresh)

static inline void illinois_phase(struct sock *sk, u8 to)
{
	struct illinois *s = state_of(sk);

	if (to != LOSS || !is_new(sk, to))
		return;
	s->alpha = ALPHA_ONE;
	s->beta = BETA_MAX;
	s->low_rounds = 0;
	s->was_high = false;
	illinois_round(s, tcp_sk(sk));
}
HOOK_PHASE(illinois_phase)

static inline u32 illinois_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(illinois_undo)

CONTROL(illinois,
	.init = HOOK(illinois_init),
	.cong_avoid = HOOK(illinois_grow),
	.ssthresh = HOOK(illinois_ssthresh),
	.set_state = HOOK(illinois_phase),
	.pkts_acked = HOOK(illinois_acked),
	.undo_cwnd = HOOK(illinois_undo),
);
