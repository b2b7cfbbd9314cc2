// Sends actions one after the other and never forgets one before the server has it.
import { uuid } from "./api.js";
import { Queue, settled, withoutRefused } from "./queue.js";

const FIRST_WAIT = 1000, LONGEST_WAIT = 30_000, ANSWER_WAIT = 250;
const TROUBLE = ["full", "disk", "damaged"]; // of the server: what it says is wrong with its campaign

/**
 * Events: "change" (the state of saving), "saved" ({entry, content}), "refused" ({entry, reason}),
 * "trouble" (what is wrong with the server), "conflict" (the newest version), "elsewhere" (what
 * another tab has saved).
 */
export class Saver extends EventTarget {
  constructor(api, url, campaign, assessor, version, measured) {
    super();
    Object.assign(this, { api, url, version, measured });
    this.queue = new Queue(campaign, assessor, localStorage);
    this.tab = uuid(); // of this visit: what a reload leaves behind is taken up like the rest
    this.pending = [];
    this.others = 0; // actions on other documents that wait too
    this.foreign = this.queue.foreign(); // those of other campaigns
    this.status = "saved";
    this.reason = "";
    this.wait = FIRST_WAIT;
    this.channel = new BroadcastChannel(`foveal.assess.${campaign}`);
    this.channel.onmessage = event => this.#heard(event.data);
    addEventListener("online", () => this.#again());
  }

  /** Take up what earlier visits left behind, unless the tab that made it is still open. */
  async start() {
    if (!this.queue.entries().length) return [];
    const alive = this.answers = new Set();
    this.channel.postMessage({ who: this.tab });
    await new Promise(done => { setTimeout(done, ANSWER_WAIT); });
    this.answers = null;
    const left = this.queue.entries().filter(entry => !alive.has(entry.tab));
    for (const entry of left) {
      entry.tab = this.tab;
      entry.sent = true; // perhaps; it must not be changed any more
      this.queue.update(entry);
    }
    this.pending = left.filter(entry => entry.url === this.url);
    this.#changed();
    return this.pending.map(entry => entry.action);
  }

  get unsaved() { return this.pending.length; }

  add(action) {
    const newest = this.pending[this.pending.length - 1];
    if (action.kind === "note" && newest?.action.kind === "note" && !newest.sent) {
      newest.action = action; // the words of a note that nobody has yet
      this.queue.update(newest);
    } else {
      const entry = {
        // Not by the version alone: what an earlier visit left may be part of it already.
        uuid: uuid(), base: newest ? newest.base + 1 : this.version, ...this.measured,
        at: new Date().toISOString(), action, url: this.url, tab: this.tab, sent: false,
      };
      this.pending.push(entry);
      this.queue.add(entry);
    }
    this.#changed();
    this.send();
  }

  // -- sending ---------------------------------------------------------------------------------

  async send() {
    if (this.sending || this.stopped) return;
    if (!this.pending.length) { this.#sendOthers(); return; }
    this.sending = true;
    clearTimeout(this.clock);
    if (!["offline", ...TROUBLE].includes(this.status)) this.#say("saving");
    try {
      while (this.pending.length && !this.stopped) {
        const entry = this.pending[0];
        entry.sent = true;
        const { status, content } = await this.#post(entry);
        this.#answered(entry, status, content);
      }
      this.wait = FIRST_WAIT;
      if (!this.pending.length) this.#say("saved");
    } catch (error) {
      this.#failed(error);
    } finally {
      this.sending = false;
    }
    if (!this.pending.length && !this.stopped) this.#sendOthers();
  }

  #post({ campaign, uuid: id, base, length, digest, at, action, url }) {
    const [path, query] = url.split("?");
    const body = { campaign, uuid: id, base, length, digest, at, action };
    return this.api.post(`${path}/actions${query ? `?${query}` : ""}`, body);
  }

  #answered(entry, status, content) {
    if (status === 200) {
      this.#done(entry);
      const isNewest = content.version >= this.version;
      this.version = Math.max(this.version, content.version);
      this.#tell("saved", { entry, content, isNewest });
      if (!content.repeated) this.channel.postMessage({ saved: this.url, content });
    } else if (status === 409) {
      this.stop("conflict", "");
      this.#tell("conflict", content);
    } else if (status === 422) {
      this.#done(entry);
      const kept = withoutRefused(entry, this.pending), first = entry.base;
      for (const later of this.pending) if (!kept.includes(later)) this.queue.remove(later);
      kept.forEach((later, i) => {
        later.base = first + i;
        this.queue.update(later);
      });
      this.pending = kept;
      this.#tell("refused", { entry, reason: content.reason ?? content.error ?? "" });
    } else if (status === 401 || status === 403 && content.error === "csrf") {
      this.stop("signed-out", content.reason ?? "");
    } else if (content.error === "campaign") {
      this.stop("campaign", content.reason);
    } else if (status === 429 || status >= 500) {
      const error = new Error(content.reason ?? `the server answered ${status}`);
      throw Object.assign(error, { trouble: TROUBLE.find(kind => kind === content.error) });
    } else {
      this.stop("stuck", content.reason ?? `the server answered ${status}`);
    }
  }

  #done(entry) {
    this.pending = this.pending.filter(other => other !== entry);
    this.queue.remove(entry);
    this.#changed();
  }

  #failed(error) {
    const status = error.trouble ?? "offline", isNew = status !== this.status;
    this.#say(status, error.message);
    if (error.trouble && isNew) this.#tell("trouble", error.message);
    this.clock = setTimeout(() => this.send(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }

  #again() {
    this.wait = FIRST_WAIT;
    this.send();
  }

  /** Wait until all is saved, but not for ever. */
  async idle(longest) {
    const end = performance.now() + longest;
    this.send();
    while (this.pending.length && !this.stopped && performance.now() < end) {
      await new Promise(done => { setTimeout(done, 20); });
    }
  }

  /** Nothing is sent until somebody decides; what is not saved is kept. */
  stop(status, reason) {
    this.stopped = true;
    this.#say(status, reason);
  }

  /** Forget actions of other campaigns, when the assessor asks for it. */
  discard(entries) {
    for (const entry of entries) this.queue.remove(entry);
    this.foreign = this.queue.foreign();
    this.#changed();
  }

  /** After signing in again, or when the assessor asks for it. */
  retry() {
    if (this.status === "conflict") return;
    this.stopped = false;
    this.#again();
  }

  /** What waits for other documents is sent too; what cannot be waits until they are opened. */
  async #sendOthers() {
    const left = this.queue.entries().filter(e => e.url !== this.url && e.tab === this.tab);
    if (!left.length) return;
    const blocked = new Set();
    for (const entry of left) {
      if (blocked.has(entry.url)) continue;
      try {
        const { status } = await this.#post(entry);
        if (status === 200) this.queue.remove(entry); else blocked.add(entry.url);
      } catch { blocked.add(entry.url); }
    }
    this.#changed();
  }

  // -- two versions ----------------------------------------------------------------------------

  /** Make mine on top of the newest version; returns the actions that are left. */
  rebase(version) {
    this.version = version;
    const kept = new Set(settled(this.pending.map(entry => entry.action)));
    for (const entry of this.pending) if (!kept.has(entry.action)) this.queue.remove(entry);
    this.pending = this.pending.filter(entry => kept.has(entry.action));
    this.pending.forEach((entry, i) => {
      entry.base = version + i;
      this.queue.update(entry);
    });
    this.stopped = false;
    this.#say(this.pending.length ? "saving" : "saved");
    return this.pending.map(entry => entry.action);
  }

  drop(version) {
    for (const entry of this.pending) this.queue.remove(entry);
    this.pending = [];
    this.version = version;
    this.stopped = false;
    this.#say("saved");
  }

  // -- other tabs ------------------------------------------------------------------------------

  #heard(message) {
    if (message.who) this.channel.postMessage({ here: this.tab, to: message.who });
    if (message.here && message.to === this.tab) this.answers?.add(message.here);
    if (message.saved === this.url) this.newer(message.content);
  }

  /** A version that this page has not made; its own actions wait for the server's word. */
  newer(content) {
    if (content.version <= this.version || this.pending.length) return;
    this.version = content.version;
    this.#tell("elsewhere", content);
  }

  // -- saying ----------------------------------------------------------------------------------

  #tell(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  #say(status, reason = "") {
    this.status = status;
    this.reason = reason;
    this.#changed();
  }

  #changed() {
    this.others = this.queue.entries().filter(e => e.url !== this.url && e.tab === this.tab).length;
    this.#tell("change", null);
  }
}
