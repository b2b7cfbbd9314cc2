// To the next or previous of something: highlight, cue match, element returned.
import { toast } from "./dialogs.js";

const before = (one, other) => one[0] - other[0] || other[1] - one[1];

/** Spans of several lists in the order of the text, outer ones first, each of them once. */
export function inOrder(...lists) {
  const all = lists.flat().sort(before);
  return all.filter((span, i) => i === 0 || before(all[i - 1], span) !== 0);
}

/**
 * The number of the span to go to: the one after or before the `current` span, else the nearest one
 * from a place on. After the last comes the first.
 */
export function stepFrom(spans, current, at, sign) {
  const from = current ?? [at, Infinity]; // ahead of all spans that begin at the place
  let after = spans.findIndex(span => before(span, from) > 0);
  if (after < 0) after = spans.length;
  if (sign > 0) return after % spans.length;
  const last = spans.findLastIndex((span, i) => i < after && before(span, from) < 0);
  return (last + spans.length) % spans.length;
}

export class Steps {
  /** `kinds`: the spans of each kind, its name, and words for when there are none. */
  constructor(page, kinds) {
    Object.assign(this, { page, kinds });
  }

  go(kind, sign) {
    const { name, spans: spansOf, none } = this.kinds[kind], spans = spansOf();
    if (!spans.length) { toast(none); return; }
    const { selected, reading } = this.page, { at, span } = selected;
    const isHere = at !== null && reading.isInView(at);
    const from = isHere ? at : reading.first;
    const number = stepFrom(spans, isHere ? span : null, from, sign);
    const [start, end] = spans[number];
    this.page.go(start, end);
    this.page.name(`${name} ${number + 1} of ${spans.length.toLocaleString("en")}`);
  }
}
