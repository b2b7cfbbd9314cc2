// The list of topics, and one of them with its runs.

let topicTable = null;
function topics() {
  const k = state.measure, sign = D.measures[k].sign || 1;
  const rows = D.topics.map((topic, t) => {
    const scores = D.runs.map((_, i) => [D.values[k][i][t], i]).filter(x => x[0] !== null)
      .sort((a, b) => sign * (b[0] - a[0]) || a[1] - b[1]);
    const middle = scores.length ? scores[Math.floor((scores.length - 1) / 2)][0] : null;
    const [best, run] = scores[0] || [null, null], [worst] = scores[scores.length - 1] || [null];
    const equal = scores.filter(x => x[0] === best).length;
    const first = run === null ? "-" : equal > 1 ? `${equal} runs` : D.runs[run];
    return { t, topic, best, run, first, middle, worst };
  });
  const head = ["topic", "title", "relevant documents", "best run", "best", "middle", "worst"];
  const shown = table(head, rows.map(r => [r.topic.id, r.topic.title,
    String(r.topic.relevant), r.first, shownValue(k, r.best),
    shownValue(k, r.middle), shownValue(k, r.worst)]), { labels: 2, sort: true,
    caption: `${labels[k]}: a click on a topic, or Enter, opens it` });
  [...shown.tBodies[0].rows].forEach((row, t) => {
    row.classList.add("open");
    row.dataset.topic = t;
    row.addEventListener("click", () => showTopic(t));
  });
  const value = (row, column) => {
    const r = rows[Number(row.dataset.topic)];
    return [r.topic.id, r.topic.title, r.topic.relevant, r.run === null ? null : r.first,
      r.best, r.middle, r.worst][column];
  };
  sortable(shown, value, column => column < 2 || column === 3 ? 1 : -1, navigable(shown));
  topicTable = shown;
  const box = region("Scores on topics", shown);
  box.classList.add("tall");
  put($("topic-list"), h("div", { class: "controls" },
    select("Measure", perTopic, k, m => { state.measure = m; topics(); open(state.graph); })), box,
    D.values.length < labels.length ? h("p", { class: "note" }, `Scores of single topics are in ` +
      `this page for ${D.values.length} of ${labels.length} measures, to keep it small; ` +
      "foveal evaluate -q prints all.") : null);
}
function showTopic(t) {
  state.topic = t;
  [...topicTable.tBodies[0].rows].forEach(row =>
    row.setAttribute("aria-selected", Number(row.dataset.topic) === t));
  const k = state.measure, sign = D.measures[k].sign || 1;
  const worth = i => D.values[k][i][t] === null ? -Infinity : sign * D.values[k][i][t];
  const order = D.runs.map((_, i) => i).sort((a, b) => worth(b) - worth(a) || a - b);
  const shown = table(["run", ...perTopic], order.map(i =>
    [D.runs[i], ...perTopic.map((_, m) => shownValue(m, D.values[m][i][t]))]), { sort: true });
  [...shown.tBodies[0].rows].forEach((row, at) => { row.dataset.run = order[at]; });
  sortable(shown, (row, column) => column === 0 ? D.runs[Number(row.dataset.run)]
    : D.values[column - 1][Number(row.dataset.run)][t],
    column => column === 0 || D.measures[column - 1].sign < 0 ? 1 : -1, navigable(shown));
  const topic = D.topics[t], views = D.documents.views[topic.id];
  put($("topic"), h("h3", { tabindex: -1 }, `Topic ${topicLabels[t]}`),
    region(`Scores on topic ${topic.id}`, shown),
    views ? h("p", {}, h("button", { type: "button", onclick: () => {
      chooseTopic(topic.id);
      $("documents").scrollIntoView();
    } }, `Documents of topic ${topic.id} (${views.length})`)) : null);
  $("topic").firstChild.focus({ preventScroll: false });
}
