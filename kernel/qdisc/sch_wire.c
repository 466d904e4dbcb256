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
 * A link may change at known times: rate, delay, room and losses. netem's can be set anew, but what waits keeps the time that it
 * was given, and a packet that is on its way overtakes others or is overtaken.
 *
 * One timer per packet: since the queue is first in, first out, the time of arrival is known at enqueue, and
 * the packets still waiting for their turn are those whose transmission starts in the future.
 *
 * At the end of the link there may be an interface with a moderated interrupt. What has arrived waits in its ring, and all of it is
 * handed over at once when the interrupt is due. Then there is one timer for each interrupt.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>	/* skb_gso_segment; linux/netdevice.h had it before */
#endif
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/*
 * TCA_OPTIONS is a word that says what follows it. Mirrored by crates/run/topology/src/qdisc.rs.
 */
enum {
	WIRE_LINK,	/* struct tc_wire_qopt: a link, which does not change */
	WIRE_STATES,	/* any number of struct tc_wire_state, after those that were given before */
	WIRE_START,	/* one word: the time (CLOCK_MONOTONIC, ns) that the states count from */
};

struct tc_wire_qopt {
	__u64 rate_bps;		/* bit/s, not 0 */
	__u64 delay_ns;		/* propagation */
	__u64 limit_bytes;	/* room for waiting frames; the one being sent does not count */
	__u64 loss;		/* probability times 2^64 */
	__u64 seed;		/* of the loss process */
	__u64 reorder;		/* probability times 2^64 that a packet is overtaken */
	__u64 reorder_ns;	/* it arrives so much later */
	__u64 reorder_seed;
	__u64 duplicate;	/* probability times 2^64 that a packet arrives twice */
	__u64 duplicate_ns;	/* the copy arrives so much later than the packet */
	__u64 duplicate_seed;
	__u64 coalesce_ns;	/* of the interface at the end: without frames, from one interrupt to the next at least */
	__u64 coalesce_frames;	/* not 0: the interrupt comes with so many, or coalesce_ns after the first of them */
	__u64 mark_bytes;	/* what is ECN-capable and finds more than this waiting is marked */
};

/* What the link is like from a time on. */
struct tc_wire_state {
	__u64 at_ns;		/* since the start, after the one before */
	__u64 rate_bps;		/* 0: it stands still */
	__u64 delay_ns;		/* of what ends to be sent from now on; packets keep their order */
	__u64 limit_bytes;	/* for what comes from now on */
	__u64 loss;		/* of what ends to be sent from now on */
};

/* TCA_STATS_APP. Mirrored by crates/run/topology/src/qdisc.rs. */
struct tc_wire_xstats {
	__u64 waiting_bytes;
	__u64 waiting_packets;
	__u64 flight_packets;	/* being sent, in propagation, or in the ring of the interface at the end */
	__u64 overflow_packets;	/* dropped because the queue was full */
	__u64 lost_packets;	/* lost on the link */
	__u64 sent_packets;	/* whose transmission has started, lost ones included */
	__u64 sent_bytes;
	__u64 copied_packets;	/* that arrived, and arrive again */
	__u64 marked_packets;	/* with congestion experienced, because they found too much waiting */
};

struct wire_list {
	struct sk_buff *head, *tail;
};

struct wire_sched_data {
	struct tc_wire_qopt opt;
	struct tc_wire_state *states;	/* the first is opt's */
	u32 state_count, state_room;
	u32 sending;			/* the state in which the transmitter is free */
	u32 coming;			/* the state when the last packet came */
	u64 start_ns;			/* that the states count from */
	u64 last_arrive_ns;
	struct sk_buff *head, *tail;	/* everything accepted, in order of arrival time */
	struct sk_buff *next;		/* the first whose transmission has not started */
	u64 free_ns;			/* when the transmitter is free */
	u64 remainder;			/* of free_ns, in ns / rate_bps */
	u64 random, reorder_random, duplicate_random;
	struct wire_list late, copies;	/* overtaken, and copied, in order of arrival time */
	struct wire_list ring;		/* arrived, and not handed over */
	u64 ring_packets;		/* that have come since the last interrupt */
	u64 interrupt_ns;		/* when the ring is handed over; when it was, while it is empty */
	bool has_interrupted;
	struct tc_wire_xstats stats;
	struct qdisc_watchdog watchdog;
};

#define WIRE_LOST BIT_ULL(63)
#define WIRE_LATE BIT_ULL(62)
#define WIRE_TWICE BIT_ULL(61)
#define WIRE_FATE (WIRE_LOST | WIRE_LATE | WIRE_TWICE)

/* What is on a link that stands still to the end leaves it after any run. */
#define WIRE_NEVER (U64_MAX / 4)

struct wire_cb {
	u64 arrive_ns;
	u64 start_ns;		/* with WIRE_FATE in the top bits */
};

static struct wire_cb *wire_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct wire_cb));
	return (struct wire_cb *)qdisc_skb_cb(skb)->data;
}

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
static u64 wire_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

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

		if ((cb->start_ns & ~WIRE_FATE) > now)
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

/* When the state after this one begins. */
static u64 wire_next(const struct wire_sched_data *q, u32 state)
{
	if (state + 1 >= q->state_count || q->start_ns == U64_MAX)
		return U64_MAX;
	return q->start_ns + q->states[state + 1].at_ns;
}

/* Moves the transmitter's clock over a frame, which may be sent at several rates. */
static void wire_transmit(struct wire_sched_data *q, u32 len)
{
	/* In ns times bit/s. */
	u64 work = q->remainder + (u64)len * 8 * NSEC_PER_SEC;

	while (work) {
		u64 rate = q->states[q->sending].rate_bps;
		u64 next = wire_next(q, q->sending);

		if (rate) {
			u64 remainder, whole = div64_u64_rem(work, rate, &remainder);

			if (q->free_ns + whole < next) {
				q->free_ns += whole;
				q->remainder = remainder;
				return;
			}
		} else if (next == U64_MAX) {
			q->free_ns = WIRE_NEVER;
			q->remainder = 0;
			return;
		}
		work -= (next - q->free_ns) * rate;
		q->free_ns = next;
		q->sending++;
	}
	q->remainder = 0;
	while (wire_next(q, q->sending) <= q->free_ns)
		q->sending++;
}

static int wire_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	struct wire_cb *cb = wire_cb(skb);
	u32 len = qdisc_pkt_len(skb);
	u64 now = ktime_get_ns();
	const struct tc_wire_state *state;

	wire_advance(q, now);
	while (wire_next(q, q->coming) <= now)
		q->coming++;
	if (q->free_ns > now && q->stats.waiting_bytes + len > q->states[q->coming].limit_bytes) {
		q->stats.overflow_packets++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (q->stats.waiting_bytes > q->opt.mark_bytes && INET_ECN_set_ce(skb))
		q->stats.marked_packets++;
	if (q->free_ns <= now) {
		q->free_ns = now;
		q->remainder = 0;
		while (wire_next(q, q->sending) <= now)
			q->sending++;
	}
	cb->start_ns = q->free_ns;
	wire_transmit(q, len);
	state = &q->states[q->sending];
	/* What is behind on the way stays behind where the way gets shorter. */
	q->last_arrive_ns = max(q->last_arrive_ns, q->free_ns + state->delay_ns);
	cb->arrive_ns = q->last_arrive_ns;
	if (state->loss && wire_random(&q->random) < state->loss) {
		cb->start_ns |= WIRE_LOST;
	} else {
		if (q->opt.reorder && wire_random(&q->reorder_random) < q->opt.reorder)
			cb->start_ns |= WIRE_LATE;
		if (q->opt.duplicate && wire_random(&q->duplicate_random) < q->opt.duplicate)
			cb->start_ns |= WIRE_TWICE;
	}

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

static void wire_append(struct wire_list *list, struct sk_buff *skb)
{
	skb->next = NULL;
	if (list->tail)
		list->tail->next = skb;
	else
		list->head = skb;
	list->tail = skb;
}

/* Puts a packet where it waits for its time, a while later than its own. */
static void wire_delay(struct wire_list *list, struct sk_buff *skb, u64 delay_ns)
{
	wire_cb(skb)->arrive_ns += delay_ns;
	wire_append(list, skb);
}

/* A packet arrives, and is to arrive again. Without memory it is not. */
static void wire_copy(struct wire_sched_data *q, struct Qdisc *sch, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);

	wire_cb(skb)->start_ns &= ~WIRE_TWICE;
	if (!copy)
		return;
	wire_cb(copy)->start_ns &= ~WIRE_TWICE;
	wire_delay(&q->copies, copy, q->opt.duplicate_ns);
	q->stats.copied_packets++;
	q->stats.flight_packets++;
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, copy);
}

static bool wire_is_earlier(struct sk_buff *a, struct sk_buff *b)
{
	return a && (!b || wire_cb(a)->arrive_ns <= wire_cb(b)->arrive_ns);
}

/* The list with the packet that arrives first. */
static struct sk_buff **wire_first(struct wire_sched_data *q)
{
	struct sk_buff **first = &q->head;

	if (wire_is_earlier(q->late.head, *first))
		first = &q->late.head;
	if (wire_is_earlier(q->copies.head, *first))
		first = &q->copies.head;
	return first;
}

/* Takes the first packet of a list, which has come to its end. None if it is lost or comes later. */
static struct sk_buff *wire_take(struct wire_sched_data *q, struct Qdisc *sch, struct sk_buff **list)
{
	struct sk_buff *skb = *list;
	struct wire_cb *cb = wire_cb(skb);

	*list = skb->next;
	if (!q->head)
		q->tail = NULL;
	if (!q->late.head)
		q->late.tail = NULL;
	if (!q->copies.head)
		q->copies.tail = NULL;
	wire_prefetch(*list);
	skb_mark_not_on_list(skb);
	if (cb->start_ns & WIRE_LATE) {
		cb->start_ns &= ~WIRE_LATE;
		wire_delay(&q->late, skb, q->opt.reorder_ns);
		return NULL;
	}
	if (cb->start_ns & WIRE_TWICE)
		wire_copy(q, sch, skb);
	if (cb->start_ns & WIRE_LOST) {
		q->stats.flight_packets--;
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		q->stats.lost_packets++;
		qdisc_qstats_drop(sch);
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/* The packet leaves: it is the next node's. */
static struct sk_buff *wire_hand_over(struct wire_sched_data *q, struct Qdisc *sch, struct sk_buff *skb)
{
	q->stats.flight_packets--;
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static bool wire_is_moderated(const struct wire_sched_data *q)
{
	return q->opt.coalesce_ns || q->opt.coalesce_frames;
}

/* A packet comes to the interface, which may plan an interrupt for it. */
static void wire_fill_ring(struct wire_sched_data *q, struct sk_buff *skb)
{
	u64 now = wire_cb(skb)->arrive_ns;

	if (!q->ring.head) {
		q->ring_packets = 0;
		if (q->opt.coalesce_frames)
			q->interrupt_ns = now + q->opt.coalesce_ns;
		else if (!q->has_interrupted)
			q->interrupt_ns = now;
		else
			q->interrupt_ns = max(now, q->interrupt_ns + q->opt.coalesce_ns);
		q->has_interrupted = true;
	}
	wire_append(&q->ring, skb);
	if (++q->ring_packets == q->opt.coalesce_frames)
		q->interrupt_ns = now;
}

/*
 * When something may happen in the interface, as far as it is known: an interrupt, or the arrival that makes its frames complete.
 * That a lost packet does not count, and a late one comes later, shows when its time has come.
 */
static u64 wire_ring_time(struct wire_sched_data *q, struct sk_buff *first)
{
	struct sk_buff *skb;
	u64 due, missing = q->opt.coalesce_frames;

	if (!missing) {
		if (q->ring.head)
			return q->interrupt_ns;
		due = wire_cb(first)->arrive_ns;
		return q->has_interrupted ? max(due, q->interrupt_ns + q->opt.coalesce_ns) : due;
	}
	due = q->ring.head ? q->interrupt_ns : wire_cb(first)->arrive_ns + q->opt.coalesce_ns;
	/* What comes late or twice is in no order with what does not. */
	if (first && (q->opt.reorder || q->opt.duplicate))
		return min(due, wire_cb(first)->arrive_ns);
	if (q->ring.head)
		missing -= q->ring_packets;
	for (skb = q->head; skb && wire_cb(skb)->arrive_ns < due; skb = skb->next)
		if (!(wire_cb(skb)->start_ns & WIRE_LOST) && !--missing)
			return wire_cb(skb)->arrive_ns;
	return due;
}

/* With an interface at the end: its ring once its interrupt has come. */
static struct sk_buff *wire_dequeue_ring(struct wire_sched_data *q, struct Qdisc *sch, u64 now)
{
	for (;;) {
		struct sk_buff **list = wire_first(q), *skb = *list;
		u64 arrive_ns = skb ? wire_cb(skb)->arrive_ns : U64_MAX;

		if (q->ring.head && q->interrupt_ns <= now && q->interrupt_ns < arrive_ns) {
			skb = q->ring.head;
			q->ring.head = skb->next;
			if (!q->ring.head)
				q->ring.tail = NULL;
			wire_prefetch(q->ring.head);
			skb_mark_not_on_list(skb);
			return wire_hand_over(q, sch, skb);
		}
		if (arrive_ns > now) {
			if (q->ring.head || skb)
				qdisc_watchdog_schedule_ns(&q->watchdog, wire_ring_time(q, skb));
			return NULL;
		}
		skb = wire_take(q, sch, list);
		if (skb)
			wire_fill_ring(q, skb);
	}
}

static struct sk_buff *wire_dequeue(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sk_buff **list;

	wire_advance(q, now);
	if (wire_is_moderated(q))
		return wire_dequeue_ring(q, sch, now);
	while (*(list = wire_first(q))) {
		u64 arrive_ns = wire_cb(*list)->arrive_ns;
		struct sk_buff *skb;

		if (arrive_ns > now) {
			qdisc_watchdog_schedule_ns(&q->watchdog, arrive_ns);
			return NULL;
		}
		skb = wire_take(q, sch, list);
		if (skb)
			return wire_hand_over(q, sch, skb);
	}
	return NULL;
}

static void wire_reset(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	rtnl_kfree_skbs(q->head, q->tail);
	rtnl_kfree_skbs(q->late.head, q->late.tail);
	rtnl_kfree_skbs(q->copies.head, q->copies.tail);
	rtnl_kfree_skbs(q->ring.head, q->ring.tail);
	q->head = q->tail = q->next = NULL;
	q->late = q->copies = q->ring = (struct wire_list) {};
	q->has_interrupted = false;
	q->stats.waiting_bytes = q->stats.waiting_packets = q->stats.flight_packets = 0;
	q->free_ns = q->remainder = q->last_arrive_ns = 0;
	q->sending = q->coming = 0;
	qdisc_watchdog_cancel(&q->watchdog);
}

/* Room for so many states. */
static int wire_reserve(struct Qdisc *sch, u32 count)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	struct tc_wire_state *states, *before = q->states;

	if (count <= q->state_room)
		return 0;
	count = roundup_pow_of_two(count);
	states = kvcalloc(count, sizeof(*states), GFP_KERNEL);
	if (!states)
		return -ENOMEM;
	sch_tree_lock(sch);
	if (before)
		memcpy(states, before, q->state_count * sizeof(*states));
	q->states = states;
	q->state_room = count;
	sch_tree_unlock(sch);
	kvfree(before);
	return 0;
}

static int wire_set_link(struct Qdisc *sch, const void *data, size_t length, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	struct tc_wire_qopt given;
	int err;

	if (length < sizeof(given)) {
		NL_SET_ERR_MSG(extack, "wire: options are too short");
		return -EINVAL;
	}
	memcpy(&given, data, sizeof(given));
	if (!given.rate_bps) {
		NL_SET_ERR_MSG(extack, "wire: a rate of zero carries nothing");
		return -EINVAL;
	}
	err = wire_reserve(sch, 1);
	if (err)
		return err;
	sch_tree_lock(sch);
	q->opt = given;
	q->random = given.seed;
	q->reorder_random = given.reorder_seed;
	q->duplicate_random = given.duplicate_seed;
	q->states[0] = (struct tc_wire_state) {
		.rate_bps = given.rate_bps,
		.delay_ns = given.delay_ns,
		.limit_bytes = given.limit_bytes,
		.loss = given.loss,
	};
	q->state_count = 1;
	q->sending = q->coming = 0;
	q->start_ns = U64_MAX;
	sch_tree_unlock(sch);
	return 0;
}

static int wire_add_states(struct Qdisc *sch, const void *data, size_t length, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	u32 i, count = length / sizeof(struct tc_wire_state);
	struct tc_wire_state state;
	u64 before;
	int err;

	if (q->start_ns != U64_MAX) {
		NL_SET_ERR_MSG(extack, "wire: the states count already");
		return -EBUSY;
	}
	err = wire_reserve(sch, q->state_count + count);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		memcpy(&state, data + i * sizeof(state), sizeof(state));
		before = q->states[q->state_count - 1].at_ns;
		if (state.at_ns < before || (state.at_ns == before && q->state_count > 1)) {
			NL_SET_ERR_MSG(extack, "wire: the states are not in order of time");
			return -EINVAL;
		}
		q->states[q->state_count++] = state;
	}
	return 0;
}

static int wire_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);
	const void *data;
	u64 what, start;
	size_t length;

	if (!opt || nla_len(opt) < sizeof(what)) {
		NL_SET_ERR_MSG(extack, "wire: options are missing");
		return -EINVAL;
	}
	memcpy(&what, nla_data(opt), sizeof(what));
	data = nla_data(opt) + sizeof(what);
	length = nla_len(opt) - sizeof(what);
	if (what == WIRE_LINK)
		return wire_set_link(sch, data, length, extack);
	if (!q->state_count) {
		NL_SET_ERR_MSG(extack, "wire: the link comes first");
		return -EINVAL;
	}
	if (what == WIRE_STATES)
		return wire_add_states(sch, data, length, extack);
	if (what != WIRE_START || length < sizeof(start)) {
		NL_SET_ERR_MSG(extack, "wire: neither link nor states nor start");
		return -EINVAL;
	}
	memcpy(&start, data, sizeof(start));
	sch_tree_lock(sch);
	q->start_ns = start;
	sch_tree_unlock(sch);
	return 0;
}

static int wire_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	q->start_ns = U64_MAX;
	return wire_change(sch, opt, extack);
}

static void wire_destroy(struct Qdisc *sch)
{
	struct wire_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	kvfree(q->states);
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
	.change		= wire_change,
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
