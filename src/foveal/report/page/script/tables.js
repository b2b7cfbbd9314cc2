// Tables: arrows go from row to row, clicks sort, and behind every graph is one.

// Rows take the focus one at a time; arrows go from row to row and from head to head.
function navigable(table) {
  const rows = () => [...table.tBodies[0].rows].filter(row => !row.hidden);
  const reset = () => {
    [...table.tBodies[0].rows].forEach(row => { row.tabIndex = -1; });
    const first = rows()[0];
    if (first) first.tabIndex = 0;
  };
  reset();
  table.addEventListener("keydown", event => {
    const row = event.target.closest("tbody tr"), head = event.target.closest("thead th");
    if (row && event.target === row) {
      const all = rows(), at = all.indexOf(row);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to !== undefined && all[to]) {
        row.tabIndex = -1;
        all[to].tabIndex = 0;
        all[to].focus();
        event.preventDefault();
      } else if (event.key === "Enter") row.click();
    } else if (head && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const next = event.key === "ArrowLeft" ? head.previousElementSibling : head.nextElementSibling;
      const button = next && next.querySelector("button");
      if (button) { button.focus(); event.preventDefault(); }
    }
  });
  return reset;
}

// `value(row, column)` is what rows are compared by; `first(column)` is -1 for greatest first.
function sortable(table, value, first, after) {
  const heads = [...table.tHead.rows[0].cells];
  const sort = (column, way) => {
    const rows = [...table.tBodies[0].rows].map((row, i) => ({ row, i, v: value(row, column) }));
    rows.sort((a, b) => {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i;
      const order = typeof a.v === "string"
        ? a.v.localeCompare(b.v, "en", { numeric: true }) : a.v - b.v;
      return way * order || a.i - b.i;
    });
    table.tBodies[0].append(...rows.map(r => r.row));
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    if (after) after();
  };
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now ? (now === "ascending" ? -1 : 1) : first(column));
    });
  });
  return sort;
}
// Signs from which a name goes on in a next line; also in build.py.
const LONG = 40;
function table(head, rows, options = {}) {
  const numbers = options.labels ?? 1;
  return h("table", { class: "nav" },
    options.caption ? h("caption", {}, options.caption) : null,
    h("thead", {}, h("tr", {}, head.map((text, j) =>
      h("th", { scope: "col", class: j >= numbers ? "n" : null },
        options.sort ? h("button", { type: "button" }, text) : text)))),
    h("tbody", {}, rows.map(row => h("tr", {}, row.map((cell, j) => j === 0
      ? h("th", { scope: "row", class: String(cell).length > LONG ? "long" : null }, cell)
      : h("td", { class: j >= numbers ? "n" : null }, cell))))));
}
// What a graph shows in numbers; made only when somebody asks for it.
function behind(head, rows, name = "Data table") {
  const box = h("details", { class: "data" }, h("summary", {}, name));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) {
      const shown = table(head, rows());
      navigable(shown);
      box.append(region(name, shown));
    }
  });
  return box;
}
