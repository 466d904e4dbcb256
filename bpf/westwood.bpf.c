/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Westwood+ (Mascolo et al., MobiCom 2001; Grieco, Mascolo, CCR 2004): Reno whose window after a loss is the estimated
 * bandwidth times the least round-trip time. Times are in milliseconds, bandwidth in bytes per millisecond.
 */
#include "control.h"

/* Shortest interval of a bandwidth sample. */
#define SHORTEST_SAMPLE 50
/* Flag of an acknowledgement that header prediction did not take (CA_ACK_SLOWPATH). */
#define SLOW_PATH 1
/* Round-trip time before the first measurement: larger than any. */
#define INITIAL_RTT 20000

struct westwood {
	/* The bandwidth filtered once, and twice. */
	u64 once;
	u64 bandwidth;
	/* The sample being taken: its first millisecond and its bytes. */
	u64 since;
	u64 sample_bytes;
	/* Bytes already counted for duplicate acknowledgements, taken off the cumulative one that follows. */
	u64 accounted;
	/* First byte not acknowledged at the last acknowledgement. */
	u32 una;
	u32 rtt;
	u32 min_rtt;
	bool una_is_known;
	bool renew_min_rtt;
};
_Static_assert(sizeof(struct westwood) <= STATE_BYTES, "more state than a socket has room for");

static inline void westwood_init(struct sock *sk)
{
	struct westwood *s = state_of(sk);

	s->once = 0;
	s->bandwidth = 0;
	s->since = now_ms(tcp_sk(sk));
	s->sample_bytes = 0;
	s->accounted = 0;
	s->una = 0;
	s->rtt = INITIAL_RTT;
	s->min_rtt = INITIAL_RTT;
	s->una_is_known = false;
	s->renew_min_rtt = true;
}
HOOK_INIT(westwood_init)

static inline void end_sample(struct westwood *s, u64 now)
{
	u64 elapsed = now - s->since, sample;

	if (elapsed <= most(s->rtt, SHORTEST_SAMPLE))
		return;
	sample = per(s->sample_bytes, elapsed);
	if (!s->once && !s->bandwidth) {
		s->once = sample;
		s->bandwidth = sample;
	} else {
		s->once = (7 * s->once + sample) / 8;
		s->bandwidth = (7 * s->bandwidth + s->once) / 8;
	}
	s->sample_bytes = 0;
	s->since = now;
}

/*
 * Bytes an acknowledgement stands for: a duplicate for one segment, which the cumulative one that follows leaves out,
 * unless header prediction takes that one.
 */
static inline u64 count(struct westwood *s, const struct tcp_sock *tp, bool predicted)
{
	u32 mss = tp->mss_cache, una = tp->snd_una;
	/* The first only sets where counting starts. */
	u64 cumulative = s->una_is_known && is_after(una, s->una) ? una - s->una : 0;

	s->una = una;
	s->una_is_known = true;
	if (predicted)
		return cumulative;
	if (!cumulative) {
		s->accounted += mss;
		return mss;
	}
	if (cumulative <= mss)
		return cumulative;
	if (s->accounted >= cumulative) {
		s->accounted -= cumulative;
		return mss;
	}
	cumulative -= s->accounted;
	s->accounted = 0;
	return cumulative;
}

static inline void westwood_acked(struct sock *sk, const struct ack_sample *sample)
{
	u32 rtt = rtt_of(sample);

	if (rtt)
		((struct westwood *)state_of(sk))->rtt = ms_of(rtt);
}
HOOK_ACKED(westwood_acked)

/*
 * Older kernels tell of an acknowledgement before its round-trip time is known, those of today (6.12.117) after: the same
 * as their own module is told.
 */
static inline void westwood_ack(struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *s = state_of(sk);

	end_sample(s, now_ms(tp));
	s->sample_bytes += count(s, tp, !(flags & SLOW_PATH));
	s->min_rtt = s->renew_min_rtt ? s->rtt : least(s->min_rtt, s->rtt);
	s->renew_min_rtt = false;
}
HOOK_ACK_FLAGS(westwood_ack)

/* Bandwidth times least round-trip time in packets. */
static inline u32 fitting(const struct westwood *s, const struct tcp_sock *tp)
{
	return threshold(per(s->bandwidth * s->min_rtt, tp->mss_cache));
}

static inline void westwood_event(struct sock *sk, u32 event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *s = state_of(sk);

	if (event == REDUCTION_COMPLETE) {
		set_ssthresh(tp, fitting(s, tp));
		set_window(tp, tp->snd_ssthresh);
	} else if (event == TIMEOUT) {
		set_ssthresh(tp, fitting(s, tp));
		s->renew_min_rtt = true;
	}
}
HOOK_EVENT(westwood_event)

static inline void westwood_grow(struct sock *sk, u32 ack, u32 acked)
{
	reno(sk, acked);
}
HOOK_GROW(westwood_grow)

static inline u32 westwood_ssthresh(struct sock *sk)
{
	return half(tcp_sk(sk));
}
HOOK_SSTHRESH(westwood_ssthresh)

static inline u32 westwood_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
HOOK_UNDO(westwood_undo)

CONTROL(westwood,
	.init = HOOK(westwood_init),
	.cong_avoid = HOOK(westwood_grow),
	.ssthresh = HOOK(westwood_ssthresh),
	.cwnd_event = HOOK(westwood_event),
	.pkts_acked = HOOK(westwood_acked),
	.in_ack_event = HOOK(westwood_ack),
	.undo_cwnd = HOOK(westwood_undo),
);
