// Elements of HTML and SVG. Text reaches the page by textContent alone, so that no name can
// bring markup along.

const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const state = {
  by: D.by, graph: 0, curve: 0, measure: D.by < D.values.length ? D.by : 0,
  pair: null, shown: new Set(), topic: null, doc: null, run: -1,
};

const SVG = "http://www.w3.org/2000/svg";
function made(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}
const h = (tag, attributes, ...children) => made(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  made(document.createElementNS(SVG, tag), attributes, children);
const four = value => value === null ? "-" : (value / 1e4).toFixed(4);
const shownValue = (k, value) =>
  value === null ? "-" : D.measures[k].whole ? String(Math.round(value / 1e4)) : four(value);
function select(label, options, value, change) {
  const box = h("select", {}, options.map((text, i) => h("option", { value: i }, text)));
  box.value = value;
  box.addEventListener("change", () => change(Number(box.value)));
  return h("label", {}, label + " ", box);
}
function region(label, ...children) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}
// As replaceChildren, which would write out what is not there.
const put = (node, ...children) => node.replaceChildren(...children.filter(c => c !== null));
const labels = D.measures.map(m => m.label);
const topicLabels = D.topics.map(t => t.title ? `${t.id} ${t.title}` : t.id);
const perTopic = labels.slice(0, D.values.length);

function ranked(k) {
  const sign = D.measures[k].sign || 1;
  const worth = i => D.overall[i][k] === null ? -Infinity : sign * D.overall[i][k];
  return D.runs.map((_, i) => i).sort((a, b) => worth(b) - worth(a) || a - b);
}
function pOf(k, i, j) {
  if (!D.p[k] || i === j) return null;
  const [a, b] = i < j ? [i, j] : [j, i], n = D.runs.length;
  return D.p[k][a * n - a * (a + 1) / 2 + b - a - 1];
}
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
const saidP = p => p === null ? "not tested" : p < 1 ? "< 0.0001" : four(p);
