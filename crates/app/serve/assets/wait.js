"use strict";
// Waits until the report is finished, and goes there.
(() => {
  const main = document.querySelector("main"), facts = document.getElementById("facts"), bar = document.getElementById("bar");
  async function look() {
    try {
      const answer = await (await fetch(main.dataset.base + "/api/report?at=" + main.dataset.at)).json();
      if (answer.is_finished) { location.replace(main.dataset.next); return; }
      facts.textContent = `${answer.done} of ${answer.of} runs have been read.`;
      bar.max = Math.max(1, answer.of);
      bar.value = answer.done;
    } catch {
      facts.textContent = "The server does not answer. Is it still running?";
    }
    setTimeout(look, 500);
  }
  look();
})();
