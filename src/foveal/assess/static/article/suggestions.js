// Highlights that a run or a model suggests: each is accepted, adjusted or rejected with one key.
import { toast } from "./dialogs.js";
import { byId, counted, make } from "./nodes.js";

const WORDS = { accept: "accepted", adjust: "adjusted", reject: "rejected" };
const QUOTED = 90;

export class Suggestions {
  constructor(page) {
    this.page = page;
    this.all = page.loaded.suggestions.map(([start, end]) => ({ start, end }));
    this.here = null;
    const { commands, panels, model, selected } = page;
    for (const [key, command] of Object.entries({
      p: () => this.step(1), "Shift+p": () => this.step(-1), k: () => this.decide("accept"),
      j: () => this.decide("adjust"), x: () => this.decide("reject"),
    })) commands.byKey.set(key, command);
    panels.add("suggestions", "p", "Suggestions", body => this.draw(body));
    byId("panels").prepend(byId("panel-suggestions")); // before the panels that always are there
    if (matchMedia("(min-width: 62rem)").matches) panels.set("suggestions", true); // beside the text
    model.addEventListener("change", () => this.redraw());
    selected.addEventListener("change", () => this.#selectionChanged());
    this.redraw();
  }

  /** The decision about a suggestion; undefined before there is one. */
  decision({ start, end }) {
    const { decisions = [] } = this.page.model.state;
    if (this.known !== decisions) {
      this.known = decisions;
      this.bySpan = new Map(decisions.map(decision => [`${decision.start}-${decision.end}`, decision]));
    }
    return this.bySpan.get(`${start}-${end}`);
  }

  get open() { return this.all.filter(suggestion => !this.decision(suggestion)); }

  // -- going to one ----------------------------------------------------------------------------

  /** To the next one without a decision, or the one before. */
  step(sign) {
    this.#selectionChanged();
    const { open } = this, at = this.here?.start ?? this.page.selected.at ?? -1;
    if (!open.length) {
      toast(`All ${counted(this.all.length, "suggestion")} have a decision.`);
      return;
    }
    const ahead = sign > 0 ? open.find(one => one !== this.here && one.start >= at) :
      open.findLast(one => one !== this.here && one.start <= at);
    this.go(ahead ?? open[sign > 0 ? 0 : open.length - 1]);
  }

  go(suggestion) {
    this.page.go(suggestion.start, suggestion.end);
    this.#set(suggestion);
  }

  /** The one that the selection or the cursor is in; of several the one gone to, or the smallest. */
  #selectionChanged() {
    const { span, at } = this.page.selected;
    if (at === null) return; // the focus is in a panel
    const [from, to] = span ?? [at, at + 1];
    const within = this.all.filter(({ start, end }) => start < to && from < end);
    if (within.includes(this.here)) return;
    within.sort((a, b) => Boolean(this.decision(a)) - Boolean(this.decision(b)) ||
      (a.end - a.start) - (b.end - b.start));
    this.#set(within[0] ?? null);
  }

  #set(suggestion) {
    if (this.here === suggestion) return;
    this.here = suggestion;
    this.redraw();
  }

  // -- deciding --------------------------------------------------------------------------------

  decide(kind) {
    this.#selectionChanged(); // its event may be on the way
    const { here, page: { model, selected } } = this;
    if (!here) { toast("Go to a suggestion first: press p, or click into one.", "bad"); return; }
    const { start, end } = here, { span } = selected;
    let action = { kind, start, end };
    if (kind === "adjust") {
      if (!span || span[0] === start && span[1] === end) {
        toast("Select the relevant text of this suggestion first, then press j.", "bad");
        return;
      }
      action = { ...action, highlight: span };
    }
    model.act(action);
    selected.clear();
    const left = this.open.length;
    toast(`Suggestion ${WORDS[kind]}. ${left ? `${left} left: press p for the next.` : "All are decided."}`);
  }

  // -- drawing ---------------------------------------------------------------------------------

  redraw() {
    const { painter, panels } = this.page, spans = list => list.map(({ start, end }) => [start, end]);
    const { here } = this;
    painter.paint("suggested", spans(this.open.filter(suggestion => suggestion !== here)));
    painter.paint("suggested-here", here ? spans([here]) : []);
    panels.draw("suggestions");
  }

  draw(body) {
    const { here, page: { dom } } = this;
    const button = (key, words, kind, title) => make("button", {
      type: "button", disabled: !here, title, mousedown: event => event.preventDefault(),
      click: () => this.decide(kind),
    }, make("kbd", {}, key), ` ${words}`);
    const scrolled = body.querySelector("ol")?.scrollTop ?? 0;
    const focused = body.contains(document.activeElement) ?
      [...body.querySelectorAll("button")].indexOf(document.activeElement) : -1;
    body.replaceChildren(
      make("p", { class: "soft" }, `${this.open.length} of ${this.all.length} to decide. They may be ` +
        "wrong or incomplete: read the text as if there were none."),
      make("p", { class: "decide" }, button("k", "Accept", "accept"),
        button("j", "Adjust", "adjust", "to the selection"), button("x", "Reject", "reject")),
      make("ol", { class: "suggestions" }, this.all.map(suggestion => {
        const words = dom.words(suggestion.start, suggestion.end);
        const decision = this.decision(suggestion);
        return make("li", { class: suggestion === here ? "here" : null },
          make("button", { type: "button", click: () => this.go(suggestion) },
            words.length > QUOTED ? `${words.slice(0, QUOTED)}…` : words),
          make("span", { class: `decision ${decision?.kind ?? "soft"}` },
            decision ? WORDS[decision.kind] : "undecided"));
      })));
    body.querySelector("ol").scrollTop = scrolled;
    if (focused >= 0) body.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }
}
