//! The one vocabulary of places, shared by the ledger, the model and every plot.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// The word used in tables, files and figures.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|v| v.word() == text).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|v| v.word()).collect();
                    format!("`{text}` is none of {}", known.join(", "))
                })
            }
        }
    };
}

words! {
    /// A place on the way from the sending to the receiving application, in that order.
    Stage {
        /// Send buffer of the socket.
        SndBuf = "sndbuf",
        /// Queueing discipline of the sending host.
        Qdisc = "qdisc",
        /// Transmit descriptors of the interface.
        TxRing = "tx_ring",
        /// Everything between the two hosts: queues of routers and losses of links.
        Network = "network",
        /// Receive descriptors of the interface.
        RxRing = "rx_ring",
        /// Per-CPU backlog between interface and stack.
        SoftnetBacklog = "softnet_backlog",
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
