// The documents of a topic: what is relevant, what runs returned, and the text.

let DOCS = null;
const VIEWS = new Map(); // the views of each topic, by its number
async function unpackDocuments() {
  const packed = $("documents-data").textContent;
  const raw = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  DOCS = JSON.parse(await new Response(stream).text());
  for (const view of DOCS.views) {
    const t = TOPICS.indexOf(view.topic);
    if (!VIEWS.has(t)) VIEWS.set(t, []);
    VIEWS.get(t).push(view);
  }
}

// Text between parts of a table or formula takes no element around it.
const BETWEEN = new Set(["table", "thead", "tbody", "tfoot", "tr", "math", "mrow", "mtr", "mtable"]);
// Places of a document to places of its excerpt.
function placesIn(parts) {
  const begins = [];
  let before = 0;
  for (let i = 0; i < parts.length; i += 2) {
    begins.push([parts[i], parts[i + 1], before]);
    before += parts[i + 1] - parts[i];
  }
  return { of: at => {
    for (const [a, b, from] of begins) if (at < b) return from + Math.max(0, at - a);
    return before;
  }, begins };
}
const leftOut = n => `${plural(n, "character")} left out`;
// The text of a view with marks; of one run (`run`), or of all with how many returned it (-1).
function textOf(view, own, run) {
  const offsets = new Offsets(own.text), places = placesIn(own.parts), most = Math.max(1, RUNS.length);
  const moved = spans => spans.map(([a, b]) => [places.of(a), places.of(b)]).filter(([a, b]) => a < b);
  const results = moved(united(view.results.filter(r => run < 0 || r[0] === run)));
  const structure = new Structure({ ...own.structure, text: own.text });
  const box = h("div", { class: `text v-${structure.vocabulary}`, tabindex: 0, role: "region",
    "aria-label": `Text of ${view.doc}${run < 0 ? "" : `, ${RUNS[run]}`}` });
  const rendering = new Rendering(structure, box, offsets), { nodes } = rendering;
  // What is put between characters: places left out, and the best entry point.
  const signs = places.begins.slice(1).map(([a, , at], i) =>
    [at, "gap", `… ${leftOut(a - places.begins[i][1])} …`]);
  if (own.parts[0] > 0) signs.unshift([0, "gap", `${leftOut(own.parts[0])} …`]);
  const entry = places.begins.some(([a, b]) => a <= view.bep && view.bep <= b);
  if (view.bep >= 0 && entry) signs.push([places.of(view.bep), "entry", "▶ best entry point"]);
  signs.sort((a, b) => a[0] - b[0]);
  let next = 0, node = nodes[0], at = 0, left = node.length, sign = 0;
  const cuts = signs.map(([place]) => [place, place]);
  for (const part of pieces(offsets.length, [...moved(view.spans), ...cuts], results)) {
    const end = offsets.toUnits(part.end);
    while (at < end) {
      while (!left) { node = nodes[++next]; left = node.length; }
      const piece = node, size = Math.min(end - at, left), parent = piece.parentNode;
      if (size < left) node = piece.splitText(size);
      at += size;
      left -= size;
      while (sign < signs.length && signs[sign][0] <= part.start && !BETWEEN.has(parent.localName)) {
        parent.insertBefore(h("span", { class: signs[sign][1] }, signs[sign][2]), piece);
        sign += 1;
      }
      if (!part.relevant && !part.covered) continue;
      if (BETWEEN.has(parent.localName) && !piece.data.trim()) continue;
      const kind = part.relevant ? part.covered ? "hit" : "missed" : "extra";
      const words = run < 0 ? `${part.relevant ? "relevant, "
        : ""}returned by ${plural(part.covered, "run")}`
        : { hit: "relevant and returned", missed: "relevant, missed",
          extra: "returned, not relevant" }[kind];
      const mark = h("mark", { class: run < 0 ? part.relevant ? "relevant" : null : part.relevant
        ? `relevant ${kind}` : kind, title: words });
      if (run < 0 && part.covered) mark.style.background = `rgba(var(--heat), ${(.1 +
        .5 * part.covered / most).toFixed(2)})`;
      piece.replaceWith(mark);
      mark.append(piece);
    }
  }
  const after = own.length - own.parts[own.parts.length - 1];
  if (after > 0) box.append(h("span", { class: "gap" }, `… ${leftOut(after)}`));
  const first = box.querySelector(".entry, .relevant");
  if (first) rendering.unfold(first.firstChild);
  return box;
}
const MOST_STRIPS = 12;
function documents() {
  const place = $("document-view");
  if (DOCS === null) {
    put(place, note("DecompressionStream" in window ? "The documents are being unpacked."
      : "This browser cannot unpack the documents; browsers since 2023 can."));
    return;
  }
  const order = topicsShown().filter(t => VIEWS.has(t));
  if (!order.length) {
    put(place, note(VIEWS.size ? "No topic that is shown has a document here."
      : "No document is shown: nothing is relevant, or " +
      "the page size limit was reached."));
    return;
  }
  const t = VIEWS.has(state.topic) ? state.topic : order[0], views = VIEWS.get(t);
  const view = views.find(v => v.doc === state.doc) ?? views[0], own = DOCS.texts[view.doc];
  const returnedBy = new Set(view.results.map(r => r[0])),
    [one, two] = RUNS.length > 1 ? pair() : [0, null];
  const compared = [one, two].filter(i => i !== null && RUNS.length > 1);
  const shown = runsShown().filter(i => returnedBy.has(i) && !compared.includes(i));
  const every = [...compared.filter(i => runsShown().includes(i)), ...shown];
  const most = SHOWN.get("strips") ?? MOST_STRIPS, runs = every.slice(0, most);
  const reach = Math.max(0, ...view.spans.map(p => p[1]), ...view.results.map(r => r[3]));
  const length = own?.length ?? (view.length >= 0 ? view.length : reach);
  const zoom = clampZoom(state.zoom ?? firstZoom(view, length), length), size = zoom[1] - zoom[0];
  const setZoom = ends => update({ zoom: clampZoom(ends, length) }, [documents]);
  const around = factor => [zoom[0] + size / 2 - size * factor / 2,
    zoom[0] + size / 2 + size * factor / 2];
  const shift = share => [zoom[0] + share * size, zoom[1] + share * size];
  const relevant = view.spans.length ? [Math.min(...view.spans.map(p => p[0])) - 300,
    Math.max(...view.spans.map(p => p[1])) + 300] : null;
  const width = Math.max(280, place.clientWidth - 20);
  const keysOf = { "+": () => around(.5), "=": () => around(.5), "-": () => around(2),
    ArrowLeft: () => shift(-.25), ArrowRight: () => shift(.25), 0: () => [0, length] };
  const strip = stripOf(view, length, runs, zoom, width);
  const textChoices = [...(compared.length ? [["pair", "the two compared runs side by side"]] : []),
    ["all", "all runs"], ...every.map(i => [i, RUNS[i]])];
  const choice = textChoices.some(([value]) => value === state.text) ? state.text : "all";
  const swatchOf = (name, words) => h("span", {}, h("span", { class: `swatch ${name}` }), words);
  const titled = v => `${v.doc}${v.relevant ? "" : " (not relevant)"}`;
  const held = own ? own.parts.reduce((sum, place, i) => sum + (i % 2 ? place : -place), 0) : 0;
  const said = [
    own && held < own.length ? "The page holds the parts of this text around relevant and returned " +
      `passages: ${withCommas(held)} of ${plural(own.length, "character")}.` : "",
    DOCS.left_out ? `${plural(DOCS.left_out, "more document")} of topics left out to keep the page small.`
      : "",
    DOCS.has_source ? "" : "Texts are shown if the documents are given (--texts, or -C with --documents).",
    DOCS.has_source && DOCS.without_text ? `No text for ${plural(DOCS.without_text,
      "document")} (missing, or of another length than judged).` : "",
    `Of each run, the first ${plural(DOCS.each, "result")} in a document ${DOCS.each === 1 ? "is"
      : "are"} shown.`, ...DOCS.notes,
  ].filter(Boolean).join(" ");
  const panelOf = run => own === undefined ? null
    : h("div", { class: "side" }, run < 0 ? null : h("h3", {}, swatch(run, 22), " ", RUNS[run],
    returnedBy.has(run) ? "" : ": did not return this document"), textOf(view, own, run));
  const texts = own === undefined ? null : h("div", { class: choice === "pair" ? "sides" : "" },
    choice === "pair" ? compared.map(panelOf) : panelOf(choice === "all" ? -1 : choice));
  put(place,
    h("div", { class: "controls" },
      select("Topic", "document-topic", order.map(i => topicLabels[i]), order.indexOf(t),
        i => update({ topic: order[i], doc: null })),
      select("Document", "document-doc", views.map(titled), views.indexOf(view),
        i => update({ topic: t, doc: views[i].doc }, [documents])),
      select("Text with", "document-text", textChoices.map(c => c[1]),
        textChoices.findIndex(c => c[0] === choice),
        i => update({ text: textChoices[i][0] }, [documents]))),
    h("div", { class: "controls zoom", role: "group", "aria-label": "Zoom" },
      button("+", () => setZoom(around(.5)), { id: "zoom-in", "aria-label": "Zoom in" }),
        button("−", () => setZoom(around(2)), { id: "zoom-out", "aria-label": "Zoom out" }),
      button("◀", () => setZoom(shift(-.5)), { id: "zoom-left", "aria-label": "Earlier" }),
        button("▶", () => setZoom(shift(.5)), { id: "zoom-right", "aria-label": "Later" }),
      button("Whole document", () => setZoom([0, length]), { id: "zoom-whole" }),
      relevant && button("Relevant text", () => setZoom(relevant), { id: "zoom-relevant" }),
      h("span", { id: "zoom-said", class: "soft" },
        `characters ${withCommas(zoom[0])} to ${withCommas(zoom[1])} of ${withCommas(length)}`)),
    h("figure", { class: "strip", id: "strip", tabindex: 0, role: "group",
      "aria-label": "Strip; keys +, -, arrows and 0 zoom and move", onkeydown: event => {
      const ends = event.target.id === "strip" && keysOf[event.key];
      if (ends) { setZoom(ends()); event.preventDefault(); }
    } }, miniMap(view, length, zoom, width, setZoom), strip),
    every.length > runs.length ? h("p", { class: "more" },
      `${runs.length} of ${every.length} runs shown. `,
      button(`Show all ${every.length} runs`, () => { SHOWN.set("strips", 1000); draw([documents]); },
      { id: "strips-more" })) : null,
    view.results.length ? null : note("No run returned this document."),
    texts === null ? null : h("div", { class: "keys" }, choice === "all"
      ? [swatchOf("missed", "relevant"), swatchOf("few", "returned by few runs"),
        swatchOf("many", "by many")]
      : [swatchOf("hit", "relevant and returned"), swatchOf("missed", "relevant, missed"),
        swatchOf("extra", "returned, not relevant")],
    h("span", {}, "▶ best entry point")),
    texts,
    behind("results in this document", () => ({ head: ["run", "rank", "start", "end"],
      rows: view.results.map(([run, rank, a, b]) =>
      [RUNS[run], String(rank), a < 0 ? "unknown" : String(a), b < 0 ? "unknown" : String(b)]) }),
        () => strip),
    note(said));
  for (const box of place.querySelectorAll(".text")) {
    const first = box.querySelector(".entry, .relevant");
    if (first) box.scrollTop += first.getBoundingClientRect().top - box.getBoundingClientRect()
      .top - box.clientHeight / 3;
  }
}
PARTS.push(documents);
