// The tabs of all graphs.

const GRAPHS = [
  ["Curves", curves, D.curves.length > 0],
  ["Topics of each run", spreads, TOPICS.length > 0],
  ["Pairs of runs", matrix, D.measures.some(m => m.p)],
  ["Correlation of measures", correlation, Boolean(D.correlation)],
  ["What runs return", profiles, true],
].filter(graph => graph[2]);

function graphs() {
  const at = Math.min(state.graph, GRAPHS.length - 1), panel = $("panel");
  put($("tabs"), GRAPHS.map(([name], i) => button(name, () => update({ graph: i }, [graphs]),
    { role: "tab", id: `tab-${i}`,
    "aria-controls": "panel", "aria-selected": String(i === at), tabindex: i === at ? 0 : -1 })));
  panel.setAttribute("aria-labelledby", `tab-${at}`);
  panel.replaceChildren();
  GRAPHS[at][1](panel);
}
$("tabs").addEventListener("keydown", event => {
  const last = GRAPHS.length - 1, at = Math.min(state.graph, last);
  const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at ? at - 1 : last, Home: 0,
    End: last }[event.key];
  if (to === undefined) return;
  update({ graph: to }, [graphs]);
  $(`tab-${to}`).focus();
  event.preventDefault();
});
PARTS.push(graphs);
