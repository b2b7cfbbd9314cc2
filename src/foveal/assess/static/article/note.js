// The assessor's note on the document, saved while it is written.
import { make } from "./nodes.js";

const PAUSE = 800, MOST = 20_000;

export class Note {
  constructor(model) {
    this.model = model;
    this.box = make("textarea", { rows: "4", maxlength: String(MOST), "aria-label": "Note on this document",
      placeholder: "Doubts, reasons; only you and the organiser see it.",
      input: () => { clearTimeout(this.clock); this.clock = setTimeout(() => this.save(), PAUSE); },
      blur: () => this.save() });
    this.box.value = model.state.note;
    this.known = model.state.note;
    model.addEventListener("change", () => this.#changed());
  }

  save() {
    clearTimeout(this.clock);
    if (this.box.value === this.model.state.note) return;
    this.known = this.box.value;
    this.model.act({ kind: "note", text: this.box.value });
  }

  /** Another version came in: shown unless somebody is writing here. */
  #changed() {
    const { note } = this.model.state;
    if (this.box.value === this.known && note !== this.known) this.box.value = note;
    if (this.box.value === note) this.known = note;
  }

  draw(body) { if (this.box.parentNode !== body) body.replaceChildren(this.box); }
}
