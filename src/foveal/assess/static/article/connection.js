// What the page and the server tell each other besides actions, and what is asked when they differ.
import { here } from "./api.js";
import { ask, conflict, settleForeign, tell, toast } from "./dialogs.js";
import { byId, counted } from "./nodes.js";
import { target } from "./queue.js";

const KEPT = "What you did is kept in this browser. Sign in again in another tab, then try again.";
const CHANGED = "Something in this browser has changed the text of the page (a translator, an " +
  "extension?). Reload the page without it.";
const DIFFERS = "The text of this page is not the text that the server has. Reload the page; if that " +
  "does not help, tell the organiser.";
const LATER = "foveal.foreign-later"; // how many actions of other campaigns this tab decides about later

export class Connection {
  constructor(loaded, api, saver, model, dom) {
    Object.assign(this, { loaded, api, saver, model, dom });
    model.allows = action => this.#allows(action);
    saver.addEventListener("refused", ({ detail }) => this.#refused(detail));
    saver.addEventListener("trouble", ({ detail }) => toast(detail, "bad"));
    saver.addEventListener("conflict", ({ detail }) => this.#conflict(detail));
    saver.addEventListener("saved", () => this.keepCues()); // if they waited for the network
    saver.addEventListener("elsewhere", () => toast("Changed in another tab: this is the newest version."));
    byId("save").addEventListener("click", () => this.#askAboutSaving());
    addEventListener("beforeunload", event => { if (saver.unsaved) event.preventDefault(); });
    addEventListener("focus", () => this.#ask());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.#ask(); });
    // Translators and other helpers of browsers rewrite texts; offsets would then mean nothing.
    new MutationObserver(() => this.checkText(CHANGED)).observe(dom.root,
      { childList: true, characterData: true, subtree: true });
  }

  /** Whether the text is what the server has; if not, nothing is saved from now on. */
  checkText(words = DIFFERS) {
    const { length, digest } = this.dom.measured();
    if (length === this.loaded.structure.length && digest === this.loaded.structure.digest) return true;
    this.saver.stop("mismatch", words);
    byId("problem").textContent = `${words} Until then nothing can be saved.`;
    byId("problem").hidden = false;
    return false;
  }

  // -- before an action ------------------------------------------------------------------------

  #allows(action) {
    if (this.saver.status === "mismatch") {
      toast("Nothing can be saved: the text of this page is not the text of the server. Reload the page.", "bad");
    } else if (!this.loaded.may_act) {
      toast("This topic is not assigned to you: you can only look.", "bad");
    } else if (!this.loaded.in_pool) {
      this.#offerToAdd(action);
    } else return true;
    return false;
  }

  /** A document that no system returned is judged like any other, once it was added. */
  async #offerToAdd(action) {
    const answer = await ask("This document is not among those to judge",
      ["Add it to the documents of the topic?"], [["add", "Add it"], ["leave", "Leave it"]]);
    if (answer !== "add") return;
    try {
      const { status, content } = await this.api.post(here.topicApi("documents"), { doc: here.doc });
      if (status !== 200) { toast(content.reason ?? `The server answered ${status}.`, "bad"); return; }
      this.loaded.in_pool = true;
      this.loaded.pooled += content.added ? 1 : 0;
      this.model.left = content.left;
      this.model.act(action);
    } catch { toast("The server does not answer; the document was not added.", "bad"); }
  }

  // -- after one -------------------------------------------------------------------------------

  #refused({ entry, reason }) {
    if (entry.action.kind === "validate") tell("Not complete yet", [reason]);
    else toast(`Refused: ${reason}`, "bad");
  }

  async #conflict(newest) {
    const actions = this.saver.pending.map(entry => entry.action);
    const answer = await conflict(newest, actions, this.dom);
    this.newest = newest; // to be asked again
    if (answer === "later") return;
    if (answer === "mine") this.saver.rebase(newest.version); else this.saver.drop(newest.version);
    this.model.take(newest);
    this.saver.send();
  }

  async #askAboutSaving() {
    const { saver, model } = this;
    const again = ["again", "Try again"], later = ["later", "Later"];
    let answer = null;
    switch (saver.status) {
      case "offline": saver.retry(); break;
      case "saved": if (saver.foreign.length) await this.#askAboutForeign(); break;
      case "conflict": await this.#conflict(this.newest); break;
      case "campaign": await this.#askAboutCampaign(); break;
      case "full": case "disk": case "damaged":
        answer = await ask("The server cannot save", [saver.reason], [again, later]);
        if (answer === "again") saver.retry();
        break;
      case "signed-out":
        answer = await ask("You are signed out", [KEPT, saver.reason].filter(Boolean),
          [again, ["sign", "Sign in in a new tab"], later]);
        if (answer === "sign") open(here.login, "_blank", "noopener");
        if (answer === "again") await this.#ask();
        break;
      case "stuck":
        answer = await ask("The server does not take this", [saver.reason],
          [again, ["drop", "Drop what is not saved"], later]);
        if (answer === "again") saver.retry();
        if (answer === "drop") { saver.drop(saver.version); model.reload(); }
        break;
      default: // nothing to ask
    }
  }

  // -- other campaigns -------------------------------------------------------------------------

  /** Ask about unsaved work of other campaigns, unless this tab has put it off. */
  greet() {
    const { length } = this.saver.foreign;
    if (length && sessionStorage.getItem(LATER) !== String(length)) this.#askAboutForeign();
  }

  /** Another campaign was served at this address before, and some work on it was never saved. */
  async #askAboutForeign() {
    const { foreign } = this.saver, counts = new Map();
    for (const entry of foreign) {
      const { topic, doc } = target(entry);
      const place = `topic ${topic}, document ${doc}${entry.assessor ? `, by ${entry.assessor}` : ""}`;
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    const places = [...counts].map(([place, count]) => `${counted(count, "action")}: ${place}`);
    if (places.length > 6) places.splice(6, Infinity, `and ${counted(places.length - 6, "more document")}`);
    const answer = await settleForeign("Unsaved work of another campaign", [
      "This browser keeps unsaved work of a campaign that was served at this address before. It is saved when " +
        "that campaign is served here again; it cannot be saved in this one.", ...places], foreign);
    if (answer === "discard") this.saver.discard(foreign);
    else sessionStorage.setItem(LATER, String(foreign.length));
  }

  /** Another campaign is served at this address since this page was opened. */
  async #askAboutCampaign() {
    const { saver, model } = this, title = "Another campaign is served at this address now";
    if (!saver.unsaved) { tell(title, ["All work on this page is saved. Reload the page."]); return; }
    const answer = await settleForeign(title, [
      `This browser keeps the unsaved work on this page: ${counted(saver.unsaved, "action")}. It is saved when ` +
        "the campaign of this page is served here again."], saver.pending, [["again", "Try again"]]);
    if (answer === "again") saver.retry();
    if (answer === "discard") { saver.drop(saver.version); model.reload(); }
  }

  /** Has somebody else been here meanwhile? Asked when the page is looked at again. */
  async #ask() {
    if (this.asking) return;
    this.asking = true;
    try {
      const { campaign } = this.loaded;
      const { status, content } = await this.api.get(
        `${here.api}${here.query ? "&" : "?"}text=0&campaign=${campaign}`);
      if (content.error === "campaign" && this.saver.status !== "mismatch") {
        this.saver.stop("campaign", content.reason);
      }
      if (status !== 200) return;
      if (content.assessor !== this.loaded.assessor) {
        this.saver.stop("signed-out",
          `Now ${content.assessor} is signed in here; this page is of ${this.loaded.assessor}.`);
        return;
      }
      this.api.token = content.csrf;
      if (["signed-out", "campaign"].includes(this.saver.status)) this.saver.retry();
      this.saver.newer(content);
    } catch { /* the saver says that the network is gone */ } finally { this.asking = false; }
  }

  // -- events and settings ---------------------------------------------------------------------

  async event(kind, payload = {}) {
    const message = { doc: here.doc, kind, payload };
    const { status } = await this.api.post(here.topicApi("events"), message, { keepalive: true });
    if (status >= 400) throw new Error(`events: ${status}`);
  }

  /** Keep cue words, or those that could not be kept before. */
  async keepCues(value = this.cuesLeft) {
    this.cuesLeft = value;
    if (value === undefined) return;
    try {
      const { status, content } = await this.api.put(here.topicApi("settings"), { key: "cues", value });
      if (this.cuesLeft === value) this.cuesLeft = undefined;
      if (status >= 400) toast(`The cue words were not kept: ${content.reason ?? status}`, "bad");
    } catch { toast("The cue words are not kept yet: the server does not answer.", "bad"); }
  }
}
