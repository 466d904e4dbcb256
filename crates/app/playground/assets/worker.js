"use strict";
// The model, off the page's thread. Messages to it: {bytes}, once, the compiled form of the module; {id, text}, a scenario to
// execute. Messages from it: {choices}, {id, reached, delivered} of a run that goes on, {id, answer, elapsed}, {id, failure}.
const REPORT_MS = 100; // between two messages about the progress of a run
const decoder = new TextDecoder(), encoder = new TextEncoder();
let model, failure = "", current = null, reported = 0;

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
    watch(reached, delivered) {
      const now = performance.now();
      if (now - reported > REPORT_MS) {
        reported = now;
        postMessage({ id: current, reached, delivered });
      }
      return 1;
    },
    failed(address, length) {
      failure = decoder.decode(bytesAt(address, length));
    },
  },
};

let compiled;
async function start() {
  model = (await WebAssembly.instantiate(compiled, imports)).exports;
}

onmessage = async ({ data }) => {
  if (data.bytes) {
    compiled = await WebAssembly.compile(data.bytes);
    await start();
    postMessage({ choices: JSON.parse(take(BigInt.asUintN(64, model.choices()))) });
    return;
  }
  current = data.id;
  const began = reported = performance.now();
  try {
    const answer = JSON.parse(call("answer", data.text));
    postMessage({ id: data.id, answer, elapsed: performance.now() - began });
  } catch (error) {
    postMessage({ id: data.id, failure: failure || String(error) });
    failure = "";
    await start();
  }
};
