// Graphs of lines, dots and bars: curves, topics of each run, two runs.

function curves(panel) {
  const graph = D.curves[state.curve], place = h("div", {});
  let root = null;
  const across = line => line.x || graph.x;
  const drawn = () => graph.lines.filter(line => line.series === null || state.shown.has(line.series));
  const draw = () => {
    const lines = drawn(), width = Math.max(280, place.clientWidth);
    const xs = lines.flatMap(across), ys = lines.flatMap(line => line.y).filter(v => v !== null);
    const top = Math.max(1e-4, ...ys.map(v => v / 1e4)) * 1.05;
    const low = Math.min(...xs), high = Math.max(...xs);
    const powers = [];
    for (let p = Math.floor(Math.log10(Math.max(low, 1e-9))); graph.log && 10 ** p <= high; p++) {
      if (10 ** p >= low * .999) powers.push(Number((10 ** p).toPrecision(3)));
    }
    const runs = new Set(lines.map(line => line.series).filter(i => i !== null)).size;
    const f = frame(width, Math.min(440, Math.max(280, width * .6)), [low, high],
      [0, top > 1 && top < 1.06 ? 1 : top], { x: graph.across, y: graph.up,
        label: `${graph.title}, of ${runs} runs; the numbers are in the table below`,
        points: graph.log ? powers : null }, graph.log);
    for (const line of lines) {
      const own = line.series === null, run = line.series;
      const points = across(line).map((x, k) => [x, line.y[k]]).filter(p => p[1] !== null)
        .map(([x, y]) => [f.x(x).toFixed(1), f.y(y / 1e4).toFixed(1)]);
      const style = { "data-series": own ? null : run, stroke: own ? "var(--ink)" : colour(styles[run]) };
      const title = s("title", {}, line.name || D.runs[run]);
      if (line.mark === "points") {
        points.forEach(([x, y]) => f.root.append(s("circle", { ...style, cx: x, cy: y, r: 4,
          fill: "var(--paper)", "stroke-width": 2 }, s("title", {}, D.runs[run]))));
        continue;
      }
      f.root.append(s("polyline", { ...style, points: points.join(" "),
        class: line.mark === "aid" ? "series aid" : "series",
        "stroke-dasharray": line.mark === "aid" ? "3 3" : own ? null : dash(styles[run]) }, title));
      if (own && points.length && line.mark !== "aid") {
        const [x, y] = points[points.length - 1], end = Number(x) > width * .6;
        f.root.append(s("text", { x: Number(x) + (end ? -4 : 10), y: Number(y) - 8,
          "text-anchor": end ? "end" : "start" }, line.name));
      }
    }
    root = f.root;
    place.replaceChildren(h("figure", {}, h("figcaption", {}, graph.title), f.root));
  };
  const aids = graph.lines.filter(line => line.mark === "aid").map(line => line.name);
  const full = graph.lines.filter(line => line.mark !== "aid" && line.mark !== "points");
  const xs = [...new Set(full.flatMap(across))].sort((a, b) => a - b);
  panel.append(
    h("div", { class: "controls" }, select("Curve", D.curves.map(c => c.title), state.curve,
      k => { state.curve = k; open(state.graph); })),
    h("div", { class: "split" }, place, legend(draw)(() => root)),
    aids.length ? h("p", { class: "note" }, `Thin lines: ${aids.join(", ")}.`) : "",
    ...graph.notes.map(note => h("p", { class: "note" }, note)),
    behind(["line", ...xs.map(String)], () => full.map(line => {
      const at = new Map(across(line).map((x, k) => [x, line.y[k]]));
      return [line.name, ...xs.map(x => at.has(x) ? four(at.get(x)) : "")];
    })));
  draw();
}

const measureChoice = () => select("Measure", perTopic, state.measure,
  k => { state.measure = k; open(state.graph); });
function span(k) {
  const all = D.values[k].flat().filter(v => v !== null).map(v => v / 1e4);
  const low = Math.min(0, ...all), high = Math.max(...all, 1e-4);
  return [low, high <= 1 && high > .5 ? 1 : high];
}
function strips(panel) {
  const k = state.measure, order = ranked(k), row = 24, width = room();
  const left = Math.min(180, 20 + 7.2 * Math.max(...D.runs.map(r => r.length)));
  const short = shortener(D.runs, Math.floor((left - 16) / 7.2));
  const f = frame(width, 66 + row * order.length, span(k), [0, order.length],
    { x: `${labels[k]} on each topic`, y: null, label: `Scores of every topic by ${labels[k]}, a ` +
      "row for each run, with the mean and its confidence interval" }, false, left);
  order.forEach((i, at) => {
    const y = 22 + row * (at + .5), name = D.runs[i];
    f.root.append(s("text", { x: left - 8, y: y + 4, "text-anchor": "end" },
      short(name), s("title", {}, name)));
    const limits = D.limits[k][i], mean = D.overall[i][k];
    if (limits) f.root.append(s("line", { x1: f.x(limits[0] / 1e4), x2: f.x(limits[1] / 1e4),
      y1: y, y2: y, stroke: colour(1), "stroke-width": 3, "stroke-opacity": .7 }));
    if (mean !== null && !D.measures[k].whole) f.root.append(s("line", { x1: f.x(mean), x2: f.x(mean),
      y1: y - 9, y2: y + 9, stroke: colour(1), "stroke-width": 3 },
      s("title", {}, `${name}: ${D.cells[i][k]}`)));
    D.values[k][i].forEach((v, t) => {
      if (v === null) return;
      f.root.append(s("circle", { cx: f.x(v / 1e4), cy: y, r: 4, fill: colour(0),
        "fill-opacity": .6, onclick: () => showTopic(t) },
        s("title", {}, `${name}, topic ${topicLabels[t]}: ${shownValue(k, v)}`)));
    });
  });
  panel.append(h("div", { class: "controls" }, measureChoice()),
    h("figure", {}, h("figcaption", {}, `${labels[k]}: a dot for each topic; bar: mean with interval`),
      f.root),
    behind(["topic", ...order.map(i => D.runs[i])], () => D.topics.map((topic, t) =>
      [topic.id, ...order.map(i => shownValue(k, D.values[k][i][t]))])));
}

function differences(panel) {
  const k = state.measure, order = ranked(k);
  if (!state.pair) state.pair = [order[0], order[1]];
  const [a, b] = state.pair, sign = D.measures[k].sign || 1;
  const rows = D.topics.map((_, t) => [t, D.values[k][a][t], D.values[k][b][t]])
    .filter(r => r[1] !== null && r[2] !== null)
    .map(([t, x, y]) => ({ t, x, y, d: x - y })).sort((p, q) => q.d - p.d);
  const width = room(), reach = 1.08 * Math.max(1e-4, ...rows.map(r => Math.abs(r.d) / 1e4));
  const f = frame(width, 340, [0, Math.max(rows.length, 1)], [-reach, reach],
    { x: "topics, by difference", y: `difference in ${labels[k]}`, points: [],
      label: `${labels[k]} of ${D.runs[a]} minus ${D.runs[b]}, a bar for each topic` });
  const each = (width - 72) / Math.max(rows.length, 1);
  rows.forEach((r, i) => {
    const y = f.y(Math.max(r.d, 0) / 1e4), size = Math.abs(f.y(r.d / 1e4) - f.y(0));
    f.root.append(s("rect", { class: r.d * sign >= 0 ? "bar" : "bar down", x: f.x(i) + each * .1,
      y, width: Math.max(each * .8, 1), height: Math.max(size, 1), onclick: () => showTopic(r.t) },
      s("title", {}, `topic ${topicLabels[r.t]}: ${four(r.d)}`)));
    if (each >= 22) f.root.append(s("text", { x: f.x(i) + each / 2,
      y: r.d >= 0 ? f.y(0) + 15 : f.y(0) - 6, "text-anchor": "middle" },
      D.topics[r.t].id.slice(0, Math.floor(each / 7))));
  });
  f.root.append(s("path", { class: "axis", d: `M56,${f.y(0)}H${width - 16}` }));
  const wins = rows.filter(r => r.d * sign > 0).length, ties = rows.filter(r => r.d === 0).length;
  const pick = at => i => { state.pair[at] = i; open(state.graph); };
  panel.append(
    h("div", { class: "controls" }, measureChoice(), select("Run", D.runs, a, pick(0)),
      select("minus", D.runs, b, pick(1))),
    h("p", {}, `${D.runs[a]} ${D.cells[a][k]}, ${D.runs[b]} ${D.cells[b][k]}. ` +
      `Better on ${wins} topics, equal to four decimals on ${ties}, worse on ` +
      `${rows.length - wins - ties}; ` +
      `corrected p: ${saidP(pOf(k, a, b))}.`),
    h("figure", {}, h("figcaption", {}, `${labels[k]}: ${D.runs[a]} minus ${D.runs[b]}`), f.root),
    behind(["topic", D.runs[a], D.runs[b], "difference"], () => rows.map(r => [D.topics[r.t].id,
      shownValue(k, r.x), shownValue(k, r.y), four(r.d)])));
}
