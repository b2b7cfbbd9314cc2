// The documents of a topic: walk, filter, and set the cue words.
import { call, keys, say, walk } from "./base.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);
const rows = [...document.querySelectorAll("#documents tbody tr")];
walk($("documents"));

// -- filter ------------------------------------------------------------------------------------

function filter() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean), state = $("state").value;
  let shown = 0;
  for (const row of rows) {
    row.hidden = state && row.dataset.state !== state || !words.every(w => row.dataset.find.includes(w));
    shown += !row.hidden;
  }
  $("filtered").textContent = words.length || state ? `${shown} of ${rows.length} documents` : "";
}
$("filter").addEventListener("input", filter);
$("state").addEventListener("change", filter);
filter();

// -- cue words ---------------------------------------------------------------------------------

const COLOURS = ["blue", "orange", "green", "pink", "purple", "red"];
const STYLES = ["background", "underline", "text"];
const PAUSE = 500;
const list = $("cue-list"), mayAct = Boolean($("add-cue"));
let cues = JSON.parse($("cues").dataset.cues);

function made(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function choice(cue, field, values, label) {
  const box = made("select", { "aria-label": label, disabled: !mayAct, onchange: () => {
    cue[field] = box.value;
    save();
  } }, ...values.map(value => made("option", { value, selected: value === cue[field] }, value)));
  return box;
}

function isExpression(pattern) {
  try { return Boolean(new RegExp(pattern, "giu")); } catch { return false; }
}

function row(cue) {
  const field = made("input", { type: "text", value: cue.pattern, spellcheck: "false", maxlength: "500",
    "aria-label": "Cue word or regular expression", placeholder: "word or expression", disabled: !mayAct,
    oninput: () => {
      cue.pattern = field.value;
      field.setAttribute("aria-invalid", String(!isExpression(cue.pattern)));
      save();
    } });
  return made("li", {},
    made("input", { type: "checkbox", checked: cue.on, "aria-label": `Colour ${cue.pattern || "this cue word"}`,
      disabled: !mayAct, onchange: event => { cue.on = event.target.checked; save(); } }),
    field,
    ...mayAct ? [made("button", { type: "button", "aria-label": `Remove ${cue.pattern || "this cue word"}`,
      onclick: () => { cues = cues.filter(other => other !== cue); draw(); save(); } }, "×")] : [],
    choice(cue, "colour", COLOURS, "Colour"), choice(cue, "style", STYLES, "Style"));
}

function draw() { list.replaceChildren(...cues.map(row)); }

// One request after the other, so that the last word is the last to arrive; "saved" is said of it
// alone.
let timer = null, turn = 0, sending = Promise.resolve();
function save() {
  clearTimeout(timer);
  turn += 1;
  say("Saving…", "");
  timer = setTimeout(send, PAUSE);
}

function send({ keepalive = false } = {}) {
  clearTimeout(timer);
  timer = null;
  const mine = turn, value = cues.filter(cue => cue.pattern);
  const url = at(`/api/topics/${encodeURIComponent($("topic").dataset.topic)}/settings`);
  const put = async () => {
    try {
      await call("PUT", url, { key: "cues", value }, { keepalive });
      if (mine === turn) say("✓ Saved");
    } catch (error) { if (mine === turn) say(error.message, "bad"); }
  };
  sending = keepalive ? put() : sending.then(put);
}
addEventListener("pagehide", () => { if (timer !== null) send({ keepalive: true }); });

function add() {
  cues.push({ pattern: "", colour: COLOURS[cues.length % COLOURS.length], style: "underline", on: true });
  draw();
  list.lastElementChild.querySelector("input[type=text]").focus();
}
$("add-cue")?.addEventListener("click", add);
$("cues").addEventListener("submit", event => event.preventDefault());
draw();

// -- keys --------------------------------------------------------------------------------------

const next = $("next"), open = selector => document.querySelector(selector)?.click();
const statement = document.querySelector(".statement");
keys({
  Enter: () => next?.click(),
  1: () => open(".viewed a"),
  2: () => open(".brand"),
  3: () => next?.click(),
  "/": () => $("filter").focus(),
  t: () => { statement.open = !statement.open; },
  s: () => open(".tabs a[href$='/collection']"),
  ...mayAct ? { c: add } : {},
  ArrowDown: () => rows.find(r => !r.hidden)?.focus(),
});
