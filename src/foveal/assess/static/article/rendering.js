// A document as elements of the page. Each character of its text comes once, in order, in text
// nodes; what a reader sees beside them (bullets, numbers, separators) comes from the style sheet.

export const INLINE = new Set(["inline", "datum", "graphic", "break", "emph", "strong", "link", "sub",
  "sup", "small", "code", "fraction", "math", "tex"]);
const TABLE_TAGS = { "row-group": "tbody", row: "tr", cell: "td", "header-cell": "th" };
const GROUPS = new Set(["thead", "tbody", "tfoot"]);
const TOKENS = new Set(["mi", "mn", "mo", "ms", "mtext", "annotation"]);
const SCROLLING = { tabindex: 0, role: "group", "aria-label": "Table" };
const FENCES = new Set(["open", "close", "separators"]); // shown by elements of their own
const MATHML = "http://www.w3.org/1998/Math/MathML";
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
  isBlock(element) { return !INLINE.has(this.role[element]); }
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

/** Fill `root` with a document; `offsets` turns code points into units. */
export class Rendering {
  constructor(structure, root, offsets) {
    Object.assign(this, { structure, offsets, root, text: structure.text });
    this.nodes = []; // text nodes in order
    this.shown = new Array(structure.size); // element to its node
    this.element = new Map(); // and back
    this.numbers = new Map(); // list to the number of its next item
    this.#findLevels();
    this.#build();
  }

  #build() {
    const { structure, offsets } = this;
    const open = [{ element: -1, node: document.createDocumentFragment(), inChunk: false }];
    let at = 0;
    const top = () => open[open.length - 1];
    const textUpTo = (end) => {
      if (end > at) this.#addText(top(), this.text.slice(at, end));
      at = Math.max(at, end);
    };
    const close = () => {
      textUpTo(offsets.toUnits(structure.end[top().element]));
      const { node, fence } = open.pop();
      if (fence) node.append(this.#mark(fence.close));
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
    this.#addFold();
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
      return { ...above, element, fence: null };
    }
    const { structure } = this;
    const role = structure.role[element], length = structure.lengthOf(element);
    const look = structure.looks[element] ?? {};
    const block = !INLINE.has(role);
    const node = this.#make(element, role, look);
    if (look.alternative) node.classList.add("alternative");
    if (role === "math") {
      if (above.fence && above.fence.inside++ > 0) above.node.append(this.#mark(above.fence.between));
      above.node.append(node);
      this.shown[element] = node;
      this.element.set(node, element);
      const { open, close, separators } = look.attributes;
      const fence = separators === undefined ? null
        : { close, between: separators.trim()[0] ?? "", inside: 0 };
      if (fence) node.append(this.#mark(open));
      return { element, node, inChunk: true, block: false, math: !TOKENS.has(look.math), fence };
    }
    node.classList.add(`r-${role}`);
    node.dataset.tag = structure.nameOf(element);
    if (role === "code" && this.#textOf(element).includes("\n")) node.classList.add("lines");
    if (role === "heading") node.classList.add(`level-${Math.min(4, this.levels[element])}`);
    if (look.list) node.classList.add(look.list);
    if (role === "item") {
      const list = structure.parent[element];
      const number = this.numbers.get(list) ?? structure.looks[list]?.first ?? 1;
      this.numbers.set(list, number + 1);
      node.style.counterReset = `item ${number}`;
    }
    if (look.labelled) node.classList.add("labelled");
    if (look.lang) node.lang = look.lang;
    const inTable = role in TABLE_TAGS || role === "column";
    if (look.dir) node.dir = look.dir;
    else if (block && !inTable && role !== "code") node.dir = "auto";
    if (role === "datum") this.#keepApart(element, node);
    const chunk = block && !above.inChunk && !inTable && length > 0 &&
      (length <= CHUNK || WHOLE.has(role));
    if (chunk) {
      node.classList.add("chunk");
      const lines = Math.ceil(length / LINE) + (role === "heading" ? 1 : 0);
      node.style.containIntrinsicBlockSize = `auto ${Math.max(2, lines * 1.65)}em`;
    }
    if (look.skip) above.node.append(this.#filler(look.skip));
    above.node.append(node);
    this.shown[element] = node;
    this.element.set(node, element);
    if (look.graphic !== undefined) node.append(this.#graphic(look));
    const into = role === "table" ? this.#addTable(node, look) : node;
    return { element, node: into, inChunk: above.inChunk || chunk, block };
  }

  #make(element, role, look) {
    if (role === "math") {
      const node = document.createElementNS(MATHML, look.math);
      for (const [name, value] of Object.entries(look.attributes)) {
        if (!FENCES.has(name)) node.setAttribute(name, value);
      }
      return node;
    }
    const tag = this.structure.nameOf(element).split(":").pop();
    const name = role === "row-group" && GROUPS.has(tag) ? tag : TABLE_TAGS[role];
    const empty = name === "th" && !this.#textOf(element).trim(); // is no heading of anything
    const node = document.createElement(
      empty ? "td" : name ?? (INLINE.has(role) ? "span" : "div"));
    if (look.colspan) node.colSpan = look.colspan;
    if (look.rowspan !== undefined) node.rowSpan = look.rowspan;
    if (look.align) node.classList.add(`a-${look.align}`);
    if (look.valign) node.classList.add(`a-${look.valign}`);
    return node;
  }

  /** A bracket or comma that stands in an attribute: the style sheet shows it. */
  #mark(text) {
    const node = document.createElementNS(MATHML, "mtext");
    node.classList.add("fence");
    node.dataset.mark = text;
    return node;
  }

  /** A table within a frame that scrolls where the table is wider than the page. */
  #addTable(node, look) {
    const frame = document.createElement("div"), table = document.createElement("table");
    frame.className = "scroll";
    if (!look.dir) table.dir = "auto";
    frame.append(table);
    node.append(frame);
    // It takes the focus until it is known to fit, since what is out of sight is not laid out.
    for (const [name, value] of Object.entries(SCROLLING)) frame.setAttribute(name, value);
    this.scrolling ??= new ResizeObserver(entries => {
      for (const { target } of entries) {
        const fits = target.scrollWidth <= target.clientWidth + 1;
        for (const [name, value] of Object.entries(SCROLLING)) {
          if (!fits) target.setAttribute(name, value);
          else if (target !== document.activeElement) target.removeAttribute(name);
        }
      }
    });
    this.scrolling.observe(frame);
    // A click into a table is one into the text, which takes the focus.
    frame.addEventListener("mousedown", () => {
      if (!frame.hasAttribute("tabindex")) return;
      frame.removeAttribute("tabindex");
      setTimeout(() => frame.setAttribute("tabindex", SCROLLING.tabindex));
    });
    return table;
  }

  /** Columns of a row that no cell of the document fills. */
  #filler(columns) {
    const cell = document.createElement("td");
    cell.className = "filler";
    cell.colSpan = columns;
    return cell;
  }

  /** The image that a document names, or a frame with its name. */
  #graphic({ graphic, image }) {
    const label = graphic ? `Image: ${graphic}` : "Image";
    const frame = document.createElement("span");
    frame.className = "graphic";
    frame.setAttribute("role", "img");
    frame.setAttribute("aria-label", label);
    frame.dataset.label = label;
    if (image === undefined) return frame;
    const picture = document.createElement("img");
    picture.addEventListener("error", () => picture.replaceWith(frame));
    Object.assign(picture, { loading: "lazy", alt: label, src: image });
    return picture;
  }

  /** Neighbours without a word between them, such as two names, get room or a separator. */
  #keepApart(element, node) {
    const { structure, offsets } = this, { parent, role, start, end } = structure;
    let before = element - 1;
    while (before >= 0 && parent[before] > parent[element]) before = parent[before];
    if (before < 0 || parent[before] !== parent[element] || !INLINE.has(role[before])) return;
    const text = this.text.slice(offsets.toUnits(end[before]), offsets.toUnits(start[element]));
    if (text.trim() || start[element] === end[element]) return;
    node.classList.add("next");
    if (!text) node.classList.add("apart");
  }

  /** One line in the place of metadata and of alternative forms, which opens all of them. */
  #addFold() {
    const folded = this.root.querySelector(".r-hidden-meta, .alternative");
    if (!folded) return;
    this.fold = document.createElement("button");
    Object.assign(this.fold, { type: "button", className: "fold" });
    this.fold.setAttribute("aria-label", "Journal, dates and other metadata");
    this.fold.addEventListener("click", event => {
      event.stopPropagation();
      this.setFolded(this.fold.getAttribute("aria-expanded") === "true");
    });
    this.root.prepend(this.fold);
    this.setFolded(true);
  }

  setFolded(folded) {
    this.root.classList.toggle("folded", folded);
    this.fold.setAttribute("aria-expanded", String(!folded));
  }

  /** Open the metadata if the text of a node is in it. */
  unfold(node) {
    if (this.fold && node.parentElement.closest(".folded :is(.r-hidden-meta, .alternative)")) {
      this.setFolded(false);
    }
  }

  #textOf(element) {
    const { structure: { start, end }, offsets } = this;
    return this.text.slice(offsets.toUnits(start[element]), offsets.toUnits(end[element]));
  }

  /** Long text without elements, as of a plain file, gets blocks of its own after line ends. */
  #addText(into, text) {
    if (into.math && text.trim()) { // rows of MathML show no text of their own
      const node = document.createElementNS(MATHML, "mtext");
      node.classList.add("stray");
      into.node.append(node);
      this.#addNode(node, text);
      return;
    }
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
    this.nodes.push(node);
    parent.append(node);
  }
}
