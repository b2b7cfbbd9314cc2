// Where the reader is in the document: what is in view, and where the last visit ended.
import { drawn } from "./nodes.js";
import { boxOf } from "./painting.js";

const KEPT = "foveal.reading", MOST = 300, PAUSE = 300, SETTLE = 5;
const COVERS = ".tools, .status, #side, #find";

/** Events: "move" after the window was scrolled or the text laid out anew, once for each frame. */
export class Reading extends EventTarget {
  /** `place` names the document among all that `owner` reads in this browser. */
  constructor(dom, owner, place) {
    super();
    Object.assign(this, { dom, place, kept: `${KEPT}.${owner}` });
    history.scrollRestoration = "manual"; // the text comes later than the browser thinks
    addEventListener("scroll", () => this.#moved(), { passive: true });
    for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      addEventListener(name, () => { this.goal = null; }, { passive: true, capture: true });
    }
  }

  /** Top and bottom of the part of the window where nothing covers the text. */
  get view() {
    const { left, width } = this.dom.root.getBoundingClientRect(), middle = left + width / 2;
    let top = 0, bottom = innerHeight;
    for (const part of document.querySelectorAll(COVERS)) {
      const box = part.getBoundingClientRect();
      if (!box.height || box.left > middle || box.right < middle) continue;
      if (box.top + box.bottom < innerHeight) top = Math.max(top, box.bottom);
      else bottom = Math.min(bottom, box.top);
    }
    return { top, bottom };
  }

  isInView(at) {
    const box = boxOf(this.dom, at), { top, bottom } = this.view;
    return box !== null && box.top >= top && box.top + box.height <= bottom;
  }

  /** The place of the text under a point of the window. */
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

  /** The place in the line at a height, or in the nearest line in view. */
  near(x, y) {
    const { top, bottom } = this.view;
    for (let step = 0; step < bottom - top; step += 6) {
      for (const height of step ? [y + step, y - step] : [y]) {
        const at = height > top && height < bottom ? this.under(x, height) : null;
        if (at !== null) return at;
      }
    }
    return null;
  }

  /** The text at a share of the view's height: 0 is the first line in view. */
  placeAt(share) {
    const { left, top } = this.dom.root.getBoundingClientRect(), view = this.view;
    return this.near(left + 2, Math.max(view.top + share * (view.bottom - view.top), top) + 10) ?? 0;
  }

  get first() { return this.placeAt(0); }

  // -- going elsewhere -------------------------------------------------------------------------

  /** Scroll to a place: to the "start" or "center" of the view, or as little as needed. */
  reveal(at, block = "nearest") {
    this.dom.unfold(at);
    const box = boxOf(this.dom, at);
    if (!box) return;
    const { top, bottom } = this.view, line = 2 * box.height;
    const isIn = box.top >= top && box.top <= bottom - line;
    if (block === "start") this.#hold(at, view => view.top + box.height / 2);
    else if (block === "center" && !isIn) this.#hold(at, view => (view.top + view.bottom) / 3);
    else if (box.top < top + line) scrollBy(0, box.top - top - line);
    else if (box.top + box.height > bottom - line) scrollBy(0, box.top + box.height - bottom + line);
  }

  /**
   * Scroll a place to a height in the window, and hold it there for some frames: text gets its real
   * height only when it comes into view, and the head of the page scrolls away.
   */
  async #hold(at, heightIn) {
    const goal = this.goal = { at };
    for (let frame = 0; frame < SETTLE && this.goal === goal; frame++) {
      const box = boxOf(this.dom, at), off = box ? box.top - heightIn(this.view) : 0;
      if (Math.abs(off) > 1) scrollBy(0, off);
      await drawn();
    }
  }

  // -- the last visit --------------------------------------------------------------------------

  #places() {
    try { return new Map(JSON.parse(localStorage.getItem(this.kept)) ?? []); } catch { return new Map(); }
  }

  /** Return to where the last visit ended; false if there was none. */
  restore() {
    const at = this.#places().get(this.place);
    if (!Number.isInteger(at) || at < 0 || at > this.dom.offsets.length) return false;
    if (at > 0) this.reveal(at, "start");
    return true;
  }

  #keep() {
    const places = this.#places();
    places.delete(this.place); // the newest is the last
    places.set(this.place, scrollY > 0 ? this.first : 0);
    try { localStorage.setItem(this.kept, JSON.stringify([...places].slice(-MOST))); } catch { /* not kept then */ }
  }

  #moved() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.dispatchEvent(new Event("move"));
    });
    clearTimeout(this.clock);
    this.clock = setTimeout(() => this.#keep(), PAUSE);
  }
}
