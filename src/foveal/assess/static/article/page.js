// The parts of the article page put together, and drawn again when something changes.
import { Adjudication } from "./adjudication.js";
import { here } from "./api.js";
import { Commands } from "./commands.js";
import { Connection } from "./connection.js";
import { Cues } from "./cues.js";
import { Elements } from "./elements.js";
import { Find } from "./find.js";
import { listen } from "./keys.js";
import { Model } from "./model.js";
import { byId, counted } from "./nodes.js";
import { Outline } from "./outline.js";
import { Overview } from "./overview.js";
import { Marks, Painter } from "./painting.js";
import { Note, Panels, drawSeen, drawTopic } from "./panels.js";
import { Reading } from "./reading.js";
import { Selected } from "./selection.js";
import { Timer, drawStatus } from "./status.js";
import { Steps, inOrder } from "./steps.js";
import { Suggestions } from "./suggestions.js";
import { Support } from "./support.js";

const SECTION = 1 / 6; // of the view's height: a heading above it begins the section being read

export class Page {
  constructor(loaded, api, dom, saver) {
    Object.assign(this, { loaded, api, dom, saver });
    this.model = new Model(loaded, saver);
    this.connection = new Connection(loaded, api, saver, this.model, dom);
    this.painter = new Painter(dom);
    this.marks = new Marks(dom, byId("marks"));
    const { campaign, assessor } = loaded;
    this.reading = new Reading(dom, `${campaign}.${assessor}${here.query}`, `${here.topic}/${here.doc}`);
    this.selected = new Selected(dom, this.marks, this.reading);
    this.overview = new Overview(dom, this.reading, this.marks);
    this.timer = new Timer(loaded.seconds, seconds => this.connection.event("time", { seconds }));
    const go = (start, end) => this.go(start, end);
    this.outline = new Outline(dom, start => this.go(start, start, "start"));
    this.find = new Find(dom, this.painter, this.reading, this.selected, () => this.focus());
    this.support = new Support(loaded.support, dom, this.painter, go);
    this.elements = new Elements(this.model, dom, loaded.asked, go);
    this.note = new Note(this.model);
    this.cues = new Cues(loaded.cues, dom, this.painter, cues => this.connection.keepCues(cues),
      matches => this.#cuesFound(matches));
    this.adjudication = loaded.others.length ?
      new Adjudication(loaded.others, this.model, this.painter, go, Boolean(here.role)) : null;
    this.steps = new Steps(this, this.#stepKinds());
    this.commands = new Commands(this);
    this.#addPanels();
    if (loaded.suggestions.length) new Suggestions(this);
    this.#listen();
    this.redraw();
  }

  #addPanels() {
    const panels = this.panels = new Panels(byId("panels"));
    if (this.adjudication) panels.add("others", "a", "Assessors", body => this.adjudication.draw(body));
    panels.add("topic", "t", "Topic", body => drawTopic(body, this.loaded.topic, here.topic));
    panels.add("outline", "o", "Outline", body => this.outline.draw(body));
    panels.add("elements", "e", "Elements", body => this.elements.draw(body));
    panels.add("cues", "c", "Cue words", body => this.cues.draw(body));
    panels.add("support", "s", "Support", body => this.support.draw(body),
      open => this.#showSupport(open));
    panels.add("note", "n", "Note", body => this.note.draw(body));
    panels.add("seen", "v", "Visited", body => drawSeen(body, this.api));
    if (this.adjudication) panels.set("others", true);
  }

  #stepKinds() {
    const { model, cues, support, adjudication } = this;
    const others = adjudication?.others.map(({ state }) => state.spans) ?? [];
    return {
      highlight: { name: "Highlight", none: "Nothing is highlighted yet.",
        spans: () => (others.length ? inOrder(model.state.spans, ...others) : model.state.spans) },
      cue: { name: "Cue match", none: "No cue word is in the text: press c to add some.",
        spans: () => inOrder(...cues.matches.values()) },
      support: { name: "Returned", none: "No system returned a part of this document.",
        spans: () => {
          if (!support.shown) this.#showSupport(true);
          return inOrder(support.spans);
        } },
    };
  }

  #cuesFound(matches) {
    this.overview.clear("cue");
    for (const [colour, spans] of matches) this.overview.set("cue", inOrder(spans), colour);
  }

  #showSupport(open) {
    this.support.show(open);
    this.overview.set("support", open ? inOrder(this.support.spans) : []);
  }

  #listen() {
    this.model.addEventListener("change", () => this.redraw());
    this.saver.addEventListener("change", () => this.redrawStatus());
    this.timer.addEventListener("tick", () => this.redrawStatus());
    this.selected.addEventListener("change", () => this.#selectionChanged());
    this.dom.root.addEventListener("click", event => this.commands.clicked(event));
    // A drag that ends beside the text ends in its line there, and not with the whole document.
    const dragging = on => document.body.classList.toggle("dragging", on);
    this.dom.root.addEventListener("pointerdown",
      ({ button, pointerType }) => dragging(button === 0 && pointerType === "mouse"));
    for (const name of ["pointerup", "pointercancel", "dragend", "blur"]) {
      addEventListener(name, () => dragging(false));
    }
    let selected = null;
    for (const button of document.querySelectorAll("button[data-key]")) {
      // The selection must survive the click, also where a touch takes it away nevertheless.
      button.addEventListener("pointerdown", () => { selected = this.selected.span; });
      button.addEventListener("mousedown", event => event.preventDefault());
      button.addEventListener("click", ({ detail }) => {
        if (detail && selected && !this.selected.span) this.selected.select(...selected);
        this.commands.byKey.get(button.dataset.key)();
      });
    }
    byId("more").addEventListener("click", () => this.#showMore());
    this.find.addEventListener("change", () => this.overview.set("found", this.find.spans));
    this.reading.addEventListener("move", () => this.outline.mark(this.reading.placeAt(SECTION)));
    new ResizeObserver(([{ target }]) => {
      document.documentElement.style.setProperty("--tools", `${target.offsetHeight}px`);
    }).observe(byId("tools"));
    listen(this.commands.byKey, this.selected, this.commands.mode);
  }

  /** On small screens only the four main actions are always there. */
  #showMore() {
    const shown = document.body.classList.toggle("more");
    byId("more").setAttribute("aria-expanded", String(shown));
  }

  focus() { this.dom.root.focus({ preventScroll: true }); }

  /** Show and select a part of the text. */
  go(start, end, block = "center") {
    this.focus();
    this.selected.select(start, end);
    this.reading.reveal(start, block);
  }

  /** Where the last visit ended, or where reading should begin. */
  begin() {
    const { bep } = this.model.state;
    if (!this.reading.restore() && bep !== null) this.reading.reveal(bep, "center");
    this.outline.mark(this.reading.placeAt(SECTION));
  }

  /** Say what it is that is selected. */
  name(words) {
    this.named = { words, span: String(this.selected.span) };
    this.#selectionChanged();
  }

  // -- drawing ---------------------------------------------------------------------------------

  redraw() {
    const { state } = this.model;
    this.painter.paint("relevant", state.spans);
    this.overview.set("relevant", state.spans);
    if (state.bep !== this.marks.places.bep) {
      this.marks.show("bep", state.bep);
      this.overview.set("bep", state.bep === null ? [] : [[state.bep, state.bep]]);
    }
    document.body.classList.toggle("validated", state.validated);
    // Without grades, only other highlights make another table.
    if (this.elements.graded || this.tabled !== state.spans) this.#redrawElements();
    this.redrawStatus();
  }

  /** After the highlight has been seen: a table takes longer. */
  #redrawElements() {
    this.tabled = this.model.state.spans;
    this.tabling ??= requestAnimationFrame(() => setTimeout(() => {
      this.tabling = null;
      this.panels.draw("elements");
    }));
  }

  redrawStatus() {
    drawStatus({ model: this.model, saver: this.saver, timer: this.timer, pooled: this.loaded.pooled,
      mode: this.commands.mode.words, length: this.dom.offsets.length });
  }

  #selectionChanged() {
    const { span, at } = this.selected;
    const [around] = at === null || !this.support.shown ? [] : this.support.around(at);
    const name = this.named?.span === String(span) ? `${this.named.words}: ` : "";
    byId("picked").textContent = span ? `${name}${counted(span[1] - span[0], "character")} selected` :
      around ? `${this.support.nameOf(around)}: ${counted(around.runs.length, "run")}` : "";
    this.support.mark(at);
  }
}
