"use strict";
// The model, off the page's thread. Messages to it: {module}, once; {id, text, most}, a scenario to execute in at most so many
// milliseconds. Messages from it: {choices}, {id, reached} of a run that goes on, {id, answer, elapsed}, {id, stopped, elapsed}
// with the time that a run had reached then, {id, failure}.
const REPORT_MS = 100; // between two messages about the progress of a run
const decoder = new TextDecoder(), encoder = new TextEncoder();
let compiled, model, failure = "", current, began = 0, reported = 0, stopped = null;

const bytesAt = (address, length) => new Uint8Array(model.memory.buffer, address, length);

// The text at address x 2^32 + length, whose memory is given back.
function take(result) {
  const address = Number(result >> 32n), length = Number(result & 0xffffffffn);
  const text = decoder.decode(bytesAt(address, length));
  model.release(address, length);
  return text;
}

function call(name, text) {
  const input = encoder.encode(text);
  const address = model.allocate(input.length);
  bytesAt(address, input.length).set(input);
  const result = take(BigInt.asUintN(64, model[name](address, input.length)));
  model.release(address, input.length);
  return result;
}

const imports = {
  playground: {
    watch(reached) {
      const now = performance.now();
      if (now - began > current.most) {
        stopped = reached;
        return 0;
      }
      if (now - reported > REPORT_MS) {
        reported = now;
        postMessage({ id: current.id, reached });
      }
      return 1;
    },
    failed(address, length) {
      failure = decoder.decode(bytesAt(address, length));
    },
  },
};

async function start() {
  model = (await WebAssembly.instantiate(compiled, imports)).exports; // of a compiled module: the instance alone
}

onmessage = async ({ data }) => {
  if (data.module) {
    compiled = data.module;
    await start();
    postMessage({ choices: JSON.parse(take(BigInt.asUintN(64, model.choices()))) });
    return;
  }
  current = data;
  began = reported = performance.now();
  stopped = null;
  try {
    const answer = JSON.parse(call("answer", data.text));
    postMessage({ id: data.id, answer, stopped, elapsed: performance.now() - began });
  } catch (error) {
    postMessage({ id: data.id, failure: failure || String(error) });
    failure = "";
    await start();
  }
};
