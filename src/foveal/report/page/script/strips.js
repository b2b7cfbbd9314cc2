// A document as a strip: where it is relevant and what runs returned, with a map to zoom by.

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
const heatOf = share => `rgba(var(--heat), ${(.15 + .75 * share).toFixed(2)})`;
function coverage(root, view, length, x, top, tall, ends) {
  const most = Math.max(1, RUNS.length);
  for (const part of pieces(length, [], united(view.results))) {
    if (!part.covered || part.end <= ends[0] || part.start >= ends[1]) continue;
    const from = x(Math.max(part.start, ends[0])), to = x(Math.min(part.end, ends[1]));
    const cell = s("rect", { x: from, y: top, height: tall, width: Math.max(1, to - from) },
      s("title", {}, `${part.start} to ${part.end}: ${plural(part.covered, "run")}`));
    cell.style.fill = heatOf(part.covered / most);
    root.append(cell);
  }
}
const inside = ([a, b], [low, high]) => a < high && (b > low || a === b && a >= low);
// Where reading starts: the relevant passages of a long document, else all of it.
function firstZoom(view, length) {
  const low = Math.min(...view.spans.map(p => p[0])), high = Math.max(...view.spans.map(p => p[1]));
  const margin = Math.max(600, (high - low) * .3);
  return view.spans.length && length > 12000 && high - low + 2 * margin < length * .6
    ? [Math.max(0, low - margin), Math.min(length, high + margin)] : [0, length];
}
function clampZoom([from, to], length) {
  const size = Math.min(length, Math.max(Math.min(200, length), to - from));
  const start = Math.max(0, Math.min(length - size, (from + to - size) / 2));
  return [Math.round(start), Math.round(start + size)];
}
function stripOf(view, length, runs, zoom, width) {
  const row = 20, most = width > 700 ? 26 : 14;
  const left = 16 + 7 * Math.max(8, Math.min(most, ...[Math.max(8, ...runs.map(i => RUNS[i].length))]));
  const x = at => left + (Math.min(Math.max(at, zoom[0]),
    zoom[1]) - zoom[0]) / Math.max(zoom[1] - zoom[0], 1) * (width - left - 8);
  const height = row * (runs.length + 2) + 26;
  const root = svg(width, height, `Where ${view.doc} is relevant and what ${plural(runs.length,
    "run")} returned of it, ` +
    `characters ${zoom[0]} to ${zoom[1]}; the numbers are in the table below`);
  const short = shortener(runs.map(i => RUNS[i]), most);
  const name = (text, at, full = text) => root.append(s("text",
    { x: left - 8, y: row * at + 14, "text-anchor": "end" }, text, s("title", {}, full)));
  name("relevant", 0);
  name("coverage", 1);
  view.spans.filter(span => inside(span, zoom)).forEach(([a, b]) =>
    root.append(s("rect", { x: x(a), y: 3, fill: "var(--mark)",
    width: Math.max(2, x(b) - x(a)), height: 13 }, s("title", {}, `relevant: ${a} to ${b}`))));
  if (view.bep >= zoom[0] && view.bep <= zoom[1]) {
    root.append(s("path", { fill: "var(--ink)", d: `M${x(view.bep)},3l8,6.5l-8,6.5z` },
      s("title", {}, `best entry point: ${view.bep}`)));
  }
  coverage(root, view, length, x, row + 3, 13, zoom);
  runs.forEach((run, at) => {
    name(short(RUNS[run]), at + 2, RUNS[run]);
    view.results.filter(r => r[0] === run && r[2] >= 0 && inside([r[2], r[3]], zoom))
      .forEach(([, rank, a, b]) => {
      const from = x(a), wide = Math.max(2, x(b) - from);
      root.append(s("rect", { x: from, y: row * (at + 2) + 3, width: wide, height: 13, fill: colour(run),
        "fill-opacity": .35,
        stroke: colour(run), "stroke-width": 1 },
          s("title", {}, `${RUNS[run]}, rank ${rank}: ${a} to ${b}`)));
      if (wide > 8 * String(rank).length + 4) root.append(s("text",
        { x: from + 3, y: row * (at + 2) + 14 }, String(rank)));
    });
  });
  const count = Math.max(2, Math.floor((width - left) / 150));
  for (const at of ticks(zoom[0], zoom[1], count).filter(v => x(v) < width - 60)) {
    root.append(s("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: height - 20 }),
      s("text", { class: "soft", x: x(at), y: height - 6,
        "text-anchor": x(at) < left + 20 ? "start" : "middle" }, withCommas(at)));
  }
  return root;
}
// The whole document; the part that the strip shows is framed. A click moves it, a drag chooses one.
function miniMap(view, length, zoom, width, choose) {
  const left = 8, tall = 26, x = at => left + at / Math.max(length, 1) * (width - 2 * left);
  const root = svg(width, tall, `Map of ${view.doc}: ${withCommas(length)} characters`);
  root.classList.add("map");
  root.append(s("rect", { class: "paper", x: left, y: 2, width: width - 2 * left, height: tall - 4 }));
  coverage(root, view, length, x, 14, 8, [0, length]);
  view.spans.forEach(([a, b]) => root.append(s("rect",
    { x: x(a), y: 4, fill: "var(--mark)", width: Math.max(1.5, x(b) - x(a)), height: 8 })));
  const shown = s("rect", { class: "window", x: x(zoom[0]), y: 1,
    width: Math.max(3, x(zoom[1]) - x(zoom[0])), height: tall - 2 });
  root.append(shown);
  let from = null;
  const placeOf = event => {
    const box = root.getBoundingClientRect();
    return Math.max(0, Math.min(length,
      ((event.clientX - box.left) * width / box.width - left) / (width - 2 * left) * length));
  };
  root.addEventListener("pointerdown", event => { from = placeOf(event);
    root.setPointerCapture(event.pointerId); });
  root.addEventListener("pointermove", event => {
    if (from === null) return;
    const [low, high] = [Math.min(from, placeOf(event)), Math.max(from, placeOf(event))];
    shown.setAttribute("x", x(low));
    shown.setAttribute("width", Math.max(3, x(high) - x(low)));
  });
  root.addEventListener("pointerup", event => {
    const to = placeOf(event), half = (zoom[1] - zoom[0]) / 2;
    choose(Math.abs(to - from) < length / 200 ? [to - half, to + half]
      : [Math.min(from, to), Math.max(from, to)]);
  });
  return root;
}
