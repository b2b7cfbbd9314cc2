// Marks that lie over the text and are no part of it: the best entry point and the cursor.
import { make } from "./nodes.js";

export class Marks {
  constructor(dom, layer) {
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
    });
  }

  #put(name) {
    const at = this.places[name], mark = this[name];
    const box = at === null ? null : this.box(at), origin = this.layer.getBoundingClientRect();
    mark.hidden = !box;
    if (name === "bep") this.label.hidden = !box;
    if (!box) return;
    mark.style.left = `${box.left - origin.left}px`;
    mark.style.top = `${box.top - origin.top}px`;
    mark.style.height = `${box.height}px`;
    if (name === "bep") this.label.style.top = mark.style.top;
  }

  /** Where a character is on the screen; of white space that is not shown, the next that is. */
  box(at) {
    const { length } = this.dom.offsets;
    for (let place = at; place < Math.min(length, at + 400); place++) {
      const [box] = this.dom.liveRange(place, place + 1).getClientRects();
      if (box && box.height) return box;
    }
    const boxes = this.dom.liveRange(Math.max(0, at - 1), at).getClientRects();
    const last = boxes[boxes.length - 1];
    return last ? { left: last.right, top: last.top, height: last.height } : null;
  }
}
