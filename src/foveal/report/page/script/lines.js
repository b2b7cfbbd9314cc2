// Graphs of lines and spreads: curves, topics of each run.

const seriesOf = once(at => D.curves[at].lines.map(line => ({ ...line, y: unpack(line.y) })));
function curves(panel) {
  const graph = D.curves[state.curve] ?? D.curves[0], all = seriesOf(D.curves.indexOf(graph));
  const place = h("div", {}), across = line => line.x || graph.x, drawn = runsDrawn();
  const shown = new Set(runsShown());
  const lines = all.filter(line => line.series === null || drawn.has(line.series));
  const aids = all.filter(line => line.mark === "aid").map(line => line.name);
  const full = all.filter(line => line.mark !== "aid" && line.mark !== "points" &&
    (line.series === null || shown.has(line.series)));
  let root = null;
  panel.append(
    h("div", { class: "controls" }, select("Curve", "curve", D.curves.map(c => c.title),
      D.curves.indexOf(graph),
      at => update({ curve: at }, [graphs]))),
    h("div", { class: "split" }, place, legend(() => root)),
    aids.filter(Boolean).length ? note(`Thin lines: ${aids.filter(Boolean).join(", ")}.`) : "",
    ...graph.notes.map(text => note(text)));
  const width = room(place), xs = lines.flatMap(across),
    ys = lines.flatMap(line => line.y).filter(v => v !== null);
  const top = ys.reduce((a, b) => Math.max(a, b / 1e4), 1e-4) * 1.05;
  const low = xs.reduce((a, b) => Math.min(a, b), Infinity),
    high = xs.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = [];
  for (let p = Math.floor(Math.log10(Math.max(low, 1e-9))); graph.log && 10 ** p <= high; p++) {
    if (10 ** p >= low * .999) powers.push(Number((10 ** p).toPrecision(3)));
  }
  const f = frame(width, Math.min(460, Math.max(280, width * .5)), lines.length ? [low, high] : [0, 1],
    [0, top > 1 && top < 1.06 ? 1 : top],
    { x: graph.across, y: graph.up, label: `${graph.title}, of ${plural(drawn.size,
      "run")}; the numbers are in the table below`,
      points: graph.log ? powers : null }, graph.log);
  for (const line of lines) {
    const own = line.series === null, run = line.series;
    const points = across(line).map((x, k) => [x, line.y[k]]).filter(p => p[1] !== null)
      .map(([x, y]) => [f.x(x).toFixed(1), f.y(y / 1e4).toFixed(1)]);
    const style = { "data-series": own ? null : run, stroke: own ? "var(--ink)" : colour(run) };
    if (line.mark === "points") {
      points.forEach(([x, y]) => f.root.append(s("circle",
        { ...style, cx: x, cy: y, r: 4, fill: "var(--paper)",
        "stroke-width": 2 }, s("title", {}, RUNS[run]))));
      continue;
    }
    f.root.append(s("polyline", { ...style, points: points.join(" "),
      class: line.mark === "aid" ? "series aid" : "series",
      "stroke-dasharray": line.mark === "aid" ? "3 3" : own ? null : dash(run) },
        s("title", {}, line.name || RUNS[run])));
    if (own && points.length && line.mark !== "aid") {
      const [x, y] = points[points.length - 1], end = Number(x) > width * .6;
      f.root.append(s("text", { x: Number(x) + (end ? -4 : 10), y: Number(y) - 8,
        "text-anchor": end ? "end" : "start" }, line.name));
    }
  }
  root = f.root;
  put(place, h("figure", {}, h("figcaption", {}, graph.title), f.root), behind(graph.title, () => {
    const places = [...new Set(full.flatMap(across))].sort((a, b) => a - b);
    return { head: ["line", ...places.map(String)], rows: full.map(line => {
      const at = new Map(across(line).map((x, k) => [x, line.y[k]]));
      return [line.name, ...places.map(x => at.has(x) ? four(at.get(x)) : "")];
    }) };
  }, () => f.root));
  if (state.group !== null || isSearched()) panel.append(note("Curves are over all topics."));
}

const DOTS = 60, ROWS = 30;
// Topics as dots, or where they are many as a shape, with quartiles, and the mean on top.
function spreads(panel) {
  const k = state.measure, figure = figures(), topics = topicsShown(), all = runsShown();
  if (D.measures[k].values === null) {
    panel.append(note(`The page does not hold the scores of topics by ${labels[k]}.`));
    return;
  }
  const most = SHOWN.get("spreads") ?? ROWS, order = all.slice(0, most), values = valuesOf(k),
    few = topics.length <= DOTS;
  const row = few ? 28 : 34, width = room(panel), most1 = width > 700 ? 30 : 16;
  const left = Math.min(20 + 7.2 * Math.max(4, ...order.map(i => RUNS[i].length)), 20 + 7.2 * most1);
  const short = shortener(order.map(i => RUNS[i]), most1), ends = span(k);
  const f = frame(width, 66 + row * Math.max(order.length, 1), ends, [0, Math.max(order.length, 1)],
    { x: `${labels[k]} on each topic`, y: null,
    label: `Scores of ${plural(topics.length,
      "topic")} by ${labels[k]}, a row for each run, with quartiles and the mean` }, false, left);
  order.forEach((i, at) => {
    const y = 22 + row * (at + .5), name = RUNS[i];
    f.root.append(s("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, short(name),
      s("title", {}, name)));
    const known = topics.filter(t => values[i][t] !== null),
      own = known.map(t => values[i][t] / 1e4).sort((a, b) => a - b);
    if (!own.length) return;
    if (few) {
      known.forEach((t, n) => f.root.append(s("circle",
        { cx: f.x(values[i][t] / 1e4), cy: y + ((n * 7) % 11 - 5) * .9, r: 3.2, fill: colour(i),
        "fill-opacity": .45, onclick: () => openTopic(t) },
          s("title", {}, `${name}, topic ${topicLabels[t]}: ${shownValue(k, values[i][t])}`))));
    } else {
      const counts = shares(own, ends, 48), step = (ends[1] - ends[0]) / 48;
      const bins = counts.map((share, b) => (share * 2 + (counts[b - 1] ?? 0) +
        (counts[b + 1] ?? 0)) / 4), tall = Math.max(...bins);
      const used = [...bins.keys()].filter(b => bins[b] || bins[b - 1] || bins[b + 1]);
      const edge = (way, b) => `${f.x(ends[0] + (b + .5) * step)
        .toFixed(1)},${(y - way * Math.sqrt(bins[b] / tall) * row * .42).toFixed(1)}`;
      const path = used.map(b => edge(1, b)).concat(used.slice().reverse().map(b => edge(-1, b)));
      f.root.append(s("path", { d: `M${path.join("L")}Z`, fill: colour(i), "fill-opacity": .3,
        stroke: colour(i), "stroke-width": .8 },
        s("title", {}, `${name}: ${plural(own.length, "topic")}`)));
    }
    const [low, middle, high] = [.25, .5, .75].map(share => quantile(own, share));
    f.root.append(s("rect", { class: "quartiles", x: f.x(low), width: Math.max(1, f.x(high) - f.x(low)),
      y: y - 5, height: 10 },
      s("title", {}, `${name}: quartiles ${low.toFixed(4)}, ${middle.toFixed(4)}, ${high.toFixed(4)}`)),
    s("line", { class: "quartiles", x1: f.x(middle), x2: f.x(middle), y1: y - 5, y2: y + 5 }));
    if (!D.measures[k].whole && figure.means[i] !== null) {
      f.root.append(s("path", { class: "mean", d: `M${f.x(figure.means[i])},${y - 8}l6,8l-6,8l-6,-8z` },
        s("title", {}, `${name}: mean ${figure.texts[i]}`)));
    }
  });
  panel.append(
    h("figure", {}, h("figcaption", {}, `${labels[k]}: ${few ? "a dot for each topic"
      : "where the topics are"}; box: quartiles; diamond: mean`), f.root),
    all.length > order.length ? h("p", { class: "more" }, `${order.length} of ${all.length} runs shown. `,
      button(`Show all ${all.length} runs`, () => {
      SHOWN.set("spreads", all.length);
      draw([graphs]);
    }, { id: "spreads-more" })) : "",
    few ? "" : note("Heights are square roots of the numbers of topics."),
    behind(`${labels[k]} on topics`, () => ({ head: ["topic", ...all.map(i => RUNS[i])],
      rows: topics.map(t => [TOPICS[t], ...all.map(i => shownValue(k, values[i][t]))]) }), () => f.root));
}
