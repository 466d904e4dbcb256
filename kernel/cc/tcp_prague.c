// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Prague (draft-briscoe-iccrg-prague-congestion-control): for L4S (RFC 9330), on connections with Accurate ECN.
 *
 * The algorithm is that of crates/base/congestion/src/algorithms/prague.rs, in fixed-point numbers. Names of parameters are
 * those of L4STeam's module. It needs the flags for Accurate ECN and ECT(1) of Linux 7.2; kernel/edits.toml has established
 * connections keep ECT(1).
 *
 * The socket is its own master (cong_control): it has the window follow a fraction by one packet with each ACK.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>
#include <net/tcp_ecn.h>

/* Bits behind the point of windows, shares and growth. */
#define PRAGUE_BITS 24
#define PRAGUE_ONE (1ULL << PRAGUE_BITS)
/* Weight of the newest share of marks: 1/16. */
#define PRAGUE_GAIN_SHIFT 4
#define PRAGUE_MIN_CWND 2U
/* Frames of this size are what the window grows by, whatever the MTU. */
#define PRAGUE_MTU 1500
/* IPv4 and TCP headers with timestamps. */
#define PRAGUE_HEADERS 52
/* Beyond this round-trip time growth is not scaled. */
#define PRAGUE_MAX_SCALED_US (100 * USEC_PER_MSEC)
/* Least pacing rate, 100 kbit/s in bytes. */
#define PRAGUE_MIN_RATE 12500ULL

static unsigned int prague_rtt_target __read_mostly = 25 * USEC_PER_MSEC;
module_param(prague_rtt_target, uint, 0644);
MODULE_PARM_DESC(prague_rtt_target, "round-trip time of growth, us");

static unsigned int prague_rtt_transition __read_mostly = 4;
module_param(prague_rtt_transition, uint, 0644);
MODULE_PARM_DESC(prague_rtt_transition, "round trips after slow start before growth follows that time");

static unsigned int prague_alpha_mode __read_mostly;
module_param(prague_alpha_mode, uint, 0644);
MODULE_PARM_DESC(prague_alpha_mode, "0: the first mark halves the window; 1: the share of marks is 1 at first");

static unsigned int prague_burst_shift __read_mostly = 12;
module_param(prague_burst_shift, uint, 0644);
MODULE_PARM_DESC(prague_burst_shift, "a burst lasts 1/2^this s at most");

struct prague {
	u64 fraction;		/* window of the equations, packets in fixed point */
	u64 before_fraction;	/* that before the last loss; 0: none */
	u64 alpha_us;		/* when alpha last followed the marks */
	u64 cut_us;		/* the last reduction for marks; 0: none */
	u32 before_cwnd;
	u32 alpha;		/* average share of marks in fixed point */
	u32 cwnd;		/* as this algorithm left it */
	u32 rounds;		/* round trips since slow start ended */
	u32 end;		/* the round trip ends when this is acknowledged */
	u32 delivered;		/* counts when the round trip began */
	u32 delivered_ce;
	u32 marks;		/* delivered_ce of the ACKs so far */
	bool halves_at_first;
	bool saw_mark;
	bool in_loss;		/* the window was cut for a loss that is being repaired */
};

static struct tcp_congestion_ops prague_without_ecn;

/* Whether rates of flows with other round-trip times are evened out. */
static bool prague_is_rtt_independent(const struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	return !tcp_in_slow_start(tcp_sk(sk)) && ca->rounds >= READ_ONCE(prague_rtt_transition);
}

static u32 prague_frame(const struct tcp_sock *tp)
{
	return tp->mss_cache + PRAGUE_HEADERS;
}

/* Packets by which the window grows in a round trip without marks: below the target (RTT / target)^2 of a frame. */
static u64 prague_growth(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 growth = ((u64)PRAGUE_MTU << PRAGUE_BITS) / prague_frame(tp);
	u64 rtt = tp->srtt_us >> 3, target = READ_ONCE(prague_rtt_target);

	if (!rtt || rtt >= target || rtt > PRAGUE_MAX_SCALED_US || !prague_is_rtt_independent(sk))
		return growth;
	return mul_u64_u64_div_u64(growth, rtt * rtt, target * target);
}

static u32 prague_window(const struct prague *ca)
{
	u64 packets = (ca->fraction + PRAGUE_ONE - 1) >> PRAGUE_BITS;

	return clamp_t(u64, packets, PRAGUE_MIN_CWND, U32_MAX);
}

static void prague_set_cwnd(struct tcp_sock *tp, struct prague *ca, u32 cwnd)
{
	tcp_snd_cwnd_set(tp, clamp(cwnd, 1U, tp->snd_cwnd_clamp));
	ca->cwnd = tcp_snd_cwnd(tp);
}

static void prague_update_cwnd(struct sock *sk, u32 acked, u32 marked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 cwnd, wanted;

	if (marked) {
		if (!ca->saw_mark && ca->halves_at_first)
			ca->fraction /= 2;
		ca->saw_mark = true;
	}
	acked -= min(acked, marked);
	if (acked && !ca->in_loss && tcp_is_cwnd_limited(sk)) {
		if (tcp_in_slow_start(tp)) {
			acked = tcp_slow_start(tp, acked);
			ca->fraction = (u64)tcp_snd_cwnd(tp) << PRAGUE_BITS;
		}
		if (acked)
			ca->fraction += mul_u64_u64_div_u64(acked * prague_growth(sk), PRAGUE_ONE,
							    max(ca->fraction, PRAGUE_ONE));
	}
	cwnd = tcp_snd_cwnd(tp);
	wanted = prague_window(ca);
	if (cwnd > wanted) {
		prague_set_cwnd(tp, ca, cwnd - 1);
		WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp), PRAGUE_MIN_CWND));
	} else {
		prague_set_cwnd(tp, ca, cwnd + (cwnd < wanted));
	}
}

static void prague_new_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	ca->end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	if (!tcp_in_slow_start(tp))
		ca->rounds++;
}

static void prague_update_alpha(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (before(tp->snd_una, ca->end))
		return;
	if (prague_is_rtt_independent(sk) && tp->tcp_mstamp - ca->alpha_us < READ_ONCE(prague_rtt_target))
		return;
	if (ca->saw_mark) {
		u32 delivered = max(tp->delivered - ca->delivered, 1U);
		u32 marked = min(tp->delivered_ce - ca->delivered_ce, delivered);
		u32 share = div_u64((u64)marked << PRAGUE_BITS, delivered);

		ca->alpha += (share >> PRAGUE_GAIN_SHIFT) - (ca->alpha >> PRAGUE_GAIN_SHIFT);
		ca->alpha_us = tp->tcp_mstamp;
	}
	prague_new_round(sk);
}

static void prague_update_pacing(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct prague *ca = inet_csk_ca(sk);
	u32 rtt = max(tp->srtt_us >> 3, 1U);
	u64 packets, rate;

	packets = max3(ca->fraction >> PRAGUE_BITS, (u64)tcp_packets_in_flight(tp), 1ULL);
	rate = max(div_u64(packets * prague_frame(tp) * USEC_PER_SEC, rtt), PRAGUE_MIN_RATE);
	if (tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2)
		rate *= 2;
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Once a round trip at most, and once in the target's time where rates are evened out. */
static void prague_cut_for_marks(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (prague_is_rtt_independent(sk) && ca->cut_us &&
	    tp->tcp_mstamp - ca->cut_us < READ_ONCE(prague_rtt_target))
		return;
	ca->cut_us = tp->tcp_mstamp;
	ca->fraction -= mul_u64_u32_shr(ca->fraction, ca->alpha, PRAGUE_BITS + 1);
}

/* Half, as Reno (RFC 5681). */
static void prague_cut_for_loss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (ca->in_loss)
		return;
	ca->in_loss = true;
	ca->before_fraction = ca->fraction;
	ca->before_cwnd = tcp_snd_cwnd(tp);
	ca->fraction = max(ca->fraction / 2, PRAGUE_MIN_CWND * PRAGUE_ONE);
	WRITE_ONCE(tp->snd_ssthresh, prague_window(ca));
	prague_set_cwnd(tp, ca, min(tcp_snd_cwnd(tp), prague_window(ca)));
}

static void prague_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 marked = tp->delivered_ce - ca->marks;

	if (!rs->acked_sacked && !marked)
		return;
	ca->marks = tp->delivered_ce;
	/* The socket has reduced the window after a pause or where it was not used. */
	if (!ca->in_loss && tcp_snd_cwnd(tp) < ca->cwnd)
		ca->fraction = (u64)tcp_snd_cwnd(tp) << PRAGUE_BITS;
	prague_update_cwnd(sk, rs->acked_sacked, marked);
	prague_update_alpha(sk);
	prague_update_pacing(sk);
}

static void prague_set_state(struct sock *sk, u8 state)
{
	struct prague *ca = inet_csk_ca(sk);

	if (state == inet_csk(sk)->icsk_ca_state)
		return;
	if (state == TCP_CA_CWR)
		prague_cut_for_marks(sk);
	else if (state == TCP_CA_Recovery)
		prague_cut_for_loss(sk);
	else if (state == TCP_CA_Open)
		ca->in_loss = false;
}

static void prague_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		prague_cut_for_loss(sk);
}

/* The reduction itself is set_state's: that tells marks from losses. */
static u32 prague_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 prague_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	ca->in_loss = false;
	if (ca->before_fraction) {
		ca->fraction = max(ca->fraction, ca->before_fraction);
		ca->cwnd = max(tcp_snd_cwnd(tp), ca->before_cwnd);
		ca->before_fraction = 0;
	} else {
		ca->cwnd = tcp_snd_cwnd(tp);
	}
	return ca->cwnd;
}

/* A packet at a time may leave; sk_pacing_shift bounds the others. */
static u32 prague_min_tso_segs(struct sock *sk)
{
	return 1;
}

static void prague_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->cwnd = tcp_snd_cwnd(tp);
	ca->fraction = (u64)ca->cwnd << PRAGUE_BITS;
	ca->halves_at_first = READ_ONCE(prague_alpha_mode) != 1;
	ca->alpha = ca->halves_at_first ? 0 : PRAGUE_ONE;
	ca->alpha_us = tp->tcp_mstamp;
	ca->marks = tp->delivered_ce;
	ca->end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_pacing_shift, min(READ_ONCE(prague_burst_shift), 31U));
	prague_update_pacing(sk);
	/* The other end has no Accurate ECN: no packet is ECN-capable, and losses alone count. */
	if (!tcp_ecn_mode_accecn(tp))
		inet_csk(sk)->icsk_ca_ops = &prague_without_ecn;
}

/* As of DCTCP, whose alpha is 1024 where each packet is marked. */
static size_t prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	info->dctcp.dctcp_enabled = tcp_ecn_mode_accecn(tp);
	info->dctcp.dctcp_alpha = ca->alpha >> (PRAGUE_BITS - 10);
	info->dctcp.dctcp_ab_ecn = tp->mss_cache * (tp->delivered_ce - ca->delivered_ce);
	info->dctcp.dctcp_ab_tot = tp->mss_cache * (tp->delivered - ca->delivered);
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

static struct tcp_congestion_ops prague __read_mostly = {
	.init		= prague_init,
	.ssthresh	= prague_ssthresh,
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.cwnd_event	= prague_cwnd_event,
	.undo_cwnd	= prague_undo_cwnd,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION |
			  TCP_CONG_NO_FALLBACK_RFC3168 | TCP_CONG_NON_RESTRICTED,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static struct tcp_congestion_ops prague_without_ecn __read_mostly = {
	.ssthresh	= prague_ssthresh,
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.cwnd_event	= prague_cwnd_event,
	.undo_cwnd	= prague_undo_cwnd,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.owner		= THIS_MODULE,
	.name		= "prague-no-ecn",
};

static int __init prague_register(void)
{
	BUILD_BUG_ON(sizeof(struct prague) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&prague);
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague);
}

module_init(prague_register);
module_exit(prague_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Prague");
