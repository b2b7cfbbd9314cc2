// The first screen: the answer, what is chosen, and the table of runs.

// A mean with its interval, on an axis that all rows share.
function intervalBar(i, ends, figure) {
  const [low, high] = ends, width = onPaper() || innerWidth < 750 ? 106 : 180,
    x = v => 4 + (v - low) / (high - low || 1) * (width - 8);
  const mean = figure.means[i], limits = figure.limits[i];
  if (mean === null) return "";
  return s("svg", { width, height: 20, "aria-hidden": "true" },
    s("line", { class: "grid", x1: x(Math.max(low, 0)), x2: x(Math.max(low, 0)), y1: 0, y2: 20 }),
    limits && s("line", { class: "interval", x1: x(limits[0]), x2: x(limits[1]), y1: 10, y2: 10 }),
    s("circle", { cx: x(mean), cy: 10, r: 4.5, fill: colour(i) }));
}
// How the scores of a run are spread over the topics.
function smallShares(k, i, topics) {
  const known = topics.map(t => valuesOf(k)[i][t]).filter(v => v !== null).map(v => v / 1e4);
  const bins = shares(known, span(k), 24), most = Math.max(...bins, 1e-9);
  return s("svg", { width: 122, height: 22, "aria-hidden": "true" },
    s("path", { class: "axis", d: "M1,21.5H121" }),
    bins.map((share, b) => share && s("rect", { class: "bar", x: 1 + 5 * b, width: 4.2,
      y: 21 - 20 * Math.sqrt(share / most),
      height: 20 * Math.sqrt(share / most) })).filter(Boolean));
}
function meanOver(name, i, topics) {
  const known = topics.map(t => byRun(name)[i][t]).filter(v => v !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
}
function sentence() {
  const k = state.measure, column = columnOf(k, state.group);
  if (!isSearched() && !state.filter && !state.only) return D.answers[column];
  const [best, next] = runsShown(), figure = figures();
  const topics = plural(figure.count, "topic");
  if (best === undefined) return { sure: "unknown", text: "No run has such a name." };
  if (figure.means[best] === null) return { sure: "unknown",
    text: `No score by ${labels[k]} on these topics.` };
  const said = i => `${RUNS[i]} (${figure.texts[i]})`;
  if (next === undefined) return { sure: "unknown",
    text: `By ${labels[k]}, over ${topics}, ${said(best)} is the only run shown.` };
  const p = figure.p(best, next);
  if (p === null) return { sure: "unknown",
    text: `By ${labels[k]}, over ${topics}, ${said(best)} is best of the runs shown, before ${said(next)}.` };
  return { sure: p < .05 ? "yes" : "no",
    text: `By ${labels[k]}, over ${topics}, ${said(best)} is best of the runs shown, ` +
    `${p < .05 ? "and" : "but not"} significantly better than the next, ${said(next)}; p ${p < .00005 ? ""
      : "= "}${saidP(p)}.` };
}
// A click on a head sorts by it, and another one turns it over.
function headOf(key, way) {
  const [name, direction] = (state.sort ?? "mean").split(" ");
  const now = name === key ? Number(direction ?? (key === "mean" ? -signOf(state.measure) : way)) : 0;
  return { sorted: now, sort: () => update({ sort: `${key} ${now ? -now : way}` }, [runsTable]) };
}
function runsTable() {
  const k = state.measure, figure = figures(), base = baseline(), topics = topicsShown();
  const perTopic = D.measures[k].values !== null;
  const rows = runsShown(), best = ranked()[0];
  const limits = rows.flatMap(i => figure.limits[i]
    ?? (figure.means[i] === null ? [] : [figure.means[i]]));
  const ends = [Math.min(...limits), Math.max(...limits)];
  const drawn = runsDrawn();
  const shareOf = name => once(i => meanOver(name, i, topics));
  const [amount, repeated, unjudged] = ["amount", "repeated", "unjudged"].map(shareOf);
  const differs = i => i === base ? null : figure.difference(i, base);
  const whole = D.measures[k].whole;
  const heads = {
    run: { head: "run", wide: true, text: i => RUNS[i], value: i => RUNS[i], way: 1, cell: i => {
      const box = h("input", { type: "checkbox", id: `pick-${i}`, "aria-label": `Draw ${RUNS[i]}` });
      box.checked = drawn.has(i);
      box.addEventListener("click", event => event.stopPropagation());
      box.addEventListener("change", () => {
        const picked = new Set(drawn);
        box.checked ? picked.add(i) : picked.delete(i);
        update({ picked });
      });
      return h("span", { class: RUNS[i].length > 32 ? "run long" : "run" }, box, swatch(i, 22),
        h("span", {}, RUNS[i]));
    } },
    mean: { head: labels[k] + (state.group === null ? "" : `, ${state.group}`), number: true,
      value: i => figure.means[i],
      way: -signOf(k), text: i => figure.texts[i], title: D.measures[k].says,
      cell: i => i === best && D.measures[k].sign ? h("b", {}, figure.texts[i]) : figure.texts[i] },
    interval: whole ? null : { head: "95 % interval",
      below: `${ends[0].toFixed(2)} to ${ends[1].toFixed(2)}`,
      text: i => figure.limits[i] ? figure.limits[i].map(v => v.toFixed(4)).join("–") : "-",
      cell: i => h("span", { class: "interval", title: figure.limits[i]
        ? figure.limits[i].map(v => v.toFixed(4)).join("–") : null },
        intervalBar(i, ends, figure), h("small", {},
          figure.limits[i] ? figure.limits[i].map(v => v.toFixed(4)).join("–") : "")) },
    letters: figure.letters &&
      { head: "group", title: "Runs that share a letter do not differ significantly",
      text: i => figure.letters[i] },
    ranks: figure.ranks && { head: "rank", title: "95 % interval of the rank", number: true, way: 1,
      value: i => figure.ranks[i][0] * 1e4 + figure.ranks[i][1],
        text: i => [...new Set(figure.ranks[i])].join("–") },
    difference: figure.compared && { head: "difference",
      title: `Difference from the baseline, ${RUNS[base]}`, number: true,
      way: -signOf(k), value: differs, text: i => i === base ? "baseline" : signed(differs(i)) },
    p: figure.compared && { head: "p", title: D.rule, number: true, way: 1,
      value: i => figure.p(i, base), text: i => i === base ? "" : saidP(figure.p(i, base)) },
    verdict: figure.compared && { head: "verdict",
      text: i => i === base ? "" : verdictOf(k, differs(i), figure.p(i, base)),
      cell: i => { const said = i === base ? "" : verdictOf(k, differs(i), figure.p(i, base));
        return h("span", { class: `verdict ${said.split(" ")[0]}` }, said); } },
    spread: perTopic && { head: "topics",
      title: `Scores of topics from ${tick(span(k)[0])} to ${tick(span(k)[1])}; square roots of counts`,
      cell: i => smallShares(k, i, topics) },
    amount: { head: D.unit, title: `Returned ${D.unit}, mean over topics`, number: true, way: 1,
      value: amount, text: i => amount(i) === null ? "-"
        : Math.round(amount(i)).toLocaleString("en") },
    repeated: { head: "repeated", title: "Share of the returned text that was returned before",
      number: true, way: 1,
      value: repeated, text: i => percent(repeated(i)) },
    unjudged: { head: "unjudged",
      title: `Share of the first ${D.unjudged_k} results in documents without a judgement`, number: true,
      way: 1, value: unjudged, text: i => percent(unjudged(i)) },
  };
  const columns = Object.entries(heads).filter(([, own]) => own).map(([key, own]) =>
    own.value ? { ...own, key, ...headOf(key, own.way) } : { ...own, key });
  for (const m of bases.filter(m => m !== k)) {
    const other = figures(m);
    columns.push({ head: labels[m], title: `${D.measures[m].says} A click compares by it.`, number: true,
      text: i => other.texts[i],
      sort: () => update({ measure: m, sort: null }) });
  }
  const [name, direction] = (state.sort ?? "mean").split(" ");
  const sorting = columns.find(column => column.key === name && column.value);
  if (sorting) {
    const way = Number(direction ?? sorting.way), value = i => sorting.value(i);
    rows.sort((i, j) => {
      const a = value(i), b = value(j);
      if (a === null || b === null) return (a === null) - (b === null);
      return way * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    });
  }
  const [one, two] = pair();
  const options = { row: i => ({ class: "open", "data-run": i,
    "aria-selected": i === one || i === two ? "true" : null,
    onclick: () => { update({ one: i === base ? null : base, two: i === base ? null : i }); goTo("pairs");
      } }) };
  const [main, others] = onPaper() ? [columns.filter(c => c.key && c.key !== "spread"),
    columns.filter(c => !c.key || c.key === "run")] : [columns, []];
  const shown = [tableOf("scores", main, rows, options),
    others.length > 1 ? tablesOf(null, others, rows, options) : []];
  const said = sentence();
  $("answer").textContent = said.text;
  $("answer").className = `answer ${said.sure}`;
  $("filtered").textContent = rows.length < RUNS.length || topics.length < TOPICS.length
    ? `${rows.length} of ${plural(RUNS.length,
      "run")}, ${withCommas(topics.length)} of ${plural(TOPICS.length, "topic")}` : "";
  const notes = [
    figure.letters ? "Runs that share a letter do not differ significantly." : "",
    figure.compared && !figure.searched
      ? "p is corrected over all pairs of runs, so it holds for any baseline." : "",
    figure.searched ? `Means, Student's t intervals and corrected p values of these ${plural(figure.count,
      "topic")} are computed in the ` +
      "page from scores of four decimals." : "",
    isSearched() && D.measures[k].values === null
      ? `${labels[k]} is shown over all topics: the page does not hold its scores on topics.` : "",
    "A click on a run compares it with the baseline; on another measure, compares by that.",
  ];
  put($("runs-table"), region("Table of runs", shown), copyButtons("runs", () => textsOf(columns, rows)),
    note(notes.filter(Boolean).join(" ")));
}
function runs() {
  const heads = bases.filter(k => D.measures[k].sign || k === state.measure);
  put($("choices"),
    select("Measure", "by", heads.map(k => labels[k]), heads.indexOf(state.measure),
      at => update({ measure: heads[at], sort: null })),
    groupNames.length ? select("Topics", "group",
      ["all topics", ...groupNames.map(name => `group ${name}`)],
      groupNames.indexOf(state.group) + 1, at => update({ group: at ? groupNames[at - 1] : null }))
        : null,
    RUNS.length > 1 ? select("Baseline", "baseline", ["the best run", ...RUNS],
      state.baseline === null ? 0 : state.baseline + 1,
      at => update({ baseline: at ? at - 1 : null })) : null);
  for (const id of ["filter", "find"]) if ($(id).value !== state[id]) $(id).value = state[id];
  $("only").checked = state.only;
  runsTable();
}
PARTS.push(runs);
