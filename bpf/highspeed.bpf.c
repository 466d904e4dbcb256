/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HighSpeed TCP (RFC 3649) with the parameters of its section 5. The increase is a whole number of packets, found in the
 * table of its appendix B, and one is counted for each acknowledgement, however many packets it covers.
 */
#include "control.h"

/*
 * Up to a window of `window` packets a loss costs `cost`/256 of it, and a round trip adds as many packets as the step's
 * number, counted from one (RFC 3649, appendix B, without its last row).
 */
struct step {
	u32 window;
	u32 cost;
};

#define STEPS 72
/* A power of two, so that a mask keeps an index in the table: verifiers of old kernels follow that and no comparison. */
#define ROOM 128

static const struct step steps[ROOM] = {
	{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 }, { 851, 86 },
	{ 1058, 83 }, { 1284, 81 }, { 1529, 78 }, { 1793, 76 }, { 2076, 74 }, { 2378, 72 }, { 2699, 71 },
	{ 3039, 69 }, { 3399, 68 }, { 3778, 66 }, { 4177, 65 }, { 4596, 64 }, { 5036, 62 }, { 5497, 61 },
	{ 5979, 60 }, { 6483, 59 }, { 7009, 58 }, { 7558, 57 }, { 8130, 56 }, { 8726, 55 }, { 9346, 54 },
	{ 9991, 53 }, { 10661, 52 }, { 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 },
	{ 15265, 48 }, { 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 },
	{ 21013, 43 }, { 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 },
	{ 28193, 39 }, { 29557, 39 }, { 30975, 38 }, { 32450, 38 }, { 33986, 37 }, { 35586, 36 },
	{ 37253, 36 }, { 38992, 35 }, { 40808, 35 }, { 42707, 34 }, { 44694, 33 }, { 46776, 33 },
	{ 48961, 32 }, { 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 },
	{ 64851, 28 }, { 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 },
	{ 89053, 24 },
};

struct highspeed {
	/* Index into the steps, moved while the window grows. */
	u32 step;
};

/* The step of an index, which is below STEPS. The compiler would take the mask out, were it not kept from knowing that. */
static inline const struct step *at(u32 step)
{
	asm volatile("" : "+r"(step));
	return &steps[step & (ROOM - 1)];
}

static inline void highspeed_init(struct sock *sk)
{
	struct highspeed *s = state_of(sk);

	s->step = 0;
}
HOOK_INIT(highspeed_init)

static inline void highspeed_grow(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct highspeed *s = state_of(sk);
	u32 step = s->step;
	int moves;

	if (!window_limits(sk))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	for (moves = 0; moves < STEPS && step + 1 < STEPS && tp->snd_cwnd > at(step)->window; moves++)
		step++;
	for (moves = 0; moves < STEPS && step > 0 && tp->snd_cwnd <= at(step - 1)->window; moves++)
		step--;
	s->step = step;
	tp->snd_cwnd_cnt += step + 1;
	if (tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd_cnt -= tp->snd_cwnd;
		set_window(tp, tp->snd_cwnd + 1ULL);
	}
}
HOOK_GROW(highspeed_grow)

static inline u32 highspeed_ssthresh(struct sock *sk)
{
	struct highspeed *s = state_of(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	return threshold(cwnd - (cwnd * at(s->step)->cost >> 8));
}
HOOK_SSTHRESH(highspeed_ssthresh)

static inline u32 highspeed_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(highspeed_undo)

CONTROL(highspeed,
	.init = HOOK(highspeed_init),
	.cong_avoid = HOOK(highspeed_grow),
	.ssthresh = HOOK(highspeed_ssthresh),
	.undo_cwnd = HOOK(highspeed_undo),
);
