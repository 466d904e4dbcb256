/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The frame of a congestion control: the socket's window, its phases, its clock. Windows are packets. The controls are
 * those of crates/base/congestion, which say where each comes from; a test holds the two against each other step by step.
 */
#pragma once

#ifdef __bpf__
#include "kernel.h"
#else
#include <native.h>
#endif

/* icsk_ca_state. */
enum { OPEN, DISORDER, CWR, RECOVERY, LOSS };
/* enum tcp_ca_event: sending starts with nothing in flight; after a pause; a reduction is complete; a timeout. */
enum { TRANSMIT_START, WINDOW_RESTART, REDUCTION_COMPLETE, TIMEOUT };

/* No slow start threshold yet (TCP_INFINITE_SSTHRESH). */
#define NO_SSTHRESH 0x7fffffffU
/* Smallest slow start threshold, packets (RFC 5681, equation 4). */
#define MIN_SSTHRESH 2

static inline u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* a / b, and not a trap or a surprise where b is zero. */
static inline u64 per(u64 a, u64 b)
{
	return b ? a / b : a;
}

static inline u32 fit32(u64 value)
{
	return least(value, 0xffffffffU);
}

static inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* The window, not the application, limits sending; in slow start half of it need be used (RFC 7661, section 4.1). */
static inline bool window_limits(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (window_was_full(tp))
		return true;
	return in_slow_start(tp) && tp->snd_cwnd < 2ULL * tp->max_packets_out;
}

/* At least one packet: the kernel warns of a window of none. */
static inline void set_window(struct tcp_sock *tp, u64 cwnd)
{
	tp->snd_cwnd = most(least(cwnd, tp->snd_cwnd_clamp), 1);
}

static inline void set_ssthresh(struct tcp_sock *tp, u64 packets)
{
	tp->snd_ssthresh = least(packets, NO_SSTHRESH);
}

/* What a reduction may leave. */
static inline u32 threshold(u64 packets)
{
	return least(most(packets, MIN_SSTHRESH), NO_SSTHRESH);
}

static inline u32 half(const struct tcp_sock *tp)
{
	return threshold(tp->snd_cwnd / 2);
}

/* One packet more for every `price` acknowledged; the kernel divides by it. */
static inline void increase(struct tcp_sock *tp, u64 price, u32 acked)
{
	tcp_cong_avoid_ai(tp, fit32(most(price, 1)), acked);
}

/* Packets that slow start leaves over for congestion avoidance; none if the window does not limit sending. */
static inline u32 after_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!window_limits(sk))
		return 0;
	return in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Slow start, then one packet a round trip (RFC 5681). */
static inline void reno(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	acked = after_slow_start(sk, acked);
	if (acked)
		increase(tp, tp->snd_cwnd, acked);
}

/* Microseconds on the socket's clock, which the kernel sets for each packet and timer. */
static inline u64 now_us(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp;
}

/* Milliseconds, whatever the kernel's tick is: the algorithms are compared with those of kernels with 1000 Hz. */
static inline u64 now_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / 1000;
}

/* Milliseconds that cover a span. */
static inline u32 ms_of(u32 us)
{
	return (us + 999ULL) / 1000;
}

/* A measured round-trip time in microseconds, at least one; zero: this acknowledgement has none. */
static inline u32 rtt_of(const struct ack_sample *sample)
{
	s32 rtt = sample->rtt_us;

	if (rtt < 0)
		return 0;
	return most(rtt, 1);
}

/* Sequence number `a` comes after `b`; they wrap. */
static inline bool is_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

/* The kernel tells a phase before it enters it, at times one that it is in already. */
static inline bool is_new(struct sock *sk, u8 phase)
{
	return phase_of(sk) != phase;
}

static inline bool is_reducing(u32 phase)
{
	return phase == CWR || phase == RECOVERY;
}
