"use strict";
// The charts of one or two settings over time.
const PANELS = [
  { name: "Throughput", unit: rateText, key: "goodput_bps", of: "flows", total: true, low: 1e6 },
  { name: "Congestion window", unit: bytesText, key: "cwnd_bytes", of: "flows", low: 1e4 },
  { name: "Round-trip time", unit: (ns) => timeText(ns / 1e9), key: "rtt_ns", of: "flows", low: 1e5 },
  { name: "Queue", unit: bytesText, key: "backlog_bytes", of: "queues", low: 1e4 },
  { name: "Lost and dropped packets per interval", unit: countText, key: "losses", of: "losses", low: 4 },
];
const MOST_LINES = 16;

const isNarrow = () => innerWidth <= 900;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const ofRuns = new WeakMap(); // by run and panel: its lines, and the largest value in them
function lines(panel, run) {
  if (!ofRuns.has(run)) ofRuns.set(run, new Map());
  const known = ofRuns.get(run);
  if (!known.has(panel)) {
    const all = linesOf(panel, run);
    let most = 0;
    for (const line of all) for (const value of line) if (value > most) most = value;
    known.set(panel, { all, most });
  }
  return known.get(panel);
}

// Packets lost and dropped in each interval between two samples.
function losses(run) {
  const sums = run.t_ns.map((_, i) => run.queues.reduce((sum, queue) => sum + (queue.dropped_packets[i] ?? 0) + (queue.lost_packets[i] ?? 0), 0));
  return sums.map((sum, i) => (i ? sum - sums[i - 1] : null));
}

// The lines of a panel: first the total where there is one, then the flows or queues.
function linesOf(panel, run) {
  if (panel.of === "losses") return [losses(run)];
  const lines = run[panel.of].slice(0, MOST_LINES).map((line) => line[panel.key]);
  if (!panel.total || lines.length < 2) return lines;
  const all = run[panel.of].map((line) => line[panel.key]);
  return [run.t_ns.map((_, i) => all.reduce((sum, line) => (line[i] === null ? sum : (sum ?? 0) + line[i]), null)), ...lines];
}

// All panels. `sides` are the letters that share one chart: [["a"], ["b"]] side by side, [["a", "b"]] overlaid.
class Charts {
  constructor(root) {
    this.root = root;
    this.plots = [];
    this.runs = {};
    this.shape = "";
    new ResizeObserver(() => this.resize()).observe(root);
  }

  width(columns) {
    const room = isNarrow() ? this.root.clientWidth * 0.88 : (this.root.clientWidth - (columns - 1) * 14) / columns;
    return Math.max(200, Math.floor(room) - 22);
  }

  height() {
    return isNarrow() ? 130 : Math.max(90, Math.min(190, Math.floor((innerHeight - 215) / PANELS.length) - 44));
  }

  resize() {
    for (const { plot, columns } of this.plots) plot.setSize({ width: this.width(columns), height: this.height() });
  }

  // Draws the runs by letter; a chart is made again only if the number of its lines changes.
  draw(runs, sides) {
    this.runs = runs;
    const shape = JSON.stringify([sides, sides.map((side) => side.map((letter) => runs[letter]?.flows.length ?? 0)), document.documentElement.dataset.theme ?? "", matchMedia("(prefers-color-scheme: dark)").matches]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(sides);
    }
    const present = Object.values(runs);
    const longest = Math.max(...present.map((run) => run.duration_ns)) / 1e9;
    for (const entry of this.plots) {
      const { panel, side, plot } = entry;
      const top = Math.max(panel.low, ...present.map((run) => lines(panel, run).most));
      const shown = [longest, top, ...side.map((letter) => runs[letter])];
      if (entry.shown?.every((value, i) => value === shown[i])) continue;
      entry.shown = shown;
      const columns = side.filter((letter) => runs[letter]).map((letter) => ({ run: runs[letter], lines: lines(panel, runs[letter]).all }));
      plot.setData(align(columns), false);
      plot.batch(() => {
        plot.setScale("x", { min: 0, max: longest });
        plot.setScale("y", { min: 0, max: top * 1.06 });
      });
    }
  }

  build(sides) {
    for (const { plot } of this.plots) plot.destroy();
    this.plots = [];
    this.root.replaceChildren();
    this.root.style.setProperty("--columns", sides.length);
    for (const panel of PANELS) {
      for (const side of sides) {
        const box = document.createElement("figure");
        const caption = document.createElement("figcaption");
        caption.textContent = panel.name + (sides.length > 1 ? `, ${side[0].toUpperCase()}` : "");
        box.append(caption);
        this.root.append(box);
        const entry = { panel, side, columns: sides.length };
        entry.plot = new uPlot(this.options(entry, caption.textContent), [[0], ...this.series(panel, side).slice(1).map(() => [null])], box);
        entry.plot.root.setAttribute("role", "img");
        entry.plot.root.setAttribute("aria-label", `${caption.textContent} over time`);
        this.plots.push(entry);
      }
    }
  }

  series(panel, side) {
    const series = [{}];
    for (const letter of side) {
      const run = this.runs[letter];
      if (!run) continue;
      const count = lines(panel, run).all.length;
      for (let i = 0; i < count; i++) {
        const isFirst = i === 0 || !(panel.total && count > 1);
        const base = colour(letter);
        const isBar = panel.of === "losses";
        series.push({
          stroke: isFirst && (count === 1 || panel.total) ? base : `${base}${panel.total ? "66" : "99"}`,
          width: isFirst && count === 1 || (panel.total && i === 0) ? 1.8 : 1,
          fill: isBar ? `${base}33` : undefined, points: { show: false }, spanGaps: true,
          paths: isBar ? uPlot.paths.stepped({ align: -1 }) : undefined,
        });
      }
    }
    return series;
  }

  options(entry, title) {
    const axis = { stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    return {
      width: this.width(entry.columns), height: this.height(), legend: { show: false }, cursor: { y: false, drag: { x: false, y: false }, sync: { key: "time" } },
      scales: { x: { time: false }, y: {} }, series: this.series(entry.panel, entry.side), padding: [8, 20, 0, 0],
      axes: [
        { ...axis, size: 24, values: (_, marks) => marks.map((mark) => (mark ? timeText(mark) : "0")) },
        { ...axis, size: 74, space: 26, values: (_, marks) => marks.map((mark) => (mark ? entry.panel.unit(mark) : "0")) },
      ],
      hooks: { setCursor: [(plot) => readOut(plot, entry, title)] },
    };
  }
}

// The value at the cursor, in the caption.
function readOut(plot, { panel, side }, title) {
  const caption = plot.root.parentElement.querySelector("figcaption");
  const { idx } = plot.cursor;
  if (idx === null || idx === undefined || plot.cursor.left < 0) {
    caption.textContent = title;
    return;
  }
  const values = plot.data.slice(1).map((line) => line[idx]).filter((value) => value !== null && value !== undefined);
  const shown = side.length > 1 || values.length < 2 || panel.total ? values.slice(0, side.length) : values.slice(0, 4);
  caption.textContent = `${title} at ${timeText(plot.data[0][idx])}: ${shown.map((value) => (value ? panel.unit(value) : "0")).join(", ")}`;
}

// Series of several runs over the instants of all.
function align(columns) {
  if (columns.length === 0) return [[0]];
  const tables = columns.map(({ run, lines }) => [run.t_ns.map((t) => t / 1e9), ...lines]);
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}
