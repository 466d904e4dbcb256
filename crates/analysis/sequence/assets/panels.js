"use strict";
// The panels: which values each shows, their range, and how they are drawn.

const PANELS = [
  { name: "sequence", title: "Sequence number", kind: "bytes", share: 0.44, fit: fitSequence, draw: drawSequence },
  { name: "flight", title: "Bytes in flight and windows", kind: "bytes", share: 0.16, fit: fitFlight, draw: drawFlight },
  { name: "rtt", title: "RTT", kind: "time", share: 0.14, fit: fitRtt, draw: drawRtt },
  { name: "rate", title: "Rate of payload", kind: "rate", share: 0.14, fit: fitRate, draw: drawRate },
  { name: "bursts", title: "Burst size", kind: "packets", share: 0.12, fit: fitBursts, draw: drawBursts },
];

const LETTERS = ["", "R", "R", "RTO", "R", "TLP", "R", "R", "HD", "O", "L", "P"];

const count = (number) => number.toLocaleString("en");

function fitSequence(flow, view, width) {
  const { data, ack } = flow.series;
  const ends = [data, ack].map((series) => extent(inView(series, view, width), view));
  // Retransmissions alone in view are below the new data.
  const { t, start, length } = flow.data;
  const { retransmitted } = flow.lists;
  const [first, last] = [view.from, view.to].map((time) => lowerBound(retransmitted, lowerBound(t, time)));
  for (const at of retransmitted.slice(first, last)) ends.push([start[at], start[at] + length[at]]);
  let low = ends.reduce((least, [end]) => Math.min(least, end), Infinity);
  let high = ends.reduce((most, [, end]) => Math.max(most, end), -Infinity);
  if (low > high) [low, high] = [0, 1];
  const pad = Math.max((high - low) * 0.06, 20);
  return [low - pad, high + pad];
}

function drawSequence(ctx, panel, flow, view, ink, shows) {
  const { x, y, box } = panel;
  const { data, acks, sacks, series } = flow;
  const width = box.right - box.left;
  const [from, to] = [lowerBound(data.t, view.from), lowerBound(data.t, view.to)];
  const [firstAck, lastAck] = [lowerBound(acks.t, view.from), lowerBound(acks.t, view.to)];
  const seen = { data: to - from, acks: lastAck - firstAck, letters: 0 };
  const gap = (box.right - box.left) / Math.max(1, to - from);
  if (shows.window) {
    ctx.strokeStyle = ink.window;
    ctx.lineWidth = 1.25;
    const steps = new Steps(ctx, x, y);
    steps.addPart(inView(series.edge, view, width));
    steps.end(Math.min(box.right, x(flow.end)));
  }
  if (shows.sack) {
    ctx.fillStyle = ink.sack;
    const [first, last] = [lowerBound(sacks.t, view.from), lowerBound(sacks.t, view.to)];
    const strokes = new Strokes(ctx, gap > 6 ? 2 : 1);
    for (let at = first; at < last; at++) strokes.add(x(sacks.t[at]), y(sacks.left[at] + sacks.length[at]), y(sacks.left[at]));
    strokes.end();
  }
  if (shows.ack) {
    ctx.strokeStyle = ink.ack;
    ctx.lineWidth = 1.5;
    const steps = new Steps(ctx, x, y);
    steps.addPart(inView(series.ack, view, width));
    steps.end(Math.min(box.right, x(flow.end)));
    if ((lastAck - firstAck) * NARROW < box.right - box.left) ackTicks(ctx, flow, firstAck, lastAck, x, y);
  }
  if (shows.data) {
    ctx.fillStyle = ink.data;
    const strokes = new Strokes(ctx, gap > 12 ? 2 : 1);
    const hasCaps = gap > 8;
    const part = inView(series.data, view, width);
    for (let at = part.from; at < part.to; at++) {
      if (Number.isNaN(part.low[at])) continue;
      const px = x(part.t[at]);
      const low = y(part.low[at]);
      const high = y(part.high[at]);
      strokes.add(px, high, low);
      if (hasCaps && low - high > 8) for (const level of [low, high]) ctx.fillRect(px - 3, level - 0.75, 6, 1.5);
    }
    strokes.end();
  }
  const letters = new Letters(ctx, { ...box, ground: ink.page });
  // Marks that are so many that they would hide the data are a row of ticks at the foot of the panel, by time.
  let rugs = 0;
  const rug = (times, list, first, last, colour, room = 4) => {
    if ((last - first) * room <= width) return false;
    rugs += 1;
    ctx.fillStyle = colour;
    const ticks = new Strokes(ctx, 1);
    const foot = box.bottom - 10 * rugs + 7;
    for (let index = first; index < last; index++) ticks.add(x(times[list[index]]), foot - 7, foot);
    ticks.end();
    return true;
  };
  const special = (list, colour) => {
    const [first, last] = [lowerBound(list, from), lowerBound(list, to)];
    if (rug(data.t, list, first, last, colour)) return;
    ctx.fillStyle = colour;
    const strokes = new Strokes(ctx, gap > 6 ? 3 : 2);
    for (let index = first; index < last; index++) {
      const at = list[index];
      const [low, high] = [y(data.start[at]), y(data.start[at] + data.length[at])];
      strokes.add(x(data.t[at]), Math.min(high, (low + high) / 2 - 2), Math.max(low, (low + high) / 2 + 2));
    }
    strokes.end();
    for (let index = first; index < last; index++) {
      const at = list[index];
      const text = data.class[at] === 8 ? flow.duplicate_letters : LETTERS[data.class[at]] + (flow.spuriousAt.has(at) ? "!" : "");
      seen.letters += letters.add(text, x(data.t[at]), y(data.start[at] + data.length[at]) - 9, colour);
    }
  };
  if (shows.reordered) special(flow.lists.reordered, ink.reordered);
  if (shows.duplicate) special(flow.lists.duplicate, ink.duplicate);
  if (shows.other) special(flow.lists.other, ink.muted);
  if (shows.retransmitted) special(flow.lists.retransmitted, ink.retransmitted);
  if (shows.flags) flags(ctx, flow, [from, to], [firstAck, lastAck], panel, ink, letters, seen, rug);
  panel.note = `n = ${count(data.t.length)} data packets, ${count(acks.t.length)} ACKs; in view ${count(seen.data)} and ${count(seen.acks)}`;
  return seen;
}

// Ticks of acknowledgments: downwards one that acknowledges data, upwards a duplicate, as tcptrace has them.
function ackTicks(ctx, flow, from, to, x, y) {
  ctx.beginPath();
  for (let at = from; at < to; at++) {
    const [px, py] = [x(flow.acks.t[at]), y(flow.acks.ack[at])];
    ctx.moveTo(px, py);
    ctx.lineTo(px, flow.acks.marks[at] & ACK_MARK.duplicate ? py - 5 : py + 4);
  }
  ctx.stroke();
}

// Letters of flags and ECN, and diamonds of PSH where there is room.
function flags(ctx, flow, [from, to], [firstAck, lastAck], { x, y, box }, ink, letters, seen, rug) {
  const { data, acks } = flow;
  const listed = (times, list, first, last, colour) => {
    const ends = [lowerBound(list, first), lowerBound(list, last)];
    return rug(times, list, ...ends, colour, 24) ? [] : list.slice(...ends);
  };
  const { flags: ends, ecn } = flow.lists;
  for (const at of [...listed(data.t, ends, from, to, ink.text), ...listed(data.t, ecn, from, to, ink.text)]) {
    const marks = data.marks[at];
    const names = [[MARK.syn, "SYN"], [MARK.fin, "FIN"], [MARK.reset, "RST"], [MARK.ce, "CE"], [MARK.cwr, "CWR"]];
    const text = names.filter(([mark]) => marks & mark).map(([, name]) => name).join(" ");
    ctx.fillStyle = ink.text;
    ctx.fillRect(x(data.t[at]) - 2, y(data.start[at] + data.length[at]) - 2, 4, 4);
    seen.letters += letters.add(text, x(data.t[at]), y(data.start[at] + data.length[at]) - 20, ink.text);
  }
  for (const at of listed(acks.t, flow.lists.ackMarks, firstAck, lastAck, ink.ack)) {
    const marks = acks.marks[at];
    const names = [[ACK_MARK.zero, "Z"], [ACK_MARK.ece, "ECE"], [ACK_MARK.dsack, "DSACK"]];
    const text = names.filter(([mark]) => marks & mark).map(([, name]) => name).join(" ");
    seen.letters += letters.add(text, x(acks.t[at]), y(acks.ack[at]) + 13, ink.ack);
  }
  if ((to - from) * 8 > box.right - box.left) return;
  ctx.fillStyle = ink.data;
  for (let at = from; at < to; at++) {
    if (!(data.marks[at] & MARK.push)) continue;
    const [px, py] = [x(data.t[at]), y(data.start[at] + data.length[at])];
    ctx.beginPath();
    ctx.moveTo(px, py - 5);
    ctx.lineTo(px + 4, py);
    ctx.lineTo(px, py + 5);
    ctx.lineTo(px - 4, py);
    ctx.fill();
  }
}

function fitFlight(flow, view, width) {
  const highest = (...all) => Math.max(0, ...all.map((series) => extent(inView(series, view, width), view)[1]));
  const most = highest(flow.series.flight, flow.series.flightOfAcks);
  flow.largestWindow = highest(flow.series.window);
  // A window far above would press the bytes in flight flat; its size is in the note then.
  flow.isWindowAbove = flow.largestWindow > 3 * most;
  return [0, Math.max(most, flow.isWindowAbove ? 0 : flow.largestWindow, 1) * 1.08];
}

function drawFlight(ctx, panel, flow, view, ink, shows) {
  const { data, acks, rounds, series } = flow;
  const { x, y, box } = panel;
  const width = box.right - box.left;
  const firstRound = Math.max(0, lowerBound(rounds.t, view.from) - 1);
  const lastRound = Math.min(rounds.t.length, lowerBound(rounds.t, view.to) + 1);
  ctx.fillStyle = ink.recovery;
  for (let at = firstRound; at < lastRound; at++) {
    if (!rounds.recovery[at]) continue;
    const [left, right] = [x(rounds.t[at]), x(at + 1 < rounds.t.length ? rounds.t[at + 1] : flow.end)];
    // Zoomed out, so short ones would only tint the panel.
    if (right - left > 1.5) ctx.fillRect(left, box.top, right - left, box.bottom - box.top);
  }
  ctx.lineWidth = 1.25;
  if (shows.window) {
    ctx.strokeStyle = ink.window;
    const steps = new Steps(ctx, x, y);
    steps.addPart(inView(series.window, view, width));
    steps.end(Math.min(box.right, x(flow.end)));
  }
  ctx.strokeStyle = ink.data;
  const steps = new Steps(ctx, x, y);
  const [ofData, ofAcks] = [inView(series.flight, view, width), inView(series.flightOfAcks, view, width)];
  let ack = ofAcks.from;
  for (let at = ofData.from; at < ofData.to; at++) {
    for (; ack < ofAcks.to && ofAcks.t[ack] < ofData.t[at]; ack++) steps.addPoint(ofAcks, ack);
    steps.addPoint(ofData, at);
  }
  for (; ack < ofAcks.to; ack++) steps.addPoint(ofAcks, ack);
  steps.end(0);
  if (shows.cwnd) {
    ctx.strokeStyle = ink.cwnd;
    ctx.lineWidth = 1.75;
    const windows = new Steps(ctx, x, y);
    for (let at = firstRound; at < lastRound; at++) windows.add(rounds.t[at], rounds.in_flight[at]);
    windows.end(Math.min(box.right, x(flow.end)));
  }
  const above = flow.isWindowAbove ? `; receive window up to ${inUnit("bytes", flow.largestWindow)}, above this panel` : "";
  panel.note = `n = ${count(data.t.length + acks.t.length)} values, ${count(rounds.t.length)} rounds${above}`;
}

function fitRtt(flow, view, width) {
  const sides = ["near", "far"].filter((side) => !flow.hides.has(side)).map((side) => flow.series[side]);
  const ends = sides.map((series) => extent(inView(series, view, width), view));
  const [low, high] = [Math.min(...ends.map(([least]) => least)), Math.max(...ends.map(([, most]) => most))];
  if (low > high) return [0, 1e6];
  // Small variations of a long RTT would not show on an axis from 0.
  const pad = Math.max((high - low) * 0.15, high * 0.005, 1);
  return high - low < high / 2 ? [low - pad, high + pad] : [0, high * 1.1];
}

function drawRtt(ctx, panel, flow, view, ink) {
  const notes = [];
  for (const [side, colour, name] of [["far", ink.far, "to the receiver"], ["near", ink.near, "to the sender"]]) {
    const series = flow.series[side];
    const [from, to] = [lowerBound(series.t, view.from), lowerBound(series.t, view.to)];
    if (!flow.hides.has(side)) dots(ctx, panel, { ...series, from, to }, view, colour);
    if (series.t.length > 0 && !flow.hides.has(side)) notes.push(`${count(series.t.length)} samples ${name}`);
  }
  panel.note = `n = ${notes.join(", ") || "0 samples"}`;
}

// Bins have round widths and begin at multiples of them, so that panning does not change them. Each has ten packets or more on
// average, where the view has so many.
function bins(flow, view, width) {
  const packets = lowerBound(flow.data.t, view.to) - lowerBound(flow.data.t, view.from);
  const span = view.to - view.from;
  const bin = Math.max(tickStep(span, Math.min(width / 5, Math.max(packets / 10, 4))), 1000);
  return { bin, first: Math.floor(view.from / bin), last: Math.ceil(view.to / bin) };
}

// Rates in bit/s, one for each bin: of all that was sent, and of what was acknowledged.
function rates(flow, { bin, first, last }) {
  const { data, acks } = flow;
  const sent = [];
  const acked = [];
  const sumAt = (t) => flow.sent[lowerBound(data.t, t)];
  const ackAt = (t) => acks.ack[Math.max(0, lowerBound(acks.t, t) - 1)] ?? 0;
  for (let index = first; index < last; index++) {
    const [begin, end] = [index * bin, (index + 1) * bin];
    sent.push((sumAt(end) - sumAt(begin)) * 8e9 / bin);
    acked.push(Math.max(0, ackAt(end) - ackAt(begin)) * 8e9 / bin);
  }
  return { sent, acked };
}

function fitRate(flow, view, width) {
  flow.bins = bins(flow, view, width);
  flow.rates = rates(flow, flow.bins);
  // The acknowledgment that ends a recovery acknowledges megabytes at once, and would press all else flat.
  const { sent, acked } = flow.rates;
  const usual = [...acked].sort((one, other) => one - other)[Math.floor(acked.length * 0.98)] ?? 0;
  return [0, Math.max(...sent, usual, 1) * 1.1];
}

function drawRate(ctx, panel, flow, view, ink) {
  const { bin, first } = flow.bins;
  for (const [values, colour, width] of [[flow.rates.sent, ink.data, 2.5], [flow.rates.acked, ink.ack, 1.25]]) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    const steps = new Steps(ctx, panel.x, panel.y);
    values.forEach((value, index) => steps.add((first + index) * bin, value));
    steps.end(panel.x((first + values.length) * bin));
  }
  const most = Math.max(...flow.rates.acked);
  const above = most > panel.range[1] ? `; up to ${inUnit("rate", most)} acknowledged, above this panel` : "";
  panel.note = `n = ${count(flow.rates.sent.length)} means over ${inUnit("time", bin)} each, sent and acknowledged${above}`;
}

function fitBursts(flow, view) {
  const { t, packets } = flow.bursts;
  let most = 1;
  for (let at = lowerBound(t, view.from); at < t.length && t[at] < view.to; at++) if (packets[at] > most) most = packets[at];
  return [0, most * 1.15];
}

function drawBursts(ctx, panel, flow, view, ink) {
  const { t, packets } = flow.bursts;
  const [from, to] = [lowerBound(t, view.from), lowerBound(t, view.to)];
  ctx.fillStyle = ink.data;
  const strokes = new Strokes(ctx, (to - from) * NARROW < panel.box.right - panel.box.left ? 2 : 1);
  for (let at = from; at < to; at++) strokes.add(panel.x(t[at]), panel.y(packets[at]), panel.box.bottom);
  strokes.end();
  panel.note = `n = ${count(t.length)} bursts`;
}
