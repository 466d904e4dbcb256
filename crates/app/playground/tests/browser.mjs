// Opens the playground in Chromium, drags a slider, and prints what it measured as JSON.
// usage: node --experimental-websocket browser.mjs BROWSER PAGE.html|http://ADDRESS [PICTURES-FOLDER]
// Exit 1: something is not as it should be; the reason is in the last line.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [browser, page, pictures] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "playground-"));
const process_ = spawn(browser, ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"], { stdio: "ignore" });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what, ms, condition) {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const value = await condition();
    if (value) return value;
    await pause(50);
  }
  throw new Error(`${what}: not within ${ms / 1000} s`);
}

function check(condition, message) {
  if (!condition) throw new Error(message);
}

async function connect() {
  const port = await until("the browser has a port", 30_000, () => {
    try {
      return readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n")[0];
    } catch {
      return null;
    }
  });
  const tabs = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const socket = new WebSocket(tabs.find(({ type }) => type === "page").webSocketDebuggerUrl);
  await new Promise((resolve) => { socket.onopen = resolve; });
  const waiting = new Map(), errors = [];
  let last = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) waiting.get(message.id)(message.result ?? message.error);
    const { method, params } = message;
    const isError = method === "Runtime.exceptionThrown" || (method === "Log.entryAdded" && params.entry.level === "error") ||
      (method === "Runtime.consoleAPICalled" && params.type === "error");
    if (isError) errors.push(JSON.stringify(params).slice(0, 400));
  };
  const send = (method, params = {}) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    socket.send(JSON.stringify({ id: last, method, params }));
  });
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    check(!exceptionDetails, `${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  return { send, evaluate, errors };
}

const idle = "['a', 'b'].every((x) => { const s = playground.sides[x]; return s && !s.running && !s.wanted && s.run && !s.isPart; })";
const throughput = "JSON.stringify(playground.sides.a.run.flows[0].goodput_bps)";

async function test({ send, evaluate, errors }) {
  const picture = async (name) => {
    if (!pictures) return;
    const { data } = await send("Page.captureScreenshot", { format: "png" });
    writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, "base64"));
  };
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  const size = (width, height, mobile = false) => send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
  const scheme = (value) => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  await size(1280, 900);
  await scheme("light");
  const address = page.startsWith("http://") ? page : pathToFileURL(resolve(page)).href;
  const began = performance.now();
  await send("Page.navigate", { url: address });
  await until("the first picture", 30_000, () => evaluate("Boolean(globalThis.playground?.drawn)"));
  const firstPicture = performance.now() - began;
  await until("both runs", 60_000, () => evaluate(idle));
  await pause(200);
  await picture("light");
  const before = await evaluate(throughput);

  // A drag of the loss slider of setting A, back and forth, with the frames that the page had meanwhile.
  const box = await evaluate("(({ left, top, width, height }) => ({ left, top, width, height }))(document.getElementById('a-loss').getBoundingClientRect())");
  const y = box.top + box.height / 2, at = (part) => box.left + 8 + (box.width - 16) * part;
  const mouse = (type, x) => send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1 });
  await evaluate("playground.frames = []; playground.isMeasured = true; requestAnimationFrame(function frame(t) { playground.frames.push(t); if (playground.isMeasured) requestAnimationFrame(frame); }); playground.before = playground.drawn");
  await mouse("mousePressed", at(0.5));
  const start = performance.now();
  while (performance.now() - start < 4000) {
    const t = (performance.now() - start) / 4000;
    await mouse("mouseMoved", at(0.5 + 0.45 * Math.sin(t * 4 * Math.PI)));
    await pause(12);
  }
  const { frames, drawn, during } = await evaluate("playground.isMeasured = false; ({ frames: playground.frames, drawn: playground.drawn - playground.before, during: playground.sides.a.isPart })");
  await picture("dragging");
  await mouse("mouseReleased", at(0.5));
  const seconds = (frames.at(-1) - frames[0]) / 1000;
  const gaps = frames.slice(1).map((frame, i) => frame - frames[i]).sort((x, y) => x - y);
  await until("the whole run after the drag", 60_000, () => evaluate(idle));
  check(before !== (await evaluate(throughput)), "the throughput is the same after the drag");
  check((await evaluate("location.hash")).includes("a.loss="), "the address lacks the loss of setting A");

  // The address of the page gives the same settings again, and the same run.
  const settings = await evaluate("JSON.stringify(playground.state.settings)"), shared = await evaluate("location.href"), run = await evaluate(throughput);
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url: shared });
  await until("the shared page", 60_000, () => evaluate(`Boolean(globalThis.playground) && ${idle}`));
  check(settings === (await evaluate("JSON.stringify(playground.state.settings)")), "the shared address gives other settings");
  check(run === (await evaluate(throughput)), "the shared address gives another run");
  await evaluate("document.getElementById('a-copy').click()");
  const scenario = await until("the copied scenario", 5_000, () => evaluate("playground.copied"));

  // A mistake is shown as text, with its remedy.
  await evaluate("location.hash = '#compare=1&a.rate=1e8&a.rtt=0.0001&a.buffer=0.01'");
  await until("the message about the buffer", 20_000, () => evaluate("/does not hold one packet.*write at least/.test(document.getElementById('summaries').textContent)"));

  // Many flows, a preset, jumbo frames; then dark, and narrow as a phone.
  await evaluate("location.hash = '#compare=1&overlay=1&a.rate=1e11&a.rtt=0.001&a.loss=0&a.flows=4&a.mtu=9000&a.duration=1&b.rate=1e11&b.rtt=0.001&b.loss=0&b.flows=4&b.mtu=9000&b.duration=1&b.other=bbr'");
  await until("runs of many flows", 60_000, () => evaluate(`playground.state.settings.a.flows === 4 && ${idle}`));
  await scheme("dark");
  await pause(300);
  await picture("dark");
  await size(390, 800, true);
  await pause(400);
  await picture("phone");
  const overflow = await evaluate("document.documentElement.scrollWidth - innerWidth");
  check(overflow <= 0, `a phone's page is ${overflow} pixels too wide`);
  check((await evaluate("[...document.querySelectorAll('input, select, button')].every((x) => x.getAttribute('aria-label') || x.textContent || x.labels?.length)")), "a control has no label");
  check(errors.length === 0, `errors on the console: ${errors.join("\n")}`);
  return {
    first_picture_ms: Math.round(firstPicture), frames_per_s: Math.round((frames.length - 1) / seconds * 10) / 10,
    longest_gap_ms: Math.round(gaps.at(-1)), pictures_per_s: Math.round(drawn / seconds * 10) / 10, is_part: during, scenario,
  };
}

let code = 0;
try {
  console.log(JSON.stringify(await test(await connect())));
} catch (error) {
  console.log(String(error.message ?? error));
  code = 1;
}
process_.kill();
await new Promise((resolve) => process_.on("exit", resolve));
rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
process.exit(code);
