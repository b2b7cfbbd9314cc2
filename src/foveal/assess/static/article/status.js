// The bar at the bottom: is everything saved, how is the document, what comes next.
import { byId, counted, make } from "./nodes.js";
import { clock } from "./timer.js";

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

/** What the assessor can do next, with its key. */
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
  return [["h", "highlight what is relevant"], ["f", "validate: nothing is"]];
}

function documentWords({ state, coverage, procedure }, length) {
  const valid = state.validated ? "✓ validated" : "not validated";
  if (procedure === "2003") return `${counted(Object.keys(state.grades).length, "element")} graded · ${valid}`;
  if (!state.spans.length) return `nothing highlighted · ${valid}`;
  const share = (100 * coverage.total / Math.max(1, length)).toFixed(coverage.total * 10 < length ? 1 : 0);
  return `${counted(state.spans.length, "passage")}, ${share}% · ` +
    `${state.bep === null ? "no entry point" : "entry point set"} · ${valid}`;
}

export function drawStatus({ model, saver, timer, length, mode, pooled }) {
  const [kind, words] = savingWords(saver), save = byId("save");
  if (save.textContent !== words) save.textContent = words;
  save.className = kind;
  byId("state").textContent = documentWords(model, length);
  byId("next-step").replaceChildren(...nextStep(model, mode, model.lacking)
    .flatMap(([key, title]) => [make("kbd", {}, key), ` ${title} `]));
  byId("left").textContent = model.left === undefined ? "" : `${model.left} of ${pooled} left`;
  byId("clock").textContent = clock(timer.seconds);
  byId("clock").classList.toggle("paused", !timer.running);
  for (const [name, on] of [["undo", model.history.canUndo], ["redo", model.history.canRedo]]) {
    document.querySelector(`[data-do=${name}]`).disabled = !on;
  }
}
