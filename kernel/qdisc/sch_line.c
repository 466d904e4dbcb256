// SPDX-License-Identifier: GPL-2.0
/*
 * sch_line: one direction of a link whose queue is another queueing discipline, such as dualpi2.
 *
 * sch_wire knows the time of arrival of a packet when it comes, since its queue is first in, first out. A discipline that
 * chooses, marks and drops when a packet leaves has to be asked at the moment in which the transmitter is free. That is
 * what this one does: it takes the next packet from the discipline below it, sends it at the link's rate with the same
 * exact arithmetic as sch_wire, may lose it, and hands it over after the propagation delay.
 *
 * It also counts by class, low latency (ECT(1) and CE, RFC 9331) and classic: packets, marks and drops by the time that
 * they had waited. The discipline below must serve each class in order, and send no packet with a class of its own choice.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/math64.h>
#include <net/gso.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* TCA_OPTIONS. Mirrored by crates/run/topology/src/line.rs. A dump has the bins behind it. */
struct tc_line_qopt {
	__u64 rate_bps;		/* bit/s, not 0 */
	__u64 delay_ns;		/* propagation */
	__u64 loss;		/* probability times 2^64, of what has been sent */
	__u64 seed;		/* of the loss process */
	__u64 limit;		/* packets that the discipline below holds at most */
};

/* Packets of a class that had waited about as long. Those without packets and drops are left out. */
struct tc_line_bin {
	__u32 class;		/* 0: low latency, 1: classic */
	__u32 bucket;		/* of the time, see line_bucket() */
	__u32 packets;		/* sent */
	__u32 marked;		/* of these, with congestion experienced since they came */
	__u32 dropped;		/* by the discipline below, after that time */
	__u32 reserved;
	__u64 bytes;		/* of frames sent */
	__u64 sum_ns;		/* of the times of packets sent */
};

/* TCA_STATS_APP. The first nine are those of struct tc_wire_xstats. */
struct tc_line_xstats {
	__u64 waiting_bytes;
	__u64 waiting_packets;
	__u64 flight_packets;	/* being sent or in propagation */
	__u64 dropped_packets;	/* by the discipline below, for whatever reason */
	__u64 lost_packets;	/* lost on the link */
	__u64 sent_packets;	/* whose transmission has started, lost ones included */
	__u64 sent_bytes;
	__u64 copied_packets;	/* none */
	__u64 marked_packets;
	__u64 managed_packets;	/* dropped by the discipline below after it had taken them */
};

#define LINE_CLASSES 2
/* A bucket is a sixteenth of an octave of nanoseconds, up to 2^40 ns. */
#define LINE_PARTS_BITS 4
#define LINE_BUCKETS 640

struct line_bin {
	u64 packets, marked, dropped, bytes, sum_ns;
};

/* A packet that waits below. */
struct line_entry {
	struct sk_buff *skb;
	u64 at_ns;
	bool was_marked;
};

struct line_class {
	struct line_entry *entries;	/* a ring */
	u32 first, count;
	struct line_bin *bins;
};

struct line_sched_data {
	struct tc_line_qopt opt;
	struct Qdisc *queue;		/* the discipline below */
	struct sk_buff *head, *tail;	/* on the link, in order of arrival time */
	u64 free_ns;			/* when the transmitter is free */
	u64 remainder;			/* of free_ns, in ns / rate_bps */
	bool is_idle;			/* nothing was there when it became free */
	u64 random;
	u32 room;			/* of each ring, a power of two */
	struct line_class classes[LINE_CLASSES];
	struct tc_line_xstats stats;
	struct qdisc_watchdog watchdog;
};

struct line_cb {
	u64 arrive_ns;
	bool is_lost;
};

static struct line_cb *line_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct line_cb));
	return (struct line_cb *)qdisc_skb_cb(skb)->data;
}

/* splitmix64 (Steele, Lea, Flood 2014), as in sch_wire. */
static u64 line_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Number of the bucket of a time. Below 2^LINE_PARTS_BITS each nanosecond has its own; above, an octave has as many. */
static u32 line_bucket(u64 ns)
{
	u32 shift;

	if (ns < 2 << LINE_PARTS_BITS)
		return ns;
	shift = ilog2(ns) - LINE_PARTS_BITS;
	return min_t(u32, (shift << LINE_PARTS_BITS) + (u32)(ns >> shift), LINE_BUCKETS - 1);
}

static u8 line_ecn(struct sk_buff *skb)
{
	int field = skb_get_dsfield(skb);

	return field < 0 ? INET_ECN_NOT_ECT : field & INET_ECN_MASK;
}

static struct line_entry *line_entry(struct line_sched_data *q, u32 class, u32 ahead)
{
	struct line_class *c = &q->classes[class];

	return &c->entries[(c->first + ahead) & (q->room - 1)];
}

static void line_note(struct line_sched_data *q, struct sk_buff *skb, u8 ecn, u64 now)
{
	u32 class = ecn & INET_ECN_ECT_1 ? 0 : 1;
	struct line_class *c = &q->classes[class];

	if (WARN_ON_ONCE(c->count == q->room))
		return;
	*line_entry(q, class, c->count++) = (struct line_entry) {
		.skb = skb,
		.at_ns = now,
		.was_marked = ecn == INET_ECN_CE,
	};
}

/* Takes the first packets of a class, which have been dropped. */
static void line_forget(struct line_sched_data *q, u32 class, u32 dropped, u64 now)
{
	struct line_class *c = &q->classes[class];

	for (; dropped && c->count; dropped--) {
		c->bins[line_bucket(now - line_entry(q, class, 0)->at_ns)].dropped++;
		q->stats.managed_packets++;
		q->stats.dropped_packets++;
		c->first++;
		c->count--;
	}
}

/* The discipline below has dropped some packets and then sent one. Each class leaves in order. */
static void line_account(struct line_sched_data *q, struct sk_buff *skb, u32 dropped, u64 now)
{
	u32 class, ahead;

	for (class = 0; class < LINE_CLASSES; class++) {
		struct line_class *c = &q->classes[class];

		for (ahead = 0; ahead <= dropped && ahead < c->count; ahead++) {
			struct line_entry *entry = line_entry(q, class, ahead);
			struct line_bin *bin;

			if (entry->skb != skb)
				continue;
			line_forget(q, class, ahead, now);
			line_forget(q, 1 - class, dropped - ahead, now);
			bin = &c->bins[line_bucket(now - entry->at_ns)];
			bin->packets++;
			bin->bytes += qdisc_pkt_len(skb);
			bin->sum_ns += now - entry->at_ns;
			if (!entry->was_marked && line_ecn(skb) == INET_ECN_CE) {
				bin->marked++;
				q->stats.marked_packets++;
			}
			c->first++;
			c->count--;
			return;
		}
	}
	WARN_ON_ONCE(1);
}

/* Lets the transmitter take what is its turn. */
static void line_send(struct line_sched_data *q, struct Qdisc *sch, u64 now)
{
	while (q->free_ns <= now) {
		u32 before = qdisc_qlen(q->queue);
		struct sk_buff *skb = before ? q->queue->dequeue(q->queue) : NULL;
		struct line_cb *cb;
		u64 work, rest;

		if (!skb) {
			/* What it dropped last. */
			line_forget(q, 0, q->classes[0].count, now);
			line_forget(q, 1, q->classes[1].count, now);
			q->is_idle = true;
			return;
		}
		line_account(q, skb, before - 1 - qdisc_qlen(q->queue), now);
		if (q->is_idle) {
			q->free_ns = now;
			q->remainder = 0;
			q->is_idle = false;
		}
		/* In ns times bit/s. */
		work = q->remainder + (u64)qdisc_pkt_len(skb) * 8 * NSEC_PER_SEC;
		q->free_ns += div64_u64_rem(work, q->opt.rate_bps, &rest);
		q->remainder = rest;
		cb = line_cb(skb);
		cb->arrive_ns = q->free_ns + q->opt.delay_ns;
		cb->is_lost = q->opt.loss && line_random(&q->random) < q->opt.loss;
		skb->next = NULL;
		if (q->tail)
			q->tail->next = skb;
		else
			q->head = skb;
		q->tail = skb;
		q->stats.flight_packets++;
		q->stats.sent_packets++;
		q->stats.sent_bytes += qdisc_pkt_len(skb);
	}
}

static int line_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct line_sched_data *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	u64 now = ktime_get_ns();
	u8 ecn = line_ecn(skb);
	int ret;

	/* A transmitter that is free takes the packet at once: the discipline below sees no queue. */
	line_send(q, sch, now);
	ret = qdisc_enqueue(skb, q->queue, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret)) {
			q->stats.dropped_packets++;
			qdisc_qstats_drop(sch);
		}
		return ret;
	}
	line_note(q, skb, ecn, now);
	sch->q.qlen++;
	sch->qstats.backlog += len;
	line_send(q, sch, now);
	return NET_XMIT_SUCCESS;
}

static int line_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sk_buff *segment, *next;
	unsigned int before, accepted = 0, total = 0;
	int ret = NET_XMIT_DROP;

	if (!skb_is_gso(skb))
		return line_enqueue_one(skb, sch, to_free);

	before = qdisc_pkt_len(skb);
	segment = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segment))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segment, segment, next) {
		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = segment->len;
		qdisc_skb_cb(segment)->pkt_segs = 1;
		total += segment->len;
		if (line_enqueue_one(segment, sch, to_free) == NET_XMIT_SUCCESS) {
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

static struct sk_buff *line_dequeue(struct Qdisc *sch)
{
	struct line_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns(), due = U64_MAX;
	struct sk_buff *skb;

	line_send(q, sch, now);
	while ((skb = q->head) && line_cb(skb)->arrive_ns <= now) {
		q->head = skb->next;
		if (!q->head)
			q->tail = NULL;
		skb_mark_not_on_list(skb);
		q->stats.flight_packets--;
		sch->q.qlen--;
		sch->qstats.backlog -= qdisc_pkt_len(skb);
		if (!line_cb(skb)->is_lost) {
			qdisc_bstats_update(sch, skb);
			return skb;
		}
		q->stats.lost_packets++;
		qdisc_qstats_drop(sch);
		kfree_skb(skb);
	}
	if (skb)
		due = line_cb(skb)->arrive_ns;
	if (qdisc_qlen(q->queue))
		due = min(due, q->free_ns);
	if (due != U64_MAX)
		qdisc_watchdog_schedule_ns(&q->watchdog, due);
	return NULL;
}

static void line_reset(struct Qdisc *sch)
{
	struct line_sched_data *q = qdisc_priv(sch);
	u32 class;

	qdisc_reset(q->queue);
	rtnl_kfree_skbs(q->head, q->tail);
	q->head = q->tail = NULL;
	for (class = 0; class < LINE_CLASSES; class++)
		q->classes[class].first = q->classes[class].count = 0;
	q->stats.flight_packets = 0;
	q->free_ns = q->remainder = 0;
	q->is_idle = true;
	qdisc_watchdog_cancel(&q->watchdog);
}

static int line_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct line_sched_data *q = qdisc_priv(sch);
	u32 class;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->queue = &noop_qdisc;
	q->is_idle = true;
	if (!opt || nla_len(opt) < sizeof(q->opt)) {
		NL_SET_ERR_MSG(extack, "line: options are missing");
		return -EINVAL;
	}
	memcpy(&q->opt, nla_data(opt), sizeof(q->opt));
	if (!q->opt.rate_bps) {
		NL_SET_ERR_MSG(extack, "line: a rate of zero carries nothing");
		return -EINVAL;
	}
	if (!q->opt.limit || q->opt.limit > 1 << 24) {
		NL_SET_ERR_MSG(extack, "line: the queue holds 1 to 16777216 packets");
		return -EINVAL;
	}
	q->random = q->opt.seed;
	q->room = roundup_pow_of_two(q->opt.limit);
	for (class = 0; class < LINE_CLASSES; class++) {
		struct line_class *c = &q->classes[class];

		c->entries = kvcalloc(q->room, sizeof(*c->entries), GFP_KERNEL);
		c->bins = kvcalloc(LINE_BUCKETS, sizeof(*c->bins), GFP_KERNEL);
		if (!c->entries || !c->bins)
			return -ENOMEM;
	}
	return 0;
}

/* Also after an init that failed. */
static void line_destroy(struct Qdisc *sch)
{
	struct line_sched_data *q = qdisc_priv(sch);
	u32 class;

	qdisc_watchdog_cancel(&q->watchdog);
	for (class = 0; class < LINE_CLASSES; class++) {
		kvfree(q->classes[class].entries);
		kvfree(q->classes[class].bins);
	}
	if (q->queue)
		qdisc_put(q->queue);
}

/* The bins of a class that are not empty; those of an attribute that has no room left are counted. */
static u32 line_put_bins(const struct line_class *c, u32 class, struct tc_line_bin *to)
{
	u32 bucket, count = 0;

	for (bucket = 0; bucket < LINE_BUCKETS; bucket++) {
		const struct line_bin *bin = &c->bins[bucket];

		if (!bin->packets && !bin->dropped)
			continue;
		if (to)
			to[count] = (struct tc_line_bin) {
				.class = class,
				.bucket = bucket,
				.packets = bin->packets,
				.marked = bin->marked,
				.dropped = bin->dropped,
				.bytes = bin->bytes,
				.sum_ns = bin->sum_ns,
			};
		count++;
	}
	return count;
}

static int line_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct line_sched_data *q = qdisc_priv(sch);
	struct nlattr *attribute;
	u32 class, count = 0;
	void *to;

	sch_tree_lock(sch);
	for (class = 0; class < LINE_CLASSES; class++)
		count += line_put_bins(&q->classes[class], class, NULL);
	attribute = nla_reserve(skb, TCA_OPTIONS, sizeof(q->opt) + count * sizeof(struct tc_line_bin));
	if (attribute) {
		to = nla_data(attribute);
		memcpy(to, &q->opt, sizeof(q->opt));
		to += sizeof(q->opt);
		for (class = 0; class < LINE_CLASSES; class++)
			to += line_put_bins(&q->classes[class], class, to) * sizeof(struct tc_line_bin);
	}
	sch_tree_unlock(sch);
	return attribute ? skb->len : -EMSGSIZE;
}

static int line_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct line_sched_data *q = qdisc_priv(sch);

	q->stats.waiting_packets = qdisc_qlen(q->queue);
	q->stats.waiting_bytes = q->queue->qstats.backlog;
	return gnet_stats_copy_app(d, &q->stats, sizeof(q->stats));
}

static int line_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct line_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->queue->handle;
	return 0;
}

static int line_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct line_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->queue);
	return 0;
}

static struct Qdisc *line_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct line_sched_data *q = qdisc_priv(sch);

	return q->queue;
}

static unsigned long line_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void line_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops line_class_ops = {
	.graft		= line_graft,
	.leaf		= line_leaf,
	.find		= line_find,
	.walk		= line_walk,
	.dump		= line_dump_class,
};

static struct Qdisc_ops line_qdisc_ops __read_mostly = {
	.id		= "line",
	.cl_ops		= &line_class_ops,
	.priv_size	= sizeof(struct line_sched_data),
	.enqueue	= line_enqueue,
	.dequeue	= line_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= line_init,
	.reset		= line_reset,
	.destroy	= line_destroy,
	.dump		= line_dump,
	.dump_stats	= line_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init line_module_init(void)
{
	return register_qdisc(&line_qdisc_ops);
}
device_initcall(line_module_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("One direction of a link around another queueing discipline: exact rate, loss, delay, counts by class");
