// Matrices of pairs of runs and of measures, each pair once; what runs return.

// Half a square of cells: `look(i, j)` with j before i gives colour, text and words of a cell.
function halfSquare(panel, names, look, label) {
  const width = room(panel), most = width > 700 ? 32 : 16, n = names.length;
  const short = shortener(names, most), longest = Math.min(most, Math.max(...names.map(t => t.length)));
  const left = 12 + longest * 6.8, side = Math.max(9,
    Math.min(58, (width - left - longest * 3 - 20) / n));
  const font = side < 14 ? "8px" : side < 18 ? "10px" : null, above = 10 + side * .3;
  const total = Math.max(left + side * n + 8 + longest * 3.6, 240), height = above + side * n + 8;
  const root = svg(total, height, label);
  names.forEach((name, i) => {
    const y = above + side * (i + .5) + 4;
    const row = s("text", { x: left - 6, y, "text-anchor": "end" }, short(name), s("title", {}, name));
    const x = left + side * (i + .3), end = above + side * (i + .72);
    // The name of a column is where its cells end, on the diagonal.
    const column = side >= 14 || n <= 40 ? s("text",
      { class: "soft", x, y: end, transform: `rotate(-28 ${x} ${end})` }, short(name),
      s("title", {}, name)) : s("text", {});
    if (font) { row.style.fontSize = font; column.style.fontSize = font; }
    root.append(row, column);
    for (let j = 0; j < i; j++) {
      const { fill, share, text, words, weight = 1 } = look(i, j);
      // Cells without room for a number tell its size by theirs.
      const size = (side - 1) * (side >= 34 ? 1 : Math.max(.3, Math.min(1, weight))),
        inset = (side - 1 - size) / 2;
      const cell = s("rect", { x: left + side * j + inset, y: above + side * i + inset, width: size,
        height: size }, s("title", {}, words));
      cell.style.fill = share === null ? "var(--panel)" : `rgba(var(${fill}), ${share.toFixed(2)})`;
      root.append(cell);
      if (side >= 34 && text) root.append(s("text",
        { x: left + side * (j + .5) - .5, y: above + side * (i + .5) + 4, "text-anchor": "middle" },
        text));
    }
  });
  return root;
}
const key = items => h("div", { class: "keys" }, items.map(([colours, share, words]) => {
  const box = h("span", { class: "swatch" });
  box.style.background = colours === null ? "var(--panel)" : `rgba(var(${colours}), ${share})`;
  return h("span", {}, box, words);
}));
function matrix(panel) {
  const k = state.measure, figure = figures(), order = runsShown();
  if (!figure.compared || order.length < 2) {
    panel.append(note(figure.compared ? "Fewer than two runs are shown."
      : `Runs are not compared by ${labels[k]} on these topics.`));
    return;
  }
  const look = (i, j) => {
    const [one, two] = [order[i], order[j]], d = figure.effect(one, two), p = figure.p(one, two),
      difference = figure.difference(one, two);
    if (p === null) return { share: null, text: "", words: `${RUNS[one]} and ${RUNS[two]}: not tested` };
    const strength = p < .001 ? .8 : p < .01 ? .55 : p < .05 ? .32 : .1;
    return { weight: Math.sqrt(Math.abs(d) / 1.5), share: strength,
      fill: difference * signOf(k) >= 0 ? "--cool" : "--heat",
      text: saidEffect(d), words: `${RUNS[one]} minus ${RUNS[two]}: ${signed(difference)}, ` +
        `d ${saidEffect(d)}, corrected p ${saidP(p)}` };
  };
  const root = halfSquare(panel, order.map(i => RUNS[i]), look,
    `Effect sizes of all pairs of runs by ${labels[k]}, each pair once`);
  panel.append(
    h("figure", {}, h("figcaption", {},
      `${labels[k]}: row minus column, effect size d; runs from best to worst`),
      region("Pairs of runs", root)),
    key([["--heat", .8, "row worse, p < 0.001"], ["--heat", .55, "p < 0.01"], ["--heat", .32, "p < 0.05"],
      [null, 0, "may be chance"],
      ["--cool", .8, "row better, p < 0.001"]]),
    note("d: mean of the differences in their standard deviations (Cohen); small cells are larger for ",
      "larger d, and columns have the order of rows. ",
      figure.searched ? "p: paired t-test, Holm's correction, on the topics shown." : `p: ${D.rule}.`),
    behind("pairs of runs", () => ({ head: ["run", "other", "difference", "d", "corrected p", "verdict"],
      first: 2,
      rows: order.flatMap((one, i) => order.slice(0, i)
        .map(two => [RUNS[one], RUNS[two], signed(figure.difference(one, two)),
        saidEffect(figure.effect(one, two), 4), saidP(figure.p(one, two)),
          verdictOf(k, figure.difference(one, two), figure.p(one, two))])) }), () => root));
}
function correlation(panel) {
  const { labels: names, tau } = D.correlation;
  const look = (i, j) => {
    const t = tau[i][j], words = `${names[i]} and ${names[j]}: ${t === null ? "undefined" : four(t)}`;
    return t === null ? { share: null, text: "-", words }
      : { share: Math.max(.03, Math.abs(t) / 1e4 * .75), fill: t < 0 ? "--heat" : "--cool",
        text: (t / 1e4).toFixed(2), words };
  };
  const root = halfSquare(panel, names, look, "Kendall's tau b between measures, each pair once");
  panel.append(
    h("figure", {}, h("figcaption", {}, "Kendall's tau b of the rankings of runs by two measures"),
      region("Pairs of measures", root)),
    note("Darker blue: more similar rankings; orange: reversed rankings. From 0.9 two rankings count as ",
      "equivalent, below 0.8 as noticeably different. All runs and topics."),
    behind("correlation of measures", () => ({ head: ["measure", "other", "tau b"], first: 2,
      rows: names.flatMap((one, i) => names.slice(0, i).map((two, j) => [one, two, four(tau[i][j])])) }),
        () => root));
}
function profiles(panel) {
  const bins = Math.max(1, ...D.profiles.flatMap(p => p.histogram || [0]));
  const lengths = i => {
    const p = D.profiles[i];
    if (!p.histogram) return "unknown";
    const root = svg(146, 26, `Lengths: ${p.histogram.map((n, b) => n ? `${n} of ${2 ** b} or more`
      : null).filter(Boolean).join(", ")}`);
    p.histogram.forEach((n, b) => root.append(s("rect", { class: "bar", x: 1 + 8 * b, width: 7,
      y: 25 - 24 * Math.sqrt(n / bins), height: n ? Math.max(1, 24 * Math.sqrt(n / bins)) : 0 },
      s("title", {}, `${2 ** b} to ${2 ** (b + 1) - 1} characters: ${n} results`))));
    return root;
  };
  const number = (head, text) => ({ head, number: true, text });
  const ofLength = at => i => D.profiles[i].length ? D.profiles[i].length[at].toFixed(1) : "-";
  const columns = [
    { head: "run", text: i => RUNS[i] },
    number("results", i => withCommas(D.profiles[i].results)),
      number("topics", i => String(D.profiles[i].topics)),
    number("mean length", ofLength(0)), number("median", ofLength(3)),
      { head: "lengths, 1 to 128 K", cell: lengths },
    ...D.overlap.map((name, k) => number(name, i => D.profiles[i].overlap ? four(D.profiles[i].overlap[k])
      : "-")),
    number(`unjudged, first ${D.unjudged_k}`, i => four(D.profiles[i].unjudged)),
  ];
  const rows = runsShown();
  panel.append(region("What runs return", tablesOf("profiles", columns, rows,
    { caption: "Number and lengths of results in characters, " +
    "share of repeated text, and unjudged share of the first results" })),
      copyButtons("what runs return", () => textsOf(columns, rows)),
    note("Overlap is that of the runs as they are (--overlap allow). Logarithmic bins; bar height is the ",
      "square root of the count. The unjudged share is the mean over topics with results of the run. ",
      "All topics."));
}
