"use strict";
// What the pointer is at, and its description in words.

const timeAt = (view, px) => view.from + ((px - PANELS[0].box.left) / (PANELS[0].box.right - PANELS[0].box.left)) * (view.to - view.from);

// What is drawn nearest to a place in the panel of sequence numbers, at most 14 pixels away.
function nearest(flow, view, px, py) {
  const reach = 14;
  const [panel] = PANELS;
  const [from, to] = [timeAt(view, px - reach), timeAt(view, px + reach)];
  let best = { distance: reach * reach };
  const offer = (kind, at, t, low, high) => {
    const top = panel.y(high);
    const bottom = panel.y(low);
    const across = panel.x(t) - px;
    const along = py < top ? top - py : py > bottom ? py - bottom : 0;
    const distance = across * across + along * along;
    if (distance < best.distance) best = { distance, kind, at };
  };
  const { data, acks } = flow;
  for (let at = lowerBound(data.t, from); at < data.t.length && data.t[at] <= to; at++) offer("data", at, data.t[at], data.start[at], data.start[at] + data.length[at]);
  for (let at = lowerBound(acks.t, from); at < acks.t.length && acks.t[at] <= to; at++) offer("acks", at, acks.t[at], acks.ack[at], acks.ack[at]);
  return best.kind ? best : null;
}

const seconds = (t) => `${(t / 1e9).toFixed(9)} s`;
const CLASS_WORDS = ["first transmission", "fast retransmission", "RACK retransmission", "retransmission after a timeout", "retransmission in the recovery after a timeout",
  "tail loss probe", "retransmission in the handshake", "retransmission, reason unclear", "", "reordered", "recorded late", "window probe or keepalive"];

function wordsOfData(flow, at) {
  const { data } = flow;
  const marks = data.marks[at];
  const names = [[MARK.syn, "SYN"], [MARK.fin, "FIN"], [MARK.reset, "RST"], [MARK.push, "PSH"], [MARK.ce, "CE"], [MARK.cwr, "CWR"]];
  const kind = data.class[at] === 8 ? flow.duplicate_words : CLASS_WORDS[data.class[at]];
  const extra = [];
  if (marks & MARK.firstSeen) extra.push("lost before the capture point");
  if (marks & MARK.acknowledged) extra.push("was acknowledged before");
  else if (flow.spuriousAt.has(at)) extra.push("not necessary");
  const packets = data.packets[at] > 1 ? `, ${data.packets[at]} packets on the wire` : "";
  return [`Packet ${count(data.packet[at])}: ${[kind, ...extra].join(", ")}`, seconds(data.t[at]),
    `sequence ${count(data.start[at])} to ${count(data.start[at] + data.length[at])}: ${count(data.length[at])} B${packets}`,
    `flags: ${names.filter(([mark]) => marks & mark).map(([, name]) => name).join(" ") || "none"}`, `in flight: ${inUnit("bytes", data.in_flight[at])}`];
}

function wordsOfAck(flow, at) {
  const { acks } = flow;
  const marks = acks.marks[at];
  const names = [[ACK_MARK.duplicate, "duplicate"], [ACK_MARK.sack, "SACK"], [ACK_MARK.dsack, "DSACK"], [ACK_MARK.ece, "ECE"], [ACK_MARK.zero, "zero window"]];
  const window = marks & ACK_MARK.window ? inUnit("bytes", acks.edge[at] - acks.ack[at]) : "unknown";
  const first = lowerBound(flow.sacks.t, acks.t[at]);
  const blocks = [];
  for (let block = first; block < flow.sacks.t.length && flow.sacks.t[block] === acks.t[at]; block++) {
    blocks.push(`new SACK block ${count(flow.sacks.left[block])} to ${count(flow.sacks.left[block] + flow.sacks.length[block])}`);
  }
  return [`Packet ${count(acks.packet[at])}: ${["acknowledgment", ...names.filter(([mark]) => marks & mark).map(([, name]) => name)].join(", ")}`,
    seconds(acks.t[at]), `acknowledges up to ${count(acks.ack[at])}`, `receive window: ${window}`, ...blocks];
}

// The values of all panels at a time.
function wordsOfTime(flow, t) {
  const before = (times) => lowerBound(times, t) - 1;
  const lines = [seconds(t)];
  const at = before(flow.data.t);
  if (at >= 0) lines.push(`in flight: ${inUnit("bytes", flow.data.in_flight[at])}`);
  for (const [side, name] of [["far", "RTT to the receiver"], ["near", "RTT to the sender"]]) {
    const sample = before(flow[side].t);
    if (sample >= 0) lines.push(`${name}: ${inUnit("time", flow[side].rtt[sample])}`);
  }
  const bin = Math.floor(t / flow.bins.bin) - flow.bins.first;
  if (flow.rates.sent[bin] !== undefined) lines.push(`sent: ${inUnit("rate", flow.rates.sent[bin])}`, `acknowledged: ${inUnit("rate", flow.rates.acked[bin])}`);
  return lines;
}
