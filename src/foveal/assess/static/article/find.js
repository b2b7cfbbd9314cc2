// Find in the document: the whole text, without regard to case; a space is any white space.
import { byId } from "./nodes.js";
import { findMatches } from "./search.js";
import { stepFrom } from "./steps.js";

const MOST = 100_000, PAINTED = 4000; // matches that are counted, and coloured around the present one
const LONGEST = 80; // characters of a selection that are taken as words to find

function patternOf(words) {
  const escaped = form => words.normalize(form).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");
  return [...new Set(["NFC", "NFD"].map(escaped))].join("|");
}

/** Event: "change" after the matches have changed. */
export class Find extends EventTarget {
  constructor(dom, painter, reading, selected, focusText) {
    super();
    Object.assign(this, { dom, painter, reading, selected, focusText });
    this.bar = byId("find");
    this.field = byId("find-words");
    this.spans = [];
    this.number = -1;
    this.field.addEventListener("input", () => this.#search());
    this.bar.addEventListener("keydown", event => this.#key(event));
    byId("find-close").addEventListener("click", () => this.close());
  }

  get isOpen() { return !this.bar.hidden; }

  /** Ask for words, or for others; a short selection is what to find. */
  open() {
    const { span } = this.selected;
    const isNew = span !== null && span[1] - span[0] <= LONGEST && String(span) !== String(this.here);
    const { offsets, text } = this.dom;
    if (isNew) this.field.value = text.slice(...span.map(at => offsets.toUnits(at))).trim().replace(/\s+/g, " ");
    if (this.isOpen) this.#search(); else this.#show();
    this.field.focus();
    this.field.select();
  }

  #show() {
    if (this.isOpen) return;
    this.bar.hidden = false;
    this.origin = this.#from;
    this.#search();
  }

  /** The match found last is selected, and the keys are those of the text again. */
  close() {
    if (!this.isOpen) return;
    const { here } = this, wasAsking = this.bar.contains(document.activeElement);
    this.bar.hidden = true;
    this.#found([]);
    if (!wasAsking) return;
    this.focusText();
    if (here) this.selected.select(...here);
  }

  /** The span of the present match. */
  get here() { return this.spans[this.number] ?? null; }

  #search() {
    const words = this.field.value.trim(), { text, offsets } = this.dom;
    const from = this.here?.[0] ?? this.origin; // more letters of the same word
    const found = words ? findMatches(text, patternOf(words), MOST).spans : [];
    this.#found(found.map(([a, b]) => [offsets.toPoints(a), offsets.toPoints(b)]));
    if (this.spans.length) this.#to(stepFrom(this.spans, null, from, 1));
  }

  #found(spans) {
    this.spans = spans;
    this.number = -1;
    this.#paint();
    this.dispatchEvent(new Event("change"));
  }

  /** Where to look from: the cursor or the selection if it is in view. */
  get #from() {
    const { at } = this.selected;
    return at !== null && this.reading.isInView(at) ? at : this.reading.first;
  }

  /** The next match (1) or the previous one (-1), after the present one if that is in view. */
  step(sign) {
    if (!this.isOpen && this.field.value.trim()) {
      this.#show();
      if (this.here) this.#select();
      return;
    }
    if (!this.spans.length) { this.open(); return; }
    const { here } = this, isAsking = this.bar.contains(document.activeElement);
    const inView = here && this.reading.isInView(here[0]);
    const present = inView && (isAsking || this.selected.at === here[0]) ? here : null;
    this.#to(stepFrom(this.spans, present, this.#from, sign));
    if (!isAsking) this.#select();
  }

  #to(number) {
    this.number = number;
    this.#paint();
    this.reading.reveal(this.here[0], "center");
  }

  #select() {
    this.focusText();
    this.selected.select(...this.here);
  }

  #paint() {
    const { spans, number, here } = this, first = Math.max(0, number - PAINTED / 2);
    this.painter.paint("found", spans.slice(first, first + PAINTED));
    this.painter.paint("found-here", here ? [here] : []);
    const total = spans.length.toLocaleString("en") + (spans.length === MOST ? "+" : "");
    byId("find-count").textContent = here ? `${(number + 1).toLocaleString("en")} of ${total}` :
      this.field.value.trim() ? "not found" : "";
    this.bar.classList.toggle("none", !here && Boolean(this.field.value.trim()));
    for (const button of this.bar.querySelectorAll("[data-key]")) button.disabled = !here;
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.field) this.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
