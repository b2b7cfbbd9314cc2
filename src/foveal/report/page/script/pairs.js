// Two runs: on which topics they differ, and a way to each of these.

const KINDS = [["all", "all"], ["fixed", "fixed"], ["regressed", "regressed"],
  ["unchanged", "unchanged"]];

function pairs() {
  const place = $("pairs-view");
  $("pairs").hidden = RUNS.length < 2;
  if (RUNS.length < 2) return;
  const k = state.measure, [one, two] = pair(), sign = signOf(k), figure = figures();
  const choose = name => i => update({ [name]: i,
    ...(name === "one" && state.two === null ? { two } : {}),
    ...(name === "two" && state.one === null ? { one } : {}) });
  const controls = h("div", { class: "controls" },
    select("From", "pair-one", RUNS, one, choose("one")),
      select("to", "pair-two", RUNS, two, choose("two")),
    button("Swap", () => update({ one: two, two: one }), { id: "pair-swap" }));
  if (D.measures[k].values === null) {
    put(place, controls, note(`The page does not hold the scores of topics by ${labels[k]}.`));
    return;
  }
  const values = valuesOf(k);
  const all = topicsShown().map(t => ({ t, from: values[one][t], to: values[two][t] }))
    .filter(r => r.from !== null && r.to !== null)
    .map(r => ({ ...r, gain: r.to - r.from, kind: r.to === r.from ? "unchanged"
      : (r.to - r.from) * sign > 0 ? "fixed" : "regressed" }))
    .sort((a, b) => sign * (b.gain - a.gain));
  const counts = Object.fromEntries(KINDS.map(([kind]) =>
    [kind, kind === "all" ? all.length : all.filter(r => r.kind === kind).length]));
  const kind = state.kind in counts ? state.kind : "all";
  const rows = all.filter(r => kind === "all" || r.kind === kind)
    .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || a.t - b.t);
  const p = figure.p(two, one), d = figure.effect(two, one), difference = figure.difference(two, one);
  const tested = p === null ? "" : `, corrected p ${p < .00005 ? ""
    : "= "}${saidP(p)}, d = ${saidEffect(d)}: ` +
    `${p < .05 ? `${RUNS[two]} is significantly ${verdictOf(k, difference, p)}`
      : "the difference may be chance"}`;
  const width = room(place), reach = 1.08 * all.reduce((most, r) =>
    Math.max(most, Math.abs(r.gain) / 1e4), 1e-4);
  const f = frame(width, 260, [0, Math.max(all.length, 1)], [-reach, reach],
    { x: "topics, by difference", y: `difference in ${labels[k]}`, points: [],
    label: `${labels[k]} of ${RUNS[two]} minus ${RUNS[one]}, a bar for each topic` });
  const each = (width - 72) / Math.max(all.length, 1);
  all.forEach((r, i) => {
    const y = f.y(Math.max(r.gain, 0) / 1e4), tall = Math.abs(f.y(r.gain / 1e4) - f.y(0));
    f.root.append(s("rect", { class: `bar ${r.kind}${kind === "all" || r.kind === kind ? "" : " faded"}`,
      x: f.x(i) + each * .08, y,
      width: Math.max(each * .84, .5), height: Math.max(tall, .8), onclick: () => openTopic(r.t) },
      s("title", {}, `topic ${topicLabels[r.t]}: ${signed(r.gain / 1e4)}`)));
    if (each >= 24) f.root.append(s("text", { x: f.x(i) + each / 2,
      y: r.gain >= 0 ? f.y(0) + 15 : f.y(0) - 6, "text-anchor": "middle" },
      TOPICS[r.t].slice(0, Math.floor(each / 7))));
  });
  f.root.append(s("path", { class: "axis", d: `M56,${f.y(0)}H${width - 16}` }));
  const columns = [
    { head: "topic", text: r => TOPICS[r.t] },
    ...(D.topics.title.some(Boolean) ? [{ head: "title", text: r => D.topics.title[r.t] }] : []),
    { head: RUNS[one], number: true, text: r => shownValue(k, r.from) },
      { head: RUNS[two], number: true, text: r => shownValue(k, r.to) },
    { head: "difference", number: true, text: r => signed(r.gain / 1e4) },
      { head: "outcome", text: r => r.kind,
      cell: r => h("span", { class: `verdict ${r.kind}` }, r.kind) },
  ];
  const [first, more] = firstRows("pair-topics", rows, pairs);
  const shown = tableOf("pair-topics", columns, first,
    { caption: "Largest differences first; a click opens the documents of both runs",
    row: r => ({ class: "open", "data-topic": r.t, "aria-selected": r.t === state.topic ? "true" : null,
      onclick: () => openTopic(r.t, "pair") }) });
  const words = { all: "all", fixed: "fixed", regressed: "regressed", unchanged: "unchanged" };
  put(place, controls,
    h("p", {}, `${RUNS[one]} ${figure.texts[one]}, ${RUNS[two]} ${figure.texts[two]}: ` +
      `difference ${signed(difference)} ${labels[k]} over ${plural(figure.count, "topic")}${tested}.`),
    h("div", { class: "choices", role: "group", "aria-label": "Topics by outcome" }, KINDS.map(([name]) =>
      button(`${words[name]} ${withCommas(counts[name])}`, () => update({ kind: name }, [pairs]),
        { id: `kind-${name}`, class: name,
        "aria-pressed": String(name === kind) }))),
    note(`Fixed: ${RUNS[two]} is better; regressed: worse; unchanged: equal to four decimals.`),
    h("figure", {}, h("figcaption", {}, `${labels[k]}: ${RUNS[two]} minus ${RUNS[one]}`), f.root),
    h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Topics of two runs" },
      shown), more,
    copyButtons("two runs", () => textsOf(columns, rows), () => f.root));
}
PARTS.push(pairs);
