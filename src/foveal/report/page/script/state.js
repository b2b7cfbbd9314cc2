// What the reader has chosen. All parts of the page are drawn from it, and the address keeps it.

const STARTING = {
  measure: D.measures[D.by].group === null ? D.by : labels.indexOf(D.measures[D.by].base),
  group: D.measures[D.by].group, baseline: null, filter: "", picked: new Set(), only: false,
  sort: null, find: "", graph: 0, curve: 0, one: null, two: null, kind: "all", order: "number",
    down: false,
  topic: null, doc: null, zoom: null, text: "all", at: null,
};
const state = { ...STARTING };

// Names of choices in the address, and how their values are written and read.
const runAt = name => { const i = RUNS.indexOf(name); return i < 0 ? null : i; };
const plain = [value => value, text => text];
const ofRun = [i => RUNS[i], runAt];
const number = [String, text => Math.max(0, Number.parseInt(text, 10) || 0)];
const flag = [() => "1", text => text === "1"];
const IN_ADDRESS = {
  measure: [k => labels[k], text => bases.includes(labels.indexOf(text)) ? labels.indexOf(text)
    : STARTING.measure],
  group: [name => name ?? "all", name => groupNames.includes(name) ? name : null],
  baseline: ofRun, filter: plain, only: flag, sort: plain, find: plain, graph: number, curve: number,
  picked: [set => JSON.stringify([...set].map(i => RUNS[i])), text => {
    try { return new Set(JSON.parse(text).map(runAt).filter(i => i !== null)); } catch { return new Set();
      }
  }],
  one: ofRun, two: ofRun, kind: plain, order: plain, down: flag,
  topic: [t => TOPICS[t], text => TOPICS.includes(text) ? TOPICS.indexOf(text) : null],
  doc: plain, text: [v => typeof v === "number" ? RUNS[v] : `:${v}`,
    v => v[0] === ":" ? v.slice(1) : runAt(v) ?? "all"],
  zoom: [([from, to]) => `${from}-${to}`, text => /^\d+-\d+$/.test(text) ? text.split("-").map(Number)
    : null],
  at: plain,
};
const same = (a, b) => a === b || (a instanceof Set && !a.size && !b.size);
function writeAddress() {
  const found = new URLSearchParams();
  for (const [name, [write]] of Object.entries(IN_ADDRESS)) {
    if (!same(state[name], STARTING[name])) found.set(name, write(state[name]));
  }
  const text = String(found);
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, STARTING, { picked: new Set() });
  for (const [name, [, read]] of Object.entries(IN_ADDRESS)) {
    if (given.has(name)) state[name] = read(given.get(name));
  }
}

// Parts of the page draw themselves: each is called after a change, and keeps the focus.
const PARTS = [];
function draw(parts = PARTS) {
  const focused = document.activeElement, id = focused && focused.id;
  const scrolls = [...document.querySelectorAll(".scroll[aria-label], .text")].map(node =>
    [node.getAttribute("aria-label"), node.scrollTop, node.scrollLeft]);
  forgetSelection();
  parts.forEach(part => part());
  for (const [label, top, left] of scrolls) {
    if (!top && !left) continue;
    const node = document.querySelector(`.scroll[aria-label="${CSS.escape(label)}"]`);
    if (node) Object.assign(node, { scrollTop: top, scrollLeft: left });
  }
  if (id && document.activeElement !== focused && $(id)) $(id).focus({ preventScroll: true });
}
function update(change, parts = PARTS) {
  if ("topic" in change || "doc" in change) state.zoom = null;
  Object.assign(state, change);
  writeAddress();
  draw(parts);
}
function goTo(id) {
  state.at = id;
  writeAddress();
  $(id).scrollIntoView();
}

// -- the selection ------------------------------------------------------------------------------

const memory = new Map();
const forgetSelection = () => memory.clear();
function remembered(name, make) {
  if (!memory.has(name)) memory.set(name, make());
  return memory.get(name);
}
const isSearched = () => state.find.trim() !== "";
function topicsShown() {
  return remembered("topics", () => {
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    const group = state.group === null ? null : new Set(D.groups[state.group]);
    return TOPICS.map((_, t) => t).filter(t =>
      (group === null || group.has(t)) && words.every(word => topicText[t].includes(word)));
  });
}
// Means, limits, p values and effect sizes: Python's for all topics and groups, else computed here.
function figures(k = state.measure) {
  return remembered(`figures ${k}`, () => {
    const column = columnOf(k, state.group), own = D.measures[column];
    if (!isSearched() || D.measures[k].values === null) {
      const compared = own.p !== undefined;
      return {
        column, searched: false, count: own.tested ?? topicsShown().length,
        means: RUNS.map((_, i) => D.overall[i][column]), texts: RUNS.map((_, i) => D.cells[i][column]),
        limits: RUNS.map((_, i) => own.limits?.[i]?.map(v => v / 1e4) ?? null),
        difference: (i, j) => compared ? own.means[i] - own.means[j]
          : D.overall[i][column] === null || D.overall[j][column] === null ? null
            : D.overall[i][column] - D.overall[j][column],
        p: (i, j) => compared && i !== j ? pOf(column)[pairAt(i, j)] / 1e4 : null,
        effect: (i, j) => compared && i !== j ? (i < j ? 1 : -1) * effectOf(column)[pairAt(i, j)] / 1e4
          : null,
        letters: own.letters ?? null, ranks: own.ranks ?? null, compared,
      };
    }
    const topics = topicsShown(), values = valuesOf(k), whole = D.measures[k].whole;
    const known = RUNS.map((_, i) => topics.map(t => values[i][t]).filter(v => v !== null)
      .map(v => v / 1e4));
    const all = known.map(v => v.length ? describe(v) : null);
    const means = all.map(own => own && (whole ? own.n * own.mean : own.mean));
    const shared = topics.filter(t => values.every(own => own[t] !== null));
    const tests = [];
    for (let i = 0; i < RUNS.length; i++) {
      for (let j = i + 1; j < RUNS.length; j++) {
        tests.push(pairedTest(shared.map(t => (values[i][t] - values[j][t]) / 1e4)));
      }
    }
    const corrected = holm(tests.map(test => test.p));
    const between = (i, j, read) => i === j || !shared.length ? null : read(pairAt(i, j), i < j ? 1 : -1);
    return {
      column, searched: true, count: shared.length, means,
      texts: means.map(v => v === null ? "-" : whole ? String(Math.round(v)) : v.toFixed(4)),
      limits: all.map(own => own === null || own.half === null || whole ? null
        : [own.mean - own.half, own.mean + own.half]),
      difference: (i, j) => i === j ? 0 : between(i, j, (at, way) => way * tests[at].mean),
      p: (i, j) => between(i, j, at => corrected[at]),
      effect: (i, j) => between(i, j, (at, way) => tests[at].effect === null ? null
        : way * tests[at].effect),
      letters: null, ranks: null, compared: D.measures[k].sign !== 0 && shared.length > 1,
    };
  });
}
function ranked(k = state.measure) {
  return remembered(`ranked ${k}`, () => {
    const { means } = figures(k), worth = i => means[i] === null ? -Infinity : signOf(k) * means[i];
    return RUNS.map((_, i) => i).sort((a, b) => worth(b) - worth(a) || a - b);
  });
}
const matches = i => RUNS[i].toLowerCase().includes(state.filter.toLowerCase()) &&
  !(state.only && state.picked.size && !state.picked.has(i));
// The runs that are shown, best first.
const runsShown = () => remembered("runs", () => ranked().filter(matches));
// The runs that graphs of lines draw: those picked, else the best.
const DRAWN_AT_FIRST = 8;
function runsDrawn() {
  const shown = runsShown(), picked = shown.filter(i => state.picked.has(i));
  return new Set(picked.length ? picked : shown.slice(0, DRAWN_AT_FIRST));
}
const baseline = () => state.baseline ?? ranked()[0];
function pair() {
  const order = ranked(), one = state.one ?? baseline();
  return [one, state.two ?? order.find(i => i !== one) ?? null];
}
const verdictOf = (k, difference, p) => p === null || !D.measures[k].sign ? "" : p >= .05
  ? "may be chance"
  : difference * signOf(k) > 0 ? "better" : "worse";
