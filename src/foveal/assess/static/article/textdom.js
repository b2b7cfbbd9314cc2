// A document as elements of the page whose text is exactly the document's text.
import { Offsets, below } from "./offsets.js";
import { sha256 } from "./sha256.js";

const INLINE = new Set(["inline", "emph", "strong", "link", "sub", "sup", "small", "code", "math"]);
const IN_TABLES = new Set(["row-group", "row", "cell", "header-cell"]);
const WHOLE = new Set(["paragraph", "heading", "title", "table", "caption"]);
const CHUNK = 8000; // units of text that are laid out together, or not at all while out of sight
const DEEPEST = 150; // what is nested deeper is shown as text of the element at this depth
const LINE = 68;

/** What a document looks like, by elements in document order. */
export class Structure {
  constructor(json) {
    Object.assign(this, json);
    this.size = this.tag.length;
  }

  nameOf(element) { return this.tags[this.tag[element]]; }
  lengthOf(element) { return this.end[element] - this.start[element]; }

  /** The XPath by which server and exports know an element. */
  path(element) {
    const steps = [];
    for (let at = element; at >= 0; at = this.parent[at]) {
      steps.push(`${this.nameOf(at)}[${this.ordinal[at]}]`);
    }
    return `/${steps.reverse().join("/")}`;
  }

  /** The last steps of the XPath, for people. */
  label(element) {
    const own = `${this.nameOf(element)}[${this.ordinal[element]}]`;
    const parent = this.parent[element];
    return parent < 0 ? own : `${this.nameOf(parent)}[${this.ordinal[parent]}]/${own}`;
  }

  byPath() {
    this.paths ??= new Map(Array.from({ length: this.size }, (_, i) => [this.path(i), i]));
    return this.paths;
  }

  /** The smallest element that holds a span and more than it; -1 if there is none. */
  enclosing(start, end) {
    for (let i = this.size - 1; i >= 0; i--) {
      const [a, b] = [this.start[i], this.end[i]];
      if (a <= start && end <= b && (a < start || end < b) && start < b) return i;
    }
    return -1;
  }
}

/** The document in the page, with one index from offsets to text nodes and back. */
export class TextDom {
  constructor(structure, root) {
    this.structure = structure;
    this.root = root;
    this.text = structure.text;
    this.offsets = new Offsets(this.text);
    this.nodes = [];
    this.number = new Map(); // text node to its place in nodes
    this.shown = new Array(structure.size); // element to its node
    this.element = new Map(); // and back
    this.#build();
    this.starts = new Int32Array(this.nodes.length);
    for (let i = 1; i < this.nodes.length; i++) {
      this.starts[i] = this.starts[i - 1] + this.nodes[i - 1].length;
    }
  }

  #build() {
    const { structure, offsets } = this;
    const open = [{ element: -1, node: document.createDocumentFragment(), inChunk: false }];
    this.#findLevels();
    let at = 0;
    const top = () => open[open.length - 1];
    const textUpTo = (end) => {
      if (end > at) this.#addText(top(), this.text.slice(at, end));
      at = Math.max(at, end);
    };
    const close = () => {
      textUpTo(offsets.toUnits(structure.end[top().element]));
      open.pop();
    };
    for (let i = 0; i < structure.size; i++) {
      while (top().element !== structure.parent[i]) close();
      textUpTo(offsets.toUnits(structure.start[i]));
      open.push(this.#open(i, top(), open.length));
    }
    while (open.length > 1) close();
    textUpTo(this.text.length);
    if (!this.nodes.length) this.#addNode(open[0].node, ""); // every place is in some text node
    this.root.replaceChildren(open[0].node);
  }

  /** Headings in fewer blocks are higher; the highest of a document are of the first level. */
  #findLevels() {
    const { parent, role, size } = this.structure, levels = new Int32Array(size);
    let least = Infinity;
    for (let i = 0; i < size; i++) {
      levels[i] = (parent[i] < 0 ? 0 : levels[parent[i]]) + (role[i] === "block" ? 1 : 0);
      if (role[i] === "heading") least = Math.min(least, levels[i]);
    }
    this.levels = levels.map(level => Math.max(1, level - least + 1));
  }

  #open(element, above, depth) {
    if (depth > DEEPEST) {
      this.shown[element] = above.node;
      return { ...above, element };
    }
    const { structure } = this;
    const role = structure.role[element], length = structure.lengthOf(element);
    const block = !INLINE.has(role);
    const node = document.createElement(block ? "div" : "span");
    node.className = `r-${role}`;
    node.dataset.tag = structure.nameOf(element);
    if (role === "code" && this.#lines(element)) node.classList.add("lines");
    if (role === "heading") node.classList.add(`level-${Math.min(4, this.levels[element])}`);
    const chunk = block && !above.inChunk && !IN_TABLES.has(role) && length > 0 &&
      (length <= CHUNK || WHOLE.has(role));
    if (chunk) {
      node.classList.add("chunk");
      const lines = Math.ceil(length / LINE) + (role === "heading" ? 1 : 0);
      node.style.containIntrinsicBlockSize = `auto ${Math.max(2, lines * 1.65)}em`;
    }
    above.node.append(node);
    this.shown[element] = node;
    this.element.set(node, element);
    return { element, node, inChunk: above.inChunk || chunk, block };
  }

  #lines(element) {
    const { structure: { start, end }, offsets } = this;
    const at = this.text.indexOf("\n", offsets.toUnits(start[element]));
    return at >= 0 && at < offsets.toUnits(end[element]);
  }

  /** Long text without elements, as of a plain file, gets blocks of its own after line ends. */
  #addText(into, text) {
    if (into.inChunk || into.block === false || text.length <= CHUNK) {
      this.#addNode(into.node, text);
      return;
    }
    for (let at = 0; at < text.length;) {
      let end = text.length;
      if (end - at > CHUNK) {
        const found = text.indexOf("\n", at + CHUNK / 2);
        end = found < 0 ? end : found + 1;
        while (end < text.length && text[end] === "\n") end++;
      }
      const piece = document.createElement("div");
      piece.className = "piece chunk";
      piece.style.containIntrinsicBlockSize = `auto ${Math.ceil((end - at) / LINE) * 1.65}em`;
      into.node.append(piece);
      this.#addNode(piece, text.slice(at, end));
      at = end;
    }
  }

  #addNode(parent, text) {
    const node = document.createTextNode(text);
    this.number.set(node, this.nodes.length);
    this.nodes.push(node);
    parent.append(node);
  }

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
