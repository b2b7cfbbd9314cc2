// Marks beside the scroll bar: where in the document highlights, cues, support and found text are.
import { byId } from "./nodes.js";
import { below } from "./offsets.js";

// Left edge and width in the strip, and the custom property of the colour.
const LANES = {
  relevant: [0, 5, "--lit-line"], support: [5, 4, "--bar"], cue: [9, 5, "--cue-"],
  found: [0, 14, "--found"], bep: [0, 14, "--bep"],
};
const LEAST = 2; // pixels of the shortest mark
const NEAR = 4; // pixels from which a click means a mark
const SAMPLES = 1000; // blocks whose places on the page are looked up
const PAUSE = 150; // milliseconds until the strip follows a change

export class Overview {
  constructor(dom, reading, marks) {
    Object.assign(this, { dom, reading });
    this.strip = byId("overview");
    this.canvas = this.strip.querySelector("canvas");
    this.part = this.strip.querySelector("div");
    this.layers = new Map(); // name to { lane, spans, colour }
    this.blocks = null;
    const follow = () => this.#follow();
    reading.addEventListener("move", follow);
    marks.addEventListener("layout", () => { this.#follow(); this.#soon(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#soon());
    this.strip.addEventListener("mousedown", event => event.preventDefault());
    this.strip.addEventListener("click", event => this.#clicked(event.offsetY));
  }

  /** Show other spans in a lane; a lane may have several layers, such as one for each colour. */
  set(lane, spans, part = "") {
    const layer = this.layers.get(lane + part);
    if (layer?.spans === spans) return;
    this.layers.set(lane + part, { lane, spans, colour: LANES[lane][2] + part });
    this.#soon();
  }

  clear(lane) {
    for (const [name, layer] of this.layers) if (layer.lane === lane) this.layers.delete(name);
    this.#soon();
  }

  #soon() {
    this.waiting ??= setTimeout(() => { this.waiting = null; this.#draw(); }, PAUSE);
  }

  // -- from the text to the strip --------------------------------------------------------------

  /** Places of some blocks in the text; what lies between two of them is spread evenly. */
  #findBlocks() {
    const all = [...this.dom.root.querySelectorAll(".chunk")];
    const nodes = all.filter((_, i) => i % Math.ceil(all.length / SAMPLES) === 0);
    this.blocks = { nodes, starts: nodes.map(node => this.dom.points(node, 0)) };
  }

  #measure() {
    if (!this.blocks) this.#findBlocks();
    const { top, bottom } = this.dom.root.getBoundingClientRect(), { nodes, starts } = this.blocks;
    this.ats = [0, ...starts, Math.max(1, this.dom.offsets.length)];
    const scale = this.strip.clientHeight / document.documentElement.scrollHeight;
    this.ys = [top, ...nodes.map(node => node.getBoundingClientRect().top), bottom].map(y => (y + scrollY) * scale);
  }

  #y(at) {
    const { ats, ys } = this, i = Math.max(1, Math.min(ats.length - 1, below(ats, at)));
    const share = ats[i] > ats[i - 1] ? (at - ats[i - 1]) / (ats[i] - ats[i - 1]) : 0;
    return ys[i - 1] + share * (ys[i] - ys[i - 1]);
  }

  // -- drawing ---------------------------------------------------------------------------------

  #draw() {
    const { canvas, strip } = this, { clientWidth: width, clientHeight: height } = strip;
    if (!height) return;
    this.#measure();
    const scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(width / 14 * scale, scale);
    this.drawn = [];
    for (const { lane, spans, colour } of this.layers.values()) {
      const [left, wide] = LANES[lane];
      pen.fillStyle = style.getPropertyValue(colour).trim();
      let until = -1;
      for (const [start, end] of spans) {
        const y = Math.round(this.#y(start)), low = Math.max(y + LEAST, Math.round(this.#y(end)));
        this.drawn.push([y, low, start]);
        if (low <= until) continue; // nothing new is seen of it
        pen.fillRect(left, y, wide, low - y);
        until = low;
      }
    }
    this.#follow();
  }

  /** The part of the document that is in the window. */
  #follow() {
    const { scrollHeight } = document.documentElement, { clientHeight } = this.strip;
    this.part.style.height = `${Math.max(8, innerHeight / scrollHeight * clientHeight)}px`;
    this.part.style.transform = `translateY(${scrollY / scrollHeight * clientHeight}px)`;
  }

  #clicked(y) {
    let nearest = null, least = NEAR + 1;
    for (const [top, low, start] of this.drawn ?? []) {
      const off = Math.max(top - y, y - low, 0) || Math.abs(top - y) / 1e4; // inside: the nearest start
      if (off < least) [nearest, least] = [start, off];
    }
    if (nearest !== null) { this.reading.reveal(nearest, "center"); return; }
    const { scrollHeight } = document.documentElement;
    scrollTo(0, y / this.strip.clientHeight * scrollHeight - innerHeight / 2);
  }
}
