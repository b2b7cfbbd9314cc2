// What an assessor can do on the page, by key or by button.
import { here } from "./api.js";
import { tell, toast } from "./dialogs.js";
import { wordsOf } from "./elements.js";
import { byId } from "./nodes.js";

const LONGEST_LEAVE = 2000; // milliseconds that leaving waits for the last save
const MOST_MISSING = 12;
const TOUCHED = matchMedia("(pointer: coarse)");

export class Commands {
  constructor(page) {
    this.page = page;
    this.mode = { name: null, words: null, key: event => this.#modeKey(event) };
    const panel = name => () => this.#panel(name);
    const step = (kind, sign) => () => page.steps.go(kind, sign);
    this.byKey = new Map(Object.entries({
      h: () => this.#mark("highlight"), u: () => this.#mark("unhighlight"),
      b: () => this.#pickEntry(), "Shift+b": () => this.#removeEntry(),
      g: () => this.#grow(), f: () => this.#validate(), "Shift+f": () => this.#invalidate(),
      z: () => this.#step("undo"), "Ctrl+z": () => this.#step("undo"),
      y: () => this.#step("redo"), "Ctrl+y": () => this.#step("redo"),
      "Ctrl+Shift+z": () => this.#step("redo"),
      1: () => this.#leave("previous"), 2: () => this.#leave("up"), 3: () => this.#leave("next"),
      s: panel("support"), c: panel("cues"), t: panel("topic"), n: panel("note"), e: panel("elements"),
      v: panel("seen"), o: panel("outline"),
      "/": () => page.find.open(), m: () => page.find.step(1), "Shift+m": () => page.find.step(-1),
      l: step("highlight", 1), "Shift+l": step("highlight", -1),
      w: step("cue", 1), "Shift+w": step("cue", -1), r: step("support", 1), "Shift+r": step("support", -1),
      ...page.adjudication?.decides ? { a: () => this.#takeOthers() } : {},
      Escape: () => this.#escape(),
    }));
  }

  // -- highlights ------------------------------------------------------------------------------

  #mark(kind) {
    const { model, selected } = this.page;
    if (model.procedure === "2003") {
      toast("This campaign grades elements: press e. Nothing is highlighted.", "bad");
      return;
    }
    const span = selected.span ?? (kind === "unhighlight" ? this.#spanAt() : null);
    if (!span) {
      toast(kind === "highlight" ?
        "Select the relevant text first: with the mouse, with Shift and arrows, or with g." :
        "Select highlighted text, or put the cursor into it.", "bad");
      return;
    }
    model.act({ kind, start: span[0], end: span[1] });
    selected.clear();
  }

  #spanAt() {
    const { at } = this.page.selected;
    return at === null ? null : this.page.model.state.spans.find(([a, b]) => a <= at && at < b) ?? null;
  }

  #grow() {
    const { selected, dom: { structure } } = this.page;
    const [start, end] = selected.span ?? [selected.at, selected.at];
    if (start === null) { toast("Click into the text first, or move the cursor there.", "bad"); return; }
    const element = structure.enclosing(start, end);
    if (element < 0) { toast("The whole document is selected."); return; }
    selected.select(structure.start[element], structure.end[element]);
    this.page.name(structure.label(element));
  }

  // -- the best entry point --------------------------------------------------------------------

  #pickEntry() {
    const { model, selected } = this.page;
    if (model.procedure === "2003") return;
    if (this.mode.name === "bep") { this.#enter(null); return; }
    // Right after a highlight the cursor is at its end, and reading rather begins at its start.
    const { at, span } = selected, { spans } = model.state;
    const last = at === null ? spans[0] : spans.find(([, end]) => end === at);
    if (last && !span) this.page.go(last[0], last[0]);
    this.#enter("bep", TOUCHED.matches ? [["", "Tap where reading should begin."]] :
      [["click", "where reading should begin, or"], ["Enter", "at the cursor;"], ["Esc", "not now"]]);
  }

  /** A click into the text, which is an answer if the page waits for one. */
  clicked(event) {
    if (this.mode.name === "bep") this.#setEntry(this.page.reading.under(event.clientX, event.clientY));
  }

  #setEntry(at) {
    this.#enter(null);
    if (at === null) { toast("Click into the text, or move the cursor there with the arrows.", "bad"); return; }
    this.page.model.act({ kind: "bep", start: Math.min(at, this.page.dom.offsets.length - 1) });
  }

  #removeEntry() { if (this.page.model.state.bep !== null) this.page.model.act({ kind: "bep" }); }

  // -- the document as a whole -----------------------------------------------------------------

  #validate() {
    const { state, lacking } = this.page.model;
    if (state.validated) {
      toast("Validated already: press 3 for the next document. Shift+F takes the validation back.");
    } else if (lacking.length) {
      const more = lacking.length - MOST_MISSING;
      tell("Not complete yet",
        [...lacking.slice(0, MOST_MISSING).map(wordsOf), ...more > 0 ? [`and ${more} more`] : []]);
    } else this.page.model.act({ kind: "validate" });
  }

  #invalidate() { if (this.page.model.state.validated) this.page.model.act({ kind: "invalidate" }); }

  #step(kind) {
    const { canUndo, canRedo } = this.page.model.history;
    if (kind === "undo" ? canUndo : canRedo) this.page.model.act({ kind });
    else toast(`Nothing to ${kind}.`);
  }

  async #leave(to) {
    const { loaded, note, saver } = this.page;
    note.save();
    if (to !== "up" && !loaded[to]) { toast(`There is no ${to} document: press 2 for the list.`); return; }
    await saver.idle(LONGEST_LEAVE);
    location.href = to === "up" ? here.up : here.of(loaded[to]);
  }

  // -- a mode takes the next click or key for itself -------------------------------------------

  #enter(name, words = null) {
    Object.assign(this.mode, { name, words });
    document.body.classList.toggle("picking", name === "bep");
    this.page.redrawStatus();
  }

  #modeKey(event) {
    const { name } = this.mode;
    if (!name || ["Shift", "Control", "Meta"].includes(event.key)) return false;
    if (event.key === "Escape") { this.#enter(null); return true; }
    if (name === "bep" && event.key === "Enter") { this.#setEntry(this.page.selected.at); return true; }
    if (name !== "others") return false;
    this.#enter(null);
    if (!this.page.adjudication.take(event.key)) toast("There is no such assessment.", "bad");
    return true;
  }

  #takeOthers() {
    const { panels, adjudication } = this.page;
    panels.set("others", true);
    this.#enter("others", [...adjudication.ways().map(({ key, short }) => [key, short]), ["Esc", "not now"]]);
  }

  /** Nothing is selected any more, then nothing found is marked; always back to the text. */
  #escape() {
    const { selected, find } = this.page;
    if (find.isOpen && !selected.span) find.close();
    selected.clear();
    this.page.focus();
  }

  // -- panels ----------------------------------------------------------------------------------

  #panel(name) {
    const { panels, elements, note, outline } = this.page;
    const inside = byId(`panel-${name}`).contains(document.activeElement);
    panels.toggle(name);
    if (!panels.isOpen(name)) { if (inside) this.page.focus(); return; }
    const body = byId(`panel-${name}-body`);
    if (name === "note") note.box.focus();
    else if (name === "cues") (body.querySelector("input[type=text]") ?? body.querySelector(".add")).focus();
    else if (name === "elements" && elements.graded) elements.enter();
    else if (name === "outline" && outline.entries.length) outline.enter();
    else if (name === "seen") byId("panel-seen").querySelector("button").focus();
  }
}
