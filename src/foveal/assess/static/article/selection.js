// What is selected in the text, in code points, by mouse or by keys.
import { drawn } from "./nodes.js";
import { boxOf } from "./painting.js";

/** The selection within the text, and a cursor where it is empty. */
export class Selected extends EventTarget {
  constructor(dom, marks, reading) {
    super();
    Object.assign(this, { dom, marks, reading });
    document.addEventListener("selectionchange", () => this.#changed());
    dom.root.addEventListener("focus", () => this.#changed());
    dom.root.addEventListener("blur", () => this.#changed());
  }

  get #own() {
    const selection = getSelection();
    if (!selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    return range.intersectsNode(this.dom.root) ? range : null;
  }

  /** [start, end] of what is selected of the text; null if nothing is. */
  get span() {
    const range = this.#own;
    if (!range || range.collapsed) return null;
    const start = this.dom.points(range.startContainer, range.startOffset);
    const end = this.dom.points(range.endContainer, range.endOffset);
    return start < end ? [start, end] : null;
  }

  /** Where the cursor is, or where the selection begins; null if it is elsewhere. */
  get at() {
    const range = this.#own;
    if (!range || !this.dom.root.contains(range.startContainer)) return null;
    return this.dom.points(range.startContainer, range.startOffset);
  }

  select(start, end = start) {
    const units = at => this.dom.offsets.toUnits(at);
    const from = this.dom.place(units(start)), to = this.dom.place(units(end), end > start);
    getSelection().setBaseAndExtent(...from, ...to);
  }

  /** Nothing is selected any more; the cursor stays where it was. */
  clear() {
    const span = this.span;
    if (span) this.select(span[1] < this.dom.offsets.length ? span[1] : span[0]);
    else getSelection().removeAllRanges();
  }

  // -- by keys ---------------------------------------------------------------------------------

  /** Move the cursor, or its end of the selection if `extend`. */
  move(direction, unit, extend) {
    const selection = getSelection();
    if (unit === "page") { this.#byPage(direction, extend); return; }
    if (this.at === null) this.select(this.reading.first);
    else if (!extend && !selection.isCollapsed) {
      // As everywhere: an arrow without Shift goes to an end of the selection.
      if (direction === "forward") selection.collapseToEnd(); else selection.collapseToStart();
      if (unit === "character") { this.#follow(); return; }
    }
    const before = [selection.focusNode, selection.focusOffset];
    if (unit === "paragraph") this.#byParagraph(direction, extend);
    else if (unit === "document") this.#put(direction === "forward" ? this.dom.offsets.length : 0, extend);
    else selection.modify(extend ? "extend" : "move", direction, unit);
    if (!this.dom.root.contains(selection.focusNode)) {
      if (extend) selection.extend(...before); else selection.collapse(...before);
    }
    this.#follow();
  }

  #byParagraph(direction, extend) {
    const selection = getSelection(), { structure, element } = this.dom;
    const now = this.dom.points(selection.focusNode, selection.focusOffset);
    let found = direction === "forward" ? this.dom.offsets.length : 0;
    for (const i of element.values()) {
      if (!structure.isBlock(i) || structure.start[i] === structure.end[i]) continue;
      const start = structure.start[i];
      if (direction === "forward" && start > now) found = Math.min(found, start);
      if (direction !== "forward" && start < now) found = Math.max(found, start);
    }
    this.#put(found, extend);
  }

  #put(at, extend) {
    const selection = getSelection(), { length } = this.dom.offsets;
    const place = this.dom.place(this.dom.offsets.toUnits(at), at === length);
    if (extend) selection.extend(...place); else selection.collapse(...place);
  }

  /**
   * Scroll by a page less two lines; the cursor stays at its height in the window, and goes on to
   * the end where the page cannot. What is selected stays selected.
   */
  async #byPage(direction, extend) {
    const selection = getSelection(), { top, bottom } = this.reading.view;
    const sign = direction === "forward" ? 1 : -1;
    const at = this.at === null ? null : this.dom.points(selection.focusNode, selection.focusOffset);
    const box = (at === null ? null : boxOf(this.dom, at)) ?? { left: 0, top: 0, height: 24 };
    const line = box.height, page = Math.max(line, bottom - top - 2 * line), before = scrollY;
    const { left } = this.dom.root.getBoundingClientRect();
    const inView = at !== null && box.top > top - line && box.top < bottom;
    // Several pages in a row end where the first began: between them the cursor is out of view.
    this.turning ??= { x: inView ? box.left : left + 2, y: inView ? box.top + line / 2 : top + line, rest: 0 };
    const { turning } = this;
    scrollBy({ top: sign * page, behavior: "instant" });
    turning.rest += sign * page - (scrollY - before);
    turning.pages = (turning.pages ?? 0) + 1;
    await drawn(); // text that was out of sight has no lines before
    if (--turning.pages) return;
    this.turning = null;
    if (!extend && !selection.isCollapsed) return;
    const view = this.reading.view;
    const y = Math.max(view.top + line / 2, Math.min(view.bottom - line / 2, turning.y + turning.rest));
    const place = this.reading.near(turning.x, y);
    if (place !== null) this.#put(place, extend && at !== null);
  }

  #follow() {
    const { focusNode, focusOffset } = getSelection();
    if (focusNode) this.reading.reveal(this.dom.points(focusNode, focusOffset));
  }

  #changed() {
    const focused = document.activeElement === this.dom.root;
    this.marks.show("cursor", focused && !this.span ? this.at : null);
    this.dispatchEvent(new Event("change"));
  }
}
