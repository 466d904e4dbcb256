"use strict";
// The states of the workers of a campaign, once a second.
(() => {
  const main = document.querySelector("main"), base = main.dataset.base;
  const byId = (id) => document.getElementById(id);
  const facts = byId("facts"), bar = byId("bar"), table = byId("workers"), failures = byId("failures");
  const whole = (n) => n.toLocaleString("en");

  function span(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    const s = Math.max(0, Math.round(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  }

  // A worker writes its state once a second while something happens; a run may take longer.
  const STALE_S = 60;

  function row(worker, now) {
    const age = (now - Date.parse(worker.updated)) / 1000;
    const state = worker.is_over ? "ended" : age > STALE_S ? "no state for " + span(age) : worker.running.length ? "running" : "begun";
    const texts = [worker.worker, worker.host, state, worker.running.join(", ")];
    const numbers = [whole(worker.done), whole(worker.kept), whole(worker.failed), whole(worker.total), span(worker.left_s), span(age) + " ago"];
    const line = document.createElement("tr");
    texts.concat(numbers).forEach((text, i) => {
      const cell = line.insertCell();
      cell.textContent = text;
      if (i >= texts.length) cell.className = "number";
      if (i === 3) { cell.className = "name"; cell.title = text; }
    });
    return line;
  }

  function show(state) {
    if (state.workers.length === 0 && state.damaged.length === 0) {
      facts.textContent = "This folder has no campaign. `wirespeed run` writes its state here while it executes runs.";
      bar.hidden = true;
      table.hidden = true;
      return;
    }
    const finished = state.done + state.kept + state.failed;
    const parts = [`${whole(finished)} of ${whole(state.total)} runs are finished`, `${whole(state.done)} executed`, `${whole(state.kept)} kept`, `${whole(state.failed)} failed`];
    if (state.is_over) parts.push("the campaign has ended");
    else parts.push(`${whole(state.running)} running`, state.left_s === null ? "the time left is not known yet" : `${span(state.left_s)} left`);
    facts.textContent = parts.join(" · ");
    bar.hidden = false;
    bar.max = Math.max(1, state.total);
    bar.value = finished;
    bar.textContent = `${finished} of ${state.total}`;
    const now = Date.parse(state.now);
    table.tBodies[0].replaceChildren(...state.workers.map((worker) => row(worker, now)));
    table.hidden = false;
    const lines = state.workers.flatMap((worker) => worker.failures).concat(state.damaged.map((line) => "A state cannot be read: " + line));
    failures.hidden = lines.length === 0;
    failures.querySelector("ul").replaceChildren(...lines.map((line) => { const item = document.createElement("li"); item.textContent = line; return item; }));
  }

  async function look() {
    if (!document.hidden) {
      try {
        const answer = await fetch(base + "/api/progress");
        if (answer.ok) show(await answer.json());
        else facts.textContent = await answer.text();
      } catch {
        facts.textContent = "The server does not answer. Is it still running?";
      }
    }
    setTimeout(look, 1000);
  }
  look();
})();
