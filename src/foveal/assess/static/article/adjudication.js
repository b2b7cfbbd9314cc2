// The assessments of others under the text, and ways to begin the final one with them.
import { counted, make } from "./nodes.js";
import { OTHERS } from "./painting.js";
import { Coverage, intersection, union } from "./spans.js";

export class Adjudication {
  constructor(others, model, painter, go, decides) {
    Object.assign(this, { others, model, painter, go, decides });
    others.slice(0, OTHERS).forEach(({ state }, i) => painter.paint(`other-${i}`, state.spans));
  }

  /** A first entry point among those that fall into the text chosen. */
  #entry(spans, states) {
    const within = new Coverage(spans);
    const places = states.map(state => state.bep).filter(bep => bep !== null);
    const inside = places.filter(bep => within.within(bep, bep + 1) > 0);
    return spans.length ? Math.min(...inside.length ? inside : [spans[0][0]]) : null;
  }

  ways() {
    const states = this.others.map(({ state }) => state), lists = states.map(({ spans }) => spans);
    const begin = (spans, from) => ({ spans, bep: this.#entry(spans, from), grades: {} });
    return [
      ...this.others.slice(0, 9).map(({ assessor, state }, i) => ({ key: String(i + 1),
        short: assessor, title: `as ${assessor}`, state: { spans: state.spans, bep: state.bep, grades: state.grades } })),
      ...this.others.length < 2 ? [] : [
        { key: "u", short: "any", title: "all that any of them highlighted", state: begin(union(lists), states) },
        { key: "i", short: "all", title: "only what all of them highlighted", state: begin(intersection(lists), states) },
      ],
    ];
  }

  take(key) {
    const way = this.ways().find(other => other.key === key);
    if (!way) return false;
    const { note } = this.model.state;
    this.model.act({ kind: "replace", state: { ...way.state, note, validated: false } });
    return true;
  }

  draw(body) {
    body.replaceChildren(
      make("ul", { class: "others" }, this.others.map(({ assessor, state }, i) => make("li", {},
        make("span", { class: `sample other other-${Math.min(i, OTHERS - 1)}`, "aria-hidden": "true" }, "Aa"),
        make("b", {}, assessor), ` ${counted(state.spans.length, "passage")}, `,
        state.bep === null ? "no entry point" :
          make("button", { type: "button", click: () => this.go(state.bep, state.bep) }, "entry point"),
        state.validated ? "" : ", not validated",
        ...state.note ? [make("q", {}, state.note)] : []))),
      ...this.decides ? this.#drawWays() : []);
  }

  #drawWays() {
    return [
      make("p", {}, "Begin with (key ", make("kbd", {}, "a"), ", then):"),
      make("ul", { class: "ways" }, this.ways().map(({ key, title }) => make("li", {},
        make("button", { type: "button", click: () => this.take(key) }, make("kbd", {}, key), ` ${title}`)))),
    ];
  }
}
