/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Scalable TCP (Kelly, CCR 33(2), 2003): one packet more for every hundred acknowledged, an eighth less on loss; as
 * Reno below a window of 100.
 */
#include "control.h"

/* Packets acknowledged for one more. */
#define PER_INCREMENT 100
/* log2 of the share of the window a loss costs. */
#define DECREASE_SHIFT 3

static inline void scalable_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	acked = after_slow_start(sk, acked);
	if (acked)
		increase(tp, least(tp->snd_cwnd, PER_INCREMENT), acked);
}
HOOK_GROW(scalable_grow)

static inline u32 scalable_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return threshold(cwnd - (cwnd >> DECREASE_SHIFT));
}
HOOK_SSTHRESH(scalable_ssthresh)

static inline u32 scalable_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(scalable_undo)

CONTROL(scalable,
	.cong_avoid = HOOK(scalable_grow),
	.ssthresh = HOOK(scalable_ssthresh),
	.undo_cwnd = HOOK(scalable_undo),
);
