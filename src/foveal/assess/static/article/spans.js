// Disjoint spans of text in order, as the server keeps them; every function returns new ones.

/** The first span that ends at or after a place (or after it, if `strictly`). */
function firstEnding(spans, at, strictly = false) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const before = strictly ? spans[middle][1] <= at : spans[middle][1] < at;
    if (before) low = middle + 1; else high = middle;
  }
  return low;
}

/** With one more; what overlaps or touches it becomes one. */
export function addSpan(spans, start, end) {
  const first = firstEnding(spans, start);
  let after = first;
  while (after < spans.length && spans[after][0] <= end) after++;
  if (first < after) {
    start = Math.min(start, spans[first][0]);
    end = Math.max(end, spans[after - 1][1]);
  }
  return [...spans.slice(0, first), [start, end], ...spans.slice(after)];
}

/** Without what lies in another. */
export function removeSpan(spans, start, end) {
  const first = firstEnding(spans, start, true);
  let after = first;
  while (after < spans.length && spans[after][0] < end) after++;
  if (first >= after) return spans;
  const rest = [[spans[first][0], start], [end, spans[after - 1][1]]];
  return [...spans.slice(0, first), ...rest.filter(([a, b]) => a < b), ...spans.slice(after)];
}

export function union(lists) {
  return lists.flat().reduce((all, [a, b]) => addSpan(all, a, b), []);
}

export function intersection(lists) {
  return lists.reduce((left, right) => {
    const both = [];
    for (let i = 0, j = 0; i < left.length && j < right.length;) {
      const a = Math.max(left[i][0], right[j][0]), b = Math.min(left[i][1], right[j][1]);
      if (a < b) both.push([a, b]);
      if (left[i][1] < right[j][1]) i++; else j++;
    }
    return both;
  });
}

/** How much of any span is highlighted: one look-up for each end, whatever the number of spans. */
export class Coverage {
  constructor(spans) {
    this.spans = spans;
    this.before = new Float64Array(spans.length + 1);
    spans.forEach(([a, b], i) => { this.before[i + 1] = this.before[i] + b - a; });
  }

  upTo(at) {
    const i = firstEnding(this.spans, at);
    return this.before[i] + (i < this.spans.length ? Math.max(0, at - this.spans[i][0]) : 0);
  }

  within(start, end) { return this.upTo(end) - this.upTo(start); }

  get total() { return this.before[this.spans.length]; }
}
