//! The one vocabulary of places, shared by the ledger, the model and every plot.

use crate::words;

words! {
    /// A place on the way from the sending to the receiving application, in that order.
    Stage {
        /// Send buffer of the socket.
        SndBuf = "sndbuf",
        /// The way from TCP to the interface: no route, or larger than its MTU.
        IpOut = "ip_out",
        /// Queueing discipline of the sending host.
        Qdisc = "qdisc",
        /// Transmit descriptors of the interface.
        TxRing = "tx_ring",
        /// Everything between the two hosts: queues of routers and losses of links.
        Network = "network",
        /// The network, or a host at which nothing of wirespeed counts: not known which.
        NetworkOrHost = "network_or_host",
        /// Receive descriptors of the interface.
        RxRing = "rx_ring",
        /// Per-CPU backlog between interface and stack.
        SoftnetBacklog = "softnet_backlog",
        /// Packet filters of a host (netfilter, tc, XDP) and its checks of addresses and routes.
        Netfilter = "netfilter",
        /// Socket backlog while the reader holds the lock.
        TcpBacklog = "tcp_backlog",
        /// Out-of-order queue.
        TcpOfo = "tcp_ofo",
        /// Receive buffer of the socket.
        RcvBuf = "rcvbuf",
        /// The receiving application.
        App = "app",
    }
}

words! {
    /// Which packets of a flow are accounted.
    Direction {
        /// From the flow's sender to its receiver.
        Data = "data",
        /// From the flow's receiver back to its sender.
        Ack = "ack",
    }
}

words! {
    /// A side of the loss ledger's account: sent + copied + repair + recovered = delivered + decoded + lost + in flight + unseen +
    /// unexplained.
    Entry {
        /// What the sending sockets put out, retransmissions included.
        Sent = "sent",
        /// Copies that the network made of packets, by place.
        Copied = "copied",
        /// Repair packets that an encoder of forward error correction sent, by place.
        Repair = "repair",
        /// Lost packets that a decoder recovered and delivered, by place.
        Recovered = "recovered",
        /// What arrived at the receiving sockets and was not dropped there.
        Delivered = "delivered",
        /// Repair packets that reached their decoder, by place. They end there.
        Decoded = "decoded",
        /// What was sent and not delivered, by the stage that lost it.
        Lost = "lost",
        /// What was on its way when the account was made.
        InFlight = "in_flight",
        /// What nobody counted after it was sent, as an iperf3 server counts bytes only.
        Unseen = "unseen",
        /// What is left over; negative if more arrived than can be accounted for.
        Unexplained = "unexplained",
    }
}

impl Entry {
    /// The packets that an account begins with.
    pub const OFFERED: [Entry; 4] = [Entry::Sent, Entry::Copied, Entry::Repair, Entry::Recovered];
    /// The known fates of these packets.
    pub const KNOWN: [Entry; 4] = [Entry::Delivered, Entry::Decoded, Entry::Lost, Entry::InFlight];
}
