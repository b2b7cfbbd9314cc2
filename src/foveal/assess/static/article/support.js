// What systems returned of the document: bars beside elements, dots under other passages.
import { counted, make } from "./nodes.js";

const DEEPEST = 4, MOST = 300;

export class Support {
  constructor(support, dom, painter, go) {
    Object.assign(this, { dom, painter, go });
    this.all = support.map(entry => ({ ...entry, element: this.#elementOf(entry) }))
      .sort((a, b) => a.start - b.start || b.end - a.end);
    this.shown = false;
  }

  #elementOf({ path }) {
    const element = path ? this.dom.structure.byPath().get(path) : undefined;
    // An element within a line has no side to put a bar at.
    return element !== undefined && this.dom.shown[element].tagName === "DIV" ? element : null;
  }

  show(shown) {
    this.shown = shown;
    this.painter.paint("support", shown ?
      this.all.filter(entry => entry.element === null && entry.end > entry.start)
        .map(entry => [entry.start, entry.end]) : []);
    const depths = [];
    for (const { element, runs } of this.all) {
      if (element === null) continue;
      const node = this.dom.shown[element];
      while (depths.length && !depths[depths.length - 1].contains(node)) depths.pop();
      depths.push(node);
      node.classList.toggle("supported", shown);
      node.dataset.runs = String(runs.length);
      node.dataset.depth = String(Math.min(DEEPEST, depths.length));
    }
  }

  /** What was returned, whole documents and mere places left out. */
  get spans() {
    const { length } = this.dom.offsets;
    return this.all.filter(({ start, end }) => start < end && end - start < length)
      .map(({ start, end }) => [start, end]);
  }

  nameOf(entry) {
    const { structure } = this.dom;
    const element = entry.path ? structure.byPath().get(entry.path) : undefined;
    return element === undefined ? `passage at ${entry.start.toLocaleString("en")}` :
      structure.label(element);
  }

  /** What was returned around a place, smallest first. */
  around(at) {
    return this.all.filter(({ start, end }) => start <= at && at < end)
      .sort((a, b) => (a.end - a.start) - (b.end - b.start));
  }

  /** The panel tells which of its entries the cursor is in. */
  mark(at) {
    if (!this.shown) return;
    const here = new Set(at === null ? [] : this.around(at));
    for (const entry of this.all) entry.row?.classList.toggle("here", here.has(entry));
  }

  draw(body) {
    const rows = this.all.slice(0, MOST).map(entry => {
      const runs = entry.runs.map(({ run, rank }) => (rank ? `${run} (${rank})` : run)).join(", ");
      return entry.row = make("li", {},
        make("button", { type: "button", click: () => this.go(entry.start, entry.end) },
          make("b", {}, this.nameOf(entry)), ` ${counted(entry.runs.length, "run")}`),
        make("span", { class: "soft" }, runs));
    });
    const rest = this.all.length - rows.length;
    body.replaceChildren(
      make("p", { class: "soft" }, this.all.length ?
        "Returned by systems (with rank). Choose one to select its text; h then highlights it." :
        "No system returned anything of this document."),
      make("ol", { class: "support" }, rows),
      ...(rest > 0 ? [make("p", { class: "soft" }, `and ${rest} more`)] : []));
  }
}
