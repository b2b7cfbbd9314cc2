// The bar with the state: is everything saved, how is the document, what comes next, the clock.
import { byId, counted, make } from "./nodes.js";

const TROUBLE = {
  full: "the server's disk is full",
  disk: "the server cannot use its disk",
  damaged: "the campaign on the server is damaged",
};

function savingWords({ status, unsaved, reason, queue, others, foreign }) {
  const waiting = `${unsaved} not yet saved`;
  const kept = queue.safe ? "" : " (keep this tab open: the browser's storage is full)";
  const elsewhere = others ? `; ${counted(others, "action")} on other documents not yet saved` : "";
  const strange = foreign.length ? `; ${counted(foreign.length, "action")} of another campaign not saved` : "";
  if (TROUBLE[status]) return ["bad", `⚠ ${TROUBLE[status]}: ${waiting}${kept}`];
  switch (status) {
    case "saved": return [elsewhere || strange ? "warn" : "good", `✓ saved${elsewhere}${strange}`];
    case "saving": return ["busy", unsaved > 1 ? `… saving ${unsaved}` : "… saving"];
    case "offline": return ["warn", `⚠ offline: ${waiting}${kept}`];
    case "conflict": return ["bad", `⚠ conflict: ${waiting}; click to decide`];
    case "campaign": return ["bad", `⚠ another campaign is served here: ${waiting}`];
    case "signed-out": return ["bad", `⚠ signed out: ${waiting}`];
    case "mismatch": return ["bad", "✗ cannot save: the text differs"];
    default: return ["bad", `⚠ ${waiting}: ${reason}`];
  }
}

/** What the assessor can do next, with its key; a style sheet hides keys where there are none. */
function nextStep(model, mode, lacking) {
  const { state } = model;
  if (mode) return mode;
  if (state.validated) return [["3", "next document"]];
  if (model.procedure !== "2003" && state.spans.length && state.bep === null) {
    return [["b", "set the best entry point"]];
  }
  if (lacking.length && model.procedure !== "2006") return [["e", "grade the elements"]];
  if (lacking.length) return [["Shift+B", "remove the entry point"]];
  if (model.procedure === "2003" || state.spans.length) return [["f", "validate"]];
  return [["h", "highlight what is relevant"], ["f", "validate if nothing is"]];
}

function documentWords({ state, coverage, procedure }, length) {
  if (procedure === "2003") return `${counted(Object.keys(state.grades).length, "element")} graded`;
  if (!state.spans.length) return "nothing highlighted";
  const share = (100 * coverage.total / Math.max(1, length)).toFixed(coverage.total * 10 < length ? 1 : 0);
  return `${counted(state.spans.length, "passage")}, ${share}% · ` +
    (state.bep === null ? "no entry point" : "entry point set");
}

export function drawStatus({ model, saver, timer, length, mode, pooled }) {
  const [kind, words] = savingWords(saver), save = byId("save");
  if (save.textContent !== words) save.textContent = words;
  save.className = kind;
  byId("state").replaceChildren(
    make("span", { class: "detail" }, `${documentWords(model, length)} · `),
    make("span", { class: "valid" }, model.state.validated ? "✓ validated" : "not validated"));
  byId("next-step").replaceChildren(...nextStep(model, mode, model.lacking)
    .map(([key, title]) => make("span", {}, key ? make("kbd", {}, key) : null, ` ${title} `)));
  byId("left").textContent = model.left === undefined ? "" : `${model.left} of ${pooled} left`;
  byId("clock").textContent = clock(timer.seconds);
  byId("clock").classList.toggle("paused", !timer.running);
  for (const [name, on] of [["undo", model.history.canUndo], ["redo", model.history.canRedo]]) {
    document.querySelector(`[data-do=${name}]`).disabled = !on;
  }
}

const IDLE = 60_000, STEP = 1000, REPORT = 30;

/** Time spent on the document: stands still while the page is hidden or nobody does anything. */
export class Timer extends EventTarget {
  constructor(seconds, send) {
    super();
    this.before = seconds;
    this.active = 0;
    this.reported = 0;
    this.send = send;
    this.touched = performance.now();
    for (const name of ["pointermove", "pointerdown", "keydown", "scroll", "wheel"]) {
      addEventListener(name, () => { this.touched = performance.now(); }, { passive: true });
    }
    setInterval(() => this.#tick(), STEP);
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.report(); });
    addEventListener("pagehide", () => this.report());
  }

  get running() { return !document.hidden && performance.now() - this.touched < IDLE; }
  get seconds() { return this.before + this.active; }

  #tick() {
    if (!this.running) return;
    this.active += STEP / 1000;
    this.dispatchEvent(new Event("tick"));
    if (this.active - this.reported >= REPORT) this.report();
  }

  /** Seconds that could not be sent are sent with the next. */
  async report() {
    const seconds = this.active - this.reported;
    if (seconds <= 0) return;
    this.reported = this.active;
    try { await this.send(seconds); } catch { this.reported -= seconds; }
  }
}

function clock(seconds) {
  const whole = Math.floor(seconds), two = n => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
