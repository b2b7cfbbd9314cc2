// Cue words: regular expressions whose matches are coloured, found by a worker that can be stopped.
import { counted, make } from "./nodes.js";
import { COLOURS, STYLES } from "./painting.js";

const LONGEST = 1500; // milliseconds that an expression may search a document
const PAUSE = 600;

export class Cues {
  /** `save` keeps the cue words, `found` hears when their matches are known. */
  constructor(cues, dom, painter, save, found) {
    Object.assign(this, { dom, painter, save, found });
    this.all = cues.map(cue => ({ on: true, ...cue }));
    this.matches = new Map(); // colour to spans
    this.find();
  }

  // -- finding ---------------------------------------------------------------------------------

  /** Search for all that are on; a newer search replaces this one. */
  async find() {
    const turn = this.turn = (this.turn ?? 0) + 1;
    this.#stop();
    const layers = new Map(), colours = new Map();
    for (const cue of this.all) {
      Object.assign(cue, { said: "", wrong: false });
      if (!cue.on || !cue.pattern) continue;
      const spans = await this.#matches(cue);
      if (turn !== this.turn) return;
      const name = `cue-${cue.colour}-${cue.style}`;
      layers.set(name, [...(layers.get(name) ?? []), ...spans]);
      colours.set(cue.colour, [...(colours.get(cue.colour) ?? []), ...spans]);
    }
    this.painter.clear("cue-");
    for (const [name, spans] of layers) this.painter.paint(name, spans);
    this.#stop();
    this.all.forEach(cue => this.#sayOf(cue));
    this.matches = colours;
    this.found(colours);
  }

  async #matches(cue) {
    try { new RegExp(cue.pattern, "giu"); } catch (error) {
      cue.said = `not an expression: ${error.message.replace(/^.*: (?=[^:]*$)/s, "")}`;
      cue.wrong = true;
      return [];
    }
    this.worker ??= this.#start();
    const found = await this.#ask(cue.pattern);
    if (!found) {
      this.#stop();
      cue.said = "too slow for this document: left out";
      cue.wrong = true;
      return [];
    }
    cue.said = found.most ? "the first 20,000 matches" : counted(found.spans.length, "match", "matches");
    const { offsets } = this.dom;
    return found.spans.map(([a, b]) => [offsets.toPoints(a), offsets.toPoints(b)]);
  }

  #start() {
    const worker = new Worker(new URL("./search.js", import.meta.url), { type: "module" });
    worker.postMessage({ text: this.dom.text });
    return worker;
  }

  #ask(pattern) {
    const { worker } = this;
    return new Promise(done => {
      const clock = setTimeout(() => done(null), LONGEST);
      worker.onmessage = ({ data }) => { clearTimeout(clock); done(data); };
      worker.onerror = () => { clearTimeout(clock); done(null); };
      worker.postMessage({ pattern });
    });
  }

  #stop() {
    this.worker?.terminate();
    this.worker = null;
  }

  // -- the panel -------------------------------------------------------------------------------

  #sayOf(cue) {
    if (!cue.line) return;
    cue.line.textContent = cue.said ?? "";
    cue.line.classList.toggle("wrong", Boolean(cue.wrong));
  }

  #changed() {
    clearTimeout(this.clock);
    this.clock = setTimeout(() => {
      this.find();
      const plain = this.all.filter(cue => cue.pattern)
        .map(({ pattern, colour, style, on }) => ({ pattern, colour, style, on }));
      this.save(plain);
    }, PAUSE);
  }

  #choice(cue, field, values, label) {
    return make("select", { "aria-label": label, change: event => {
      cue[field] = event.target.value;
      cue.sample.className = `sample ${cue.colour} ${cue.style}`;
      this.#changed();
    } }, values.map(value => make("option", { value, selected: value === cue[field] }, value)));
  }

  #row(cue, body) {
    cue.line = make("span", { class: "said" });
    this.#sayOf(cue);
    cue.sample = make("span", { class: `sample ${cue.colour} ${cue.style}`, "aria-hidden": "true" }, "Aa");
    const pattern = make("input", { type: "text", value: cue.pattern, spellcheck: "false",
      "aria-label": "Cue word or regular expression", placeholder: "word or expression",
      input: event => { cue.pattern = event.target.value; this.#changed(); } });
    return make("li", {},
      make("input", { type: "checkbox", checked: cue.on, "aria-label": "Show this cue word",
        change: event => { cue.on = event.target.checked; this.#changed(); } }),
      cue.sample, pattern,
      this.#choice(cue, "colour", COLOURS, "Colour"), this.#choice(cue, "style", STYLES, "Style"),
      make("button", { type: "button", "aria-label": `Remove ${cue.pattern || "this cue word"}`,
        click: () => {
          this.all = this.all.filter(other => other !== cue);
          this.draw(body);
          this.#changed();
        } }, "×"),
      cue.line);
  }

  draw(body) {
    const add = () => {
      const colour = COLOURS[this.all.length % COLOURS.length];
      this.all.push({ pattern: "", colour, style: "underline", on: true });
      this.draw(body);
      body.querySelector("li:last-child input[type=text]").focus();
    };
    body.replaceChildren(
      make("ul", { class: "cues" }, this.all.map(cue => this.#row(cue, body))),
      make("button", { type: "button", click: add, class: "add" }, "Add a cue word"),
      make("p", { class: "soft" }, "Colour draws the eye: read what is not coloured too. Cue words are kept with your assessments."));
  }
}
