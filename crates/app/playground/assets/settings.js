"use strict";
// The settings of a run: their ranges, their texts, the scenario that they make, and their form in the address of the page.
const FINEST_SAMPLE = 1e-3; // seconds; a scenario has none that is finer
const SAMPLES = 250; // of a run: the interval between two has few digits, and no rest is left at the end

// A number with at most three digits, without zeros at its end.
const digits = (value, most = 3) => String(Number(value.toPrecision(most)));
const rateText = (bps) => (bps >= 1e9 ? `${digits(bps / 1e9)} Gbit/s` : `${digits(bps / 1e6)} Mbit/s`);
const timeText = (seconds, most = 3) => {
  if (seconds >= 1) return `${digits(seconds, most)} s`;
  return seconds >= 1e-3 ? `${digits(seconds * 1e3, most)} ms` : `${digits(seconds * 1e6, most)} us`;
};
const bytesText = (bytes) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(4, bytes >= 1 ? Math.floor(Math.log10(bytes) / 3) : 0);
  return `${digits(bytes / 1000 ** step)} ${units[step]}`;
};
const countText = (count) => (count >= 1e6 ? `${digits(count / 1e6)} M` : count >= 1e4 ? `${digits(count / 1e3)} k` : String(count));

// A slider's position p is 0..1000. A slider on a logarithmic scale with zero has it at its left end.
const logarithmic = (low, high) => ({
  value: (p) => Number((low * (high / low) ** (p / 1000)).toPrecision(3)),
  position: (value) => Math.round((1000 * Math.log(value / low)) / Math.log(high / low)),
});
const withZero = (low, high) => ({
  value: (p) => (p <= 20 ? 0 : Number((low * (high / low) ** ((p - 20) / 980)).toPrecision(2))),
  position: (value) => (value < low ? 0 : Math.round(20 + (980 * Math.log(value / low)) / Math.log(high / low))),
});
const whole = (low, high) => ({
  value: (p) => Math.round(low + ((high - low) * p) / 1000),
  position: (value) => Math.round((1000 * (value - low)) / (high - low)),
});

const SLIDERS = [
  { key: "rate", name: "Rate", low: 1e8, high: 4e11, scale: logarithmic(1e8, 4e11), text: rateText },
  { key: "rtt", name: "RTT", low: 1e-4, high: 0.3, scale: logarithmic(1e-4, 0.3), text: timeText },
  { key: "loss", name: "Loss", low: 0, high: 1e-2, scale: withZero(1e-8, 1e-2), text: (v) => (v ? v.toExponential(1).replace(".0", "") : "none") },
  { key: "buffer", name: "Buffer", low: 0.01, high: 4, scale: logarithmic(0.01, 4), text: (v) => `${digits(v)} BDP` },
  { key: "flows", name: "Flows", low: 1, high: 16, scale: whole(1, 16), text: String },
  { key: "duration", name: "Duration", low: 0.1, high: 900, scale: logarithmic(0.1, 900), text: timeText },
];
const LISTS = [
  { key: "algorithm", name: "Algorithm", options: (choices) => choices.algorithms },
  { key: "other", name: "Second algorithm", options: (choices) => [{ name: "", about: "All flows have the first.", label: "none" }, ...choices.algorithms] },
  { key: "mtu", name: "MTU", options: () => [{ name: "1500", label: "1500 B" }, { name: "9000", label: "9000 B" }] },
  { key: "host", name: "Host preset", options: (choices) => [{ name: "", label: "none" }, ...choices.hosts] },
];
const DEFAULTS = {
  rate: 1e10, rtt: 0.02, loss: 1e-5, buffer: 1, flows: 1, duration: 10,
  algorithm: "cubic", other: "", mtu: "1500", host: "",
};

// The flows of each algorithm: with a second one, it has half of them, rounded down.
function groups(settings) {
  const second = settings.other && settings.other !== settings.algorithm ? Math.floor(settings.flows / 2) : 0;
  const found = [{ algorithm: settings.algorithm, count: settings.flows - second }];
  if (second) found.push({ algorithm: settings.other, count: second });
  return found;
}

// The scenario of settings, as `wirespeed run` takes it; `seconds` is how long it lasts.
function scenario(settings, seconds = settings.duration) {
  const preset = settings.host ? `preset = "${settings.host}"\n` : "";
  const host = (name) => `[host.${name}]\n${preset}mtu = "${settings.mtu} B"\n`;
  const flow = ({ algorithm, count }) => `[[flow]]\ncongestion = "${algorithm}"\ncount = ${count}\n`;
  return [
    `schema = 1\nname = "playground"\nabout = "What do these settings of the playground give?"\n`,
    `[path]\nrate = "${rateText(settings.rate)}"\nrtt = "${timeText(settings.rtt)}"\n` +
      (settings.loss ? `loss = ${settings.loss.toExponential()}\n` : "") + `buffer = "${digits(settings.buffer)} bdp"\n`,
    host("sender"), host("receiver"),
    ...groups(settings).map(flow),
    `[run]\nduration = "${timeText(seconds)}"\nsample = "${timeText(Math.max(FINEST_SAMPLE, seconds / SAMPLES), 7)}"\nseed = 1\n`,
  ].join("\n");
}

// What is not the default, as `rate=1e10&rtt=0.02`.
function toQuery(settings, prefix) {
  const changed = Object.keys(DEFAULTS).filter((key) => settings[key] !== DEFAULTS[key]);
  return changed.map((key) => `${prefix}.${key}=${encodeURIComponent(settings[key])}`);
}

// The settings in a query, each within its range. Others are left out.
function fromQuery(query, prefix, choices) {
  const settings = { ...DEFAULTS };
  for (const { key, low, high } of SLIDERS) {
    const value = Number(query.get(`${prefix}.${key}`) ?? NaN);
    if (Number.isFinite(value)) settings[key] = Math.min(high, Math.max(low, value));
  }
  settings.flows = Math.round(settings.flows);
  for (const { key, options } of LISTS) {
    const value = query.get(`${prefix}.${key}`);
    if (value !== null && options(choices).some(({ name }) => name === value)) settings[key] = value;
  }
  return settings;
}
