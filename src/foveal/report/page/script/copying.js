// Tables and figures as text to paste elsewhere.

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "−": "$-$", "–": "--",
    "…": "\\ldots{}" };
const inLatex = text => text.replace(/[\\~^<>|−–…&%$#_{}]/g, c => LATEX[c] ?? `\\${c}`);
const inMarkdown = text => text.replace(/[\\`*_[\]|<>]/g, c => `\\${c}`).replace(/\n/g, " ");
const inCsv = text => /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

// `head` and `rows` are texts; columns from `first` on hold numbers.
const TEXT_FORMS = {
  LaTeX: ({ head, rows, first }) => {
    const line = cells => `${cells.map(inLatex).join(" & ")} \\\\\n`;
    return `\\begin{tabular}{${head.map((_, j) => j < first ? "l" : "r").join("")}}\n\\toprule\n` +
      `${line(head)}\\midrule\n${rows.map(line).join("")}\\bottomrule\n\\end{tabular}\n`;
  },
  Markdown: ({ head, rows, first }) => {
    const line = cells => `| ${cells.map(inMarkdown).join(" | ")} |\n`;
    return line(head) + line(head.map((_, j) => j < first ? "---" : "---:")).replace(/\\/g, "") +
      rows.map(line).join("");
  },
  CSV: ({ head, rows }) => [head, ...rows].map(cells =>
    `${cells.map(text => inCsv(text.replace(/^−/, "-"))).join(",")}\n`).join(""),
};

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "font-size", "font-family", "font-weight", "opacity", "text-anchor"];
// A figure that needs no style sheet.
function asSvg(root) {
  const copy = root.cloneNode(true), from = [root, ...root.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(from[i]);
    node.removeAttribute("style");
    if (node.localName === "title") return;
    for (const name of LOOKS) {
      const value = style.getPropertyValue(name);
      if (value && value !== "normal") node.setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "id"]) node.removeAttribute(name);
  });
  copy.setAttribute("xmlns", SVG);
  return `${new XMLSerializer().serializeToString(copy)}\n`;
}
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // an old browser, or one that does not trust files
    const box = h("textarea", { class: "off" }, text), focused = document.activeElement;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
    focused?.focus();
  }
  $("said").textContent = `Copied as ${what}.`;
}
// Buttons that copy a table, a figure, or both: each is asked for when it is needed.
function copyButtons(name, table, figure = null) {
  const asked = table === null ? [] : Object.keys(TEXT_FORMS).map(form => button(form,
    () => copy(TEXT_FORMS[form](table()), form), { "aria-label": `Copy ${name} as ${form}` }));
  if (figure !== null) {
    asked.push(button("SVG", () => copy(asSvg(figure()), "SVG"),
      { "aria-label": `Copy ${name} as SVG` }));
  }
  return h("div", { class: "copy", role: "group", "aria-label": `Copy ${name}` }, "Copy as ", asked);
}
