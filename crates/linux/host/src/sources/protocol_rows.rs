//! What the counters of the protocols mean. Which of several counts the same packets was read in net/ipv4 of Linux
//! 6.12.

use crate::reading::{CounterMeaning, Row, Unit, Way, row};
use wirespeed_record::Stage;

/// Lost at a stage of the receiver, above merging: a buffer may hold several packets.
const fn received(stage: Stage) -> CounterMeaning {
    CounterMeaning::loss(stage, Way::Rx).unit(Unit::Buffers).software()
}

const fn sign(stage: Stage) -> CounterMeaning {
    CounterMeaning::hint().at(stage).software()
}

const HINT: CounterMeaning = CounterMeaning::hint().software();
const RX: CounterMeaning = CounterMeaning::packets(Way::Rx).software();
const TX: CounterMeaning = CounterMeaning::packets(Way::Tx).software();
const LOST_RX: CounterMeaning = CounterMeaning::lost(Way::Rx).unit(Unit::Buffers).software();
const LOST_TX: CounterMeaning = CounterMeaning::lost(Way::Tx).unit(Unit::Buffers).software();
/// Dropped between TCP or UDP and the interface.
const NOT_PUT_OUT: CounterMeaning = CounterMeaning::loss(Stage::IpOut, Way::Tx).software();
const SENT_AGAIN: CounterMeaning = CounterMeaning::retransmission().software();
/// A guess of the sender about what the network did.
const GUESS: CounterMeaning = sign(Stage::Network).tx();
/// Connections, not packets.
const CONNECTION: CounterMeaning = CounterMeaning::lost(Way::Rx).unit(Unit::Events).software().at(Stage::App);

/// First match first.
pub const ROWS: &[Row] = &[
    // TCP, receiving.
    row("TcpExtTCPBacklogDrop", received(Stage::TcpBacklog)).about("the socket was locked and its backlog full"),
    row("TcpExtTCPRcvQDrop", received(Stage::RcvBuf)).about("in order, and no memory in the receive buffer"),
    row("TcpExtTCPZeroWindowDrop", received(Stage::RcvBuf)).about("came into a closed window"),
    row("TcpExtBeyondWindow", received(Stage::RcvBuf))
        .about("beyond the window, which was closed when memory ran out; before Linux 6.17 dropped without a count"),
    row("TcpExtTCPOFODrop", received(Stage::TcpOfo)).about("out of order, and no memory in the receive buffer"),
    row("TcpExtOfoPruned", sign(Stage::TcpOfo).rx().unit(Unit::Events)).about(
        "the out-of-order queue was thrown away, in whole or in part: packets were lost, but how many is not counted",
    ),
    row("TcpExtRcvPruned", sign(Stage::RcvBuf).rx()).about(
        "pruning made no room; the packet is then counted in TCPRcvQDrop or TCPOFODrop, or taken after all",
    ),
    row("TcpExtPruneCalled", sign(Stage::RcvBuf).rx()).about("the receive buffer was over its limit and was tidied"),
    row("TcpExtTCPRcvCollapsed", sign(Stage::RcvBuf).rx()).about("buffers merged to save memory"),
    row("TcpExtTCPRcvCoalesce", CounterMeaning::work().software().rx()).about("buffers joined on arrival"),
    row("TcpExtTCPBacklogCoalesce", CounterMeaning::work().software().rx()).about("buffers joined in the backlog"),
    row("TcpExtTCPOFOQueue", sign(Stage::TcpOfo).rx().unit(Unit::Buffers)).about("arrived out of order and were kept"),
    row("TcpExtTCPOFOMerge", sign(Stage::TcpOfo).rx().unit(Unit::Buffers)).about("arrived out of order and were there already"),
    row("TcpExtTCPFromZeroWindowAdv", sign(Stage::App).rx()).about("the window was opened again"),
    row("TcpExtTCPToZeroWindowAdv", sign(Stage::App).rx()).about("the window was closed: the application does not read"),
    row("TcpExtTCPWantZeroWindowAdv", sign(Stage::App).rx()).about("the window would have been closed, but must not shrink"),
    row("TcpExtTCPMemoryPressures", sign(Stage::RcvBuf)).about("net.ipv4.tcp_mem was reached"),
    row("TcpExtTCPMemoryPressuresChrono", HINT.unit(Unit::Number)).about("milliseconds under memory pressure"),
    row("TcpExtPFMemallocDrop", received(Stage::RcvBuf)).about("came in memory kept for emergencies"),
    row("TcpExtTCPMinTTLDrop", LOST_RX),
    row("TcpInErrs", LOST_RX).about("malformed; those with a wrong checksum are among them"),
    row("TcpInCsumErrors", LOST_RX).duplicate_of(&["protocols/TcpInErrs"]).about("damaged on the way, and not noticed by a link"),
    row("TcpExtPAWSEstab", LOST_RX).about("an old time stamp: a duplicate, or a host behind NAT"),
    row("TcpExtPAWSActive", LOST_RX),
    row("TcpExtTCPACKSkipped*", HINT.tx()).about("acknowledgements not sent, to answer floods slowly"),
    row("TcpExtTCPAckCompressed", HINT.tx()).about("acknowledgements not sent, as a later one says the same"),
    // TCP, connections.
    row("TcpExtListenDrops", CONNECTION).about("SYNs or connections dropped at a listening socket, for whatever reason"),
    row("TcpExtListenOverflows", CONNECTION)
        .duplicate_of(&["protocols/TcpExtListenDrops"])
        .about("the queue of accepted connections was full"),
    row("TcpExtTCPReqQFullDrop", CONNECTION).duplicate_of(&["protocols/TcpExtListenDrops"]).about("the queue of SYNs was full"),
    row("TcpExtTCPReqQFullDoCookies", HINT),
    row("TcpExtTCPDeferAcceptDrop", HINT),
    row("TcpExtTCPTimeWaitOverflow", HINT),
    row("TcpExtSyncookies*", HINT),
    row("TcpExtTCPSynRetrans", SENT_AGAIN).duplicate_of(&["protocols/TcpRetransSegs"]).about("retransmitted SYNs"),
    row("TcpExtTCPAbortOn*", HINT).about("connections ended before their time"),
    // TCP, sending.
    row("TcpRetransSegs", SENT_AGAIN).about("packets sent again, for whatever reason; not in OutSegs"),
    row("TcpExtTCPFastRetrans", SENT_AGAIN).duplicate_of(&["protocols/TcpRetransSegs"]).about("in fast recovery"),
    row("TcpExtTCPSlowStartRetrans", SENT_AGAIN).duplicate_of(&["protocols/TcpRetransSegs"]).about("after a timeout"),
    row("TcpExtTCPLostRetransmit", GUESS).about("what was sent again is presumed lost again"),
    row("TcpExtTCPRetransFail", sign(Stage::Qdisc).tx()).about("could not be sent again: the own host had no room"),
    row("TcpExtTCPSpuriousRtxHostQueues", sign(Stage::Qdisc).tx())
        .about("was to be sent again while the first still waited in this host's own queues"),
    row("TcpExtTCPTimeouts", GUESS).about("retransmission timeouts"),
    row("TcpExtTCPSpuriousRTOs", GUESS).about("timeouts that were found to be mistaken"),
    row("TcpExtTCPLossProbes", GUESS).about("tail loss probes"),
    row("TcpExtTCPLossProbeRecovery", GUESS).about("losses mended by a tail loss probe"),
    row("TcpExtTCP*Recovery", GUESS).about("losses noticed: recoveries begun"),
    row("TcpExtTCP*RecoveryFail", GUESS),
    row("TcpExtTCP*Failures", GUESS).about("timeouts in a state"),
    row("TcpExtTCPSACKReneging", GUESS).about("the receiver threw away what it had acknowledged"),
    row("TcpExtTCP*Reorder", GUESS).about("reordering was found"),
    row("TcpExtTCP*Undo", GUESS).about("a reduction was undone: nothing had been lost"),
    row("TcpExtTCPDSACKRecvSegs", GUESS.unit(Unit::Packets)).about("packets that arrived twice: sent again for nothing"),
    row("TcpExtTCPDSACKRecv", GUESS).about("reports of data that arrived twice"),
    row("TcpExtTCPDSACKOfoRecv", GUESS),
    row("TcpExtTCPDSACK*Sent", sign(Stage::Network).rx()).about("reports of data that arrived here twice"),
    row("TcpExtTCPDSACKIgnored*", GUESS),
    row("TcpExtTCPWqueueTooBig", sign(Stage::SndBuf).tx()).about("the peer's SACKs would make the queue too long"),
    row("TcpExtTCPAutoCorking", sign(Stage::SndBuf).tx()).about("small writes held back, as the own queues are not empty"),
    row("TcpExtTCPWinProbe", GUESS).about("probes of a closed window"),
    row("TcpExtTCPHystart*", GUESS).about("slow start was left early"),
    row("TcpExtTCPOrigDataSent", TX).about("packets with data, sent for the first time"),
    row("TcpExtTCPDelivered", TX).about("packets acknowledged, SYNs included"),
    row("TcpExtTCPDeliveredCE", GUESS.unit(Unit::Packets)).about(
        "packets whose acknowledgement told of congestion experienced; but for accurate ECN and DCTCP these are more than \
         were marked",
    ),
    row("TcpExtTCPPLBRehash", GUESS),
    row("TcpInSegs", RX),
    row("TcpOutSegs", TX).about("retransmissions are not among them"),
    row("TcpOutRsts", HINT.tx()),
    row("TcpCurrEstab", CounterMeaning::gauge(Unit::Number)),
    row("TcpRto*", CounterMeaning::gauge(Unit::Number)),
    row("TcpMaxConn", CounterMeaning::gauge(Unit::Number)),
    // UDP, both versions of IP.
    row("UdpRcvbufErrors", received(Stage::RcvBuf)).about("the receive buffer was full"),
    row("UdpMemErrors", received(Stage::RcvBuf)).about("net.ipv4.udp_mem was reached"),
    row("UdpInCsumErrors", LOST_RX).about("damaged on the way, and not noticed by a link"),
    row("UdpInErrors", LOST_RX)
        .duplicate_of(&["protocols/UdpRcvbufErrors"])
        .about("sum of RcvbufErrors, MemErrors, InCsumErrors and malformed datagrams"),
    row("UdpSndbufErrors", CounterMeaning::loss(Stage::Qdisc, Way::Tx).unit(Unit::Buffers).software())
        .duplicate_of(&["qdisc/drops"])
        .about("the own qdisc dropped it, or no memory to send"),
    row("UdpNoPorts", CounterMeaning::lost(Way::Rx).software().at(Stage::App)).about("no socket listens on the port"),
    row("UdpInDatagrams", RX),
    row("UdpOutDatagrams", TX),
    row("UdpIgnoredMulti", HINT.rx()),
    row("Udp6RcvbufErrors", received(Stage::RcvBuf)).about("the receive buffer was full"),
    row("Udp6MemErrors", received(Stage::RcvBuf)).about("net.ipv4.udp_mem was reached"),
    row("Udp6InCsumErrors", LOST_RX),
    row("Udp6InErrors", LOST_RX).duplicate_of(&["protocols/Udp6RcvbufErrors"]).about("sum, as UdpInErrors"),
    row("Udp6SndbufErrors", CounterMeaning::loss(Stage::Qdisc, Way::Tx).unit(Unit::Buffers).software()).duplicate_of(&["qdisc/drops"]),
    row("Udp6NoPorts", CounterMeaning::lost(Way::Rx).software().at(Stage::App)),
    row("Udp6InDatagrams", RX),
    row("Udp6OutDatagrams", TX),
    // IP.
    row("IpInDiscards", LOST_RX).about("no memory, or the socket refused it"),
    row("IpOutDiscards", LOST_TX).about("the device's queue refused it"),
    row("IpOutNoRoutes", NOT_PUT_OUT.unit(Unit::Buffers)).about("nowhere to send it"),
    row("IpInHdrErrors", LOST_RX),
    row("IpInAddrErrors", LOST_RX),
    row("IpInUnknownProtos", LOST_RX),
    row("IpReasmFails", CounterMeaning::loss(Stage::Network, Way::Rx).unit(Unit::Events).software()).about("a fragment was missing"),
    row("IpFragFails", NOT_PUT_OUT).about(
        "larger than the MTU of the interface or route, and not to be cut: TCP's last ones when an MTU is lowered, packet by \
         packet even if they were one buffer",
    ),
    row("IpInReceives", RX.unit(Unit::Buffers)),
    row("IpInDelivers", RX.unit(Unit::Buffers)),
    row("IpOutRequests", TX.unit(Unit::Buffers)),
    row("IpOutTransmits", TX.unit(Unit::Buffers)),
    row("IpForwDatagrams", TX.unit(Unit::Buffers)),
    row("IpForwarding", CounterMeaning::gauge(Unit::Number)),
    row("IpDefaultTTL", CounterMeaning::gauge(Unit::Number)),
    row("TcpExtIPReversePathFilter", LOST_RX).about("came from where the host would not send to"),
    row("IpExtInNoRoutes", LOST_RX),
    row("IpExtInTruncatedPkts", LOST_RX),
    row("IpExtInCsumErrors", LOST_RX),
    row("IpExtInCEPkts", sign(Stage::Network).rx().unit(Unit::Packets))
        .about("marked with congestion experienced by the network; merged packets counted one by one"),
    row("IpExtIn*ECT*Pkts", RX).about("merged packets counted one by one"),
    row("IpExtInOctets", CounterMeaning::bytes(Way::Rx).software()),
    row("IpExtOutOctets", CounterMeaning::bytes(Way::Tx).software()),
    row("Ip6InDiscards", LOST_RX),
    row("Ip6OutDiscards", LOST_TX),
    row("Ip6InNoRoutes", LOST_RX),
    row("Ip6OutNoRoutes", NOT_PUT_OUT.unit(Unit::Buffers)),
    row("Ip6FragFails", NOT_PUT_OUT).about("as IpFragFails"),
    row("Ip6InHdrErrors", LOST_RX),
    row("Ip6InAddrErrors", LOST_RX),
    row("Ip6InTruncatedPkts", LOST_RX),
    row("Ip6InTooBigErrors", LOST_RX),
    row("Ip6ReasmFails", CounterMeaning::loss(Stage::Network, Way::Rx).unit(Unit::Events).software()),
    row("Ip6InCEPkts", sign(Stage::Network).rx().unit(Unit::Packets)),
    row("Ip6In*ECT*Pkts", RX),
    row("Ip6InReceives", RX.unit(Unit::Buffers)),
    row("Ip6InDelivers", RX.unit(Unit::Buffers)),
    row("Ip6OutRequests", TX.unit(Unit::Buffers)),
    row("Ip6InOctets", CounterMeaning::bytes(Way::Rx).software()),
    row("Ip6OutOctets", CounterMeaning::bytes(Way::Tx).software()),
    row("IcmpInType3", HINT.rx()).about("destination unreachable; among them, fragmentation needed"),
    row("IcmpInErrors", LOST_RX),
];
