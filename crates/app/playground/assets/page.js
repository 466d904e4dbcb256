"use strict";
// The page: controls, two workers with the model, the summaries, and the address.
const LETTERS = ["a", "b"];
// A run while a slider moves shall take so long, that the picture follows the hand.
const LIVE_MS = 40;
// After this time it is stopped, and a shorter one takes its place.
const LIVE_MOST_MS = 120;
// Before the first run nobody knows how fast this browser is: packets a millisecond.
const CAUTIOUS = 4000;
const root = document.documentElement, byId = (id) => document.getElementById(id);

const state = { settings: {}, isCompared: true, isOverlaid: false };
const sides = {}; // by letter: worker, what it does, its last run, its elements
let choices, charts, module;
window.playground = { state, sides, drawn: 0 }; // for tests, and for curious people

// ---- the model's workers ----------------------------------------------------------------------------------------------------

async function unpackModule() {
  const packed = Uint8Array.from(atob(byId("module").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function startWorker(side) {
  const code = new Blob([byId("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(code);
  side.worker = new Worker(address);
  URL.revokeObjectURL(address);
  side.isReady = false;
  side.running = null;
  side.worker.onmessage = ({ data }) => received(side, data);
  side.worker.onerror = (event) => fail(side, event.message || "the worker with the model did not start");
  side.worker.postMessage({ module });
}

function received(side, data) {
  if (data.choices) {
    side.isReady = true;
    side.whenReady?.(data.choices);
    next(side);
  } else if (data.id !== side.running?.id) {
    // Of a run that was given up.
  } else if (data.answer === "stopped") {
    const reached = Math.max(data.stopped / 1e9, side.running.seconds / 1000);
    side.cost = costOf(state.settings[side.letter], data.elapsed, reached);
    side.running = null;
    side.wanted ??= { isLive: true };
    next(side);
  } else if (data.answer) {
    const { seconds } = side.running;
    side.running = null;
    finished(side, data.answer, seconds, data.elapsed);
    next(side);
  } else if (data.failure) {
    side.running = null;
    fail(side, data.failure);
    next(side);
  } else {
    side.progress.hidden = false;
    side.progress.value = data.reached / 1e9 / side.running.seconds;
  }
}

// Asks for a run of the settings as they are when the worker is free; an older request that waits is dropped.
function request(letter, isLive) {
  const side = sides[letter];
  side.wanted = { isLive };
  const { running } = side;
  // A worker that computes hears nothing: a long run is ended with its worker.
  if (running && !running.isLive && performance.now() - running.began > 2 * LIVE_MS) {
    side.worker.terminate();
    startWorker(side);
  }
  next(side);
}

let requests = 0;
function next(side) {
  if (!side.isReady || side.running || !side.wanted) return;
  const { isLive } = side.wanted, settings = state.settings[side.letter];
  side.wanted = null;
  const seconds = isLive ? liveSeconds(side, settings) : settings.duration;
  side.running = { id: ++requests, seconds, isLive, began: performance.now() };
  side.worker.postMessage({ id: side.running.id, text: scenario(settings, seconds), most: isLive ? LIVE_MOST_MS : Infinity });
}

// How long a run may last while a slider moves: what the last one cost a second of its time, at the rate of this one.
function liveSeconds(side, settings) {
  const fastest = fastestOf(settings);
  const cost = side.cost ? (side.cost.msPerSecond * Math.max(1, fastest / side.cost.fastest)) : fastest / CAUTIOUS;
  const affordable = LIVE_MS / Math.max(cost, 1e-6);
  // Four times the last one at most: what was cheap because it was short may not be so.
  const bounded = Math.min(affordable, side.cost ? 4 * side.cost.seconds : affordable);
  // Whole milliseconds, as of samples, and few digits.
  const whole = Math.max(2, Math.round(Number((bounded * 1000).toPrecision(3)))) / 1000;
  return Math.min(settings.duration, whole);
}

const fastestOf = (settings) => settings.rate / 8 / Number(settings.mtu); // packets a second that the path can carry
const costOf = (settings, elapsed, seconds) => ({ msPerSecond: elapsed / seconds, fastest: fastestOf(settings), seconds });

function finished(side, answer, seconds, elapsed) {
  const settings = state.settings[side.letter];
  side.cost = costOf(settings, elapsed, seconds);
  side.progress.hidden = true;
  if (answer.error) {
    fail(side, answer.error);
    return;
  }
  side.run = answer.runs.runs[0];
  side.warnings = answer.runs.warnings;
  side.failure = null;
  side.isPart = seconds < 0.999 * settings.duration;
  side.elapsed = elapsed;
  draw();
}

function fail({ letter }, message) {
  const side = sides[letter];
  if (!side) {
    notify(message);
    return;
  }
  side.run = null;
  side.failure = message;
  side.progress.hidden = true;
  draw();
}

// ---- drawing ---------------------------------------------------------------------------------------------------------------

let isDrawingPlanned = false;
function draw() {
  if (isDrawingPlanned) return;
  isDrawingPlanned = true;
  requestAnimationFrame(() => {
    isDrawingPlanned = false;
    const letters = shownLetters();
    for (const letter of letters) summarise(sides[letter]);
    const runs = Object.fromEntries(letters.filter((letter) => sides[letter].run).map((letter) => [letter, sides[letter].run]));
    if (Object.keys(runs).length === 0) return;
    charts.draw(runs, state.isOverlaid ? [letters] : letters.map((letter) => [letter]));
    window.playground.drawn += 1;
  });
}

const shownLetters = () => (state.isCompared ? LETTERS : ["a"]);

// The numbers of a run: column, and text.
const NUMBERS = [
  ["Goodput", ({ run }) => run.goodput_bps !== null && rateText(run.goodput_bps)],
  ["Mean RTT", ({ run }) => run.rtt_mean_ns !== null && timeText(run.rtt_mean_ns / 1e9)],
  ["Largest queue", ({ run }) => bytesText(run.backlog_max_bytes)],
  ["Retransmitted", ({ run }) => countText(run.retransmitted_packets)],
  ["Dropped", ({ run }) => countText(run.dropped_packets)],
  ["Lost", ({ run }) => countText(run.lost_packets)],
  ["Fairness", ({ run }) => run.fairness !== null && run.fairness.toFixed(3)],
  ["Simulated", ({ run, isPart }) => (isPart ? "first " : "") + timeText(run.duration_ns / 1e9)],
  ["Computed in", ({ elapsed }) => timeText(elapsed / 1e3, 2)],
];

function summarise(side) {
  const isThere = side.run && !side.failure;
  NUMBERS.forEach(([, text], i) => { side.cells[i].textContent = (isThere && text(side)) || "-"; });
  const messages = side.failure ? [side.failure] : side.warnings ?? [];
  const text = messages.join("\n");
  if (side.messages.dataset.text !== text) {
    side.messages.dataset.text = text;
    side.messages.replaceChildren(...messages.map((message) => element("p", { className: "message", textContent: `${side.letter.toUpperCase()}: ${message}` })));
  }
}

// ---- controls --------------------------------------------------------------------------------------------------------------

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function buildSide(letter) {
  const side = { letter, inputs: {} }, capital = letter.toUpperCase();
  const box = element("fieldset", { className: "side" });
  box.style.setProperty("--side", `var(--${letter})`);
  box.append(element("h2", { textContent: `Setting ${capital}` }));
  box.setAttribute("aria-label", `Setting ${capital}`);
  for (const slider of SLIDERS) {
    const output = element("output");
    const input = element("input", { type: "range", min: 0, max: 1000, step: slider.key === "flows" ? 1 : 2, id: `${letter}-${slider.key}` });
    input.setAttribute("aria-label", `${slider.name} of setting ${capital}`);
    const show = () => {
      const text = slider.text(state.settings[letter][slider.key]);
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", () => {
      state.settings[letter][slider.key] = slider.scale.value(Number(input.value));
      show();
      request(letter, true);
    });
    input.addEventListener("change", () => changed(letter));
    side.inputs[slider.key] = () => {
      input.value = slider.scale.position(state.settings[letter][slider.key]);
      show();
    };
    box.append(element("label", { className: "field" }, element("span", {}, slider.name, output), input));
  }
  for (const list of LISTS) {
    const select = element("select", { id: `${letter}-${list.key}` });
    select.setAttribute("aria-label", `${list.name} of setting ${capital}`);
    for (const { name, label, about } of list.options(choices)) {
      select.append(element("option", { value: name, textContent: label ?? name, title: about ?? "" }));
    }
    select.addEventListener("change", () => {
      state.settings[letter][list.key] = select.value;
      changed(letter);
    });
    side.inputs[list.key] = () => { select.value = state.settings[letter][list.key]; };
    box.append(element("label", { className: "field" }, element("span", {}, list.name), select));
  }
  const copy = element("button", { type: "button", id: `${letter}-copy`, textContent: "Copy as scenario" });
  copy.addEventListener("click", () => copyText(scenario(state.settings[letter]), `Scenario ${capital} is copied. Save it as x.toml, then type: wirespeed run x.toml`));
  box.append(copy);
  byId("settings").append(box);

  side.box = box;
  side.progress = element("progress", { max: 1, value: 0, hidden: true });
  side.progress.setAttribute("aria-label", `Progress of setting ${capital}`);
  side.messages = element("div");
  side.messages.setAttribute("role", "alert");
  side.cells = NUMBERS.map(() => element("td", { textContent: "-" }));
  side.row = element("tr", {}, Object.assign(element("th", { textContent: capital }), { scope: "row" }), ...side.cells);
  byId("numbers").append(side.row);
  byId("summaries").append(side.messages, side.progress);
  for (const part of [side.row, side.messages, side.progress]) part.style.setProperty("--side", `var(--${letter})`);
  return side;
}

// A setting has its final value: the whole run, and the address.
function changed(letter) {
  request(letter, false);
  writeAddress();
}

async function copyText(text, message) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page of a file may lack the clipboard's newer form.
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  window.playground.copied = text;
  notify(message);
}

let noticeTimer;
function notify(message) {
  const notice = byId("notice");
  notice.textContent = message;
  notice.classList.add("shown");
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => notice.classList.remove("shown"), 3500);
}

// ---- the address -----------------------------------------------------------------------------------------------------------

function writeAddress() {
  const parts = [`compare=${state.isCompared ? 1 : 0}`, `overlay=${state.isOverlaid ? 1 : 0}`];
  for (const letter of LETTERS) parts.push(...toQuery(state.settings[letter], letter));
  history.replaceState(null, "", `#${parts.join("&")}`);
}

function readAddress() {
  const query = new URLSearchParams(location.hash.slice(1));
  for (const letter of LETTERS) state.settings[letter] = fromQuery(query, letter, choices);
  if (!query.has("compare")) Object.assign(state.settings.b, { algorithm: "bbr" });
  state.isCompared = query.get("compare") !== "0";
  state.isOverlaid = query.has("overlay") ? query.get("overlay") === "1" : innerWidth < 900;
}

function showAll() {
  byId("compare").checked = state.isCompared;
  byId("overlay").checked = state.isOverlaid;
  byId("overlay").parentElement.hidden = !state.isCompared;
  for (const letter of LETTERS) {
    const side = sides[letter], isShown = shownLetters().includes(letter);
    side.box.hidden = side.row.hidden = side.messages.hidden = !isShown;
    for (const show of Object.values(side.inputs)) show();
    if (isShown) request(letter, false);
  }
}

// ---- start -----------------------------------------------------------------------------------------------------------------

function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)"), button = byId("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; draw(); };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  button.textContent = isDark() ? "Light" : "Dark";
}

async function begin() {
  if (typeof DecompressionStream !== "function" || typeof WebAssembly !== "object") {
    notify("This browser lacks WebAssembly or DecompressionStream. Open the page in Chrome 103, Firefox 113, Safari 16.4 or later.");
    return;
  }
  module = await unpackModule();
  charts = new Charts(byId("charts"));
  const first = { letter: "a", progress: { hidden: true } };
  choices = await new Promise((resolve) => {
    first.whenReady = resolve;
    startWorker(first);
  });
  readAddress();
  byId("columns").append(...NUMBERS.map(([name]) => element("th", { scope: "col", textContent: name })));
  for (const letter of LETTERS) sides[letter] = buildSide(letter);
  Object.assign(sides.a, { worker: first.worker, isReady: true, running: null });
  first.worker.onmessage = ({ data }) => received(sides.a, data);
  startWorker(sides.b);
  byId("compare").addEventListener("change", (event) => { state.isCompared = event.target.checked; showAll(); draw(); writeAddress(); });
  byId("overlay").addEventListener("change", (event) => { state.isOverlaid = event.target.checked; draw(); writeAddress(); });
  byId("share").addEventListener("click", () => { writeAddress(); copyText(location.href, "The address with both settings is copied."); });
  addEventListener("hashchange", () => { readAddress(); showAll(); });
  themeButton();
  showAll();
}
begin();
