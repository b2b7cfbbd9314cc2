// What graphs share: colours, axes, the legend.

const DASHES = ["", "7 4", "2 3", "9 3 2 3"];
// The runs drawn at first are the best by the first answer: these differ in colour, and no two of
// the best 28 look the same, whatever order they were given in.
const styles = [];
ranked(D.by).forEach((i, at) => { styles[i] = at; });
const colour = i => `var(--c${i % 7})`;
const dash = i => DASHES[i % 4] || null;
const room = () => Math.max(300, $("panel").clientWidth);

function ticks(low, high, most = 6) {
  if (!(high > low)) high = low + 1;
  const step = 10 ** Math.floor(Math.log10((high - low) / most));
  const wide = [1, 2, 5, 10].map(f => f * step).find(w => (high - low) / w <= most);
  const found = [];
  for (let v = Math.ceil(low / wide - 1e-9) * wide; v <= high + wide * 1e-9; v += wide) {
    found.push(Number(v.toPrecision(10)));
  }
  return found;
}
// Long numbers would be cut at the end of an axis.
const tick = v => v >= 1e6 ? `${v / 1e6}M` : v >= 1e4 ? `${v / 1e3}k` : String(v);
// A frame with axes; x and y turn values into places.
function frame(width, height, xs, ys, names, log = false, left = 56) {
  const top = 22, right = 16, bottom = 44, tx = log ? Math.log10 : v => v;
  const x = v => left + (tx(v) - tx(xs[0])) / (tx(xs[1]) - tx(xs[0]) || 1) * (width - left - right);
  const y = v => height - bottom - (v - ys[0]) / (ys[1] - ys[0] || 1) * (height - top - bottom);
  const root = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": names.label });
  const across = names.points || ticks(xs[0], xs[1], Math.max(3, Math.floor(width / 90)));
  for (const v of across) {
    root.append(s("line", { class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom }),
      s("text", { x: x(v), y: height - bottom + 16, "text-anchor": "middle" }, tick(v)));
  }
  for (const v of names.y === null ? [] : ticks(ys[0], ys[1])) {
    root.append(s("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      s("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, tick(v)));
  }
  root.append(
    s("path", { class: "axis", d: `M${left},${top}V${height - bottom}H${width - right}` }),
    s("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, names.x),
    names.y === null ? "" : s("text", { class: "soft", x: 4, y: 13 }, names.y));
  return { root, x, y };
}
function legend(draw) {
  const emphasise = (root, run) => root.querySelectorAll("[data-series]").forEach(line =>
    line.classList.toggle("faded", run !== null && Number(line.dataset.series) !== run));
  return root => h("ul", { class: "legend", "aria-label": "Runs drawn" }, ranked(state.by).map(i => {
    const box = h("input", { type: "checkbox" });
    box.checked = state.shown.has(i);
    box.addEventListener("change", () => {
      box.checked ? state.shown.add(i) : state.shown.delete(i);
      draw();
    });
    return h("li", {
      onmouseenter: () => emphasise(root(), i), onmouseleave: () => emphasise(root(), null),
      onfocusin: () => emphasise(root(), i), onfocusout: () => emphasise(root(), null),
    }, h("label", {}, box,
      s("svg", { width: 34, height: 12, "aria-hidden": "true" }, s("line", { x1: 1, x2: 33, y1: 6,
        y2: 6, stroke: colour(styles[i]), "stroke-width": 3, "stroke-dasharray": dash(styles[i]) })),
      h("span", {}, D.runs[i])));
  }));
}
