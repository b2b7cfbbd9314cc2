// Controls that stay, keys that work everywhere, paper; then the page begins.

let waiting = 0;
for (const id of ["filter", "find"]) {
  $(id).addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => update({ [id]: $(id).value }),
      TOPICS.length * RUNS.length > 5000 ? 150 : 0);
  });
}
$("only").addEventListener("change", () => update({ only: $("only").checked }));
$("reset").addEventListener("click", () => update({ ...STARTING, picked: new Set(), zoom: null }));
$("link").addEventListener("click", () => copy(location.href, "a link"));
document.querySelectorAll("nav a, .skip").forEach(link => link.addEventListener("click", event => {
  goTo(link.getAttribute("href").slice(1));
  event.preventDefault();
}));
const help = $("help");
$("help-button").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input[type=search], textarea, select")) return;
  if (event.key === "?") { if (!help.open) help.showModal(); event.preventDefault(); }
  if (event.key === "/" && !help.open) { $("filter").focus(); event.preventDefault(); }
});

// On paper all graphs are one below the other, as wide as a page; tabs are for the screen.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  draw();
  const panel = $("panel");
  panel.replaceChildren();
  GRAPHS.forEach(([name, make]) => {
    const graph = h("section", { class: "graph" }, h("h3", {}, name));
    panel.append(graph);
    make(graph);
  });
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  draw();
});
let width = innerWidth, resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => { if (innerWidth !== width && !onPaper()) { width = innerWidth; draw(); } },
    150);
});
addEventListener("hashchange", () => { readAddress(); draw(); });

// The table comes first, then what is below the first screen.
readAddress();
draw([runs]);
setTimeout(async () => {
  draw([graphs, pairs, topics]);
  if ("DecompressionStream" in window) await unpackDocuments();
  draw([documents]);
  if (state.at !== null) $(state.at)?.scrollIntoView();
  document.body.dataset.ready = "yes";
  performance.mark("foveal-ready");
});
