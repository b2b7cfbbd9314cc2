// The topic statement, word for word, with only what the topic has.
import { make } from "./nodes.js";

const PARTS = [["description", "Description"], ["narrative", "Narrative"], ["castitle", "Structured query"],
  ["keywords", "Keywords"]];

export function drawTopic(body, topic, name) {
  const parts = PARTS.filter(([part]) => topic[part]?.length);
  body.replaceChildren(
    make("p", { class: "topic-title" }, make("span", { class: "soft" }, `Topic ${name} `),
      topic.title ?? ""),
    ...parts.flatMap(([part, title]) => {
      const words = Array.isArray(topic[part]) ? topic[part].join(", ") : topic[part];
      return [make("h3", {}, title), make("p", { class: part }, words)];
    }));
}
