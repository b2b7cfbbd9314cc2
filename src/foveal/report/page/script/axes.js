// What graphs share: colours, axes, the legend.

// As in pictures of `foveal plot`: a run has the same colour and dashes there.
const DASHES = [null, "8 2.5", "2 2", "8 2 2 2", "5 2 2 2"];
const colour = i => `var(--c${i % 8})`;
const dash = i => DASHES[i % 5];
const room = place => Math.max(280, place.clientWidth || $("panel").clientWidth);

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
const tick = v => v >= 1e6 ? `${v / 1e6}M` : v >= 1e4 ? `${v / 1e3}k` : String(v).replace("-", "−");
// A frame with axes; x and y turn values into places.
function frame(width, height, xs, ys, names, log = false, left = 56) {
  const top = 22, right = 16, bottom = 44, tx = log ? Math.log10 : v => v;
  const x = v => left + (tx(v) - tx(xs[0])) / (tx(xs[1]) - tx(xs[0]) || 1) * (width - left - right);
  const y = v => height - bottom - (v - ys[0]) / (ys[1] - ys[0] || 1) * (height - top - bottom);
  const root = svg(width, height, names.label);
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
const swatch = (i, width = 34) => s("svg", { width, height: 12, "aria-hidden": "true" },
  s("line", { x1: 1, x2: width - 1, y1: 6, y2: 6, stroke: colour(i), "stroke-width": 3,
    "stroke-dasharray": dash(i) }));
// The names of runs, which choose what is drawn and show their lines.
function legend(root) {
  const emphasise = run => root().querySelectorAll("[data-series]").forEach(line =>
    line.classList.toggle("faded", run !== null && Number(line.dataset.series) !== run));
  const drawn = runsDrawn(), listed = runsShown().filter(i => !onPaper() || drawn.has(i));
  return h("ul", { class: "legend", "aria-label": "Runs drawn" }, listed.map(i => {
    const box = h("input", { type: "checkbox", id: `legend-${i}` });
    box.checked = drawn.has(i);
    box.addEventListener("change", () => {
      const picked = new Set(drawn);
      box.checked ? picked.add(i) : picked.delete(i);
      update({ picked });
    });
    return h("li", { onmouseenter: () => emphasise(i), onmouseleave: () => emphasise(null),
      onfocusin: () => emphasise(i), onfocusout: () => emphasise(null) },
      h("label", {}, box, swatch(i), h("span", {}, RUNS[i])));
  }));
}
// Ends of the scores of single topics, for axes that runs share.
const span = once(k => {
  let low = 0, high = 1e-4;
  for (const own of valuesOf(k)) {
    for (const v of own) if (v !== null) { low = Math.min(low, v / 1e4); high = Math.max(high, v / 1e4); }
  }
  return [low, high <= 1 && high > .5 ? 1 : high];
});
function shares(values, [low, high], bins) {
  const counts = new Array(bins).fill(0);
  for (const v of values) counts[Math.min(bins - 1,
    Math.max(0, Math.floor((v - low) / (high - low || 1) * bins)))] += 1;
  return counts.map(n => n / Math.max(1, values.length));
}
