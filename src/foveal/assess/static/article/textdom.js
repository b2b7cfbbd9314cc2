// A document in the page: one index between offsets of its text and places in text nodes.
import { Offsets, below } from "./offsets.js";
import { Rendering } from "./rendering.js";
import { sha256 } from "./sha256.js";

export { Structure } from "./rendering.js";

/** The document in the page, with one index from offsets to text nodes and back. */
export class TextDom {
  constructor(structure, root) {
    this.structure = structure;
    this.root = root;
    this.text = structure.text;
    this.offsets = new Offsets(this.text);
    this.rendering = new Rendering(structure, root, this.offsets);
    const { nodes, shown, element } = this.rendering;
    Object.assign(this, { nodes, shown, element });
    this.number = new Map(nodes.map((node, i) => [node, i])); // text node to its place in nodes
    this.starts = new Int32Array(this.nodes.length);
    for (let i = 1; i < this.nodes.length; i++) {
      this.starts[i] = this.starts[i - 1] + this.nodes[i - 1].length;
    }
  }

  /** Open what is folded around a place. */
  unfold(at) { this.rendering.unfold(this.place(this.offsets.toUnits(at))[0]); }

  // -- what the page shows is what the server has --------------------------------------------

  /** Length and hash of the text that is really in the page. */
  measured() {
    const text = this.root.textContent;
    return { length: new Offsets(text).length, digest: sha256(text) };
  }

  // -- between offsets and places in the page (units inside, code points outside) -------------

  /** Text node and offset of a place; at a border the node before it (an end) or after it. */
  place(units, isEnd = false) {
    const found = isEnd ? below(this.starts, units) - 1 : below(this.starts, units + 1) - 1;
    const i = Math.max(0, Math.min(this.nodes.length - 1, found));
    return [this.nodes[i], Math.min(this.nodes[i].length, Math.max(0, units - this.starts[i]))];
  }

  /** A range of code points; static, since the text never changes and many are cheap. */
  range(start, end) {
    const [startContainer, startOffset] = this.place(this.offsets.toUnits(start));
    const [endContainer, endOffset] = this.place(this.offsets.toUnits(end), true);
    return new StaticRange({ startContainer, startOffset, endContainer, endOffset });
  }

  liveRange(start, end) {
    const range = document.createRange();
    range.setStart(...this.place(this.offsets.toUnits(start)));
    range.setEnd(...this.place(this.offsets.toUnits(end), end > start));
    return range;
  }

  /** The words of a span in one line; neighbouring cells, blocks and parts of formulas are apart. */
  words(start, end) {
    const [first, from] = this.place(this.offsets.toUnits(start));
    const [last, to] = this.place(this.offsets.toUnits(end), true);
    const blockOf = node => node.parentElement.closest("div, td, th, math *, .r-sup, .r-fraction > *");
    let words = "", block = null;
    for (let i = this.number.get(first); i <= this.number.get(last); i++) {
      const node = this.nodes[i], own = blockOf(node);
      words += (own === block ? "" : " ") +
        node.data.slice(node === first ? from : 0, node === last ? to : undefined);
      block = own;
    }
    return words.replace(/\s+/g, " ").trim();
  }

  /** Code points before a place in the page; places outside the text count as its ends. */
  points(node, offset) {
    const number = this.number.get(node);
    if (number !== undefined) return this.offsets.toPoints(this.starts[number] + offset);
    if (!this.root.contains(node)) {
      const all = document.createRange();
      all.selectNodeContents(this.root);
      return all.comparePoint(node, offset) < 0 ? 0 : this.offsets.length;
    }
    // A place between children is where the next text begins, or where the last one ends.
    const next = this.#textFrom(node, offset);
    if (next === null) return this.offsets.length;
    return this.offsets.toPoints(this.starts[this.number.get(next)]);
  }

  #textFrom(node, offset) {
    const walker = document.createTreeWalker(this.root, NodeFilter.SHOW_TEXT);
    if (offset < node.childNodes.length) {
      const child = node.childNodes[offset];
      if (child.nodeType === Node.TEXT_NODE) return child;
      walker.currentNode = child;
      return walker.nextNode();
    }
    // Past the last child: the first text that is not inside this node.
    for (let at = node; at !== this.root; at = at.parentNode) {
      if (at.nextSibling) return this.#textFrom(at.parentNode, indexOf(at) + 1);
    }
    return null;
  }
}

function indexOf(node) {
  let at = 0;
  for (let before = node.previousSibling; before; before = before.previousSibling) at++;
  return at;
}
