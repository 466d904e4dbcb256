// Runs the model's module in Node.
//   node module.mjs MODULE tables SCENARIO.toml LONGEST_MS   prints every row that the model recorded of the scenario's runs
//   node module.mjs MODULE answer SCENARIO.toml              prints the answer that the page would get
//   node module.mjs MODULE choices                           prints what the page offers
//   node module.mjs MODULE speed SCENARIO.toml               prints the packets that it carries a second
import { readFileSync, writeSync } from "node:fs";

const [path, what, scenario, longest] = process.argv.slice(2);
let model;
const text = (address, length) => new TextDecoder().decode(new Uint8Array(model.memory.buffer, address, length));
const imports = {
  playground: {
    watch: () => 1,
    failed: (address, length) => { console.error(text(address, length)); },
  },
};
model = (await WebAssembly.instantiate(readFileSync(path), imports)).instance.exports;

function call(name, ...more) {
  const input = readFileSync(scenario);
  const address = model.allocate(input.length);
  new Uint8Array(model.memory.buffer, address, input.length).set(input);
  const result = model[name](address, input.length, ...more);
  model.release(address, input.length);
  return take(result);
}

function print(bytes) {
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error; // the reader of a pipe is slower
    }
  }
}

// The bytes at address x 2^32 + length, whose memory is given back.
function take(result) {
  const packed = BigInt.asUintN(64, result);
  const [start, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
  const bytes = Buffer.from(new Uint8Array(model.memory.buffer, start, length));
  model.release(start, length);
  return bytes;
}

if (what === "choices") {
  print(take(model.choices()));
} else if (what === "tables") {
  print(call("tables", Number(longest)));
} else if (what === "answer") {
  print(call("answer"));
} else {
  call("answer");
  const began = performance.now();
  const { packets } = JSON.parse(call("answer")).runs.runs[0];
  console.log(Math.round((packets / (performance.now() - began)) * 1000));
}
