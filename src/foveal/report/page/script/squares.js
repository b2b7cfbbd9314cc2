// Heat maps of significance and correlation, and the profiles of runs.

// A square of cells; `look(i, j)` gives how strong the cell is (0 to 1), its text and its words.
function heat(names, look, label) {
  const most = room() > 700 ? 36 : 18;
  const n = names.length, longest = Math.min(most, Math.max(...names.map(t => t.length)));
  const left = 12 + longest * 7.5;
  const side = Math.max(11, Math.min(56, (room() - left - longest * 3) / n));
  const head = 14 + longest * 6.4, width = left + side * n + longest * 3.8 + 8;
  const height = head + side * n + 6, short = shortener(names, most);
  const root = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": label });
  const font = side < 14 ? "9px" : null;
  names.forEach((name, i) => {
    const at = side * (i + .5), x = left + at + 4, y = head - 6;
    const row = s("text", { x: left - 6, y: head + at + 4, "text-anchor": "end" }, short(name),
      s("title", {}, name));
    const column = s("text", { x, y, transform: `rotate(-60 ${x} ${y})` }, short(name),
      s("title", {}, name));
    if (font) { row.style.fontSize = font; column.style.fontSize = font; }
    root.append(row, column);
    names.forEach((other, j) => {
      const { share, text, words, against = false } = look(i, j);
      const cell = s("rect", { x: left + side * j, y: head + side * i, width: side - 1,
        height: side - 1 }, s("title", {}, `${name} and ${other}: ${words}`));
      cell.style.fill = share === null ? "var(--panel)" : 
        `rgba(var(${against ? "--heat" : "--cool"}), ${share.toFixed(2)})`;
      root.append(cell);
      if (side >= 30 && text) root.append(s("text", { x: left + side * (j + .5) - .5,
        y: head + side * (i + .5) + 4, "text-anchor": "middle" }, text));
    });
  });
  return region(label, root);
}
function significance(panel) {
  const usable = labels.map((_, k) => k).filter(k => D.p[k]);
  if (!usable.includes(state.tested)) state.tested = usable.includes(state.by) ? state.by : usable[0];
  const k = state.tested, order = ranked(k);
  const look = (i, j) => {
    const p = pOf(k, order[i], order[j]);
    if (p === null) return { share: null, text: "", words: "the same run" };
    const level = p < 10 ? 3 : p < 100 ? 2 : p < 500 ? 1 : 0;
    return { share: [.04, .25, .45, .7][level], text: ["", "*", "**", "***"][level],
      words: `corrected p ${saidP(p)}` };
  };
  panel.append(
    h("div", { class: "controls" }, select("Measure", usable.map(m => labels[m]), usable.indexOf(k),
      at => { state.tested = usable[at]; open(state.graph); })),
    h("figure", {}, h("figcaption", {}, `${labels[k]}: which runs differ, best first`),
      heat(order.map(i => D.runs[i]), look, `Corrected p values of all pairs by ${labels[k]}`)),
    h("p", { class: "note" }, `The stronger the colour, the surer: * p < 0.05, ** p < 0.01, *** p < 0.001 (${D.rule}).`),
    behind(["run", ...order.map(i => D.runs[i])], () => order.map(i =>
      [D.runs[i], ...order.map(j => i === j ? "" : saidP(pOf(k, i, j)))])));
}
function correlation(panel) {
  const { labels: names, tau } = D.correlation;
  const look = (i, j) => {
    const t = tau[i][j];
    return t === null ? { share: null, text: "-", words: "undefined" }
      : { share: Math.max(0.03, Math.abs(t) / 1e4 * .75), against: t < 0,
        text: (t / 1e4).toFixed(2), words: four(t) };
  };
  panel.append(
    h("figure", {}, h("figcaption", {}, "Kendall's tau b of the rankings of runs by two measures"),
      heat(names, look, "Kendall's tau b between measures")),
    h("p", { class: "note" }, "The stronger the blue, the more alike the rankings are, and the stronger the " +
      "orange, the more they are the reverse; from 0.9 they count as equivalent, below 0.8 as noticeably different."),
    behind(["measure", ...names], () => names.map((name, i) => [name, ...tau[i].map(four)])));
}
function profiles(panel) {
  const bins = Math.max(1, ...D.profiles.flatMap(p => p.histogram || [0]));
  const lengths = p => {
    if (!p.histogram) return "unknown";
    const root = s("svg", { width: 146, height: 26, role: "img", "aria-label": "Lengths: " +
      p.histogram.map((n, b) => n ? `${n} of ${2 ** b} or more` : null).filter(Boolean).join(", ") });
    p.histogram.forEach((n, b) => root.append(s("rect", { class: "bar", x: 1 + 8 * b, width: 7,
      y: 25 - 24 * Math.sqrt(n / bins), height: n ? Math.max(1, 24 * Math.sqrt(n / bins)) : 0 },
      s("title", {}, `${2 ** b} to ${2 ** (b + 1) - 1} characters: ${n} results`))));
    return root;
  };
  const order = ranked(state.by);
  const head = ["run", "results", "topics", "mean length", "median", "lengths, 1 to 128 K",
    ...D.overlap, `unjudged, first ${D.unjudged_k}`];
  const rows = order.map(i => {
    const p = D.profiles[i];
    return [D.runs[i], p.results, p.topics, p.length ? p.length[0].toFixed(1) : "-",
      p.length ? p.length[3].toFixed(1) : "-", lengths(p),
      ...D.overlap.map((_, k) => p.overlap ? four(p.overlap[k]) : "-"), four(D.unjudged[i])];
  });
  const shown = table(head, rows, { caption: "What the runs return: how many results, how long " +
    "in characters, how much of it again, and how much of their top nobody judged" });
  navigable(shown);
  panel.append(region("Profiles of runs", shown),
    h("p", { class: "note" }, "Overlap is that of the runs as they are (--overlap allow). Bars of " +
      "lengths double in width from one to the next; their height is the root of the count. The " +
      "unjudged share is the mean over topics that the run has results for."));
}
