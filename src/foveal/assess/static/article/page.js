// The parts of the article page put together, and drawn again when something changes.
import { here } from "./address.js";
import { Adjudication } from "./adjudication.js";
import { Commands } from "./commands.js";
import { Connection } from "./connection.js";
import { Cues } from "./cues.js";
import { Elements } from "./elements.js";
import { listen } from "./keys.js";
import { Marks } from "./marks.js";
import { Model } from "./model.js";
import { byId, counted } from "./nodes.js";
import { Note } from "./note.js";
import { Painter } from "./painting.js";
import { Panels } from "./panels.js";
import { drawSeen } from "./seen.js";
import { Selected } from "./selection.js";
import { drawStatus } from "./status.js";
import { Suggestions } from "./suggestions.js";
import { Support } from "./support.js";
import { Timer } from "./timer.js";
import { drawTopic } from "./topic.js";

export class Page {
  constructor(loaded, api, dom, saver) {
    Object.assign(this, { loaded, api, dom, saver });
    this.model = new Model(loaded, saver);
    this.connection = new Connection(loaded, api, saver, this.model, dom);
    this.painter = new Painter(dom);
    this.marks = new Marks(dom, byId("marks"));
    this.selected = new Selected(dom, this.marks);
    this.timer = new Timer(loaded.seconds, seconds => this.connection.event("time", { seconds }));
    const go = (start, end) => this.go(start, end);
    this.support = new Support(loaded.support, dom, this.painter, go);
    this.elements = new Elements(this.model, dom, loaded.asked, go);
    this.note = new Note(this.model);
    this.cues = new Cues(loaded.cues, dom, this.painter, cues => this.connection.keepCues(cues));
    this.adjudication = loaded.others.length ?
      new Adjudication(loaded.others, this.model, this.painter, go, Boolean(here.role)) : null;
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
    panels.add("elements", "e", "Elements", body => this.elements.draw(body));
    panels.add("cues", "c", "Cue words", body => this.cues.draw(body));
    panels.add("support", "s", "Support", body => this.support.draw(body),
      open => this.support.show(open));
    panels.add("note", "n", "Note", body => this.note.draw(body));
    panels.add("seen", "v", "Visited", body => drawSeen(body, this.api));
    if (this.adjudication) panels.set("others", true);
  }

  #listen() {
    this.model.addEventListener("change", () => this.redraw());
    this.saver.addEventListener("change", () => this.redrawStatus());
    this.timer.addEventListener("tick", () => this.redrawStatus());
    this.selected.addEventListener("change", () => this.#selectionChanged());
    this.dom.root.addEventListener("click", event => this.commands.clicked(event));
    // A drag that ends beside the text ends in its line there, and not with the whole document.
    const dragging = on => document.body.classList.toggle("dragging", on);
    this.dom.root.addEventListener("pointerdown", ({ button }) => dragging(button === 0));
    for (const name of ["pointerup", "pointercancel", "dragend", "blur"]) {
      addEventListener(name, () => dragging(false));
    }
    for (const button of document.querySelectorAll("[data-do]")) {
      // The selection must survive the click.
      button.addEventListener("mousedown", event => event.preventDefault());
      button.addEventListener("click", () => this.commands.byKey.get(button.dataset.key)());
    }
    listen(this.commands.byKey, this.selected, this.commands.mode);
  }

  focus() { this.dom.root.focus({ preventScroll: true }); }

  /** Show and select a part of the text. */
  go(start, end) {
    this.focus();
    this.selected.select(start, end);
    this.selected.reveal(start, "center");
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
    this.marks.show("bep", state.bep);
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
