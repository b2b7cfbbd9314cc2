// Finds the matches of one regular expression; a page ends this worker if it takes too long.

const MOST = 20_000;
let text = "";

onmessage = ({ data }) => {
  if (data.text !== undefined) { text = data.text; return; }
  const spans = [], pattern = new RegExp(data.pattern, "giu");
  for (let found = pattern.exec(text); found && spans.length < MOST; found = pattern.exec(text)) {
    if (found[0]) spans.push([found.index, found.index + found[0].length]);
    else pattern.lastIndex += 1;
  }
  postMessage({ id: data.id, spans, most: spans.length === MOST });
};
