// The data of the page, and what belongs together in them.

const D = JSON.parse($("data").textContent);
const RUNS = D.runs, TOPICS = D.topics.id;

// Whole numbers as Python packed them: distances from the least, 0 for an undefined one.
function unpack([low, size, text]) {
  const raw = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const Kind = { 2: Uint16Array, 4: Uint32Array, 8: Float64Array }[size];
  return Array.from(new Kind(raw.buffer), code => code ? code + low - 1 : null);
}
function once(make) {
  const known = new Map();
  return key => {
    if (!known.has(key)) known.set(key, make(key));
    return known.get(key);
  };
}
const byRun = once(name => {
  const all = unpack(D[name]), n = TOPICS.length;
  return RUNS.map((_, i) => all.slice(i * n, i * n + n));
});
// Scores of each run on each topic, in ten-thousandths.
const valuesOf = once(k => {
  const all = unpack(D.measures[k].values), n = TOPICS.length;
  return RUNS.map((_, i) => all.slice(i * n, i * n + n));
});
const pOf = once(k => unpack(D.measures[k].p));
const effectOf = once(k => unpack(D.measures[k].effect));
const pairAt = (i, j) => {
  const [a, b] = i < j ? [i, j] : [j, i];
  return a * RUNS.length - a * (a + 1) / 2 + b - a - 1;
};

const labels = D.measures.map(m => m.label);
const bases = labels.map((_, k) => k).filter(k => D.measures[k].group === null);
const stored = bases.filter(k => D.measures[k].values !== null);
const topicLabels = TOPICS.map((id, t) => D.topics.title[t] ? `${id} ${D.topics.title[t]}` : id);
const groupNames = Object.keys(D.groups);
const groupsOf = TOPICS.map((_, t) => groupNames.filter(name => D.groups[name].includes(t)));
const topicText = TOPICS.map((_, t) => [topicLabels[t], ...groupsOf[t]].join(" ").toLowerCase());
// The column of a measure on a group of topics.
const columnOf = (k, group) => group === null ? k
  : D.measures.findIndex(m => m.base === labels[k] && m.group === group);
const signOf = k => D.measures[k].sign || 1;

const four = value => value === null ? "-" : (value / 1e4).toFixed(4);
const signed = value => value === null ? "-" : (value > 0 ? "+" : "") +
  value.toFixed(4).replace("-", "−");
const shownValue = (k, value) =>
  value === null ? "-" : D.measures[k].whole ? String(Math.round(value / 1e4)) : four(value);
const saidEffect = (d, digits = 2) => d === null ? "-" : Math.abs(d) >= 99 ? "∞"
  : (d > 0 ? "+" : "") + d.toFixed(digits).replace("-", "−");
const saidP = p => p === null ? "-" : p < .00005 ? "< 0.0001" : p.toFixed(4);
const percent = value => value === null ? "-" : `${(value / 100).toFixed(1)} %`;

// Shortens names of a list to so many signs: what all share goes first, as it tells none apart.
function shortener(names, most) {
  const same = list => {
    let n = 0;
    while (list.length > 1 && list.every(t => n < t.length && t[n] === list[0][n])) n += 1;
    return n;
  };
  const backwards = t => [...t].reverse().join("");
  const start = same(names), end = same(names.map(t => backwards(t.slice(start))));
  return name => {
    if (name.length <= most) return name;
    const mark = start > 1 ? "…" : "", rest = start > 1 ? name.slice(start) : name;
    const own = end > 1 ? rest.slice(0, rest.length - end) + "…" : rest;
    const shown = [mark + rest, mark + own].find(t => t.length <= most);
    const half = Math.floor(most / 2);
    return shown || (mark + own).slice(0, half) + "…" + own.slice(1 + half - most);
  };
}
