// Matches of a regular expression in the text. Loaded as a worker, this module finds those of cue
// words: a page ends a worker that takes too long.

const MOST = 20_000;

/** The spans of all matches in units of the text, up to a number; empty matches do not count. */
export function findMatches(text, pattern, most = MOST) {
  const spans = [], expression = new RegExp(pattern, "giu");
  for (let found = expression.exec(text); found && spans.length < most; found = expression.exec(text)) {
    if (found[0]) spans.push([found.index, found.index + found[0].length]);
    else expression.lastIndex += 1;
  }
  return { spans, most: spans.length === most };
}

if (typeof document === "undefined") {
  let text = "";
  onmessage = ({ data }) => {
    if (data.text === undefined) postMessage(findMatches(text, data.pattern));
    else text = data.text;
  };
}
