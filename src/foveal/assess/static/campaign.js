// Title, guidelines and tokens; export and backup are plain links and forms.
import { call, keys, say, showTimes, tell } from "./base.js";
import { copy } from "./copying.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);

$("about").addEventListener("submit", async event => {
  event.preventDefault();
  say("Saving…", "");
  const body = { title: $("title").value, guidelines: $("guidelines-text").value };
  const done = await tell(() => call("PUT", at("/api/campaign"), body), "✓ Saved");
  if (done) location.reload();
});

async function refreshTokens() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  $("tokens").replaceWith(page.getElementById("tokens"));
  showTimes($("tokens"));
}
$("token").addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target;
  const made = await tell(() => call("POST", at("/api/tokens"), { label: $("label").value }), "✓ Created");
  if (!made) return;
  const [code, button] = $("secret").querySelectorAll("code, button");
  code.textContent = made.token;
  button.onclick = () => copy(made.token);
  form.reset();
  await refreshTokens();
  $("secret").hidden = false;
  $("secret").focus();
});
document.addEventListener("click", async event => {
  const button = event.target.closest("button.revoke");
  if (!button) return;
  const done = await tell(() => call("DELETE", at(`/api/tokens/${button.dataset.id}`)), "✓ Revoked");
  if (done) { await refreshTokens(); $("label").focus(); }
});

keys({ 2: () => $("organise").click(), e: () => $("to").focus() });
