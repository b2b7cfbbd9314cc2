// Elements of HTML and SVG. Text reaches the page by textContent alone, so that no name can
// bring markup along.

const $ = id => document.getElementById(id);
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
// As replaceChildren, which would write out what is missing.
const put = (node, ...children) =>
  node.replaceChildren(...children.flat(Infinity).filter(c => c !== null && c !== undefined));
const button = (text, onclick, attributes = {}) =>
  h("button", { type: "button", ...attributes, onclick }, text);
const withCommas = n => n.toLocaleString("en");
const plural = (n, word) => `${withCommas(n)} ${word}${n === 1 ? "" : "s"}`;

// A choice; its id keeps the focus where it is when the part around it is drawn again.
function select(label, id, options, value, change) {
  const box = h("select", { id }, options.map((text, i) => h("option", { value: i }, text)));
  box.value = value;
  box.addEventListener("change", () => change(Number(box.value)));
  return h("label", {}, label + " ", box);
}
function region(label, ...children) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}
function svg(width, height, label, ...children) {
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ...children);
}
const note = (...text) => h("p", { class: "note" }, ...text);
