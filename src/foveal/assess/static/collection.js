// What there is besides the pool: found documents are added where they stand.
import { call, keys, tell, walk } from "./base.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);
const topic = $("topic").dataset.topic, table = $("documents");
walk(table);

async function add(button) {
  const { doc } = button.dataset;
  button.disabled = true;
  const url = at(`/api/topics/${encodeURIComponent(topic)}/documents`);
  const done = await tell(() => call("POST", url, { doc }), found =>
    found.added ? `✓ Added; ${found.left} documents left` : "It is among the documents already");
  if (!done) { button.disabled = false; return; }
  const state = document.createElement("span");
  state.className = "state new";
  state.textContent = "not seen";
  const row = button.closest("tr");
  button.replaceWith(state);
  row.focus();
}
table?.addEventListener("click", event => {
  const button = event.target.closest("button.add");
  if (button) add(button);
});

const statement = document.querySelector(".statement");
keys({
  "/": () => { $("q").focus(); $("q").select(); },
  a: () => {
    const button = document.activeElement.closest("tr")?.querySelector("button.add");
    if (button) add(button);
  },
  n: () => $("more")?.click(),
  2: () => document.querySelector(".tabs a").click(),
  t: () => { statement.open = !statement.open; },
  ArrowDown: () => table?.querySelector("tbody tr").focus(),
});
