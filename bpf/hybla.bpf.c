/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Hybla (Caini, Firrincieli, Int. J. Satellite Communications 2004): growth is scaled by rho, the ratio of the round-trip
 * time to a reference, so that long paths grow as short ones. Rho is kept in eighths, increments in 1/128, one increment
 * for each acknowledgement.
 */
#include "control.h"

/* One packet, in the scale of increments. */
#define ONE 128
/* Reference round-trip time, us. */
#define REFERENCE_US 25000
/* Largest window, packets: Linux' own. A BPF program may not set the socket's clamp, so it is applied here. */
#define LARGEST_WINDOW 65535
/* Largest exponent of slow start. */
#define LARGEST_EXPONENT 16

/* 2^(i/8), in the scale of increments. In a section by name: the compiler's own for 32 bytes has no type information. */
static const u32 roots[8] SEC(".rodata") = { 128, 139, 152, 165, 181, 197, 215, 234 };

struct hybla {
	/* Eight times the ratio of round-trip time to reference, at least eight. */
	u32 rho;
	/* Least smoothed round-trip time in microseconds, zero if unknown. */
	u32 least_srtt;
	/* Parts of a packet not yet added. */
	u32 parts;
	bool open;
};

static inline void learn(struct hybla *s, u32 srtt)
{
	s->rho = most(8ULL * srtt / REFERENCE_US, 8);
	s->least_srtt = srtt;
}

/* The kernel keeps eight times the smoothed round-trip time. */
static inline u32 srtt_of(const struct tcp_sock *tp)
{
	return tp->srtt_us ? most(tp->srtt_us >> 3, 1) : 0;
}

static inline void hybla_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *s = state_of(sk);

	s->rho = 8;
	s->least_srtt = 0;
	s->parts = 0;
	s->open = true;
	if (srtt_of(tp))
		learn(s, srtt_of(tp));
	/* The initial window is rho packets, not the system's. */
	set_window(tp, least(s->rho / 8, LARGEST_WINDOW));
}
HOOK_INIT(hybla_init)

/* 2^rho - 1 in slow start, rho^2 / cwnd above it (paper, equation 9), in 1/128. */
static inline u64 increment_of(const struct hybla *s, const struct tcp_sock *tp)
{
	u64 rho = s->rho;

	if (in_slow_start(tp))
		return (1ULL << (least(rho / 8, LARGEST_EXPONENT) & 31)) * roots[rho & 7] - ONE;
	return per(2 * rho * rho, tp->snd_cwnd);
}

static inline void hybla_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *s = state_of(sk);
	u32 srtt = srtt_of(tp);
	bool slow_start;
	u64 increment, cwnd;

	if (srtt && (!s->least_srtt || srtt < s->least_srtt))
		learn(s, srtt);
	if (!window_limits(sk))
		return;
	if (!s->open) {
		reno(sk, acked);
		set_window(tp, least(tp->snd_cwnd, LARGEST_WINDOW));
		return;
	}
	slow_start = in_slow_start(tp);
	increment = increment_of(s, tp);
	if (!slow_start && increment < ONE)
		tp->snd_cwnd_cnt++;
	cwnd = tp->snd_cwnd + increment / ONE;
	s->parts += increment % ONE;
	if (s->parts >= ONE) {
		cwnd += s->parts / ONE;
		s->parts %= ONE;
		tp->snd_cwnd_cnt = 0;
	}
	/* Where the increment is less than 1/128 the window grows as Reno's, one packet a round trip. */
	if (!increment && tp->snd_cwnd_cnt >= cwnd) {
		cwnd++;
		tp->snd_cwnd_cnt = 0;
	}
	if (slow_start)
		cwnd = least(cwnd, tp->snd_ssthresh);
	set_window(tp, least(cwnd, LARGEST_WINDOW));
}
HOOK_GROW(hybla_grow)

static inline u32 hybla_ssthresh(struct sock *sk)
{
	return half(tcp_sk(sk));
}
HOOK_SSTHRESH(hybla_ssthresh)

static inline void hybla_phase(struct sock *sk, u8 to)
{
	struct hybla *s = state_of(sk);

	s->open = to == OPEN;
}
HOOK_PHASE(hybla_phase)

static inline u32 hybla_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(hybla_undo)

CONTROL(hybla,
	.init = HOOK(hybla_init),
	.cong_avoid = HOOK(hybla_grow),
	.ssthresh = HOOK(hybla_ssthresh),
	.set_state = HOOK(hybla_phase),
	.undo_cwnd = HOOK(hybla_undo),
);
