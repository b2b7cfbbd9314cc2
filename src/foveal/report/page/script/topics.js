// The list of topics, and one of them with its runs.

function openTopic(t, text = null) {
  update({ topic: t, doc: null, ...(text === null ? {} : { text }) }, [pairs, topics, documents]);
  goTo(text === null ? "topic" : "documents");
}
function topics() {
  const k = state.measure, sign = signOf(k), chosen = topicsShown(), runs = runsShown();
  if (D.measures[k].values === null) {
    put($("topic-list"), note(`The page does not hold the scores of topics by ${labels[k]}, to keep ` +
      "it small; foveal evaluate -q prints them."));
    put($("topic"));
    return;
  }
  const values = valuesOf(k), [one, two] = RUNS.length > 1 ? pair() : [0, null];
  const all = chosen.map(t => {
    let best = null, worst = null, first = [], sum = 0, n = 0;
    for (const i of runs) {
      const v = values[i][t];
      if (v === null) continue;
      sum += v;
      n += 1;
      if (best === null || sign * v > sign * best) { best = v; first = []; }
      if (v === best) first.push(i);
      if (worst === null || sign * v < sign * worst) worst = v;
    }
    const gain = two === null || values[one][t] === null || values[two][t] === null ? null
      : values[two][t] - values[one][t];
    return { t, best, worst, mean: n ? sum / n : null, gain,
      first: !first.length ? "-" : first.length > 1 ? `${first.length} runs` : RUNS[first[0]] };
  });
  const columns = [
    { key: "number", head: "topic", text: r => TOPICS[r.t], value: r => r.t, way: 1 },
    ...(D.topics.title.some(Boolean) ? [{ key: "title", head: "title", wide: true,
      text: r => D.topics.title[r.t], value: r => D.topics.title[r.t], way: 1 }] : []),
    ...(groupNames.length ? [{ key: "group", head: "groups", text: r => groupsOf[r.t].join(", "),
      value: r => groupsOf[r.t].join(", "), way: 1 }] : []),
    { key: "relevant", head: "relevant documents", number: true,
      text: r => String(D.topics.relevant[r.t]), value: r => D.topics.relevant[r.t], way: -1 },
    { key: "mean", head: "mean", title: "Mean of the runs: the lower, the more difficult", number: true,
      text: r => r.mean === null ? "-" : shownValue(k, Math.round(r.mean)), value: r => r.mean,
      way: sign },
    ...(two === null ? [] : [{ key: "difference", head: "difference",
      title: `${RUNS[two]} minus ${RUNS[one]}; largest first`, number: true,
      text: r => r.gain === null ? "-" : signed(r.gain / 1e4),
        value: r => r.gain === null ? null : Math.abs(r.gain), way: -1 }]),
    { key: "best", head: "best", number: true, text: r => shownValue(k, r.best), value: r => r.best,
      way: -sign },
    { key: "worst", head: "worst", number: true, text: r => shownValue(k, r.worst), value: r => r.worst,
      way: sign },
    { key: "run", head: "best run", text: r => r.first, value: r => r.first, way: 1 },
  ];
  const sorting = columns.find(c => c.key === state.order) ?? columns[0],
    way = sorting.way * (state.down ? -1 : 1);
  all.sort((a, b) => {
    const x = sorting.value(a), y = sorting.value(b);
    if (x === null || y === null) return (x === null) - (y === null) || a.t - b.t;
    return way * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y) ||
      a.t - b.t;
  });
  for (const column of columns) {
    const now = column === sorting;
    column.sorted = now ? way : 0;
    column.sort = () => update({ order: column.key, down: now ? !state.down : false }, [topics]);
  }
  const [first, more] = firstRows("topic-table", all, topics);
  const shown = tableOf("topic-table", columns, first,
    { caption: `${labels[k]}; a click on a topic, or Enter, opens it`,
    row: r => ({ class: "open", "data-topic": r.t, "aria-selected": r.t === state.topic ? "true" : null,
      onclick: () => openTopic(r.t) }) });
  put($("topic-list"), h("div", { class: "scroll tall", tabindex: 0, role: "region",
    "aria-label": "Scores on topics" }, shown), more,
    all.length ? null : note("No topic matches."), copyButtons("topics", () => textsOf(columns, all)),
    stored.length < bases.length
      ? note(`The page holds scores of topics for ${stored.length} of ${bases.length} measures, ` +
        "to keep it small; foveal evaluate -q prints all.") : null);
  oneTopic();
}
function oneTopic() {
  const t = state.topic;
  if (t === null) { put($("topic")); return; }
  const k = state.measure, sign = signOf(k), worth = i => valuesOf(k)[i][t] === null ? -Infinity
    : sign * valuesOf(k)[i][t];
  const order = runsShown().slice().sort((a, b) => worth(b) - worth(a) || a - b);
  const measures = [k, ...stored.filter(m => m !== k)];
  const columns = [{ head: "run", text: i => RUNS[i],
    cell: i => h("span", { class: "run" }, swatch(i, 22), RUNS[i]) },
    ...measures.map(m => ({ head: labels[m], number: true,
      text: i => shownValue(m, valuesOf(m)[i][t]) }))];
  const [first, more] = firstRows("one-topic", order, topics), at = topicsShown().indexOf(t),
    near = topicsShown();
  const step = (way, text) => at < 0 || near[at + way] === undefined ? null
    : button(text, () => update({ topic: near[at + way], doc: null }), { id: `topic${way}` });
  put($("topic"), h("h3", { tabindex: -1 }, `Topic ${topicLabels[t]}`),
    h("div", { class: "controls" }, step(-1, "Previous topic"), step(1, "Next topic"),
      button("To its documents", () => goTo("documents"), { id: "to-documents" })),
    h("div", { class: "scroll tall", tabindex: 0, role: "region",
      "aria-label": `Scores on topic ${TOPICS[t]}` }, tablesOf("one-topic", columns, first)), more,
    copyButtons(`topic ${TOPICS[t]}`, () => textsOf(columns, order)));
}
PARTS.push(topics);
