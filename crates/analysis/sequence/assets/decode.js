"use strict";
// Turns the packed columns of the page into typed arrays.

const DATA_CLASSES = ["first", "fast", "rack", "timeout", "after", "probe", "handshake", "unclear", "duplicate", "reordered", "late", "window-probe"];
const MARK = { push: 1, syn: 2, fin: 4, reset: 8, ce: 16, cwr: 32, firstSeen: 64, acknowledged: 128 };
const ACK_MARK = { window: 1, duplicate: 2, sack: 4, dsack: 8, ece: 16, zero: 32 };

// A column holds the differences of neighbours as variable-length zigzag integers. Doubles are exact up to 2^53.
function readColumn(bytes, offset, count, Kind) {
  const out = new Kind(count);
  let at = offset;
  let value = 0;
  for (let index = 0; index < count; index++) {
    let byte = bytes[at++];
    let rest = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = bytes[at++];
      rest += (byte & 127) * scale;
    }
    value += rest % 2 ? -(rest + 1) / 2 : rest / 2;
    out[index] = value;
  }
  return out;
}

async function unpack(text) {
  const characters = atob(text.trim());
  const packed = new Uint8Array(characters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Captures can have times out of order. Everything that is drawn is found by binary search, so it is sorted.
function sortByTime(group) {
  const t = group.t;
  let isSorted = true;
  for (let at = 1; at < t.length && isSorted; at++) isSorted = t[at - 1] <= t[at];
  if (isSorted) return;
  const order = Uint32Array.from(t.keys()).sort((one, other) => t[one] - t[other] || one - other);
  for (const [name, column] of Object.entries(group)) group[name] = column.map((_, at) => column[order[at]]);
}

// Index of the first element that is not below the value.
function lowerBound(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

async function readFlow(description, text) {
  const bytes = await unpack(text);
  const flow = { ...description };
  let offset = 0;
  for (const column of description.columns) {
    const [group, name] = column.name.split(".");
    const Kind = name === "class" || name === "marks" ? Uint8Array : Float64Array;
    flow[group] ??= {};
    flow[group][name] = readColumn(bytes, offset, column.count, Kind);
    offset += column.bytes;
  }
  // A side that the capture point is at has next to no RTT, and would press the other flat.
  flow.hides = new Set(description.small_rtt ? [description.small_rtt] : []);
  const spurious = new Set(flow.spurious.packet);
  for (const group of ["data", "acks", "sacks", "near", "far", "bursts", "rounds"]) sortByTime(flow[group]);
  prepare(flow, spurious);
  return flow;
}

// A series for drawing: at each time a value, or a span from a low to a high one. NaN is not drawn. Where many points share a pixel,
// blocks of neighbours stand for them, each with its lowest and its highest value.
const BLOCK = 64;

function makeSeries(t, low, high = low) {
  const blocks = Math.ceil(t.length / BLOCK);
  const coarse = { t: new Float64Array(blocks), low: new Float64Array(blocks), high: new Float64Array(blocks) };
  for (let block = 0; block < blocks; block++) {
    let [least, most] = [NaN, NaN];
    const end = Math.min((block + 1) * BLOCK, t.length);
    for (let at = block * BLOCK; at < end; at++) {
      if (!(low[at] >= least)) least = Number.isNaN(low[at]) ? least : low[at];
      if (!(high[at] <= most)) most = Number.isNaN(high[at]) ? most : high[at];
    }
    coarse.t[block] = t[block * BLOCK];
    coarse.low[block] = least;
    coarse.high[block] = most;
  }
  return { t, low, high, coarse };
}

// The part of a series within a view, with a point more on each side: as it is, or as blocks.
function inView(series, view, width) {
  const from = Math.max(0, lowerBound(series.t, view.from) - 1);
  const to = Math.min(series.t.length, lowerBound(series.t, view.to) + 1);
  if (to - from <= 2 * BLOCK * width) return { ...series, from, to };
  return { ...series.coarse, from: Math.floor(from / BLOCK), to: Math.ceil(to / BLOCK) };
}

// What drawing needs beside the columns: series, sums, and lists of the packets that stand out.
function prepare(flow, spurious) {
  const { data, acks } = flow;
  const count = data.t.length;
  const spans = { low: new Float64Array(count).fill(NaN), high: new Float64Array(count).fill(NaN) };
  flow.sent = new Float64Array(count + 1);
  flow.lists = { retransmitted: [], duplicate: [], reordered: [], other: [], flags: [], ecn: [] };
  flow.spuriousAt = new Set();
  for (let at = 0; at < count; at++) {
    const kind = data.class[at];
    const marks = data.marks[at];
    // A hardware duplicate was on the wire once.
    flow.sent[at + 1] = flow.sent[at] + (kind === 8 ? 0 : data.length[at]);
    if (kind === 0 && !(marks & MARK.reset)) [spans.low[at], spans.high[at]] = [data.start[at], data.start[at] + data.length[at]];
    if (kind > 0) flow.lists[kind < 8 ? "retransmitted" : kind === 8 ? "duplicate" : kind === 9 ? "reordered" : "other"].push(at);
    if (marks & (MARK.syn | MARK.fin | MARK.reset)) flow.lists.flags.push(at);
    else if (marks & (MARK.ce | MARK.cwr)) flow.lists.ecn.push(at);
    if (kind > 0 && spurious.has(data.packet[at])) flow.spuriousAt.add(at);
  }
  flow.lists.ackMarks = [];
  flow.lists.duplicateAcks = [];
  const edges = new Float64Array(acks.t.length).fill(NaN);
  const windows = new Float64Array(acks.t.length).fill(NaN);
  for (let at = 0; at < acks.t.length; at++) {
    if (acks.marks[at] & ACK_MARK.window) [edges[at], windows[at]] = [acks.edge[at], acks.edge[at] - acks.ack[at]];
    if (acks.marks[at] & (ACK_MARK.ece | ACK_MARK.zero | ACK_MARK.dsack)) flow.lists.ackMarks.push(at);
    if (acks.marks[at] & ACK_MARK.duplicate) flow.lists.duplicateAcks.push(at);
  }
  const { near, far } = flow;
  flow.series = {
    data: makeSeries(data.t, spans.low, spans.high), flight: makeSeries(data.t, data.in_flight), flightOfAcks: makeSeries(acks.t, acks.in_flight),
    ack: makeSeries(acks.t, acks.ack), edge: makeSeries(acks.t, edges), window: makeSeries(acks.t, windows),
    near: makeSeries(near.t, near.rtt), far: makeSeries(far.t, far.rtt),
  };
  const ends = [data.t, acks.t].filter((times) => times.length > 0);
  flow.begin = Math.min(...ends.map((times) => times[0]));
  flow.end = Math.max(...ends.map((times) => times[times.length - 1]));
}
