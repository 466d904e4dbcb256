/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In the place of bpf/kernel.h when a control is compiled for a test: a socket with just the fields that controls use,
 * the same for the test in Rust (tests/support/native.rs), and the kernel's functions as RFC 5681 and the kernel's
 * documentation of them have it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#define SEC(name)
#define STATE_BYTES 104

struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us;
	u32 max_packets_out;
	u32 mss_cache;
	u32 prior_cwnd;
	u32 phase;
	u32 limited;
	u64 tcp_mstamp;
	u64 private[STATE_BYTES / 8];
};

struct sock {
	struct tcp_sock tp;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 to);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*cwnd_event_tx_start)(struct sock *sk);
};

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return &sk->tp;
}

static inline void *state_of(struct sock *sk)
{
	return sk->tp.private;
}

static inline u32 phase_of(struct sock *sk)
{
	return sk->tp.phase;
}

static inline bool window_was_full(struct tcp_sock *tp)
{
	return tp->limited;
}

static inline void native_window(struct tcp_sock *tp, u64 cwnd)
{
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
}

/* One packet more for each acknowledged, up to the threshold; returns what is left over. */
static inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u64 room = tp->snd_ssthresh - tp->snd_cwnd, used = acked < room ? acked : room;

	native_window(tp, tp->snd_cwnd + used);
	return acked - used;
}

/* One packet more for every `w` acknowledged; credit gathered at a larger `w` counts for one packet only. */
static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u64 cwnd = tp->snd_cwnd;

	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	cwnd += tp->snd_cwnd_cnt / w;
	tp->snd_cwnd_cnt %= w;
	native_window(tp, cwnd);
}

static inline u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return sk->tp.snd_cwnd > sk->tp.prior_cwnd ? sk->tp.snd_cwnd : sk->tp.prior_cwnd;
}

#define HOOK_INIT(f)
#define HOOK_START(f)
#define HOOK_SSTHRESH(f)
#define HOOK_UNDO(f)
#define HOOK_GROW(f)
#define HOOK_PHASE(f)
#define HOOK_EVENT(f)
#define HOOK_ACKED(f)
#define HOOK_ACK_FLAGS(f)
#define HOOK(f) f
#define CONTROL(control, ...) const struct tcp_congestion_ops ws_##control = { __VA_ARGS__ }
