/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vegas (Brakmo, Peterson, JSAC 1995): once a round trip the packets this flow has in the queue, seen as delay, are
 * compared with two bounds. Below a few samples a round trip, and after any loss, it is Reno.
 */
#include "delays.h"

/* Grow while fewer packets are queued, shrink while more are, leave slow start when more are. */
#define ALPHA 2
#define BETA 4
#define GAMMA 1

static inline void vegas_init(struct sock *sk)
{
	start_delays(state_of(sk), tcp_sk(sk));
}
HOOK_INIT(vegas_init)

static inline void vegas_acked(struct sock *sk, const struct ack_sample *sample)
{
	measure_delay(state_of(sk), sample);
}
HOOK_ACKED(vegas_acked)

/* The adjustment of one round trip with enough samples. */
static inline void adjust(struct tcp_sock *tp, u64 base, u64 rtt, u32 acked)
{
	u64 cwnd = tp->snd_cwnd;
	/* Expected less actual rate, times the base delay: packets in the queue. */
	u64 queued = per(cwnd * (rtt - base), base);

	if (in_slow_start(tp)) {
		if (queued > GAMMA) {
			/* The window that fits the rate; one more for what the division loses. */
			set_window(tp, least(cwnd, per(cwnd * base, rtt) + 1));
			set_ssthresh(tp, least(tp->snd_ssthresh, tp->snd_cwnd));
		} else {
			tcp_slow_start(tp, acked);
		}
	} else if (queued > BETA) {
		set_window(tp, cwnd - 1);
		set_ssthresh(tp, least(tp->snd_ssthresh, tp->snd_cwnd));
	} else if (queued < ALPHA) {
		set_window(tp, cwnd + 1);
	}
	set_window(tp, most(tp->snd_cwnd, 2));
	/* The threshold to return to: three quarters of the window if that is more. */
	set_ssthresh(tp, most(most(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4), MIN_SSTHRESH));
}

static inline void vegas_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct delays *d = state_of(sk);

	if (d->disabled) {
		reno(sk, acked);
	} else if (is_after(tp->snd_una, d->round_end)) {
		if (delays_are_known(d))
			adjust(tp, d->base, d->least, acked);
		else
			reno(sk, acked);
		start_round(d, tp);
	} else if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	}
}
HOOK_GROW(vegas_grow)

static inline void vegas_phase(struct sock *sk, u8 to)
{
	delays_in_phase(state_of(sk), sk, to);
}
HOOK_PHASE(vegas_phase)

static inline void vegas_start(struct sock *sk)
{
	start_delays(state_of(sk), tcp_sk(sk));
}
HOOK_START(vegas_start)

static inline void vegas_event(struct sock *sk, u32 event)
{
	if (event == TRANSMIT_START || event == WINDOW_RESTART)
		vegas_start(sk);
}
HOOK_EVENT(vegas_event)

static inline u32 vegas_ssthresh(struct sock *sk)
{
	return half(tcp_sk(sk));
}
HOOK_SSTHRESH(vegas_ssthresh)

static inline u32 vegas_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(vegas_undo)

CONTROL(vegas,
	.init = HOOK(vegas_init),
	.cong_avoid = HOOK(vegas_grow),
	.ssthresh = HOOK(vegas_ssthresh),
	.set_state = HOOK(vegas_phase),
	.cwnd_event = HOOK(vegas_event),
	.cwnd_event_tx_start = HOOK(vegas_start),
	.pkts_acked = HOOK(vegas_acked),
	.undo_cwnd = HOOK(vegas_undo),
);
