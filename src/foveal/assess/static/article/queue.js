// Actions that the server has not acknowledged: one key each in the browser's storage.

const PREFIX = "foveal.queue.";
let last = 0;

/** A number that is larger than all before it, also those of earlier visits. */
function order() {
  last = Math.max(last + 1, Date.now() * 1000);
  return last;
}

/** All actions of an assessor in a campaign, in the order in which they were made. */
export class Queue {
  constructor(campaign, assessor, storage) {
    Object.assign(this, { campaign, assessor, storage });
    this.ofCampaign = `${PREFIX}${campaign}.`;
    // A dot must end the name, or ann would send what ann.b did.
    this.prefix = `${this.ofCampaign}${encodeURIComponent(assessor).replaceAll(".", "%2E")}.`;
    this.memory = new Map(); // what the storage has no room for
  }

  /** Whether everything survives the closing of the page. */
  get safe() { return this.memory.size === 0; }

  add(entry) {
    Object.assign(entry, { campaign: this.campaign, assessor: this.assessor });
    entry.key = `${this.prefix}${String(order()).padStart(18, "0")}.${entry.uuid}`;
    this.update(entry);
  }

  update(entry) {
    try {
      this.storage.setItem(entry.key, JSON.stringify(entry));
      this.memory.delete(entry.key);
    } catch { this.memory.set(entry.key, entry); }
  }

  remove(entry) {
    this.memory.delete(entry.key);
    try { this.storage.removeItem(entry.key); } catch { /* then it was never stored */ }
  }

  has(entry) {
    return this.memory.has(entry.key) || this.storage.getItem(entry.key) !== null;
  }

  entries() {
    const found = [...this.memory.values(), ...this.#stored(key => key.startsWith(this.prefix))];
    return found.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Actions of other campaigns that were served at this address, or of an unknown one. */
  foreign() {
    return this.#stored(key => key.startsWith(PREFIX) && !key.startsWith(this.ofCampaign));
  }

  #stored(wanted) {
    const found = [];
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.storage.key(i);
      if (!wanted(key)) continue;
      try { found.push({ ...JSON.parse(this.storage.getItem(key)), key }); } catch { /* not one of ours */ }
    }
    return found;
  }
}

/** The topic and the document that an action is about. */
export function target({ url }) {
  const [, topic, doc] = url.match(/\/api\/topics\/([^/]+)\/documents\/([^?]+)/);
  return { topic: decodeURIComponent(topic), doc: decodeURIComponent(doc) };
}

/** Return actions as the text of a file, from which a person can enter them again. */
export function exported(entries) {
  const actions = entries.map(entry => {
    const { campaign = null, assessor = null, uuid, base, length, digest, at, action } = entry;
    return { campaign, assessor, ...target(entry), uuid, base, length, digest, at, action };
  });
  return JSON.stringify({ format: "foveal-unsaved-actions", version: 1, actions }, null, 2);
}

/**
 * What follows an action that was refused, without the undos and redos of just that one: they would
 * take back something else.
 */
export function withoutRefused(refused, later) {
  const steps = ["note", "undo", "redo"], kept = [], undone = [];
  const done = steps.includes(refused.action.kind) ? [] : [refused];
  for (const entry of later) {
    const { kind } = entry.action;
    const from = { undo: done, redo: undone }[kind], to = kind === "undo" ? undone : done;
    const about = from?.pop();
    if (about) to.push(about);
    else if (!steps.includes(kind)) { undone.length = 0; done.push(entry); }
    if (about !== refused) kept.push(entry);
  }
  return kept;
}

/** Actions without those that were undone among themselves: what can be applied elsewhere. */
export function settled(actions) {
  const done = [], undone = [];
  for (const action of actions) {
    if (action.kind === "undo") {
      const at = done.findLastIndex(other => other.kind !== "note");
      if (at >= 0) undone.push(...done.splice(at, 1));
    } else if (action.kind === "redo") {
      if (undone.length) done.push(undone.pop());
    } else {
      if (action.kind !== "note") undone.length = 0;
      done.push(action);
    }
  }
  return done;
}
