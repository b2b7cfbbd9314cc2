// Questions that must be answered, and words that must be seen.
import { byId, counted, make } from "./nodes.js";
import { exported } from "./queue.js";

let clock = null;

/** A line above the status bar; what went wrong is read out at once and stays longer. */
export function toast(words, kind = "good") {
  const place = byId("toast");
  place.textContent = words;
  place.className = kind;
  place.setAttribute("role", kind === "bad" ? "alert" : "status");
  place.hidden = false;
  clearTimeout(clock);
  clock = setTimeout(() => { place.hidden = true; }, kind === "bad" ? 12_000 : 4000);
}

/** Several lines of what is wrong, in a dialog that any key closes. */
export function tell(title, lines) { return ask(title, lines, [["close", "Close"]]); }

/** One of several answers; Escape gives the last one. Of three lines or more, all but the first are a list. */
export function ask(title, lines, answers) {
  return new Promise(done => {
    const finish = value => { dialog.close(); dialog.remove(); done(value); };
    const last = answers[answers.length - 1][0];
    const dialog = make("dialog", { "aria-labelledby": "asked",
      cancel: event => { event.preventDefault(); finish(last); },
      close: () => finish(last) }, // a browser may close it without asking
      make("h2", { id: "asked" }, title),
      ...(lines.length > 2 ? lines.slice(0, 1) : lines).map(line => make("p", {}, line)),
      lines.length > 2 ? make("ul", {}, lines.slice(1).map(line => make("li", {}, line))) : null,
      make("p", { class: "answers" }, answers.map(([value, words], i) => make("button",
        { type: "button", class: i === 0 ? "primary" : null, click: () => finish(value) }, words))));
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("button.primary").focus();
  });
}

const shorten = text => (text.length > 60 ? `${text.slice(0, 40)} … ${text.slice(-15)}` : text);

/** An action in words, with the text it is about. */
export function describe(action, dom) {
  const quote = (start, end) => `“${shorten(dom.words(start, end))}”`;
  switch (action.kind) {
    case "highlight": return `highlight ${quote(action.start, action.end)}`;
    case "unhighlight": return `remove the highlight from ${quote(action.start, action.end)}`;
    case "accept": case "reject": case "adjust":
      return `${action.kind} the suggestion ${quote(action.start, action.end)}`;
    case "bep": return action.start === undefined || action.start === null ?
      "remove the best entry point" : `best entry point at ${quote(action.start, action.start + 30)}`;
    case "grade": return `grade ${action.path}`;
    case "note": return "change the note";
    case "replace": return "begin with the assessments of others";
    default: return action.kind;
  }
}

/** Somebody else has changed the document meanwhile: "mine" on top of it, "theirs", or "later". */
export function conflict(newest, actions, dom) {
  const { state } = newest;
  const kept = `The newest version (${newest.version}) has ${counted(state.spans.length, "passage")}` +
    `${state.bep === null ? " and no best entry point" : " and a best entry point"}` +
    `${state.validated ? ", and is validated" : ""}.`;
  const mine = actions.slice(0, 6).map(action => `Not saved here: ${describe(action, dom)}`);
  if (actions.length > 6) mine.push(`and ${actions.length - 6} more`);
  return ask("This document was changed in another tab or by another session", [kept, ...mine],
    [["mine", "Apply mine to the newest"], ["theirs", "Take the newest, drop mine"], ["later", "Decide later"]]);
}

/** What becomes of actions that this campaign cannot take: "discard" or "later", after any exports. */
export async function settleForeign(title, lines, entries, more = []) {
  const answers = [["export", "Export as a file"], ...more, ["discard", "Discard"], ["later", "Decide later"]];
  const answer = await ask(title, lines, answers);
  if (answer !== "export") return answer;
  const name = `foveal-unsaved-${new Date().toISOString().slice(0, 10)}.json`;
  download(name, exported(entries));
  return settleForeign(title, [`Exported as ${name}. The actions are still kept in this browser.`], entries, more);
}

/** Have the browser save a text as a file. */
function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
