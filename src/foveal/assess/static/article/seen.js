// The documents of this topic that were looked at before, with what has become of them.
import { here } from "./address.js";
import { make } from "./nodes.js";

const WORDS = {
  seen: "looked at", marked: "relevant, not validated", relevant: "✓ relevant", irrelevant: "✓ not relevant",
};

export async function drawSeen(body, api) {
  if (!body.childNodes.length) body.replaceChildren(make("p", { class: "soft" }, "…"));
  let found = null;
  try { found = await api.get(here.topicApi("history")); } catch { /* said below */ }
  if (found?.status !== 200) {
    body.replaceChildren(make("p", { class: "soft" }, "The history cannot be read just now."));
    return;
  }
  const rows = found.content.documents.map(entry => make("li", { class: entry.doc === here.doc ? "here" : null },
    make("a", { href: here.of(entry.doc) },
      entry.title || entry.doc), " ", make("span", { class: "soft" }, WORDS[entry.state] ?? entry.state)));
  body.replaceChildren(rows.length ? make("ol", { class: "seen" }, rows) :
    make("p", { class: "soft" }, "This is the first document of the topic."));
}
