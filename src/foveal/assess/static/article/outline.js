// The headings of the document: sections open and close, and the one being read is marked.
import { counted, make } from "./nodes.js";

const LONGEST = 160;

export class Outline {
  constructor(dom, go) {
    Object.assign(this, { dom, go });
    const { structure: { size, parent, role, start, end } } = dom, above = [], levels = new Int32Array(size);
    for (let i = 0; i < size; i++) {
      levels[i] = (parent[i] < 0 ? 0 : levels[parent[i]]) + (role[i] === "block" ? 1 : 0);
    }
    const highest = Math.min(...levels.filter((_, i) => role[i] === "heading"));
    this.entries = [];
    for (let i = 0; i < size; i++) {
      if (role[i] !== "heading" && role[i] !== "title") continue;
      const words = dom.words(start[i], end[i]).slice(0, LONGEST), level = role[i] === "title" ? highest : levels[i];
      if (!words) continue;
      while (above.length && above[above.length - 1].level >= level) above.pop();
      const outer = above[above.length - 1] ?? null;
      if (outer) outer.hasParts = true;
      const entry = { start: start[i], level, depth: above.length, parent: outer, words, closed: false };
      this.entries.push(entry);
      above.push(entry);
    }
    this.current = null;
  }

  // -- the section being read ------------------------------------------------------------------

  /** Mark the section of a place; what is in a closed section marks that. */
  mark(at) {
    this.at = at;
    let current = this.entries.findLast(entry => entry.start <= at) ?? null;
    for (let above = current?.parent; above; above = above.parent) if (above.closed) current = above;
    if (current === this.current && this.marked === current?.row) return;
    this.marked?.removeAttribute("aria-current");
    this.current = current;
    this.marked = current?.row;
    this.marked?.setAttribute("aria-current", "location");
    // The panel follows, unless somebody is at work in it.
    const list = this.marked?.parentElement;
    if (!list || list.contains(document.activeElement)) return;
    const top = this.marked.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - this.marked.offsetHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }

  // -- the panel -------------------------------------------------------------------------------

  draw(body) {
    if (!this.entries.length) {
      body.replaceChildren(make("p", { class: "soft" }, "This document has no headings."));
      return;
    }
    this.list ??= make("ul", { class: "outline", role: "tree", "aria-label": counted(this.entries.length, "heading") },
      this.entries.map(entry => this.#row(entry)));
    if (this.list.parentNode !== body) body.replaceChildren(this.list);
    this.#fold();
    this.marked = null;
    if (this.at !== undefined) this.mark(this.at);
  }

  #row(entry) {
    const row = entry.row = make("li", { role: "treeitem", tabindex: "-1", "aria-level": String(entry.depth + 1),
      "aria-expanded": entry.hasParts ? "true" : null,
      keydown: event => this.#key(event, entry),
      click: event => (event.target.closest(".twist") ? this.#open(entry, entry.closed) : this.go(entry.start)) },
      make("span", { class: "twist", "aria-hidden": "true" }), make("span", {}, entry.words));
    row.style.setProperty("--depth", entry.depth);
    return row;
  }

  #visible() { return this.entries.filter(({ row }) => !row.hidden); }

  #fold() {
    for (const entry of this.entries) {
      const { row, parent } = entry;
      row.hidden = Boolean(parent && (parent.closed || parent.row.hidden));
      if (entry.hasParts) row.setAttribute("aria-expanded", String(!entry.closed));
    }
    const rows = this.#visible();
    if (!rows.some(({ row }) => row.tabIndex === 0)) rows[0].row.tabIndex = 0;
  }

  #open(entry, open) {
    if (!entry.hasParts) return;
    entry.closed = !open;
    this.#fold();
    if (this.at !== undefined) this.mark(this.at);
  }

  #focus(entry) {
    if (!entry) return;
    for (const { row } of this.entries) row.tabIndex = row === entry.row ? 0 : -1;
    entry.row.focus();
  }

  /** Into the panel, at the section being read. */
  enter() {
    this.#focus(this.entries.find(({ row }) => row === this.marked) ?? this.entries[0]);
  }

  #key(event, entry) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = this.#visible(), at = rows.indexOf(entry);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) this.#focus(rows[to]);
    else if (event.key === "ArrowRight" && entry.closed) this.#open(entry, true);
    else if (event.key === "ArrowRight") { if (entry.hasParts) this.#focus(rows[at + 1]); }
    else if (event.key === "ArrowLeft" && entry.hasParts && !entry.closed) this.#open(entry, false);
    else if (event.key === "ArrowLeft") this.#focus(entry.parent);
    else if (event.key === "Enter" || event.key === " ") this.go(entry.start);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
