/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * H-TCP (Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06): the increase grows with the time since the last loss,
 * the decrease follows the ratio of the least to the largest round-trip time. Delays and times are in milliseconds, alpha
 * and beta in 1/128. With scaling by the round-trip time and the bandwidth switch, Linux' defaults.
 */
#include "control.h"

#define SECOND 1000
/* One, in the scale of alpha and beta; the bounds of beta: a half and four fifths. */
#define ONE 128
#define BETA_MIN 64
#define BETA_MAX 102
/* The largest round-trip time may rise by this at a time. */
#define RTT_RISE 20
/* Below this least round-trip time beta stays a half. */
#define SHORT_RTT 10

struct htcp {
	u64 last_congestion;
	/* What an undo puts back. */
	u64 saved_last_congestion;
	u64 saved_old_max_rate;
	/* Throughput in packets a second: smoothed, and the largest of this and of the last epoch. */
	u64 rate;
	u64 max_rate;
	u64 old_max_rate;
	u64 counted_since;
	u64 alpha;
	/* Packets since the last measurement of throughput. */
	u32 counted;
	/* Packets of the newest acknowledgement. */
	u32 acked;
	/* Least and largest round-trip time, zero if unknown. */
	u32 min_rtt;
	u32 max_rtt;
	u32 saved_max_rtt;
	u8 beta;
	/* A second loss has to confirm that delays are known before beta follows them. */
	bool adaptive;
	bool saved;
};
_Static_assert(sizeof(struct htcp) <= STATE_BYTES, "more state than a socket has room for");

static inline void htcp_init(struct sock *sk)
{
	struct htcp *s = state_of(sk);

	s->last_congestion = now_ms(tcp_sk(sk));
	s->rate = 0;
	s->max_rate = 0;
	s->old_max_rate = 0;
	s->counted_since = 0;
	s->alpha = ONE;
	s->counted = 0;
	s->acked = 1;
	s->min_rtt = 0;
	s->max_rtt = 0;
	s->beta = BETA_MIN;
	s->adaptive = false;
	s->saved = false;
}
HOOK_INIT(htcp_init)

static inline void measure_rtt(struct htcp *s, u32 rtt, u32 phase)
{
	if (!s->min_rtt || rtt < s->min_rtt)
		s->min_rtt = rtt;
	if (phase == OPEN) {
		s->max_rtt = most(s->max_rtt, s->min_rtt);
		if (rtt > s->max_rtt && rtt <= s->max_rtt + RTT_RISE)
			s->max_rtt = rtt;
	}
}

static inline void measure_throughput(struct htcp *s, u32 acked, u32 phase, const struct tcp_sock *tp)
{
	u64 now = now_ms(tp), increment = most(s->alpha / ONE, 1), elapsed = now - s->counted_since, rate;

	if (phase > DISORDER) {
		s->counted = 0;
		s->counted_since = now;
		return;
	}
	s->counted += acked;
	if (tp->snd_cwnd < increment || s->counted < tp->snd_cwnd - increment)
		return;
	if (!s->min_rtt || elapsed < s->min_rtt)
		return;
	rate = per((u64)s->counted * SECOND, elapsed);
	if (per(now - s->last_congestion, s->min_rtt) <= 3) {
		s->rate = rate;
		s->max_rate = rate;
	} else {
		s->rate = (3 * s->rate + rate) / 4;
		s->max_rate = most(s->max_rate, s->rate);
	}
	s->counted = 0;
	s->counted_since = now;
}

static inline void htcp_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *s = state_of(sk);
	u32 phase = phase_of(sk), rtt = rtt_of(sample);

	if (phase == OPEN)
		s->acked = sample->pkts_acked;
	if (rtt)
		measure_rtt(s, ms_of(rtt), phase);
	measure_throughput(s, sample->pkts_acked, phase, tcp_sk(sk));
}
HOOK_ACKED(htcp_acked)

static inline void update_beta(struct htcp *s)
{
	u64 now = s->max_rate, before = s->old_max_rate;

	s->old_max_rate = now;
	/* The bandwidth changed by more than a fifth: what was learnt of it does not hold. */
	if (5 * now < 4 * before || 5 * now > 6 * before) {
		s->beta = BETA_MIN;
		s->adaptive = false;
		return;
	}
	if (s->adaptive && s->min_rtt > SHORT_RTT && s->max_rtt) {
		s->beta = most(least(per((u64)s->min_rtt * ONE, s->max_rtt), BETA_MAX), BETA_MIN);
	} else {
		s->beta = BETA_MIN;
		s->adaptive = true;
	}
}

/*
 * alpha = 2 (1 - beta) f(t) with f(t) = 1 + 10 (t - 1) + ((t - 1) / 2)^2 for t seconds above one since the last
 * congestion, divided by the ratio of 100 ms to the round-trip time, a half to ten.
 */
static inline void update_alpha(struct htcp *s, u64 now)
{
	u64 late = less(now - s->last_congestion, SECOND), factor = 1;

	if (late)
		factor = 1 + (10 * late + (late / 2) * (late / 2) / SECOND) / SECOND;
	if (s->min_rtt) {
		u64 scale = most(least(8 * SECOND / (10 * (u64)s->min_rtt), 80), 4);

		factor = most(8 * factor / scale, 1);
	}
	s->alpha = 2 * factor * (ONE - s->beta);
}

static inline void htcp_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *s = state_of(sk);

	if (!window_limits(sk))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if (tp->snd_cwnd_cnt * s->alpha / ONE >= tp->snd_cwnd) {
		set_window(tp, tp->snd_cwnd + 1ULL);
		tp->snd_cwnd_cnt = 0;
		update_alpha(s, now_ms(tp));
	} else {
		tp->snd_cwnd_cnt += s->acked;
	}
	s->acked = 1;
}
HOOK_GROW(htcp_grow)

static inline u32 htcp_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *s = state_of(sk);

	update_beta(s);
	update_alpha(s, now_ms(tp));
	/* The largest round-trip time fades, so that a change of route is noticed. */
	if (s->min_rtt && s->max_rtt > s->min_rtt)
		s->max_rtt = s->min_rtt + (u64)(s->max_rtt - s->min_rtt) * 95 / 100;
	return threshold((u64)tp->snd_cwnd * s->beta / ONE);
}
HOOK_SSTHRESH(htcp_ssthresh)

static inline void htcp_phase(struct sock *sk, u8 to)
{
	struct htcp *s = state_of(sk);
	u64 now = now_ms(tcp_sk(sk));

	if (!is_new(sk, to))
		return;
	if (to == OPEN) {
		if (s->saved)
			s->last_congestion = now;
		s->saved = false;
	} else if (to != DISORDER) {
		s->saved = true;
		s->saved_last_congestion = s->last_congestion;
		s->saved_max_rtt = s->max_rtt;
		s->saved_old_max_rate = s->old_max_rate;
		s->last_congestion = now;
	}
}
HOOK_PHASE(htcp_phase)

static inline u32 htcp_undo(struct sock *sk)
{
	struct htcp *s = state_of(sk);

	if (s->saved) {
		s->last_congestion = s->saved_last_congestion;
		s->max_rtt = s->saved_max_rtt;
		s->old_max_rate = s->saved_old_max_rate;
		s->saved = false;
	}
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(htcp_undo)

CONTROL(htcp,
	.init = HOOK(htcp_init),
	.cong_avoid = HOOK(htcp_grow),
	.ssthresh = HOOK(htcp_ssthresh),
	.set_state = HOOK(htcp_phase),
	.pkts_acked = HOOK(htcp_acked),
	.undo_cwnd = HOOK(htcp_undo),
);
