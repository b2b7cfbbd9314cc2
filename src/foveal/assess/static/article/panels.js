// The panels beside the text: each opens and closes by itself and stays as it was left. And those
// that only show something: the topic, the note, the documents visited.
import { here } from "./api.js";
import { byId, make } from "./nodes.js";

// Where panels cover the text all of them begin closed, the topic too.
const NARROW = matchMedia("(max-width: 62rem)").matches;
const KEPT = NARROW ? "foveal.panels.narrow" : "foveal.panels", FIRST = NARROW ? [] : ["topic"];

export class Panels {
  constructor(place) {
    this.place = place;
    this.all = new Map();
    try { this.open = new Set(JSON.parse(localStorage.getItem(KEPT)) ?? FIRST); } catch {
      this.open = new Set(FIRST);
    }
  }

  /** A panel is filled by `draw`, only while it is open; `turned` hears when it opens or closes. */
  add(name, key, title, draw, turned = () => {}) {
    const body = make("div", { class: "body", id: `panel-${name}-body` });
    const button = make("button", {
      type: "button", "aria-expanded": "false", "aria-controls": body.id,
      click: () => this.toggle(name),
    }, make("span", {}, title), make("kbd", {}, key));
    const section = make("section", { id: `panel-${name}`, "aria-label": title },
      make("h2", {}, button), body);
    this.place.append(section);
    this.all.set(name, { section, body, button, draw, turned });
    this.#show(name);
  }

  isOpen(name) { return this.open.has(name); }

  set(name, open) {
    if (open && NARROW) for (const other of this.open) if (other !== name) this.set(other, false);
    if (open) this.open.add(name); else this.open.delete(name);
    try { localStorage.setItem(KEPT, JSON.stringify([...this.open])); } catch { /* not kept then */ }
    this.#show(name);
    if (open) this.all.get(name).body.scrollIntoView({ block: "nearest" });
  }

  toggle(name) { this.set(name, !this.open.has(name)); }

  #show(name) {
    const { section, body, button, turned } = this.all.get(name), open = this.open.has(name);
    section.classList.toggle("open", open);
    body.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    byId("side").classList.toggle("empty", ![...this.all.keys()].some(other => this.open.has(other)));
    if (open) this.draw(name);
    turned(open);
  }

  draw(name) {
    const { body, draw } = this.all.get(name);
    if (this.open.has(name)) draw(body);
  }
}

const PARTS = [["description", "Description"], ["narrative", "Narrative"], ["castitle", "Structured query"],
  ["keywords", "Keywords"]];

/** The topic statement, word for word, with only what the topic has. */
export function drawTopic(body, topic, name) {
  const parts = PARTS.filter(([part]) => topic[part]?.length);
  body.replaceChildren(
    make("p", { class: "topic-title" }, make("span", { class: "soft" }, `Topic ${name} `),
      topic.title ?? ""),
    ...parts.flatMap(([part, title]) => {
      const words = Array.isArray(topic[part]) ? topic[part].join(", ") : topic[part];
      return [make("h3", {}, title), make("p", { class: part }, words)];
    }));
}

const NOTE_PAUSE = 800, LONGEST_NOTE = 20_000;

/** The assessor's note on the document, saved while it is written. */
export class Note {
  constructor(model) {
    this.model = model;
    this.box = make("textarea", { rows: "4", maxlength: String(LONGEST_NOTE), "aria-label": "Note on this document",
      placeholder: "Doubts, reasons; only you and the organiser see it.",
      input: () => { clearTimeout(this.clock); this.clock = setTimeout(() => this.save(), NOTE_PAUSE); },
      blur: () => this.save() });
    this.box.value = model.state.note;
    this.known = model.state.note;
    model.addEventListener("change", () => this.#changed());
  }

  save() {
    clearTimeout(this.clock);
    if (this.box.value === this.model.state.note) return;
    this.known = this.box.value;
    this.model.act({ kind: "note", text: this.box.value });
  }

  /** Another version came in: shown unless somebody is writing here. */
  #changed() {
    const { note } = this.model.state;
    if (this.box.value === this.known && note !== this.known) this.box.value = note;
    if (this.box.value === note) this.known = note;
  }

  draw(body) { if (this.box.parentNode !== body) body.replaceChildren(this.box); }
}

const STATES = {
  seen: "looked at", marked: "relevant, not validated", relevant: "✓ relevant", irrelevant: "✓ not relevant",
};

/** The documents of this topic that were looked at before, with what has become of them. */
export async function drawSeen(body, api) {
  if (!body.childNodes.length) body.replaceChildren(make("p", { class: "soft" }, "…"));
  let found = null;
  try { found = await api.get(here.topicApi("history")); } catch { /* said below */ }
  if (found?.status !== 200) {
    body.replaceChildren(make("p", { class: "soft" }, "The history cannot be read just now."));
    return;
  }
  const rows = found.content.documents.map(entry => make("li", { class: entry.doc === here.doc ? "here" : null },
    make("a", { href: here.of(entry.doc) },
      entry.title || entry.doc), " ", make("span", { class: "soft" }, STATES[entry.state] ?? entry.state)));
  body.replaceChildren(rows.length ? make("ol", { class: "seen" }, rows) :
    make("p", { class: "soft" }, "This is the first document of the topic."));
}
