// Assignments by tick, accounts by form.
import { call, keys, say, tell } from "./base.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);

// -- assignments -------------------------------------------------------------------------------

const matrix = $("assignments");
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

// -- accounts ----------------------------------------------------------------------------------

$("user")?.addEventListener("submit", async event => {
  event.preventDefault();
  const password = $("user-password").value;
  const body = { name: $("user-name").value.trim(), role: $("user-role").value };
  if (password) body.password = password;
  say("Saving…", "");
  const done = await tell(() => call("POST", at("/api/users"), body), "✓ Saved");
  if (done) location.reload();
});
// An account keeps its role unless another is chosen.
$("user-name")?.addEventListener("input", () => {
  const row = [...document.querySelectorAll("#users tbody tr")]
    .find(one => one.cells[0].textContent === $("user-name").value.trim());
  if (row) $("user-role").value = row.cells[1].textContent;
});

const isHome = Boolean(matrix || $("user"));
keys({
  2: () => document.querySelector(isHome ? ".brand" : "#organise").click(),
  a: () => matrix?.querySelector("input")?.focus(),
  u: () => $("user-name")?.focus(),
});
