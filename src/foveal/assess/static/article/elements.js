// Elements in and around what is highlighted: their specificity, and their grades where asked for.
import { byId, counted, make } from "./nodes.js";

const PAGE = 150;
const GRADES = {
  2006: {},
  2005: { exhaustivity: ["2", "1", "0", "?"] },
  2003: { exhaustivity: ["3", "2", "1", "0"], specificity: ["3", "2", "1", "0"] },
};
const WORDS = { "?": "too small" };

export class Elements {
  constructor(model, dom, asked, go) {
    Object.assign(this, { model, dom, asked, go });
    this.grades = GRADES[model.procedure] ?? {};
    this.graded = Object.keys(this.grades).length > 0;
    this.first = 0;
    this.half = new Map(); // path to the one grade of two that was given first
  }

  /** Numbers of the elements that the procedure is about. */
  rows() {
    const { structure } = this.dom, { coverage } = this.model;
    if (this.model.procedure === "2003") {
      const paths = new Set([...this.asked, ...Object.keys(this.model.state.grades)]);
      return [...paths].map(path => structure.byPath().get(path)).filter(i => i !== undefined)
        .sort((a, b) => a - b);
    }
    const found = [];
    if (!coverage.total) return found;
    for (let i = 0; i < structure.size; i++) {
      if (coverage.within(structure.start[i], structure.end[i]) > 0) found.push(i);
    }
    return found;
  }

  #depth(element) {
    let depth = 0;
    for (let at = this.dom.structure.parent[element]; at >= 0; at = this.dom.structure.parent[at]) depth++;
    return depth;
  }

  // -- grading ---------------------------------------------------------------------------------

  /** One value; where two belong together the first waits for the second. */
  grade(element, dimension, value) {
    const path = this.dom.structure.path(element), names = Object.keys(this.grades);
    const given = { ...this.model.state.grades[path], ...this.half.get(path), [dimension]: value };
    if (names.length > 1 && value === "0") names.forEach(name => { given[name] = "0"; });
    else if (names.length > 1) names.forEach(name => { if (given[name] === "0") delete given[name]; });
    if (names.every(name => name in given)) {
      this.half.delete(path);
      this.model.act({ kind: "grade", path, grade: given });
    } else {
      this.half.set(path, given);
      this.draw();
    }
  }

  ungrade(element) {
    const path = this.dom.structure.path(element);
    this.half.delete(path);
    if (path in this.model.state.grades) this.model.act({ kind: "grade", path, grade: {} });
  }

  #key(event, element) {
    const { key } = event, names = Object.keys(this.grades);
    const rows = [...this.body.querySelectorAll("tbody tr")], at = rows.indexOf(event.currentTarget);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[key];
    const half = this.half.get(this.dom.structure.path(element));
    if (to !== undefined) this.#focus(rows[to]);
    else if (key === "Enter" && event.target === event.currentTarget) this.#select(element);
    else if (this.graded && this.grades[names[0]].includes(key)) {
      this.grade(element, names.find(name => half && !(name in half)) ?? names[0], key);
    } else if (this.graded && (key === "Delete" || key === "Backspace")) this.ungrade(element);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #focus(row) {
    if (!row) return;
    this.body.querySelectorAll("tbody tr").forEach(other => { other.tabIndex = other === row ? 0 : -1; });
    row.focus();
  }

  #select(element) { this.go(this.dom.structure.start[element], this.dom.structure.end[element]); }

  // -- drawing ---------------------------------------------------------------------------------

  #buttons(element, dimension) {
    const path = this.dom.structure.path(element), label = this.dom.structure.label(element);
    const given = { ...this.model.state.grades[path], ...this.half.get(path) }[dimension];
    const follows = given === undefined ? this.model.inferred[path]?.[dimension] : undefined;
    const buttons = this.grades[dimension].map(value => make("button", {
      type: "button", tabindex: "-1", "aria-pressed": String(value === given),
      class: value === follows ? "follows" : null,
      "aria-label": `${dimension} ${WORDS[value] ?? value} of ${label}` +
        (value === follows ? ", inferred" : ""),
      title: value === follows ? "inferred from other grades" : (WORDS[value] ?? null),
      click: () => (value === given ? this.ungrade(element) : this.grade(element, dimension, value)),
    }, value));
    const open = given === undefined && follows === undefined;
    return make("td", { class: open ? "grades open" : "grades" }, buttons);
  }

  #row(element, focus) {
    const { structure } = this.dom, size = structure.lengthOf(element);
    const lit = this.model.coverage.within(structure.start[element], structure.end[element]);
    const name = make("th", { scope: "row" }, `${structure.nameOf(element)}[${structure.ordinal[element]}]`);
    name.style.paddingInlineStart = `${.3 + .55 * Math.min(12, this.#depth(element))}rem`;
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", size ? lit / size : 0);
    return make("tr", { tabindex: focus ? "0" : "-1", "data-element": String(element),
      title: structure.path(element), keydown: event => this.#key(event, element),
      click: event => { if (!event.target.closest("button")) this.#select(element); } },
      name, ...this.model.procedure === "2003" ? [make("td", {}, size.toLocaleString("en"))] : [
        make("td", {}, size.toLocaleString("en")), make("td", {}, lit.toLocaleString("en")),
        make("td", { class: "specificity" }, size ? (lit / size).toFixed(2) : "", bar)],
      Object.keys(this.grades).map(dimension => this.#buttons(element, dimension)));
  }

  #missing() {
    const { missing } = this.model;
    if (!this.graded) return [];
    if (!missing.length) return [make("p", { class: "good" }, "✓ Nothing is missing.")];
    return [make("details", { class: "missing" },
      make("summary", {}, `${counted(missing.length, "thing")} missing`),
      make("ul", {}, missing.slice(0, 30).map(reason => make("li", {}, wordsOf(reason)))))];
  }

  #pages(count) {
    if (count <= PAGE) return [];
    const step = by => { this.first = Math.max(0, this.first + by); this.draw(); };
    return [make("p", { class: "pages" },
      make("button", { type: "button", disabled: this.first === 0, click: () => step(-PAGE) }, "earlier"),
      ` ${this.first + 1} to ${Math.min(count, this.first + PAGE)} of ${count.toLocaleString("en")} `,
      make("button", { type: "button", disabled: this.first + PAGE >= count, click: () => step(PAGE) }, "later"))];
  }

  draw(body = this.body) {
    this.body = body;
    if (!body) return;
    const focused = document.activeElement?.closest?.("#panel-elements tr")?.dataset.element;
    const rows = this.rows();
    if (this.first >= rows.length) this.first = 0;
    const shown = rows.slice(this.first, this.first + PAGE);
    const old = this.model.procedure === "2003";
    const heads = ["element", "size", ...old ? [] : ["relevant", "spec."],
      ...Object.keys(this.grades).map(name => (old ? `${name.slice(0, 5)}.` : name))];
    const at = Math.max(0, shown.indexOf(Number(focused)));
    body.replaceChildren(...this.#missing(), ...this.#pages(rows.length),
      shown.length ? make("div", { class: "scroll" }, make("table", {},
        make("thead", {}, make("tr", {}, heads.map(head => make("th", { scope: "col" }, head)))),
        make("tbody", {}, shown.map((element, i) => this.#row(element, i === at))))) :
        make("p", { class: "soft" }, old ? "No element of this document was pooled." :
          "Nothing is highlighted yet."));
    if (focused !== undefined) body.querySelector(`tr[data-element="${focused}"]`)?.focus();
  }

  /** To the first element that still needs a grade, or to the first. */
  enter() {
    const open = this.body?.querySelector("td.open")?.closest("tr");
    this.#focus(open ?? this.body?.querySelector("tbody tr"));
    return byId("panel-elements").contains(document.activeElement);
  }
}

/** What is missing in words, whether the server says it in a text or in an object. */
export function wordsOf(missing) {
  const words = typeof missing === "string" ? missing : missing.reason ?? "";
  return words.charAt(0).toUpperCase() + words.slice(1);
}
