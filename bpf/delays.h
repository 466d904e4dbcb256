/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Delays of this round trip and of the connection, as Vegas and YeAH measure them: microseconds plus one. */
#pragma once

#include "control.h"

#define NO_DELAY 0xffffffffU
/* A round trip with no more samples than this may have seen delayed acknowledgements only. */
#define FEW_SAMPLES 2

struct delays {
	/* Least of the connection, and of this round trip. */
	u32 base;
	u32 least;
	/* Samples of this round trip. */
	u32 samples;
	/* The round trip ends when this is passed. */
	u32 round_end;
	/* Samples do not count: the phase is not Open. */
	u32 disabled;
};

static inline void start_round(struct delays *d, const struct tcp_sock *tp)
{
	d->round_end = tp->snd_nxt;
	d->least = NO_DELAY;
	d->samples = 0;
}

/* After a pause nothing known holds. */
static inline void start_delays(struct delays *d, const struct tcp_sock *tp)
{
	d->base = NO_DELAY;
	d->disabled = false;
	start_round(d, tp);
}

static inline void measure_delay(struct delays *d, const struct ack_sample *sample)
{
	u32 rtt = rtt_of(sample);

	if (!rtt)
		return;
	d->base = least(d->base, rtt + 1);
	d->least = least(d->least, rtt + 1);
	d->samples++;
}

static inline bool delays_are_known(const struct delays *d)
{
	return d->samples > FEW_SAMPLES && d->base <= d->least;
}

/* Measuring begins anew in Open and pauses in any other phase. */
static inline void delays_in_phase(struct delays *d, struct sock *sk, u8 to)
{
	if (!is_new(sk, to))
		return;
	d->disabled = to != OPEN;
	if (!d->disabled)
		start_round(d, tcp_sk(sk));
}
