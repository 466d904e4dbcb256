/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts packets that this kernel dropped, by reason, flow and device, and segments that its TCP sent again: IPv4 and IPv6
 * with TCP or UDP between ports that are asked for. Buffers of all other flows are counted by reason and device only, to be
 * compared with the kernel's own counters. What is read of a packet is read as it is in memory, without trust.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define INLINE inline __attribute__((always_inline))

/* The fields that are read, found by name in the kernel's own type information. */
struct ns_common {
	u32 inum;
} KERNEL;

struct net {
	struct ns_common ns;
} KERNEL;

typedef struct {
	struct net *net;
} KERNEL possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} KERNEL;

struct address {
	u32 words[4];
};

struct in6_addr {
	u32 words[4];
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	possible_net_t skc_net;
	/* Not there in a kernel without IPv6. */
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
} KERNEL;

struct tcp_sock {
	/* When it began what it is doing (CLOCK_MONOTONIC, ns). */
	u64 tcp_clock_cache;
} KERNEL;

struct sk_buff {
	struct net_device *dev;
	char cb[48];
	u32 len;
	int skb_iif;
	u16 protocol;
	u16 network_header;
	u32 end;
	u8 *head;
	u8 *data;
} KERNEL;

struct skb_shared_info {
	u16 gso_size;
	u16 gso_segs;
} KERNEL;

struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	u16 tcp_gso_segs;
} KERNEL;

/* Helpers by their number in the kernel's interface. */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const time_now)(void) = (void *)5;
static long (*const read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static long (*const ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;

#define MOST_RANGES 16

/* Written by the program that loads this, before it does; in a section of its own, that it is all there is in it. */
struct settings {
	/* The network namespace; zero: all. */
	u32 name_space;
	/* Values of enum skb_drop_reason that are no drops. */
	u32 not_dropped;
	u32 consumed;
	u32 ranges;
	/* Whether each range of sequence numbers is told, too. */
	u32 listed;
	struct {
		u16 low;
		u16 high;
	} range[MOST_RANGES];
};

const volatile struct settings settings SEC(".rodata.settings") = {};

struct key {
	u32 reason;
	/*
	 * All zero from here to the protocol: flows that nobody asked for. Addresses in network order, ports in the host's. Those
	 * of IPv4 are mapped into IPv6 (RFC 4291, 2.5.5.2).
	 */
	struct address source;
	struct address target;
	u16 source_port;
	u16 target_port;
	u32 protocol;
	u32 device;
	u32 name_space;
};

struct count {
	u64 packets;
	u64 bytes;
	/* Buffers of the kernel: a train is one. */
	u64 buffers;
};

/* Sequence numbers of TCP that were dropped or sent again. */
struct range {
	/* Nanoseconds of CLOCK_MONOTONIC. */
	u64 time;
	struct key key;
	u32 sequence;
	u32 bytes;
	u32 packets;
	/* Sent again; otherwise dropped for the key's reason. */
	u32 again;
	/* Fills the last eight bytes: the kernel takes none that were not written. */
	u32 unused;
};

#define PER_CPU_HASH 5
#define PER_CPU_ARRAY 6
#define RING 27
#define MOST_KEYS 4096
/* Some 90,000 ranges, until they are fetched. */
#define RING_BYTES (8 << 20)

struct {
	int (*type)[PER_CPU_HASH];
	int (*max_entries)[MOST_KEYS];
	struct key *key;
	struct count *value;
} dropped SEC(".maps"), sent_again SEC(".maps");

/* Packets, and ranges, for which there was no more room. */
struct {
	int (*type)[PER_CPU_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	u64 *value;
} missed SEC(".maps"), unlisted SEC(".maps");

struct {
	int (*type)[RING];
	int (*max_entries)[RING_BYTES];
} listed SEC(".maps");

static INLINE void list(u64 time, const struct key *key, u32 sequence, u32 bytes, u32 packets, u32 again)
{
	struct range range = { .time = time, .sequence = sequence, .bytes = bytes, .packets = packets, .again = again };
	const u32 zero = 0;
	u64 *lost;

	if (!settings.listed || !bytes)
		return;
	range.key = *key;
	/* Nobody sleeps on it: it is fetched from time to time. */
	if (!ring_output(&listed, &range, sizeof(range), 1 /* BPF_RB_NO_WAKEUP */))
		return;
	lost = map_lookup(&unlisted, &zero);
	if (lost)
		*lost += 1;
}

static INLINE void count(void *map, const struct key *key, u64 packets, u64 bytes)
{
	const u32 zero = 0;
	struct count *known = map_lookup(map, key);
	struct count first = { .packets = packets, .bytes = bytes, .buffers = 1 };
	u64 *lost;

	if (known) {
		known->packets += packets;
		known->bytes += bytes;
		known->buffers += 1;
		return;
	}
	/* Only this processor counts here, but another may have made the entry just now: then once more. */
	if (!map_update(map, key, &first, 1 /* BPF_NOEXIST */))
		return;
	known = map_lookup(map, key);
	if (known) {
		known->packets += packets;
		known->bytes += bytes;
		known->buffers += 1;
		return;
	}
	lost = map_lookup(&missed, &zero);
	if (lost)
		*lost += packets;
}

static INLINE int is_wanted(u16 port)
{
	u32 i;

	for (i = 0; i < MOST_RANGES && i < settings.ranges; i++)
		if (port >= settings.range[i].low && port <= settings.range[i].high)
			return 1;
	return 0;
}

/* Namespaces have numbers from here on (the kernel's first ones stand right below 0xf0000000). */
#define FIRST_NAMESPACE 0xefffff00U

/*
 * Namespace and device. A socket is the better witness: in its queues TCP and UDP use the place of the packet's device for
 * other things. What reads like no device is none.
 */
static INLINE void locate(struct key *key, struct sk_buff *skb, struct sock *sk)
{
	struct net_device *dev;
	u32 number;

	key->device = skb->skb_iif;
	if (sk) {
		key->name_space = sk->__sk_common.skc_net.net->ns.inum;
		return;
	}
	dev = skb->dev;
	if (!dev)
		return;
	number = dev->nd_net.net->ns.inum;
	if (number < FIRST_NAMESPACE || dev->ifindex <= 0)
		return;
	key->name_space = number;
	key->device = dev->ifindex;
}

static INLINE u16 swapped(u16 value)
{
	return __builtin_bswap16(value);
}

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define HOP_BY_HOP 0
#define TCP 6
#define UDP 17
#define UDP_HEADER 8
#define FRAGMENT_OFFSET 0x1fff

struct ipv4 {
	u8 version_and_words;
	u8 service;
	u16 length;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 target;
};

struct ipv6 {
	u8 version_and_class;
	u8 class_and_label[3];
	u16 length;
	u8 next;
	u8 hops;
	struct address source;
	struct address target;
};

/* What is used of the headers before that of the transport, of either version of IP. */
struct network {
	/* Bytes of these headers. */
	u32 headers;
	/* Bytes of the packet with them; zero: it does not tell. */
	u32 length;
};

static INLINE struct address mapped(u32 address)
{
	struct address made = { .words = { 0, 0, __builtin_bswap32(0xffff), address } };

	return made;
}

/* Reads a header of IPv4; whether it is one, of a packet that begins with that of the transport. */
static INLINE int read_ipv4(const u8 *at, struct key *key, struct network *network)
{
	struct ipv4 ip = {};

	if (read_kernel(&ip, sizeof(ip), at))
		return 0;
	network->headers = (ip.version_and_words & 15) * 4;
	if (ip.version_and_words >> 4 != 4 || network->headers < sizeof(ip) || swapped(ip.fragment) & FRAGMENT_OFFSET)
		return 0;
	network->length = swapped(ip.length);
	key->source = mapped(ip.source);
	key->target = mapped(ip.target);
	key->protocol = ip.protocol;
	return 1;
}

/*
 * The same of IPv6. Of the headers that may stand between, only the options of each hop are passed over: the kernel puts them
 * into trains of more than 64 KiB (ipv6_hopopt_jumbo_remove). Fragments and others are of nobody's test.
 */
static INLINE int read_ipv6(const u8 *at, struct key *key, struct network *network)
{
	struct ipv6 ip = {};
	u8 options[2] = {};

	if (read_kernel(&ip, sizeof(ip), at))
		return 0;
	if (ip.version_and_class >> 4 != 6)
		return 0;
	network->headers = sizeof(ip);
	network->length = ip.length ? swapped(ip.length) + sizeof(ip) : 0;
	key->source = ip.source;
	key->target = ip.target;
	key->protocol = ip.next;
	if (ip.next == HOP_BY_HOP) {
		if (read_kernel(&options, sizeof(options), at + sizeof(ip)))
			return 0;
		key->protocol = options[0];
		network->headers += (options[1] + 1) * 8;
	}
	return 1;
}

struct transport {
	u16 source;
	u16 target;
	u32 sequence;
	u32 acknowledged;
	u8 words;
	u8 flags;
	u16 window;
};

/* How many packets of the wire, and their bytes from the IP header on: a train that was not cut yet stands for many. */
static INLINE struct count size_of(struct sk_buff *skb, u8 *head, u32 length, u32 headers)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(head + skb->end);
	u64 bytes = skb->len + (u64)(skb->data - head) - skb->network_header;
	struct count size = { .packets = 1, .bytes = bytes };
	u16 segment = 0, segments = 0;

	read_kernel(&segment, sizeof(segment), &shared->gso_size);
	read_kernel(&segments, sizeof(segments), &shared->gso_segs);
	if (!segment) {
		/* Short frames are padded. */
		if (length && length < bytes)
			size.bytes = length;
		return size;
	}
	if (segments)
		size.packets = segments;
	else if (bytes > headers)
		/* A guest's or a user's train: nobody has counted it. */
		size.packets = (bytes - headers + segment - 1) / segment;
	if (!size.packets)
		size.packets = 1;
	size.bytes = bytes + (size.packets - 1) * headers;
	return size;
}

/* Whether a packet is one of those asked for; then the key has its flow. */
static INLINE int is_of_the_flows(struct sk_buff *skb, struct key *key, struct network *network, struct transport *transport)
{
	u8 *head = skb->head;

	if (skb->protocol == swapped(ETHERTYPE_IPV4)) {
		if (!read_ipv4(head + skb->network_header, key, network))
			return 0;
	} else if (skb->protocol == swapped(ETHERTYPE_IPV6)) {
		if (!read_ipv6(head + skb->network_header, key, network))
			return 0;
	} else {
		return 0;
	}
	if (key->protocol != TCP && key->protocol != UDP)
		return 0;
	if (read_kernel(transport, sizeof(*transport), head + skb->network_header + network->headers))
		return 0;
	key->source_port = swapped(transport->source);
	key->target_port = swapped(transport->target);
	return is_wanted(key->source_port) || is_wanted(key->target_port);
}

static INLINE int packet_lost(struct sk_buff *skb, u32 reason, struct sock *sk)
{
	struct key key = { .reason = reason };
	struct transport transport = {};
	struct network network = {};
	struct count size;
	u32 headers;

	if (reason == settings.not_dropped || reason == settings.consumed)
		return 0;
	locate(&key, skb, sk);
	if (settings.name_space && key.name_space && key.name_space != settings.name_space)
		return 0;
	if (!is_of_the_flows(skb, &key, &network, &transport)) {
		struct key others = { .reason = reason, .device = key.device, .name_space = key.name_space };

		/* Useless without the namespace: it cannot be compared. */
		if (key.name_space)
			count(&dropped, &others, 0, 0);
		return 0;
	}
	headers = network.headers + (key.protocol == UDP ? UDP_HEADER : (transport.words >> 4) * 4);
	size = size_of(skb, skb->head, network.length, headers);
	count(&dropped, &key, size.packets, size.bytes);
	if (key.protocol == TCP && size.bytes > size.packets * headers)
		list(time_now(), &key, __builtin_bswap32(transport.sequence), size.bytes - size.packets * headers, size.packets, 0);
	return 0;
}

/* The kernel's tracepoint has the receiving socket since 6.11; the loader takes the one that fits. */
SEC("tp_btf/kfree_skb")
int lost(u64 *ctx)
{
	return packet_lost((struct sk_buff *)ctx[0], ctx[2], 0);
}

SEC("tp_btf/kfree_skb")
int lost_by_socket(u64 *ctx)
{
	return packet_lost((struct sk_buff *)ctx[0], ctx[2], (struct sock *)ctx[3]);
}

#define AF_INET 2
#define AF_INET6 10
/* Whether this kernel has a field (BPF_FIELD_EXISTS of libbpf). */
#define HAS(field) __builtin_preserve_field_info(field, 2)

/* The addresses of a socket; whether it has such as are told. */
static INLINE int read_addresses(const struct sock_common *common, struct key *key)
{
	if (common->skc_family == AF_INET) {
		key->source = mapped(common->skc_rcv_saddr);
		key->target = mapped(common->skc_daddr);
		return 1;
	}
	if (common->skc_family != AF_INET6 || !HAS(common->skc_v6_daddr))
		return 0;
	read_kernel(&key->source, sizeof(key->source), &common->skc_v6_rcv_saddr);
	read_kernel(&key->target, sizeof(key->target), &common->skc_v6_daddr);
	return 1;
}

static INLINE int segment_sent_again(struct sock *sk, struct sk_buff *skb)
{
	struct sock_common *common = &sk->__sk_common;
	struct tcp_skb_cb *cb = (struct tcp_skb_cb *)skb->cb;
	struct key key = { .protocol = TCP };
	u32 sequence = 0, end = 0;
	u16 segments = 0;
	u64 time = 0;

	key.source_port = common->skc_num;
	key.target_port = swapped(common->skc_dport);
	if (!is_wanted(key.source_port) && !is_wanted(key.target_port))
		return 0;
	if (!read_addresses(common, &key))
		return 0;
	key.name_space = common->skc_net.net->ns.inum;
	if (settings.name_space && key.name_space != settings.name_space)
		return 0;
	read_kernel(&segments, sizeof(segments), &cb->tcp_gso_segs);
	if (!segments)
		segments = 1;
	count(&sent_again, &key, segments, skb->len);
	read_kernel(&sequence, sizeof(sequence), &cb->seq);
	read_kernel(&end, sizeof(end), &cb->end_seq);
	/*
	 * We are told when it has gone down to the device and may have been dropped there, which was told before: the time is
	 * that before it went, so that each stands after the drop it makes good and before its own.
	 */
	read_kernel(&time, sizeof(time), &((struct tcp_sock *)sk)->tcp_clock_cache);
	list(time, &key, sequence, end - sequence, segments, 1);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int again(u64 *ctx)
{
	return segment_sent_again((struct sock *)ctx[0], (struct sk_buff *)ctx[1]);
}

/* Errors by which TCP tells itself that it did not try; it counts nothing as sent again then. */
#define EAGAIN 11
#define ENOMEM 12
#define EBUSY 16
#define EINVAL 22
#define EHOSTUNREACH 113

/*
 * Newer kernels (6.18; not yet 6.12) tell failures too. Most are those of the way to the device, such as NET_XMIT_DROP of a
 * full queue: TCP counts these as sent again, and so do we.
 */
SEC("tp_btf/tcp_retransmit_skb")
int again_if_sent(u64 *ctx)
{
	switch (-(int)ctx[2]) {
	case EAGAIN:
	case ENOMEM:
	case EBUSY:
	case EINVAL:
	case EHOSTUNREACH:
		return 0;
	}
	return segment_sent_again((struct sock *)ctx[0], (struct sk_buff *)ctx[1]);
}

char license_[] SEC("license") = "Dual MIT/GPL";
