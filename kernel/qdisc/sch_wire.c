// SPDX-License-Identifier: GPL-2.0
/*
 * sch_wire: one direction of a link, exactly.
 *
 * A packet waits in a drop-tail queue bounded in bytes, is sent at the link's rate, may be lost, and arrives
 * after the propagation delay. netem and tbf can be combined into nearly the same; what they cannot do:
 *
 *  - netem's limit counts packets and includes those in propagation, so a queue of "1 BDP" is never just that;
 *  - both round the time of a packet down to whole nanoseconds (1 % too fast at 400 Gbit/s and 1500 bytes);
 *    here the remainder is carried, so the long-term rate is exact;
 *  - netem resolves a probability to 2^-32 (2.2e-8 becomes 2.19e-8); here it is 2^-64;
 *  - netem counts a random loss and a full queue as the same drop; here each has its counter, in 64 bits;
 *  - netem drops and delays a GSO packet as one; here it is cut first, so that one loss is one packet.
 *
 * One timer per packet: since the queue is first in, first out, the time of arrival is known at enqueue, and
 * the packets still waiting for their turn are those whose transmission starts in the future.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>	/* skb_gso_segment; linux/netdevice.h had it before */
#endif
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* TCA_OPTIONS. Mirrored by crates/run/topology/src/qdisc.rs. */
struct tc_wire_qopt {
	__u64 rate_bps;		/* bit/s, not 0 */
	__u64 delay_ns;		/* propagation */
	__u64 limit_bytes;	/* room for waiting frames; the one being sent does not count */
	__u64 loss;		/* probability times 2^64 */
	__u64 seed;		/* of the loss process */
};

/* TCA_STATS_APP. Mirrored by crates/run/topology/src/qdisc.rs. */
struct tc_wire_xstats {
	__u64 waiting_bytes;
	__u64 waiting_packets;
	__u64 flight_packets;	/* being sent or in propagation */
	__u64 overflow_packets;	/* dropped because the queue was full */
	__u64 lost_packets;	/* lost on the link */
	__u64 sent_packets;	/* whose transmission has started, lost ones included */
	__u64 sent_bytes;
};

struct wire_sched_data {
	struct tc_wire_qopt opt;
	struct sk_buff *head, *tail;	/* everything accepted, in order of arrival time */
	struct sk_buff *next;		/* the first whose transmission has not started */
	u64 free_ns;			/* when the transmitter is free */
	u64 remainder;			/* of free_ns, in ns / rate_bps */
	u64 random;
	struct tc_wire_xstats stats;
	struct qdisc_watchdog watchdog;
};

#define WIRE_LOST BIT(31)

struct wire_cb {
	u64 arrive_ns;
	u32 service_ns;		/* top bit: it will be lost */
};

static struct wire_cb *wire_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct wire_cb));
	return (struct wire_cb *)qdisc_skb_cb(skb)->data;
}

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
static u64 wire_random(struct wire_sched_data *q)
{
	u64 z = (q->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A packet has left the CPU's caches while it was in propagation; ask for the next one before it is its turn. */
/* Always inlined: gcc takes a function that only prefetches for one without effect and drops the call. */
static __always_inline void wire_prefetch(struct sk_buff *skb)
{
	if (!skb)
		return;
	prefetch(skb->data);
	prefetch(skb_shinfo(skb));
	prefetch(skb->next);
	prefetch((u8 *)skb->next + offsetof(struct sk_buff, len));
	prefetch((u8 *)skb->next + offsetof(struct sk_buff, data));
}

/* Moves what has begun to be sent from "waiting" to "in flight". */
static void wire_advance(struct wire_sched_data *q, u64 now)
{
	while (q->next) {
		struct wire_cb *cb = wire_cb(q->next);
		u32 len = qdisc_pkt_len(q->next);
		u64 start = cb->arrive_ns - q->opt.delay_ns - (cb->service_ns & ~WIRE_LOST);

		if (start > now)
			return;
		q->stats.waiting_bytes -= len;
		q->stats.waiting_packets--;
		q->stats.flight_packets++;
		q->stats.sent_packets++;
		q->stats.sent_bytes += len;
		q->next = q->next->next;
		prefetch(q->next);
	}
}

static int wire_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	struct wire_cb *cb = wire_cb(skb);
	u32 len = qdisc_pkt_len(skb);
	u64 now = ktime_get_ns();
	u64 start, service, remainder;

	wire_advance(q, now);
	if (q->free_ns > now && q->stats.waiting_bytes + len > q->opt.limit_bytes) {
		q->stats.overflow_packets++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (q->free_ns <= now)
		q->remainder = 0;
	start = max(now, q->free_ns);
	service = div64_u64_rem(q->remainder + (u64)len * 8 * NSEC_PER_SEC, q->opt.rate_bps, &remainder);
	q->remainder = remainder;
	q->free_ns = start + service;
	cb->arrive_ns = q->free_ns + q->opt.delay_ns;
	cb->service_ns = min_t(u64, service, WIRE_LOST - 1);
	if (q->opt.loss && wire_random(q) < q->opt.loss)
		cb->service_ns |= WIRE_LOST;

	skb->next = NULL;
	if (q->tail)
		q->tail->next = skb;
	else
		q->head = skb;
	q->tail = skb;
	if (!q->next)
		q->next = skb;
	q->stats.waiting_bytes += len;
	q->stats.waiting_packets++;
	wire_advance(q, now);

	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}

static int wire_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sk_buff *segment, *next;
	unsigned int before, accepted = 0, total = 0;
	int ret = NET_XMIT_DROP;

	if (!skb_is_gso(skb))
		return wire_enqueue_one(skb, sch, to_free);

	before = qdisc_pkt_len(skb);
	segment = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segment))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segment, segment, next) {
		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = segment->len;
		total += segment->len;
		if (wire_enqueue_one(segment, sch, to_free) == NET_XMIT_SUCCESS) {
			accepted++;
			ret = NET_XMIT_SUCCESS;
		}
	}
	/* The parent, if any, counted one packet. */
	if (accepted > 1)
		qdisc_tree_reduce_backlog(sch, 1 - accepted, before - total);
	consume_skb(skb);
	return ret;
}

static struct sk_buff *wire_dequeue(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	wire_advance(q, now);
	while (q->head) {
		struct sk_buff *skb = q->head;
		struct wire_cb *cb = wire_cb(skb);

		if (cb->arrive_ns > now) {
			qdisc_watchdog_schedule_ns(&q->watchdog, cb->arrive_ns);
			return NULL;
		}
		q->head = skb->next;
		if (!q->head)
			q->tail = NULL;
		wire_prefetch(q->head);
		skb_mark_not_on_list(skb);
		q->stats.flight_packets--;
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		if (cb->service_ns & WIRE_LOST) {
			q->stats.lost_packets++;
			qdisc_qstats_drop(sch);
			kfree_skb(skb);
			continue;
		}
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	return NULL;
}

static void wire_reset(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	rtnl_kfree_skbs(q->head, q->tail);
	q->head = q->tail = q->next = NULL;
	q->stats.waiting_bytes = q->stats.waiting_packets = q->stats.flight_packets = 0;
	q->free_ns = q->remainder = 0;
	qdisc_watchdog_cancel(&q->watchdog);
}

static int wire_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	struct tc_wire_qopt *given;

	if (!opt || nla_len(opt) < sizeof(*given)) {
		NL_SET_ERR_MSG(extack, "wire: options are missing or too short");
		return -EINVAL;
	}
	given = nla_data(opt);
	if (!given->rate_bps) {
		NL_SET_ERR_MSG(extack, "wire: a rate of zero carries nothing");
		return -EINVAL;
	}
	q->opt = *given;
	q->random = given->seed;
	return 0;
}

static int wire_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	return wire_change(sch, opt, extack);
}

static void wire_destroy(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
}

static int wire_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	return nla_put(skb, TCA_OPTIONS, sizeof(q->opt), &q->opt) ? -EMSGSIZE : skb->len;
}

static int wire_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	wire_advance(q, ktime_get_ns());
	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static struct Qdisc_ops wire_qdisc_ops __read_mostly = {
	.id		= "wire",
	.priv_size	= sizeof(struct wire_sched_data),
	.enqueue	= wire_enqueue,
	.dequeue	= wire_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= wire_init,
	.reset		= wire_reset,
	.destroy	= wire_destroy,
	.dump		= wire_dump,
	.dump_stats	= wire_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init wire_module_init(void)
{
	return register_qdisc(&wire_qdisc_ops);
}
device_initcall(wire_module_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("One direction of a link: drop-tail queue in bytes, exact rate, loss, delay");
