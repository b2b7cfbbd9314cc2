// Documents to decide: walk and open them, or take over what needs no decision.
import { call, keys, say, tell, walk } from "./base.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id), next = $("next");
walk($("documents"));
$("adopt")?.addEventListener("click", async event => {
  const button = event.currentTarget;
  button.disabled = true;
  say("Saving…", "");
  const done = await tell(() => call("POST", at("/api/adjudication/agreed")), found =>
    `✓ Taken over: ${found.adopted}`);
  if (done) location.reload(); else button.disabled = false;
});
keys({
  Enter: () => next?.click(),
  2: () => $("organise").click(),
  3: () => next?.click(),
  ArrowDown: () => document.querySelector("#documents tbody tr")?.focus(),
});
