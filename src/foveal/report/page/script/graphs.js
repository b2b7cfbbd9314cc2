// The tabs of all graphs.

const GRAPHS = [
  ["Curves", curves, D.curves.length > 0],
  ["Topics of each run", strips, D.topics.length > 0],
  ["Two runs", differences, D.runs.length > 1],
  ["Significance", significance, D.p.some(Boolean)],
  ["Correlation of measures", correlation, Boolean(D.correlation)],
  ["What runs return", profiles, true],
].filter(graph => graph[2]);

function open(at, focus = false) {
  state.graph = at;
  [...$("tabs").children].forEach((tab, i) => {
    tab.setAttribute("aria-selected", i === at);
    tab.tabIndex = i === at ? 0 : -1;
    if (i === at && focus) tab.focus();
  });
  const panel = $("panel");
  // A choice within the panel must not lose the focus to a new panel.
  const inside = panel.contains(document.activeElement) && document.activeElement.matches("select");
  const nth = inside ? [...panel.querySelectorAll("select")].indexOf(document.activeElement) : -1;
  panel.setAttribute("aria-labelledby", `tab-${at}`);
  panel.replaceChildren();
  GRAPHS[at][1](panel);
  if (nth >= 0) panel.querySelectorAll("select")[nth].focus();
}
function graphs() {
  const tabs = $("tabs");
  GRAPHS.forEach(([name], i) => tabs.append(h("button", { type: "button", role: "tab",
    id: `tab-${i}`, "aria-controls": "panel", onclick: () => open(i) }, name)));
  tabs.addEventListener("keydown", event => {
    const last = GRAPHS.length - 1, at = state.graph;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at ? at - 1 : last,
      Home: 0, End: last }[event.key];
    if (to !== undefined) { open(to, true); event.preventDefault(); }
  });
  open(0);
  addEventListener("beforeprint", printing);
  addEventListener("afterprint", printed);
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; open(state.graph); showDocument(); } }, 150);
  });
}

// On paper all graphs stand one below the other, as wide as a page; tabs are for the screen.
function printing() {
  document.documentElement.classList.add("printing");
  const panel = $("panel");
  panel.replaceChildren();
  GRAPHS.forEach(([name, draw]) => {
    const graph = h("section", { class: "graph" }, h("h3", {}, name));
    panel.append(graph);
    draw(graph);
  });
  showDocument();
}
function printed() {
  document.documentElement.classList.remove("printing");
  open(state.graph);
  showDocument();
}
