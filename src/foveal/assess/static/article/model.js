// What the page knows of an assessment: its state with all that is not yet saved, and what follows.
import { History, same } from "./history.js";
import { Coverage } from "./spans.js";

/** Events: "change" after every change of the state or of what the server says of it. */
export class Model extends EventTarget {
  constructor(loaded, saver) {
    super();
    this.saver = saver;
    this.procedure = loaded.procedure;
    this.history = new History(loaded.state, loaded.can_undo, loaded.can_redo);
    this.#hear(loaded);
    saver.addEventListener("saved", ({ detail }) => this.#saved(detail));
    saver.addEventListener("refused", () => this.reload());
    saver.addEventListener("elsewhere", ({ detail }) => this.take(detail));
  }

  get state() { return this.history.state; }

  get coverage() {
    if (this.covered?.spans !== this.state.spans) this.covered = new Coverage(this.state.spans);
    return this.covered;
  }

  /** Whether anything may be done; whoever knows puts a better answer here. */
  allows() { return true; }

  /** Done at once, saved as soon as possible. */
  act(action) {
    if (!this.allows(action)) return;
    if (!this.history.add(action)) this.unknown = true;
    this.saver.add(action);
    this.#changed();
  }

  /** What earlier visits left behind. */
  resume(actions) {
    for (const action of actions) if (!this.history.add(action)) this.unknown = true;
    if (actions.length) this.#changed();
  }

  #hear(content) {
    this.newest = { state: content.state, canUndo: content.can_undo, canRedo: content.can_redo };
    this.missing = content.missing ?? this.missing ?? [];
    this.inferred = content.grades ?? this.inferred ?? {};
    this.left = content.left ?? this.left;
  }

  #saved({ content, isNewest }) {
    if (!isNewest) { this.reload(); return; } // it was saved before, and is part of the newest
    this.#hear(content);
    const { pending } = this.saver;
    if (this.unknown || !pending.length && !same(this.state, content.state)) this.reload();
    else this.#changed();
  }

  /** The server's state with what is not yet saved on top. */
  reload() {
    const { state, canUndo, canRedo } = this.newest;
    this.history.begin(state, canUndo, canRedo);
    this.unknown = false;
    this.resume(this.saver.pending.map(entry => entry.action));
    this.#changed();
  }

  /** Another version of the same document. */
  take(content) {
    this.#hear(content);
    this.reload();
  }

  /** What keeps the document from being complete, as far as the page can tell without asking. */
  get lacking() {
    if (this.procedure !== "2006") return this.saver.unsaved ? [] : this.missing;
    const { spans, bep } = this.state;
    if (spans.length && bep === null) return ["Relevant text has no best entry point yet: press b."];
    if (!spans.length && bep !== null) {
      return ["There is a best entry point but no relevant text: press Shift+B, or highlight."];
    }
    return [];
  }

  #changed() { this.dispatchEvent(new Event("change")); }
}
