"use strict";
// The list of runs: filters, sorts, and makes only the rows that are visible.
(() => {
  const main = document.querySelector("main"), base = main.dataset.base;
  const byId = (id) => document.getElementById(id);
  const facts = byId("facts"), count = byId("count"), list = byId("list"), table = byId("runs");
  const search = byId("search"), status = byId("status"), factors = byId("factors"), more = byId("more"), compare = byId("compare");
  const head = table.tHead.rows[0], body = table.tBodies[0];
  const ROW = 38; // px, as in the style
  const ID = 0, STATUS = 1, REASON = 2, LIMIT = 3, REPEAT = 4, SUBSTRATE = 5, LEVELS = 6, METRICS = 7;
  const MISSING = "–";

  let data = null, columns = [], shown = [], heads = "";
  const extra = [], ticked = new Set();
  const sorting = { by: "id", falls: false };

  const whole = (n) => n.toLocaleString("en");

  // One unit for a column, so that its numbers can be compared.
  function scale(unit, values) {
    const largest = values.reduce((most, v) => (v === null ? most : Math.max(most, Math.abs(v))), 0);
    const steps = {
      "bit/s": [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
      ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
      bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    }[unit];
    if (!steps) return { by: 1, unit };
    const [by, name] = steps.find(([step]) => largest >= step) || steps[steps.length - 1];
    return { by, unit: name };
  }

  function number(value, by) {
    if (value === null) return MISSING;
    const scaled = value / by, size = Math.abs(scaled);
    if (size === 0) return "0";
    if (size < 1e-3) return scaled.toExponential(2);
    return scaled.toLocaleString("en", { maximumSignificantDigits: 4 });
  }

  function plan() {
    const text = (key, name, of) => ({ key, name, of, show: of });
    columns = [text("id", "Run", (run) => run[ID]), text("status", "Status", (run) => run[STATUS])];
    data.factors.forEach((factor, i) => {
      const levels = factor.levels;
      columns.push({ key: "factor." + factor.key, name: factor.head, title: factor.key,
        of: (run) => run[LEVELS][i], show: (run) => (run[LEVELS][i] === null ? MISSING : levels[run[LEVELS][i]]) });
    });
    data.metrics.forEach((metric, i) => {
      const { by, unit } = scale(metric.unit, data.runs.map((run) => run[METRICS][i]));
      columns.push({ key: "metric." + metric.name, name: metric.words, unit, title: metric.name, isNumber: true,
        of: (run) => run[METRICS][i], show: (run) => number(run[METRICS][i], by) });
    });
    // A run that is not complete has its reason in the place of the limiting factor.
    columns.push(text("limit", "Limiting factor, or reason", (run) => run[REASON] || run[LIMIT] || MISSING));
    columns.push(text("substrate", "Substrate", (run) => run[SUBSTRATE] || MISSING));
  }

  function drawHead() {
    const text = JSON.stringify(columns.map((c) => [c.key, c.name, c.unit])) + JSON.stringify(sorting);
    if (text === heads) return;
    heads = text;
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sort : undefined;
    const tick = document.createElement("th");
    tick.scope = "col";
    tick.textContent = "Tick";
    head.replaceChildren(tick, ...columns.map((column) => {
      const cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      if (column.isNumber) cell.className = "number";
      if (column.title) cell.title = column.title;
      if (sorting.by === column.key) cell.setAttribute("aria-sort", sorting.falls ? "descending" : "ascending");
      button.type = "button";
      button.dataset.sort = column.key;
      button.textContent = column.name;
      cell.append(button);
      if (column.unit) { const unit = document.createElement("small"); unit.textContent = column.unit; cell.append(unit); }
      return cell;
    }));
    if (focused) { const again = head.querySelector(`[data-sort="${CSS.escape(focused)}"]`); if (again) again.focus(); }
  }

  function drawFilters() {
    const wanted = data.factors.filter((factor) => factor.levels.length > 1);
    const text = JSON.stringify(wanted);
    if (factors.dataset.text !== text) {
      factors.dataset.text = text;
      const before = new Map([...factors.querySelectorAll("select")].map((select) => [select.dataset.key, select.value]));
      factors.replaceChildren(...wanted.map((factor) => {
        const label = document.createElement("label"), select = document.createElement("select");
        label.append(factor.head, select);
        label.title = factor.key;
        select.dataset.key = factor.key;
        select.append(new Option("all", ""), ...factor.levels.map((level) => new Option(level, level)));
        if (factor.levels.includes(before.get(factor.key))) select.value = before.get(factor.key);
        return label;
      }));
    }
    const others = JSON.stringify(data.other_metrics);
    if (more.dataset.text !== others) {
      more.dataset.text = others;
      more.replaceChildren(new Option("…", ""), ...data.other_metrics.map((metric) => new Option(metric.words, metric.name)));
    }
  }

  // What a search looks at.
  const words = (run) => [run[ID], run[STATUS], run[REASON] || "", run[LIMIT] || "", run[SUBSTRATE], ...run[LEVELS].map((at, i) => (at === null ? "" : data.factors[i].levels[at]))].join(" ").toLowerCase();

  function choose() {
    const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = [...factors.querySelectorAll("select")].filter((select) => select.value !== "").map((select) => {
      const at = data.factors.findIndex((factor) => factor.key === select.dataset.key);
      return [at, data.factors[at].levels.indexOf(select.value)];
    });
    shown = data.runs.filter((run) => (status.value === "" || run[STATUS] === status.value)
      && levels.every(([at, level]) => run[LEVELS][at] === level)
      && (parts.length === 0 || ((text) => parts.every((part) => text.includes(part)))(words(run))));
    const column = columns.find((c) => c.key === sorting.by) || columns[0];
    const sign = sorting.falls ? -1 : 1;
    const collator = new Intl.Collator("en", { numeric: true });
    const keyed = shown.map((run) => [column.of(run), run]);
    keyed.sort(([x, a], [y, b]) => {
      if (x === null || y === null) return (x === null) - (y === null) || collator.compare(a[ID], b[ID]); // missing ones last, either way
      const order = typeof x === "number" ? x - y : collator.compare(x, y);
      return sign * order || collator.compare(a[ID], b[ID]);
    });
    shown = keyed.map(([, run]) => run);
    count.textContent = shown.length === data.runs.length ? `${whole(shown.length)} runs` : `${whole(shown.length)} of ${whole(data.runs.length)} runs`;
  }

  function room(height) {
    const row = document.createElement("tr"), cell = row.insertCell();
    row.className = "room";
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = columns.length + 1;
    cell.style.height = height + "px";
    return row;
  }

  function line(run, at) {
    const row = document.createElement("tr");
    row.className = "run";
    row.setAttribute("aria-rowindex", at + 2);
    const tick = row.insertCell();
    if (run[STATUS] === "complete") {
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = ticked.has(run[ID]);
      box.dataset.id = run[ID];
      box.setAttribute("aria-label", "Compare " + run[ID]);
      tick.append(box);
    }
    for (const column of columns) {
      const cell = row.insertCell(), text = column.show(run);
      if (column.key === "id") {
        const link = document.createElement("a");
        link.href = base + "/run/" + encodeURIComponent(run[ID]);
        link.textContent = text;
        cell.append(link);
      } else {
        cell.textContent = text;
      }
      if (column.isNumber) cell.className = "number";
      else cell.title = text;
      if (column.key === "status") cell.classList.add("status-" + run[STATUS]);
    }
    return row;
  }

  let drawn = "";
  function draw(isForced) {
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - 12);
    const to = Math.min(shown.length, from + Math.ceil(list.clientHeight / ROW) + 24);
    if (!isForced && drawn === from + "-" + to) return;
    drawn = from + "-" + to;
    const focused = document.activeElement && body.contains(document.activeElement) ? document.activeElement : null;
    const mark = focused && (focused.dataset.id !== undefined ? ["box", focused.dataset.id] : ["link", focused.textContent]);
    table.setAttribute("aria-rowcount", shown.length + 1);
    const rows = shown.slice(from, to).map((run, i) => line(run, from + i));
    body.replaceChildren(room(from * ROW), ...rows, room((shown.length - to) * ROW));
    if (mark) {
      const again = [...body.querySelectorAll("a, input")].find((el) => (mark[0] === "box" ? el.dataset.id === mark[1] : el.tagName === "A" && el.textContent === mark[1]));
      if (again) again.focus({ preventScroll: true });
    }
  }

  function update() {
    if (!data) return;
    choose();
    drawHead();
    draw(true);
  }

  function nameCompare() {
    compare.disabled = ticked.size !== 2;
    compare.textContent = ticked.size === 2 ? "Compare the two ticked runs" : `Tick two runs to compare (${ticked.size})`;
  }

  function take(answer) {
    const { reading } = answer;
    if (!answer.unchanged) {
      data = answer;
      const there = new Set(data.runs.map((run) => run[ID]));
      for (const id of ticked) if (!there.has(id)) ticked.delete(id);
      plan();
      drawFilters();
      update();
      nameCompare();
    }
    data.generation = answer.generation;
    const states = new Map();
    for (const run of data.runs) states.set(run[STATUS], (states.get(run[STATUS]) || 0) + 1);
    const parts = [...states].map(([state, n]) => `${whole(n)} ${state}`);
    if (data.studies.length) parts.unshift("study " + data.studies.join(", "));
    if (reading) parts.push(`reading: ${whole(reading.done)} of ${whole(reading.of)}`);
    const text = parts.length ? parts.join(" · ") : "There are no runs yet. New ones appear here by themselves.";
    if (facts.textContent !== text) facts.textContent = text;
    return reading;
  }

  let timer = 0;
  async function look() {
    clearTimeout(timer);
    let pause = 2000;
    if (!document.hidden) {
      try {
        const query = new URLSearchParams(extra.map((name) => ["metric", name]));
        if (data && !data.isOld) query.set("since", data.generation);
        const reading = take(await (await fetch(base + "/api/runs?" + query)).json());
        if (reading) pause = 700;
      } catch (error) {
        facts.textContent = "The server does not answer. Is it still running?";
        console.warn(error.message);
      }
    }
    timer = setTimeout(look, pause);
  }

  head.addEventListener("click", (event) => {
    const button = event.target.closest("[data-sort]");
    if (!button) return;
    const column = columns.find((c) => c.key === button.dataset.sort);
    // Numbers are looked at from the largest down, names from A on.
    if (sorting.by === column.key) sorting.falls = !sorting.falls;
    else Object.assign(sorting, { by: column.key, falls: Boolean(column.isNumber) });
    update();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  const again = () => { list.scrollTop = 0; update(); };
  search.addEventListener("input", again);
  status.addEventListener("change", again);
  factors.addEventListener("change", again);
  more.addEventListener("change", () => {
    if (more.value) { extra.push(more.value); data.isOld = true; look(); }
  });
  list.addEventListener("scroll", () => { if (data) draw(false); }, { passive: true });
  addEventListener("resize", () => { if (data) draw(false); });
  body.addEventListener("change", (event) => {
    const { id } = event.target.dataset;
    if (id === undefined) return;
    if (event.target.checked) ticked.add(id);
    else ticked.delete(id);
    // Two at most: the one that was ticked first goes.
    if (ticked.size > 2) { ticked.delete(ticked.values().next().value); draw(true); }
    nameCompare();
  });
  compare.addEventListener("click", () => {
    const [a, b] = ticked;
    location.href = base + "/compare?" + new URLSearchParams({ a, b });
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  nameCompare();
  look();
})();
