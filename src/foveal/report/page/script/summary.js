// The first screen: the answer, the table of scores, the filter.

const SHOWN_AT_FIRST = 7;

function summary() {
  const scores = $("scores"), rows = [...scores.tBodies[0].rows];
  const runOf = row => Number(row.dataset.run);
  const reset = navigable(scores);
  const sort = sortable(scores,
    (row, column) => column === 0 ? D.runs[runOf(row)] : D.overall[runOf(row)][column - 1],
    column => column === 0 || D.measures[column - 1].sign < 0 ? 1 : -1, reset);
  const by = $("by");
  D.answers.forEach((answer, k) => {
    if (D.measures[k].sign) by.append(h("option", { value: k }, labels[k]));
  });
  by.value = state.by;
  const choose = k => {
    state.by = k;
    $("answer").textContent = D.answers[k].text;
    $("answer").className = "answer " + D.answers[k].sure;
    sort(k + 1, D.measures[k].sign < 0 ? 1 : -1);
    if ($("tabs").childElementCount) open(state.graph);  // runs are listed in the new order
  };
  by.addEventListener("change", () => choose(Number(by.value)));
  if (D.measures[state.by].sign) choose(state.by);
  const filter = $("filter");
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    rows.forEach(row => { row.hidden = !D.runs[runOf(row)].toLowerCase().includes(wanted); });
    const left = rows.filter(row => !row.hidden).length;
    $("filtered").textContent = wanted ? `${left} of ${rows.length} runs` : "";
    reset();
  });
  const intervals = $("intervals");
  intervals.checked = labels.length <= 8;
  const show = () => scores.classList.toggle("plain", !intervals.checked);
  intervals.addEventListener("change", show);
  show();
  ranked(state.by).slice(0, SHOWN_AT_FIRST).forEach(i => state.shown.add(i));
}
