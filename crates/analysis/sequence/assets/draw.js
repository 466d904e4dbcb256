"use strict";
// Draws panels on a canvas. Only what is visible is drawn, and no pixel twice for the same reason.

const NARROW = 3;

// Least and largest value of a part of a series.
function extent({ t, low, high, from, to }, view) {
  let [least, most] = [Infinity, -Infinity];
  for (let at = from; at < to; at++) {
    if (t[at] > view.to) break;
    if (low[at] < least) least = low[at];
    if (high[at] > most) most = high[at];
  }
  return [least, most];
}

// A step function over time: in each column of pixels from its least to its largest value.
class Steps {
  constructor(ctx, x, y) {
    Object.assign(this, { ctx, x, y, column: null });
    ctx.beginPath();
  }
  add(t, value) {
    const column = Math.floor(this.x(t));
    if (column !== this.column) {
      this.flush();
      const level = this.y(value);
      if (this.column === null) this.ctx.moveTo(column + 0.5, level);
      else this.ctx.lineTo(column + 0.5, this.last);
      Object.assign(this, { column, low: level, high: level, last: level });
    } else {
      const level = this.y(value);
      if (level < this.low) this.low = level;
      if (level > this.high) this.high = level;
      this.last = level;
    }
  }
  addPart(part) {
    for (let at = part.from; at < part.to; at++) this.addPoint(part, at);
  }
  addPoint({ t, low, high }, at) {
    if (Number.isNaN(low[at])) return;
    this.add(t[at], low[at]);
    if (high[at] !== low[at]) this.add(t[at], high[at]);
  }
  flush() {
    if (this.column === null) return;
    const at = this.column + 0.5;
    this.ctx.lineTo(at, this.low);
    if (this.high > this.low) this.ctx.lineTo(at, this.high);
    this.ctx.lineTo(at, this.last);
  }
  // Ends it, with its last value held up to a pixel.
  end(until) {
    this.flush();
    if (this.column !== null && until > this.column) this.ctx.lineTo(until, this.last);
    this.ctx.stroke();
  }
}

// Upright strokes: those that touch each other in a column of pixels become one.
class Strokes {
  constructor(ctx, width) {
    Object.assign(this, { ctx, width, column: NaN, low: 0, high: 0 });
  }
  add(x, top, bottom) {
    const column = Math.round(x);
    if (column === this.column && top <= this.high + 1 && bottom >= this.low - 1) {
      if (top < this.low) this.low = top;
      if (bottom > this.high) this.high = bottom;
      return;
    }
    this.end();
    Object.assign(this, { column, low: top, high: bottom });
  }
  end() {
    if (Number.isNaN(this.column)) return;
    const height = Math.max(this.high - this.low, 1.5);
    // At whole pixels, so that thin strokes are not faint.
    this.ctx.fillRect(this.column - Math.floor(this.width / 2), this.low, this.width, height);
  }
}

// Letters beside marks, where there is room.
class Letters {
  constructor(ctx, box) {
    Object.assign(this, { ctx, box, taken: new Set() });
    ctx.font = "600 11px ui-sans-serif, system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
  }
  add(text, at, y, colour) {
    if (at < this.box.left || at > this.box.right) return false;
    const width = this.ctx.measureText(text).width;
    const x = Math.min(Math.max(at, this.box.left + width / 2 + 3), this.box.right - width / 2 - 3);
    const inside = Math.min(Math.max(y, this.box.top + 7), this.box.bottom - 7);
    const cells = [];
    for (let column = Math.floor((x - width / 2) / 6); column <= Math.floor((x + width / 2) / 6); column++) {
      for (let row = Math.floor((inside - 5) / 6); row <= Math.floor((inside + 5) / 6); row++) cells.push(column * 100000 + row);
    }
    if (cells.some((cell) => this.taken.has(cell))) return false;
    for (const cell of cells) this.taken.add(cell);
    this.ctx.lineWidth = 3;
    this.ctx.strokeStyle = this.box.ground;
    this.ctx.strokeText(text, x, inside);
    this.ctx.fillStyle = colour;
    this.ctx.fillText(text, x, inside);
    return true;
  }
}

// Dots at the points of a part: squares if they are few, otherwise pixels of a picture.
function dots(ctx, { box, range, x, y }, { t, low, from, to }, view, colour) {
  ctx.fillStyle = colour;
  if (to - from < 2000) {
    for (let at = from; at < to; at++) ctx.fillRect(x(t[at]) - 1.75, y(low[at]) - 1.75, 3.5, 3.5);
    return;
  }
  const [width, height] = [Math.ceil(box.right - box.left), Math.ceil(box.bottom - box.top)];
  const picture = new OffscreenCanvas(width, height);
  const inner = picture.getContext("2d");
  inner.fillStyle = colour;
  inner.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = inner.getImageData(0, 0, 1, 1).data;
  const pixels = inner.createImageData(width, height);
  const words = new Uint32Array(pixels.data.buffer);
  const word = (alpha << 24) | (blue << 16) | (green << 8) | red;
  // This loop has every sample of the view, so it calls nothing.
  const across = (box.right - box.left) / (view.to - view.from);
  const along = (box.bottom - box.top) / (range[1] - range[0]);
  for (let at = from; at < to; at++) {
    const px = Math.floor((t[at] - view.from) * across);
    const py = Math.floor((range[1] - low[at]) * along);
    if (px >= 0 && py >= 0 && px < width && py < height) words[py * width + px] = word;
  }
  inner.putImageData(pixels, 0, 0);
  ctx.drawImage(picture, box.left, box.top);
}

// Round steps between ticks, so that there are about so many.
function tickStep(span, count) {
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
}

const decimals = (step) => Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

function withThousands(number, digits) {
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const UNITS = {
  bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]],
  time: [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]],
  rate: [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"]],
  packets: [[1, "packets"]],
};

// The largest unit that the value reaches.
function unitOf(kind, value) {
  const units = UNITS[kind];
  return units.findLast(([factor]) => Math.abs(value) >= factor) ?? units[0];
}

function inUnit(kind, value) {
  const [factor, name] = unitOf(kind, value);
  return `${Number((value / factor).toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 3 })} ${name}`;
}

// Grid and labels of ticks, under the values.
function drawGrid(ctx, panel, view, ink, isLast) {
  const { box, range } = panel;
  const [factor] = panelUnit(panel);
  ctx.font = "12px ui-sans-serif, system-ui, sans-serif";
  ctx.lineWidth = 1;
  const fine = tickStep((range[1] - range[0]) / factor, Math.max(3, Math.floor((box.bottom - box.top) / 36)));
  const step = panel.kind === "packets" ? Math.max(fine, 1) : fine;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const first = Math.ceil(range[0] / factor / step);
  for (let tick = first; tick * step * factor <= range[1]; tick++) {
    const y = Math.round(panel.y(tick * step * factor)) + 0.5;
    ctx.strokeStyle = ink.grid;
    line(ctx, box.left, y, box.right, y);
    ctx.fillStyle = ink.muted;
    // Zero has no sign.
    ctx.fillText(withThousands(tick * step + 0, decimals(step)), box.left - 7, y);
  }
  const timeStep = tickStep((view.to - view.from) / 1e9, Math.max(2, Math.floor((box.right - box.left) / 120)));
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (let tick = Math.ceil(view.from / 1e9 / timeStep); tick * timeStep * 1e9 <= view.to; tick++) {
    const x = Math.round(panel.x(tick * timeStep * 1e9)) + 0.5;
    ctx.strokeStyle = ink.grid;
    line(ctx, x, box.top, x, box.bottom);
    ctx.fillStyle = ink.muted;
    if (!isLast) continue;
    const label = withThousands(tick * timeStep + 0, Math.min(9, decimals(timeStep)));
    ctx.fillText(label, Math.min(x, box.right + 12 - ctx.measureText(label).width / 2), box.bottom + 7);
  }
}

const panelUnit = ({ kind, range }) => unitOf(kind, Math.max(Math.abs(range[0]), Math.abs(range[1])));

// Frame, title and note of a panel, over the values.
function drawFrame(ctx, panel, ink, isLast) {
  const { box } = panel;
  ctx.lineWidth = 1;
  ctx.strokeStyle = ink.axis;
  ctx.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left, box.bottom - box.top);
  ctx.font = "12px ui-sans-serif, system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  if (isLast) {
    ctx.fillStyle = ink.text;
    ctx.fillText("Time since the first packet of the capture (s)", (box.left + box.right) / 2, box.bottom + 26);
  }
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = ink.text;
  ctx.font = "600 12.5px ui-sans-serif, system-ui, sans-serif";
  const title = `${panel.title} (${panelUnit(panel)[1]})`;
  ctx.fillText(title, box.left, box.top - 7);
  const width = ctx.measureText(title).width;
  ctx.font = "12px ui-sans-serif, system-ui, sans-serif";
  ctx.fillStyle = ink.muted;
  ctx.textAlign = "right";
  const room = box.right - box.left - width - 16;
  const note = panel.note ?? "";
  if (ctx.measureText(note).width < room) ctx.fillText(note, box.right, box.top - 7);
}

function line(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}
