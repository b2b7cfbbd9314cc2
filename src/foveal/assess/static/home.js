// The topics of an assessor: Enter goes on with what is next.
import { keys, walk } from "./base.js";

const next = document.getElementById("next");
walk(document.getElementById("topics"));
const organise = document.getElementById("organise");
keys({
  Enter: () => next?.click(),
  3: () => next?.click(),
  ArrowDown: () => document.querySelector("#topics tbody tr")?.focus(),
  ...organise ? { o: () => organise.click() } : {},
});
