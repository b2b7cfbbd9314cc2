// The panels beside the text: each opens and closes by itself and stays as it was left.
import { byId, make } from "./nodes.js";

const KEPT = "foveal.panels";

export class Panels {
  constructor(place) {
    this.place = place;
    this.all = new Map();
    try { this.open = new Set(JSON.parse(localStorage.getItem(KEPT)) ?? ["topic"]); } catch {
      this.open = new Set(["topic"]);
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
    if (open) this.open.add(name); else this.open.delete(name);
    try { localStorage.setItem(KEPT, JSON.stringify([...this.open])); } catch { /* not kept then */ }
    this.#show(name);
    if (open) this.all.get(name).section.scrollIntoView({ block: "nearest" });
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
