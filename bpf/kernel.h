/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a congestion control sees of the kernel it is loaded into: the few fields it reads, found by name in the
 * kernel's own type information (CO-RE), so that one object fits every kernel from 5.13 on.
 *
 * Tests compile the same sources natively with crates/linux/bpf/tests/native/native.h in the place of this file.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define KERNEL_FUNCTION __attribute__((section(".ksyms")))

/* Defined, if only by a member, since libbpf compares the arguments of kernel functions by kind. */
struct sock_common {
	u16 skc_family;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
} KERNEL;

/* Bytes that a control has for itself in each socket (icsk_ca_priv, 13 x 8 since 4.20). */
#define STATE_BYTES 104

struct inet_connection_sock {
	u8 icsk_ca_state:5;
	u64 icsk_ca_priv[STATE_BYTES / 8];
} KERNEL;

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
	u64 tcp_mstamp;
	u8 is_cwnd_limited:1;
} KERNEL;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
} KERNEL;

/* Only what is set here; libbpf finds the members by name in the kernel's own structure. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 to);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	/* Since 7.1, in the place of that event. Last, since the loader takes it out for older kernels. */
	void (*cwnd_event_tx_start)(struct sock *sk);
};

/* Kernel functions that a control may call since 5.13. */
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) KERNEL_FUNCTION;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) KERNEL_FUNCTION;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL_FUNCTION;

/*
 * A bit field, wherever the kernel has it: the builtin's numbers ask for the offset (0) and size (1) of the bytes
 * around it and the shifts that cut it out (4, 5), which libbpf fills in while loading.
 */
#define BITS(pointer, field) ({ \
	const char *at_ = (const char *)(pointer) + __builtin_preserve_field_info((pointer)->field, 0); \
	u64 bits_ = 0; \
	asm volatile("" : "+r"(at_)); \
	switch (__builtin_preserve_field_info((pointer)->field, 1)) { \
	case 1: bits_ = *(const u8 *)at_; break; \
	case 2: bits_ = *(const u16 *)at_; break; \
	case 4: bits_ = *(const u32 *)at_; break; \
	case 8: bits_ = *(const u64 *)at_; break; \
	} \
	bits_ <<= __builtin_preserve_field_info((pointer)->field, 4); \
	bits_ >>= __builtin_preserve_field_info((pointer)->field, 5); \
	bits_; \
})

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline void *state_of(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline u32 phase_of(struct sock *sk)
{
	return BITS((struct inet_connection_sock *)sk, icsk_ca_state);
}

static inline bool window_was_full(struct tcp_sock *tp)
{
	return BITS(tp, is_cwnd_limited);
}

/* The kernel calls a hook with its arguments as an array of 64-bit numbers. */
#define SOCKET(ctx) ((struct sock *)(ctx)[0])
#define HOOK_INIT(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx)); }
#define HOOK_START(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx)); }
#define HOOK_SSTHRESH(f) SEC("struct_ops") u32 f##_hook(u64 *ctx) { return f(SOCKET(ctx)); }
#define HOOK_UNDO(f) SEC("struct_ops") u32 f##_hook(u64 *ctx) { return f(SOCKET(ctx)); }
#define HOOK_GROW(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx), ctx[1], ctx[2]); }
#define HOOK_PHASE(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx), ctx[1]); }
#define HOOK_EVENT(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx), ctx[1]); }
#define HOOK_ACKED(f) SEC("struct_ops") void f##_hook(u64 *ctx) \
	{ f(SOCKET(ctx), (const struct ack_sample *)ctx[1]); }
#define HOOK_ACK_FLAGS(f) SEC("struct_ops") void f##_hook(u64 *ctx) { f(SOCKET(ctx), ctx[1]); }
#define HOOK(f) (void *)f##_hook

/*
 * The map's name starts with ws_, by which what a killed process left behind is found. Flag 1
 * (TCP_CONG_NON_RESTRICTED): while it is loaded every user may choose it, so that an agent without privileges can.
 */
#define CONTROL(control, ...) \
	char license_[] SEC("license") = "Dual MIT/GPL"; \
	SEC(".struct_ops") struct tcp_congestion_ops ws_##control = { .name = #control, .flags = 1, __VA_ARGS__ }
