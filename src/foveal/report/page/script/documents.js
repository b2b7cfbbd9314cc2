// A document of a topic: what is relevant in it and what runs returned of it.

function chooseTopic(id) { state.topicOf = id; state.doc = 0; showDocument(); }

// Pieces between all places where something begins or ends.
function pieces(length, spans, results) {
  const cuts = new Set([0, length]);
  for (const [a, b] of [...spans, ...results]) {
    cuts.add(Math.min(a, length));
    cuts.add(Math.min(b, length));
  }
  const ends = [...cuts].sort((a, b) => a - b);
  const place = new Map(ends.map((at, i) => [at, i])), n = ends.length;
  const relevant = new Array(n).fill(0), covered = new Array(n).fill(0);
  const add = (list, a, b) => {
    list[place.get(Math.min(a, length))] += 1;
    list[place.get(Math.min(b, length))] -= 1;
  };
  spans.forEach(([a, b]) => add(relevant, a, b));
  results.forEach(([a, b]) => add(covered, a, b));
  let r = 0, c = 0;
  return ends.slice(0, -1).map((start, i) => {
    r += relevant[i];
    c += covered[i];
    return { start, end: ends[i + 1], relevant: r > 0, covered: c };
  });
}
// The union of the results of each run, so that overlap within a run counts once.
function united(results) {
  const byRun = new Map();
  for (const [run, , a, b] of results) {
    if (a >= 0 && b > a) (byRun.get(run) || byRun.set(run, []).get(run)).push([a, b]);
  }
  const found = [];
  for (const own of byRun.values()) {
    own.sort((x, y) => x[0] - y[0]);
    let last = null;
    for (const [a, b] of own) {
      if (last && a <= last[1]) last[1] = Math.max(last[1], b);
      else found.push(last = [a, b]);
    }
  }
  return found;
}
function stripOf(view, length, runs) {
  const width = Math.max(280, $("document-view").clientWidth - 20), row = 18;
  const left = Math.min(160, 16 + 7 * Math.max(8, ...D.runs.map(r => r.length)));
  const x = at => left + Math.min(at, length) / Math.max(length, 1) * (width - left - 8);
  const height = row * (runs.length + 2) + 26;
  const root = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Where ${view.doc} is relevant and what ${runs.length} runs returned of it; the ` +
      "numbers are in the table below" });
  const short = shortener(D.runs, Math.floor(left / 7.4));
  const name = (text, at) => root.append(s("text", { x: left - 8, y: row * at + 13,
    "text-anchor": "end" }, text, s("title", {}, at < 2 ? text : D.runs[runs[at - 2]])));
  name("relevant", 0);
  name("coverage", 1);
  view.spans.forEach(([a, b]) => root.append(s("rect", { x: x(a), y: 3, fill: "var(--mark)",
    width: Math.max(2, x(b) - x(a)), height: 12 }, s("title", {}, `relevant: ${a} to ${b}`))));
  if (view.bep >= 0) root.append(s("path", { fill: "var(--ink)",
    d: `M${x(view.bep)},2l8,6.5l-8,6.5z` }, s("title", {}, `best entry point: ${view.bep}`)));
  const all = united(view.results), most = Math.max(1, D.runs.length);
  for (const part of pieces(length, [], all)) {
    if (!part.covered) continue;
    const cell = s("rect", { x: x(part.start), y: row + 3, height: 12,
      width: Math.max(1, x(part.end) - x(part.start)) },
      s("title", {}, `${part.start} to ${part.end}: ${part.covered} runs`));
    cell.style.fill = `rgba(var(--heat), ${(.12 + .8 * part.covered / most).toFixed(2)})`;
    root.append(cell);
  }
  runs.forEach((run, at) => {
    name(short(D.runs[run]), at + 2);
    view.results.filter(r => r[0] === run && r[2] >= 0).forEach(([, rank, a, b]) => {
      const from = x(a), wide = Math.max(2, x(b) - from);
      root.append(s("rect", { x: from, y: row * (at + 2) + 3, width: wide, height: 12,
        fill: "var(--grey)", stroke: "var(--ink)", "stroke-width": .6 },
        s("title", {}, `${D.runs[run]}, rank ${rank}: ${a} to ${b}`)));
      if (wide > 8 * String(rank).length + 4) root.append(s("text", { x: from + 3,
        y: row * (at + 2) + 13 }, String(rank)));
    });
  });
  root.append(s("text", { class: "soft", x: left, y: height - 6 }, "0"),
    s("text", { class: "soft", x: width - 8, y: height - 6, "text-anchor": "end" },
      `${length} characters`));
  return root;
}
// Text between parts of a table or formula takes no element around it.
const BETWEEN = new Set(["table", "thead", "tbody", "tfoot", "tr", "math", "mrow", "mtr", "mtable"]);
function textOf(view, text, results) {
  const offsets = new Offsets(text), most = Math.max(1, state.run < 0 ? D.runs.length : 1);
  const plain = { tags: ["text"], tag: [0], parent: [-1], start: [0], end: [offsets.length],
    role: ["plain"], looks: {}, vocabulary: "generic" };
  const structure = new Structure({ ...(D.documents.structures[view.doc] ?? plain), text });
  const box = h("div", { class: `text v-${structure.vocabulary}`, tabindex: 0, role: "region",
    "aria-label": `Text of ${view.doc}` });
  const rendering = new Rendering(structure, box, offsets), { nodes } = rendering;
  let entered = view.bep < 0, next = 0, node = nodes[0], at = 0, left = node.length;
  const spans = entered ? view.spans : [...view.spans, [view.bep, view.bep]];
  for (const part of pieces(offsets.length, spans, results)) {
    const end = offsets.toUnits(part.end);
    while (at < end) {
      while (!left) { node = nodes[++next]; left = node.length; }
      const piece = node, size = Math.min(end - at, left), parent = piece.parentNode;
      if (size < left) node = piece.splitText(size);
      at += size;
      left -= size;
      if (!entered && view.bep <= part.start && !BETWEEN.has(parent.localName)) {
        parent.insertBefore(h("span", { class: "entry" }, "▶ best entry point"), piece);
        entered = true;
      }
      if (!part.relevant && !part.covered) continue;
      if (BETWEEN.has(parent.localName) && !piece.data.trim()) continue;
      const mark = h("mark", { class: part.relevant ? "relevant" : null,
        title: `${part.relevant ? "relevant, " : ""}returned by ${part.covered} runs` });
      if (part.covered) {
        mark.style.background = `rgba(var(--heat), ${(.1 + .5 * part.covered / most).toFixed(2)})`;
      }
      piece.replaceWith(mark);
      mark.append(piece);
    }
  }
  const first = box.querySelector(".entry, .relevant");
  if (first) rendering.unfold(first.firstChild);
  return box;
}
function showDocument() {
  const place = $("document-view"), all = D.documents, ids = Object.keys(all.views);
  const order = D.topics.map(t => t.id).filter(id => ids.includes(id));
  if (!order.length) {
    place.replaceChildren(h("p", { class: "note" }, "No document is shown: nothing is relevant, or " +
      "the page has no room left."));
    return;
  }
  if (!order.includes(state.topicOf)) { state.topicOf = order[0]; state.doc = 0; }
  const views = all.views[state.topicOf], view = views[state.doc] || views[0];
  const runs = ranked(state.by).filter(i => view.results.some(r => r[0] === i));
  if (state.run >= 0 && !runs.includes(state.run)) state.run = -1;
  const reach = Math.max(0, ...view.spans.map(p => p[1]), ...view.results.map(r => r[3]));
  const length = all.lengths[view.doc] ?? reach, text = all.texts[view.doc];
  const only = view.results.filter(r => state.run < 0 || r[0] === state.run);
  const again = change => value => {
    const at = [...place.querySelectorAll("select")].indexOf(document.activeElement);
    change(value);
    showDocument();
    if (at >= 0) place.querySelectorAll("select")[at].focus();
  };
  const titles = order.map(id => topicLabels[D.topics.findIndex(t => t.id === id)]);
  const named = v => `${v.doc}${v.relevant ? "" : " (not relevant)"}`;
  const left = [
    all.left_out ? `${all.left_out} more documents of topics were left out to keep the page small.` : "",
    all.has_source ? "" : "Texts are shown if the documents are given (--texts, or -C with --documents).",
    all.has_source && all.without_text ? `${all.without_text} documents are without their text: ` +
      "too long, of unknown length, not of the length that was judged, or without room." : "",
    ...all.notes,
  ].filter(Boolean).join(" ");
  const swatch = (css, words) => {
    const box = h("span", { class: "swatch" });
    Object.assign(box.style, css);
    return h("span", {}, box, words);
  };
  put(place,
    h("div", { class: "controls" },
      select("Topic", titles, order.indexOf(state.topicOf),
        again(i => { state.topicOf = order[i]; state.doc = 0; })),
      select("Document", views.map(named), views.indexOf(view), again(i => { state.doc = i; })),
      select("Coverage by", ["all runs", ...runs.map(i => D.runs[i])], runs.indexOf(state.run) + 1,
        again(i => { state.run = i ? runs[i - 1] : -1; }))),
    h("div", { class: "keys" }, swatch({ background: "var(--mark)" }, "relevant (underlined in the text)"),
      swatch({ background: "rgba(var(--heat), .2)" }, "returned by few runs"),
      swatch({ background: "rgba(var(--heat), .9)" }, "by many"), h("span", {}, "▶ best entry point"),
      h("span", {}, "numbers in bars: ranks")),
    h("figure", { class: "strip" }, stripOf(view, length, runs)),
    runs.length ? null : h("p", { class: "note" }, "No run returned this document."),
    text === undefined ? null : textOf(view, text, united(only)),
    behind(["run", "rank", "start", "end"], () => view.results.map(([run, rank, a, b]) =>
      [D.runs[run], rank, a < 0 ? "unknown" : a, b < 0 ? "unknown" : b]), "Results in this document"),
    left ? h("p", { class: "note" }, left) : null);
  const box = place.querySelector(".text"), first = box && box.querySelector(".entry, .relevant");
  if (first) {
    const down = first.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.scrollTop += down - box.clientHeight / 3;
  }
}
