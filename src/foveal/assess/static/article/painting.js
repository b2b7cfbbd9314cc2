// Colours on the text (CSS Custom Highlight API) and marks over it: the text is never touched.
import { make } from "./nodes.js";

export const COLOURS = ["blue", "orange", "green", "pink", "purple", "red"];
export const STYLES = ["background", "underline", "text"];
export const OTHERS = 4; // assessors told apart in an adjudication
const PRIORITIES = { support: 1, relevant: 2, found: 8, "found-here": 9 };

export const supported = () => "highlights" in CSS && typeof Highlight === "function";

/** Named layers of spans; only what has changed since the last time is made anew. */
export class Painter {
  constructor(dom) {
    this.dom = dom;
    this.layers = new Map();
  }

  paint(name, spans) {
    let layer = this.layers.get(name);
    if (!layer) {
      layer = { highlight: new Highlight(), ranges: new Map() };
      layer.highlight.priority = PRIORITIES[name] ?? (name.startsWith("cue-") ? 4 : 3);
      this.layers.set(name, layer);
      CSS.highlights.set(name, layer.highlight);
    }
    const kept = new Map();
    for (const [start, end] of spans) {
      const key = `${start}-${end}`;
      const range = layer.ranges.get(key) ?? this.dom.range(start, end);
      if (!layer.ranges.has(key)) layer.highlight.add(range);
      layer.ranges.delete(key);
      kept.set(key, range);
    }
    for (const gone of layer.ranges.values()) layer.highlight.delete(gone);
    layer.ranges = kept;
  }

  clear(prefix) {
    for (const name of this.layers.keys()) if (name.startsWith(prefix)) this.paint(name, []);
  }
}

/** Where a character is on the screen; of white space that is not shown, the next or last that is. */
export function boxOf(dom, at) {
  const { length } = dom.offsets, furthest = 400;
  const boxesOf = place => dom.liveRange(place, place + 1).getClientRects();
  for (let place = at; place < Math.min(length, at + furthest); place++) {
    const [box] = boxesOf(place);
    if (box?.height) return box;
  }
  for (let place = at - 1; place >= Math.max(0, at - furthest); place--) {
    const last = [...boxesOf(place)].pop();
    if (last?.height) return { left: last.right, top: last.top, height: last.height };
  }
  return null;
}

/** The best entry point and the cursor. Event: "layout" when text has moved. */
export class Marks extends EventTarget {
  constructor(dom, layer) {
    super();
    this.dom = dom;
    this.layer = layer;
    this.bep = make("div", { class: "bep", hidden: true });
    this.label = make("div", { class: "bep-label", hidden: true }, "◀ entry point");
    this.cursor = make("div", { class: "cursor", hidden: true });
    layer.append(this.bep, this.label, this.cursor);
    this.places = { bep: null, cursor: null };
    const again = () => this.#soon();
    new ResizeObserver(again).observe(dom.root);
    // Text that comes into sight gets its real height, and all below it moves.
    dom.root.addEventListener("contentvisibilityautostatechange", again, { capture: true });
    addEventListener("resize", again);
    document.fonts?.ready.then(again);
  }

  show(name, at) {
    this.places[name] = at;
    this.#put(name);
  }

  #soon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      for (const name of Object.keys(this.places)) this.#put(name);
      this.dispatchEvent(new Event("layout"));
    });
  }

  #put(name) {
    const at = this.places[name], mark = this[name];
    const box = at === null ? null : boxOf(this.dom, at), origin = this.layer.getBoundingClientRect();
    mark.hidden = !box;
    if (name === "bep") this.label.hidden = !box;
    if (!box) return;
    mark.style.left = `${box.left - origin.left}px`;
    mark.style.top = `${box.top - origin.top}px`;
    mark.style.height = `${box.height}px`;
    if (name === "bep") this.label.style.top = mark.style.top;
  }
}
