"use strict";
// Draws the figures of the page from its data, in the colours of the theme; sorts tables; switches runs.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  // Plotly reads a little HTML in texts; here they are texts.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const faded = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, "0");

  const number = (value) => Number(value.toPrecision(3)).toLocaleString("en");

  // Theme: the reader's system decides until the button or #theme=dark in the address does.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const asked = /theme=(dark|light)/.exec(location.hash + location.search);
  // Served pages keep the choice from page to page; in a file there may be no storage.
  const kept = () => { try { return sessionStorage.getItem("wirespeed-theme"); } catch { return null; } };
  const keep = (theme) => { try { sessionStorage.setItem("wirespeed-theme", theme); } catch { /* it is kept on this page only */ } };
  const theme = asked ? asked[1] : kept();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };

  // Figures
  const config = (figure) => ({
    responsive: true, displaylogo: false, doubleClick: false, showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "resetScale2d", "zoomIn2d", "zoomOut2d"],
    toImageButtonOptions: { format: "svg", filename: figure },
  });

  function trace(layer, _, layers) {
    const tint = colour(layer.colour);
    const base = { name: plain(layer.name), showlegend: layer.legend, legendgroup: layer.name, x: layer.px, y: layer.py };
    const line = { color: tint, width: 1.6, dash: layer.dash };
    // The value alone: points that were merged stand at slightly different times.
    const hover = { hovertemplate: "%{y:.4~g}" };
    switch (layer.shape) {
      case "line": return { ...base, ...hover, type: "scatter", mode: "lines", line, connectgaps: false };
      case "area": return { ...base, ...hover, type: "scatter", mode: "lines", stackgroup: "all", line: { color: tint, width: .6 }, fillcolor: faded(tint, .75) };
      case "bars": return { ...base, ...hover, type: "bar", width: layer.width, marker: { color: tint, line: { width: 0 } } };
      case "lying": return { ...base, type: "bar", orientation: "h", width: .64, marker: { color: tint, cornerradius: 2 },
        // Dots of single runs would lie on the numbers.
        text: layers.some((l) => l.shape === "dots") ? undefined : layer.px.map(number), textposition: "outside", cliponaxis: false, textfont: { color: colour("text"), size: 12 }, hoverinfo: "none" };
      case "stacked": return { ...base, type: "bar", orientation: "h", width: .64, marker: { color: tint, line: { width: 0 } }, hovertemplate: "%{x:.3~g}" };
      case "band": return { ...base, type: "scatter", mode: "lines", fill: "toself", line: { color: faded(tint, .35), width: 1 }, fillcolor: faded(tint, .2), hoverinfo: "skip" };
      case "dots": return { ...base, type: "scatter", mode: "markers", marker: { color: tint, size: 7, line: { color: colour("page"), width: 1 } },
        ...(layer.hints ? { text: layer.hints.map(plain), hovertemplate: "%{text}<extra></extra>" } : {}) };
      case "box": return { ...base, type: "box", orientation: "h", width: .56, boxpoints: "all", jitter: .5, pointpos: 0,
        line: { color: tint, width: 1.5 }, fillcolor: faded(tint, .22), marker: { color: tint, size: 5 }, hoverinfo: "x" };
    }
  }

  function axis(spec, upright, down) {
    const out = {
      title: { text: plain(spec.title), standoff: 8, font: { color: colour("muted"), size: 12.5 } },
      color: colour("muted"), gridcolor: colour("grid"), linecolor: colour("axis"), tickcolor: colour("axis"),
      zeroline: false, showgrid: upright, showline: !upright, ticks: upright ? "" : "outside", ticklen: 4, range: spec.range.slice(),
    };
    if (spec.kind === "log") {
      Object.assign(out, { type: "log", range: spec.range.map(Math.log10), exponentformat: "power", dtick: 1, showgrid: true });
      if (Math.log10(spec.range[1] / spec.range[0]) < 1.5) {
        const ticks = [];
        for (let power = Math.floor(Math.log10(spec.range[0])); power <= Math.log10(spec.range[1]); power++) for (const digit of [1, 2, 5]) ticks.push(Number((digit * 10 ** power).toPrecision(3)));
        Object.assign(out, { tickvals: ticks, ticktext: ticks.map(String) });
      }
      if (spec.zero) {
        const powers = [];
        for (let power = Math.ceil(Math.log10(spec.zero * 1.5)); power <= Math.log10(spec.range[1]); power++) powers.push(power);
        Object.assign(out, { tickvals: [spec.zero, ...powers.map((p) => 10 ** p)], ticktext: ["0", ...powers.map((p) => "10<sup>" + p + "</sup>")] });
      }
    } else if (spec.kind === "names") {
      const width = Math.max(10, Math.min(34, Math.floor(innerWidth / 32)));
      const brief = (name) => (name.length > width ? name.slice(0, width - 1) + "…" : name);
      Object.assign(out, { tickvals: spec.names.map((_, i) => i), ticktext: spec.names.map((n) => plain(brief(n))),
        range: down ? [spec.range[1], spec.range[0]] : spec.range.slice(), showgrid: false, ticks: "", automargin: true, fixedrange: true });
    }
    return out;
  }

  // Bars behind each other have their sum at the end.
  function sums(figure) {
    const ends = new Map();
    for (const layer of figure.layers.filter((l) => l.shape === "stacked")) layer.py.forEach((row, i) => ends.set(row, (ends.get(row) || 0) + layer.px[i]));
    return [...ends].map(([row, sum]) => ({ x: sum, y: row, xanchor: "left", xshift: 3, text: number(sum), showarrow: false, font: { size: 12, color: colour("text") } }));
  }

  function layout(figure) {
    const names = figure.y.kind === "names";
    const over = figure.x.kind === "time" || (figure.x.kind === "linear" && figure.layers.some((l) => l.shape === "line"));
    const small = innerWidth < 640;
    const xaxis = axis(figure.x, names, false), yaxis = axis(figure.y, !names, true); // names read from the top down
    if (figure.x.kind === "time") Object.assign(xaxis, { showspikes: true, spikemode: "across", spikethickness: 1, spikecolor: colour("muted"), spikedash: "dot", spikesnap: "hovered data" });
    return {
      font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: colour("text") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: names ? 20 : small ? 52 : 66, r: 16, t: 6, b: 44, pad: 0 },
      xaxis, yaxis, barmode: names && !figure.layers.some((l) => l.shape === "stacked") ? "overlay" : "stack", bargap: 0,
      hovermode: over ? "x unified" : "closest",
      hoverlabel: { namelength: -1, bgcolor: colour("page"), bordercolor: colour("axis"), font: { color: colour("text"), size: 12 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("axis"), activecolor: colour("text") },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.03, yanchor: "bottom", font: { size: 12.5 }, traceorder: "normal", itemsizing: "constant", bgcolor: "rgba(0,0,0,0)" },
      shapes: figure.levels.map((l) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: l.at, y1: l.at, layer: "below", line: { color: colour("muted"), width: 1, dash: "dot" } })),
      annotations: figure.levels.map((l) => ({ xref: "paper", x: 1, xanchor: "right", y: l.at, yanchor: "bottom", text: plain(l.label), showarrow: false, font: { size: 11.5, color: colour("muted") }, bgcolor: faded(colour("page"), .7), borderpad: 1 })).concat(sums(figure)),
    };
  }

  const spec = (el) => (el.dataset.owner === "study" ? data.study : data.runs[+el.dataset.owner])[el.dataset.figure];
  let window_ = null; // the stretch of time that is zoomed to, kept from run to run

  function draw(el) {
    const figure = spec(el);
    const plan = layout(figure);
    if (figure.x.kind === "time" && window_) plan.xaxis.range = window_.slice();
    const isNew = !el.classList.contains("js-plotly-plot");
    Plotly.react(el, figure.layers.map(trace), plan, config(el.dataset.figure));
    if (!isNew) return;
    if (figure.x.kind === "time") link(el, figure);
    // Back to the ranges of the figure, which plotly may never have seen if it was first drawn zoomed.
    el.on("plotly_doubleclick", () => {
      const { xaxis, yaxis } = layout(figure);
      Plotly.relayout(el, { "xaxis.range": xaxis.range, "yaxis.range": yaxis.range });
    });
  }

  const mates = (el) => all(".plot.js-plotly-plot", el.closest(".run")).filter((other) => other !== el && spec(other).x.kind === "time");
  let isLinking = false;

  function link(el, figure) {
    el.on("plotly_relayout", (change) => {
      if (isLinking || !Object.keys(change).some((key) => key.startsWith("xaxis"))) return;
      const range = el.layout.xaxis.range.slice();
      window_ = range[0] === figure.x.range[0] && range[1] === figure.x.range[1] ? null : range;
      isLinking = true;
      Promise.all(mates(el).map((other) => Plotly.relayout(other, { "xaxis.range": range.slice() }))).finally(() => { isLinking = false; });
    });
    el.on("plotly_hover", (event) => {
      if (isLinking || !event.event) return;
      const at = event.points[0].x;
      isLinking = true;
      try { mates(el).forEach((other) => Plotly.Fx.hover(other, { xval: at }, "xy")); } finally { isLinking = false; }
    });
    el.on("plotly_unhover", () => mates(el).forEach((other) => Plotly.Fx.unhover(other)));
  }

  // Only what comes into sight is drawn.
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { sight.unobserve(entry.target); draw(entry.target); }
  }, { rootMargin: "600px" });
  const watch = (within) => all(".plot", within).forEach((el) => sight.observe(el));
  watch(document);
  const redraw = () => { nameTheme(); all(".plot.js-plotly-plot").forEach(draw); };
  themeButton.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; keep(root.dataset.theme); redraw(); });
  system.addEventListener("change", redraw);
  nameTheme();
  addEventListener("beforeprint", () => all(".plot").filter((el) => el.offsetParent).forEach((el) => { draw(el); Plotly.Plots.resize(el); }));

  // Runs
  const panels = all("[data-panel]"), select = document.getElementById("run-select");
  let current = 0;
  function show(index) {
    if (!panels[index]) return;
    current = index;
    if (panels[index].content) { // a template until it is shown
      const panel = document.createElement("div");
      panel.className = "run";
      panel.append(panels[index].content);
      panels[index].replaceWith(panel);
      panels[index] = panel;
      watch(panel);
    }
    panels.forEach((panel, i) => { panel.hidden = i !== index; });
    all(".selector [data-run]").forEach((button) => button.setAttribute("aria-pressed", String(+button.dataset.run === index)));
    if (select) select.value = String(index);
    // What was drawn before gets the present stretch of time, theme and width.
    all(".plot.js-plotly-plot", panels[index]).forEach((el) => { draw(el); Plotly.Plots.resize(el); });
  }
  all("[data-run]").forEach((el) => el.addEventListener("click", () => show(+el.dataset.run)));
  all("[data-step]").forEach((el) => el.addEventListener("click", () => show(current + +el.dataset.step)));
  if (select) select.addEventListener("change", () => show(+select.value));

  // Tables
  const other = document.getElementById("other-run");
  all("[data-other]").forEach((el) => el.addEventListener("click", () => { other.textContent = el.dataset.other; }));

  const allMetrics = document.getElementById("all-metrics");
  // A large table gets the columns of all metrics only when they are asked for.
  function complete(table) {
    const make = (kind, text) => { const el = document.createElement(kind); el.className = "number extra"; el.textContent = text; return el; };
    const head = table.tHead.rows[0], last = head.lastElementChild;
    for (const column of data.summary) {
      const cell = make("th", ""), button = document.createElement("button");
      cell.scope = "col"; cell.title = column.title; button.type = "button"; button.textContent = column.name;
      if (column.unit) { const unit = document.createElement("small"); unit.textContent = column.unit; button.append(unit); }
      cell.append(button);
      head.insertBefore(cell, last);
    }
    for (const row of table.tBodies[0].rows) {
      const name = row.lastElementChild;
      for (const column of data.summary) {
        const text = column.cells[+row.dataset.row], cell = make("td", text), value = Number(text.replace(/,/g, ""));
        if (Number.isFinite(value)) cell.dataset.sort = value;
        row.insertBefore(cell, name);
      }
    }
    delete data.summary;
  }
  if (allMetrics) allMetrics.addEventListener("change", () => {
    const table = document.querySelector("#summary table");
    if (data.summary) complete(table);
    table.classList.toggle("short", !allMetrics.checked);
  });
  all("table.sortable").forEach((table) => {
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (!head) return;
      const column = head.cellIndex;
      // Numbers are looked at from the largest down, names from A on.
      const isNumber = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const way = before ? (before === "ascending" ? "descending" : "ascending") : isNumber ? "descending" : "ascending";
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way);
      const sign = way === "ascending" ? 1 : -1;
      const key = (row) => { const cell = row.cells[column]; return cell.dataset.sort !== undefined ? +cell.dataset.sort : isNumber ? null : cell.textContent; };
      const rows = all("tbody tr", table).sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === null || y === null) return (x === null) - (y === null); // missing ones last, either way
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
      });
      table.tBodies[0].append(...rows);
    });
  });
})();
