// Colours on text by the CSS Custom Highlight API: the elements of the page are never touched.

export const COLOURS = ["blue", "orange", "green", "pink", "purple", "red"];
export const STYLES = ["background", "underline", "text"];
export const OTHERS = 4; // assessors told apart in an adjudication
const PRIORITIES = { support: 1, relevant: 2, found: 8 };

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
