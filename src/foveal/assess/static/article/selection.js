// What is selected in the text, in code points, by mouse or by keys.

const LEAST_VISIBLE = 8;

/** The selection within the text, and a cursor where it is empty. */
export class Selected extends EventTarget {
  constructor(dom, marks) {
    super();
    this.dom = dom;
    this.marks = marks;
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

  reveal(at, block = "nearest") {
    this.dom.unfold(at);
    const box = this.marks.box(at);
    if (!box) return;
    const top = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    const bottom = innerHeight - (parseFloat(getComputedStyle(document.body).paddingBottom) || 0);
    const line = 2 * box.height;
    if (block === "center" && (box.top < top || box.top > bottom - line)) {
      scrollBy(0, box.top - (top + bottom) / 3);
    } else if (box.top < top + line) scrollBy(0, box.top - top - line);
    else if (box.top + box.height > bottom - line) scrollBy(0, box.top + box.height - bottom + line);
  }

  // -- by keys ---------------------------------------------------------------------------------

  /** Move the cursor, or its end of the selection if `extend`. */
  move(direction, unit, extend) {
    const selection = getSelection();
    if (this.at === null) this.select(this.#firstVisible());
    else if (!extend && !selection.isCollapsed) {
      // As everywhere: an arrow without Shift goes to an end of the selection.
      if (direction === "forward") selection.collapseToEnd(); else selection.collapseToStart();
      if (unit === "character") { this.#follow(); return; }
    }
    const before = [selection.focusNode, selection.focusOffset];
    if (unit === "paragraph") this.#byParagraph(direction, extend);
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
    const place = this.dom.place(this.dom.offsets.toUnits(found), found === this.dom.offsets.length);
    if (extend) selection.extend(...place); else selection.collapse(...place);
  }

  #follow() {
    const { focusNode, focusOffset } = getSelection();
    if (focusNode) this.reveal(this.dom.points(focusNode, focusOffset));
  }

  /** Where reading is: the first text below the head of the page. */
  #firstVisible() {
    const box = this.dom.root.getBoundingClientRect();
    const head = document.querySelector(".tools")?.getBoundingClientRect().bottom ?? 0;
    for (let y = Math.max(head, box.top) + LEAST_VISIBLE; y < innerHeight; y += 20) {
      const at = this.under(box.left + box.width / 3, y);
      if (at !== null) return at;
    }
    return 0;
  }

  /** The place of the text under a point of the screen. */
  under(x, y) {
    let node, offset;
    if (document.caretPositionFromPoint) {
      const found = document.caretPositionFromPoint(x, y);
      if (found) ({ offsetNode: node, offset } = found);
    } else {
      const found = document.caretRangeFromPoint?.(x, y);
      if (found) ({ startContainer: node, startOffset: offset } = found);
    }
    return node && this.dom.root.contains(node) ? this.dom.points(node, offset) : null;
  }

  #changed() {
    const focused = document.activeElement === this.dom.root;
    this.marks.show("cursor", focused && !this.span ? this.at : null);
    this.dispatchEvent(new Event("change"));
  }
}
