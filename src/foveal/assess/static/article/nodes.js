// Elements of the page, made without markup: nothing in a document can become more than text.

/** An element with attributes (functions are listeners) and children; null ones are left out. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}

export const byId = id => document.getElementById(id);
export const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** Wait until the page has been drawn once more. */
export const drawn = () => new Promise(done => {
  requestAnimationFrame(() => setTimeout(done));
});
