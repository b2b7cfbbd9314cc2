// Keys, help and requests that all pages share.

const help = document.getElementById("help");
function showHelp() {
  help.showModal();
  help.scrollTop = 0; // the button that has the focus is at the end
}
document.getElementById("help-button")?.addEventListener("click", showHelp);

const bound = new Map();
/** Bind keys to what they do; a key in a field, or with Ctrl, Alt or Meta, is left alone. */
export function keys(map) {
  for (const [key, act] of Object.entries(map)) bound.set(key, act);
}
const typing = target =>
  target.closest?.("textarea, select, [contenteditable], input:not([type=checkbox]):not([type=radio])");

document.addEventListener("keydown", event => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (help.open || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
  if (typing(event.target)) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary, input, tr[tabindex]")) return;
  if (event.key === "?") { showHelp(); event.preventDefault(); return; }
  const act = bound.get(event.key);
  if (act) { event.preventDefault(); act(event); }
});

// Times of the log are shown as the reader's clock has them.
const two = n => String(n).padStart(2, "0");
export function showTimes(root = document) {
  for (const node of root.querySelectorAll("time[datetime]")) {
    const at = new Date(node.dateTime);
    node.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `
      + `${two(at.getHours())}:${two(at.getMinutes())}`;
  }
}
showTimes();

const said = document.getElementById("said");
/** Say in the bar how it went; what went wrong stays until something goes right. */
export function say(text, kind = "good") {
  said.textContent = text;
  said.className = kind;
}

export const csrf = () => document.querySelector("meta[name=csrf]").content;

/** Ask the server; what it refuses is thrown as an Error with `status` and `body`. */
export async function call(method, url, body, more = {}) {
  const options = { method, headers: { Accept: "application/json" }, ...more };
  if (method !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.headers["X-CSRF-Token"] = csrf();
    options.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    throw Object.assign(new Error("The server does not answer."), { status: 0 });
  }
  const found = await answer.json().catch(() => ({}));
  if (answer.ok) return found;
  const reason = answer.status === 401 ? "You are signed out. Sign in again." : found.reason;
  throw Object.assign(new Error(reason || `The server answered ${answer.status}.`),
    { status: answer.status, body: found });
}

/** Do something and say how it went. */
export async function tell(doing, done) {
  try {
    const result = await doing();
    say(typeof done === "function" ? done(result) : done);
    return result;
  } catch (error) {
    say(error.message, "bad");
    return null;
  }
}

/** Rows that arrows walk and Enter opens: those with a link. */
export function walk(table) {
  if (!table) return;
  const rows = () => [...table.querySelectorAll("tbody tr[tabindex]")].filter(row => !row.hidden);
  table.addEventListener("keydown", event => {
    const row = event.target.closest("tr[tabindex]");
    if (!row || event.target !== row) return;
    const all = rows(), at = all.indexOf(row);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) { all[to]?.focus(); event.preventDefault(); }
    if (event.key === "Enter") row.querySelector("a[href]")?.click();
  });
  table.addEventListener("click", event => {
    if (event.target.closest("a, button, input, label, summary") || getSelection().toString()) return;
    event.target.closest("tr[tabindex]")?.querySelector("a[href]")?.click();
  });
}
