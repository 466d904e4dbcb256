"use strict";
// The page: layout, theme, zoom, keyboard, hover.
//
// After each drawing, the data attributes of the root element say what is drawn: a test or a script reads them.

(() => {
  const root = document.documentElement;
  const element = (id) => document.getElementById(id);
  const description = JSON.parse(element("description").textContent);
  const [figure, canvas, overlay, tip, status] = ["figure", "canvas", "overlay", "tip", "status"].map(element);
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const address = new URLSearchParams(location.hash.slice(1));
  const shows = { data: true, retransmitted: true, duplicate: true, reordered: true, other: true, ack: true, sack: true, window: true, flags: true, cwnd: true };
  const flows = [];
  let flow = null;
  let view = { from: 0, to: 1 };
  let ink = {};
  // Ranges of values that a box or a drag chose, by panel. The others fit what is in view.
  let fixed = {};
  let cursor = null;
  let isWaiting = false;

  function readInk() {
    const styles = getComputedStyle(root);
    const colour = (name) => styles.getPropertyValue("--" + name).trim();
    ink = {
      page: colour("page"), text: colour("text"), muted: colour("muted"), grid: colour("grid"), axis: colour("axis"),
      data: colour("a0"), ack: colour("a2"), window: colour("a4"), retransmitted: colour("a1"), sack: colour("a3"), reordered: colour("a5"),
      duplicate: colour("a6"), cwnd: colour("a1"), far: colour("a0"), near: colour("a4"), recovery: colour("a1") + (isDark() ? "2e" : "1f"),
    };
  }

  // The panels from top to bottom: their place, and the functions from values to pixels.
  function layout() {
    const width = figure.clientWidth;
    const height = figure.clientHeight;
    const [left, right, above, below] = [74, width - 14, 26, 46];
    const room = height - below - PANELS.length * above;
    const span = view.to - view.from;
    const x = (t) => left + ((t - view.from) / span) * (right - left);
    let top = 0;
    for (const panel of PANELS) {
      top += above;
      const bottom = Math.round(top + room * panel.share);
      panel.box = { left, right, top: Math.round(top), bottom };
      panel.range = fixed[panel.name] ?? panel.fit(flow, view, right - left);
      const [least, most] = panel.range;
      // Where only ranges are known that are fixed, what `fit` computes beside them is still needed.
      if (fixed[panel.name]) panel.fit(flow, view, right - left);
      panel.x = x;
      panel.y = (value) => bottom - ((value - least) / (most - least)) * (bottom - panel.box.top);
      top = bottom;
    }
    return { width, height };
  }

  function prepareCanvas(surface, { width, height }) {
    const ratio = window.devicePixelRatio || 1;
    if (surface.width !== Math.round(width * ratio) || surface.height !== Math.round(height * ratio)) {
      surface.width = Math.round(width * ratio);
      surface.height = Math.round(height * ratio);
    }
    const ctx = surface.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    return ctx;
  }

  function draw() {
    isWaiting = false;
    const began = performance.now();
    const size = layout();
    const ctx = prepareCanvas(canvas, size);
    ctx.fillStyle = ink.page;
    ctx.fillRect(0, 0, size.width, size.height);
    let seen = {};
    PANELS.forEach((panel, number) => {
      const { box } = panel;
      const isLast = number === PANELS.length - 1;
      drawGrid(ctx, panel, view, ink, isLast);
      ctx.save();
      ctx.beginPath();
      ctx.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
      ctx.clip();
      const result = panel.draw(ctx, panel, flow, view, ink, shows);
      if (number === 0) seen = result;
      ctx.restore();
      drawFrame(ctx, panel, ink, isLast);
    });
    drawCursor();
    const milliseconds = performance.now() - began;
    Object.assign(root.dataset, {
      drawn: "true", from: view.from / 1e9, to: view.to / 1e9, data: seen.data, acks: seen.acks, letters: seen.letters,
      milliseconds: milliseconds.toFixed(1), panels: PANELS.map((panel) => panel.range.map((end) => end.toPrecision(6)).join(":")).join(" "),
    });
    root.dataset.first ??= (performance.now()).toFixed(0);
    status.textContent = `${inUnit("time", view.to - view.from)} in view: ${count(seen.data)} of ${count(flow.data.t.length)} data packets, ` +
      `${count(seen.acks)} of ${count(flow.acks.t.length)} acknowledgments`;
  }

  function redraw() {
    if (isWaiting) return;
    isWaiting = true;
    const drawOnce = () => { if (isWaiting) draw(); };
    requestAnimationFrame(drawOnce);
    // Browsers without a window may have no further frame.
    setTimeout(drawOnce, 250);
  }

  // View

  // Shows a time span, within the flow and no shorter than 100 ns.
  function show(from, to) {
    const margin = (flow.end - flow.begin) * 0.02 + 1000;
    const [least, most] = [flow.begin - margin, flow.end + margin];
    const span = Math.min(Math.max(to - from, 100), most - least);
    const start = Math.min(Math.max(from + (to - from - span) / 2, least), most - span);
    view = { from: start, to: start + span };
    redraw();
    clearTimeout(show.later);
    show.later = setTimeout(keepAddress, 400);
  }

  // The address is a link to this view. Some browsers allow no change of it for files.
  function keepAddress() {
    const place = new URLSearchParams(location.hash.slice(1));
    place.set("from", (view.from / 1e9).toFixed(9));
    place.set("to", (view.to / 1e9).toFixed(9));
    try { history.replaceState(null, "", "#" + place); } catch { /* the view is not in the address then */ }
  }

  function showAll() {
    fixed = {};
    const margin = (flow.end - flow.begin) * 0.01;
    show(flow.begin - margin, flow.end + margin);
  }

  function zoom(factor, at = (view.from + view.to) / 2) {
    show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  }

  function pan(share) {
    const step = (view.to - view.from) * share;
    show(view.from + step, view.to + step);
  }

  function zoomValues(panel, factor, at) {
    const [least, most] = panel.range;
    fixed[panel.name] = [at - (at - least) * factor, at + (most - at) * factor];
    redraw();
  }

  const panelAt = (py) => PANELS.find(({ box }) => py >= box.top - 8 && py <= box.bottom + 8);
  const valueAt = ({ box, range }, py) => range[0] + ((box.bottom - py) / (box.bottom - box.top)) * (range[1] - range[0]);
  const place = (event) => {
    const { left, top } = overlay.getBoundingClientRect();
    return { px: event.clientX - left, py: event.clientY - top };
  };

  // Pointer: the wheel zooms time, with Shift values; a drag pans; a drag with Shift zooms into a box.

  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { px, py } = place(event);
    const lines = event.deltaMode === 1 ? 33 : 1;
    const across = event.deltaX * lines;
    const along = event.deltaY * lines;
    if (event.shiftKey) {
      const panel = panelAt(py);
      if (panel) zoomValues(panel, Math.exp((along || across) * 0.002), valueAt(panel, py));
    } else if (Math.abs(across) > Math.abs(along)) {
      pan(across / overlay.clientWidth);
    } else {
      zoom(Math.exp(along * 0.002), timeAt(view, px));
    }
  }, { passive: false });

  let drag = null;
  overlay.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    overlay.setPointerCapture(event.pointerId);
    const at = place(event);
    drag = { ...at, view, panel: panelAt(at.py), isBox: event.shiftKey, last: at };
    drag.range = drag.panel && fixed[drag.panel.name];
  });
  overlay.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!drag) {
      hover(at);
      return;
    }
    drag.last = at;
    if (drag.isBox) {
      drawCursor();
      return;
    }
    const { box } = PANELS[0];
    const moved = ((drag.px - at.px) / (box.right - box.left)) * (drag.view.to - drag.view.from);
    show(drag.view.from + moved, drag.view.to + moved);
    if (drag.range) {
      const { box: own, name } = drag.panel;
      const raised = ((at.py - drag.py) / (own.bottom - own.top)) * (drag.range[1] - drag.range[0]);
      fixed[name] = drag.range.map((end) => end + raised);
    }
  });
  overlay.addEventListener("pointerup", () => {
    const ended = drag;
    drag = null;
    if (!ended?.isBox) return;
    const { px, py, last, panel } = ended;
    if (Math.abs(last.px - px) > 4) {
      const [from, to] = [timeAt(view, Math.min(px, last.px)), timeAt(view, Math.max(px, last.px))];
      if (panel && Math.abs(last.py - py) > 8) fixed[panel.name] = [valueAt(panel, Math.max(py, last.py)), valueAt(panel, Math.min(py, last.py))];
      show(from, to);
    } else {
      drawCursor();
    }
  });
  overlay.addEventListener("pointercancel", () => { drag = null; });
  overlay.addEventListener("pointerleave", () => { if (!drag) setCursor(null); });
  overlay.addEventListener("dblclick", showAll);

  // Hover: the packet or acknowledgment that is nearest, and the values of all panels at that time.

  function hover({ px, py }) {
    const panel = panelAt(py);
    if (!panel || px < panel.box.left || px > panel.box.right) {
      setCursor(null);
      return;
    }
    setCursor({ t: timeAt(view, px), found: panel === PANELS[0] ? nearest(flow, view, px, py) : null, px, py });
  }

  function setCursor(next) {
    cursor = next;
    drawCursor();
    tip.hidden = !cursor;
    if (!cursor) {
      delete root.dataset.tip;
      return;
    }
    const { found } = cursor;
    const lines = !found ? wordsOfTime(flow, cursor.t) : found.kind === "data" ? wordsOfData(flow, found.at) : wordsOfAck(flow, found.at);
    tip.replaceChildren(...lines.map((text, number) => Object.assign(document.createElement(number ? "div" : "strong"), { textContent: text })));
    root.dataset.tip = lines.join(" | ");
    const { px, py } = cursor;
    const left = px + 18 + tip.offsetWidth > figure.clientWidth ? px - 14 - tip.offsetWidth : px + 14;
    tip.style.transform = `translate(${Math.max(0, left)}px, ${Math.min(py + 14, figure.clientHeight - tip.offsetHeight - 4)}px)`;
  }

  function drawCursor() {
    const ctx = prepareCanvas(overlay, { width: figure.clientWidth, height: figure.clientHeight });
    if (drag?.isBox) {
      ctx.fillStyle = ink.data + "33";
      ctx.strokeStyle = ink.data;
      const { px, py, last } = drag;
      const isTall = Math.abs(last.py - py) > 8 && drag.panel;
      const [top, bottom] = isTall ? [Math.min(py, last.py), Math.max(py, last.py)] : [PANELS[0].box.top, PANELS.at(-1).box.bottom];
      ctx.fillRect(Math.min(px, last.px), top, Math.abs(last.px - px), bottom - top);
      ctx.strokeRect(Math.min(px, last.px), top, Math.abs(last.px - px), bottom - top);
    }
    if (!cursor) return;
    const [panel] = PANELS;
    const { found } = cursor;
    const t = !found ? cursor.t : flow[found.kind].t[found.at];
    const x = Math.round(panel.x(t)) + 0.5;
    ctx.strokeStyle = ink.muted;
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 3]);
    for (const { box } of PANELS) line(ctx, x, box.top, x, box.bottom);
    ctx.setLineDash([]);
    if (!found) return;
    const middle = found.kind === "data" ? flow.data.start[found.at] + flow.data.length[found.at] / 2 : flow.acks.ack[found.at];
    ctx.strokeStyle = ink.text;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.arc(x, panel.y(middle), 7, 0, 2 * Math.PI);
    ctx.stroke();
  }

  // Goes to the next or the last packet that stands out, with the view around it.
  function goTo(step) {
    const { retransmitted, duplicate, reordered, other, flags: ends, ecn } = flow.lists;
    const list = [[shows.retransmitted, retransmitted], [shows.duplicate, duplicate], [shows.reordered, reordered], [shows.other, other], [shows.flags, ends], [shows.flags, ecn]]
      .flatMap(([isShown, packets]) => (isShown ? packets : [])).sort((one, other) => one - other);
    if (list.length === 0) return;
    const from = cursor?.found?.kind === "data" ? cursor.found.at : lowerBound(flow.data.t, (view.from + view.to) / 2) - (step > 0 ? 1 : 0);
    const place = lowerBound(list, from + (step > 0 ? 1 : 0)) + (step > 0 ? 0 : -1);
    const at = list[(place + list.length) % list.length];
    const span = view.to - view.from;
    delete fixed.sequence;
    show(flow.data.t[at] - span / 2, flow.data.t[at] + span / 2);
    // The place of the packet in the new view is known after the drawing.
    draw();
    const [panel] = PANELS;
    setCursor({ t: flow.data.t[at], found: { kind: "data", at }, px: panel.x(flow.data.t[at]), py: panel.y(flow.data.start[at]) });
  }

  const KEYS = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: showAll, Home: showAll,
    ArrowUp: () => zoomValues(PANELS[0], 0.8, (PANELS[0].range[0] + PANELS[0].range[1]) / 2),
    ArrowDown: () => zoomValues(PANELS[0], 1.25, (PANELS[0].range[0] + PANELS[0].range[1]) / 2),
    f: () => { fixed = {}; redraw(); }, n: () => goTo(1), p: () => goTo(-1), Escape: () => setCursor(null),
  };
  figure.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });

  // Controls

  function legend() {
    const { lists, data, acks, sacks } = flow;
    const entries = [
      ["data", "data, with SYN, FIN and RST", data.t.length], ["retransmitted", "retransmitted (R, RTO, TLP)", lists.retransmitted.length],
      ["duplicate", `${flow.duplicate_words}s (${flow.duplicate_letters})`, lists.duplicate.length], ["reordered", "reordered (O)", lists.reordered.length],
      ["other", "late or probe (L, P)", lists.other.length], ["ack", "acknowledgments", acks.t.length], ["sack", "SACK blocks", sacks.t.length],
      ["window", "receive window", null], ["cwnd", "cwnd estimate", null],
      ["far", "RTT to the receiver", flow.far.t.length], ["near", "RTT to the sender", flow.near.t.length], ["flags", "flags, ECN, zero windows, PSH ◆", null],
    ];
    const inks = { ...ink, other: ink.muted, flags: ink.text };
    const buttons = entries.filter(([, , n]) => n !== 0).map(([name, text, n]) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      const isSide = name === "near" || name === "far";
      const isShown = () => (isSide ? !flow.hides.has(name) : shows[name]);
      button.setAttribute("aria-pressed", isShown());
      const swatch = document.createElement("i");
      swatch.style.background = inks[name];
      button.append(swatch, n === null ? text : `${text}: ${count(n)}`);
      button.addEventListener("click", () => {
        if (!isSide) shows[name] = !shows[name];
        else if (!flow.hides.delete(name)) flow.hides.add(name);
        button.setAttribute("aria-pressed", isShown());
        redraw();
      });
      return button;
    });
    element("legend").replaceChildren(...buttons);
  }

  async function choose(number) {
    if (!flows[number]) {
      status.textContent = "Unpacking the points …";
      flows[number] = await readFlow(description.flows[number], element(`flow-${number}`).textContent);
      element(`flow-${number}`).remove();
    }
    flow = flows[number];
    fixed = {};
    setCursorToNothing();
    legend();
    element("omitted").hidden = !flow.omitted;
    element("omitted").textContent = flow.omitted ? `The figure ends at ${seconds(flow.end)}: ${count(flow.omitted)} later packets are left out.` : "";
  }

  function setCursorToNothing() {
    cursor = null;
    tip.hidden = true;
  }

  function chooseTheme(theme) {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
    element("theme").textContent = isDark() ? "Light" : "Dark";
    readInk();
    if (!flow) return;
    legend();
    redraw();
  }

  element("theme").addEventListener("click", () => chooseTheme(isDark() ? "light" : "dark"));
  system.addEventListener("change", () => chooseTheme());
  element("all").addEventListener("click", showAll);
  element("in").addEventListener("click", () => zoom(0.5));
  element("out").addEventListener("click", () => zoom(2));
  element("previous").addEventListener("click", () => goTo(-1));
  element("next").addEventListener("click", () => goTo(1));
  element("save").addEventListener("click", () => canvas.toBlob((blob) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "time-sequence.png" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }));
  element("direction")?.addEventListener("change", async (event) => {
    await choose(Number(event.target.value));
    showAll();
  });
  new ResizeObserver(() => { if (flow) redraw(); }).observe(figure);

  chooseTheme(address.get("theme"));
  choose(0).then(() => {
    const [from, to] = [address.get("from"), address.get("to")].map((text) => Number(text ?? NaN) * 1e9);
    if (to > from) show(from, to); else showAll();
  }).catch((error) => {
    status.textContent = `This browser cannot draw the figure: ${error.message}. Use Chromium 103, Firefox 113 or Safari 16.4, or later ones.`;
    root.dataset.failed = error.message;
  });
})();
