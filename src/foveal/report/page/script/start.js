// Keys that work everywhere; and with everything there, the page begins.

function keys() {
  const help = $("help");
  $("help-button").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input[type=search], textarea")) return;
    if (event.key === "?") { if (!help.open) help.showModal(); event.preventDefault(); }
    if (event.key === "/" && !help.open) { $("filter").focus(); event.preventDefault(); }
  });
}

summary();
topics();
graphs();
showDocument();
keys();
