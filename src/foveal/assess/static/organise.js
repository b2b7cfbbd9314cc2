// Assignments by tick.
import { call, keys, say, tell } from "./base.js";
import { at } from "./root.js";

const matrix = document.getElementById("assignments");
matrix?.addEventListener("change", async event => {
  const box = event.target, { topic, assessor } = box.dataset, assigned = box.checked;
  say("Saving…", "");
  const done = await tell(() => call("POST", at("/api/assignments"), { topic, assessor, assigned }),
    assigned ? `✓ Topic ${topic} is assigned to ${assessor}` : `✓ Topic ${topic} is taken from ${assessor}`);
  if (!done) box.checked = !assigned;
});
matrix?.addEventListener("keydown", event => {
  const cell = event.target.closest("td"), row = cell?.parentElement;
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = {
    ArrowLeft: () => cell.previousElementSibling,
    ArrowRight: () => cell.nextElementSibling,
    ArrowUp: () => row.previousElementSibling?.cells[cell.cellIndex],
    ArrowDown: () => row.nextElementSibling?.cells[cell.cellIndex],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  to()?.querySelector("input")?.focus();
});

const isTop = location.pathname === at("/organise");
keys({
  2: () => document.querySelector(isTop ? ".brand" : "#organise").click(),
  a: () => matrix?.querySelector("input")?.focus(),
  ...isTop ? { u: () => document.getElementById("people-link").click() } : {},
});
