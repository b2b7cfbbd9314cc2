// What a document's assessment is after an action, before the server has said so.
import { addSpan, removeSpan } from "./spans.js";

export const EMPTY = Object.freeze({ spans: [], bep: null, grades: {}, note: "", validated: false });

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A new decision on a suggestion takes back the highlight of an earlier one. */
function decided(state, action) {
  const { start, end } = action, key = `${start}-${end}`, others = [];
  let { spans } = state;
  for (const earlier of state.decisions ?? []) {
    const result = resultOf(earlier);
    if (`${earlier.start}-${earlier.end}` !== key) others.push(earlier);
    else if (result) spans = removeSpan(spans, ...result);
  }
  const result = resultOf(action);
  if (result) spans = addSpan(spans, ...result);
  const decisions = [...others, action].sort((a, b) => a.start - b.start || a.end - b.end);
  return { ...state, spans, decisions };
}

/** The span that a decision on a suggestion highlights. */
function resultOf({ kind, start, end, highlight }) {
  return kind === "reject" ? null : kind === "adjust" ? highlight : [start, end];
}

function changed(state, action) {
  switch (action.kind) {
    case "highlight": return { ...state, spans: addSpan(state.spans, action.start, action.end) };
    case "unhighlight":
      return { ...state, spans: removeSpan(state.spans, action.start, action.end) };
    case "bep": return { ...state, bep: action.start ?? null };
    case "grade": {
      const { [action.path]: _, ...grades } = state.grades;
      if (Object.keys(action.grade ?? {}).length) grades[action.path] = action.grade;
      return { ...state, grades };
    }
    case "note": return { ...state, note: action.text ?? "" };
    case "validate": return { ...state, validated: true };
    case "invalidate": return { ...state, validated: false };
    case "replace": return action.state;
    case "accept": case "adjust": case "reject": return decided(state, action);
    default: return state;
  }
}

/** A judgement takes back the guarantee that nothing is missing. */
export function after(state, action) {
  const next = changed(state, action), judged = ({ spans, bep, grades }) => [spans, bep, grades];
  const kept = action.kind === "replace" || same(judged(next), judged(state));
  return kept ? next : { ...next, validated: false };
}

/** States since the page was opened; what lies before is known to the server alone. */
export class History {
  constructor(state, canUndo = false, canRedo = false) { this.begin(state, canUndo, canRedo); }

  begin(state, canUndo, canRedo) {
    this.states = [state];
    this.undone = [];
    this.older = canUndo;
    this.newer = canRedo;
  }

  get state() { return this.states[this.states.length - 1]; }
  get canUndo() { return this.states.length > 1 || this.older; }
  get canRedo() { return this.undone.length > 0 || this.newer; }

  /** False where only the server knows the outcome. */
  add(action) {
    const { states, undone } = this;
    const { note } = this.state;
    if (action.kind === "undo") {
      if (states.length < 2) return false;
      undone.push(states.pop());
      states[states.length - 1] = { ...this.state, note };
    } else if (action.kind === "redo") {
      if (!undone.length) return false;
      states.push({ ...undone.pop(), note });
    } else if (action.kind === "note") {
      states[states.length - 1] = after(this.state, action);
    } else {
      undone.length = 0;
      this.newer = false;
      states.push(after(this.state, action));
    }
    return true;
  }
}
