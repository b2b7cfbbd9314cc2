// Tables: arrows go from row to row, heads sort, and behind every graph is one.

const MOST_ROWS = 100;

// Rows take the focus one at a time; arrows go from row to row and from head to head.
function navigable(table) {
  const rows = () => [...table.tBodies[0].rows];
  rows().forEach((row, at) => { row.tabIndex = at ? -1 : 0; });
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
      const step = event.key === "ArrowLeft" ? "previousElementSibling" : "nextElementSibling";
      let next = head[step];
      while (next && !next.querySelector("button")) next = next[step];
      if (next) { next.querySelector("button").focus(); event.preventDefault(); }
    }
  });
  return table;
}
// Columns are { head, title, number, sorted, sort, text, cell }: `text(row)` is what is copied and,
// without a `cell`, what is shown.
function tableOf(id, columns, rows, { caption = null, row = () => ({}) } = {}) {
  const heads = columns.map((column, j) => h("th", {
    scope: "col", class: column.number ? "n" : column.wide ? "wide" : null, title: column.title,
    "aria-sort": column.sorted === undefined || column.sorted === 0 ? null
      : column.sorted > 0 ? "ascending" : "descending",
  }, column.sort ? button(column.head, column.sort, { id: `${id}-head-${j}` }) : column.head,
  column.below ? h("small", {}, column.below) : null));
  const body = rows.map(own => h("tr", row(own), columns.map((column, j) => h(j === 0 ? "th" : "td",
    { scope: j === 0 ? "row" : null, class: column.number ? "n" : null },
    column.cell ? column.cell(own) : column.text(own)))));
  return navigable(h("table", { id, class: "nav" }, caption === null ? null : h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)));
}
function textsOf(columns, rows) {
  const copied = columns.filter(column => column.text);
  return { head: copied.map(column => column.head),
    rows: rows.map(own => copied.map(column => column.text(own))),
    first: Math.max(1, copied.findIndex(column => column.number)) };
}
const onPaper = () => document.documentElement.classList.contains("printing");
// On paper a wide table becomes several, each with the first column.
function tablesOf(id, columns, rows, options = {}, most = 9) {
  if (!onPaper() || columns.length <= most + 1) return [tableOf(id, columns, rows, options)];
  const found = [];
  for (let at = 1; at < columns.length; at += most) {
    found.push(tableOf(at === 1 ? id : null, [columns[0], ...columns.slice(at, at + most)], rows,
      options));
  }
  return found;
}
// The rows that fit on a screen or two, and a button for the others.
const SHOWN = new Map();
function firstRows(name, rows, again) {
  const most = SHOWN.get(name) ?? MOST_ROWS;
  if (rows.length <= most) return [rows, null];
  const more = button(`Show ${Math.min(500, rows.length - most)} more`, () => {
    SHOWN.set(name, most + 500);
    draw([again]);
  }, { id: `${name}-more` });
  return [rows.slice(0, most), h("p", { class: "more" },
    `${most} of ${withCommas(rows.length)} shown. `, more)];
}
// What a graph shows in numbers, made when it is opened; and buttons that copy graph and numbers.
function behind(name, make, figure = null) {
  const columnsOf = ({ head, first = 1 }) => head.map((text, j) =>
    ({ head: text, number: j >= first, text: own => own[j] }));
  const box = h("details", { class: "data" }, h("summary", {}, "Data table"));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) {
      const data = make();
      box.append(region(`Data: ${name}`, tableOf(null, columnsOf(data), data.rows.slice(0, 2000))));
    }
  });
  return h("div", { class: "below" }, copyButtons(name, () => {
    const data = make();
    return { head: data.head, rows: data.rows, first: data.first ?? 1 };
  }, figure), box);
}
