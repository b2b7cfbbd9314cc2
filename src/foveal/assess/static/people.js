// Accounts one by one or from CSV, and invitations.
import { call, keys, say, showTimes, tell } from "./base.js";
import { copy } from "./copying.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);

function made(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Show the table of accounts as the server has it now; links that are shown stay. */
async function refresh() {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  for (const id of ["people", "names"]) $(id).replaceWith(page.getElementById(id));
  showTimes($("people"));
}

// -- invitations -------------------------------------------------------------------------------

function showLinks(links) {
  $("links").querySelector("tbody").replaceChildren(...links.map(({ name, link }) => {
    const button = made("button", { type: "button", "aria-label": `Copy the link of ${name}` }, "Copy");
    button.addEventListener("click", () => copy(link));
    const field = made("input", { readonly: "", value: link, "aria-label": `Link of ${name}` });
    field.addEventListener("focus", () => field.select());
    return made("tr", {}, made("th", { scope: "row" }, name), made("td", {}, field), made("td", {}, button));
  }));
  $("copy-links").onclick = () => copy(links.map(({ name, link }) => `${name}\t${link}`).join("\n"));
  $("links").hidden = false;
  $("links-title").focus();
}

async function invite(name) {
  say("Saving…", "");
  const found = await tell(() => call("POST", at("/api/invitations"), { name }), `✓ ${name} can be invited`);
  await refresh();
  if (found) showLinks([found]);
}
document.addEventListener("click", event => {
  const button = event.target.closest("button.invite");
  if (button) invite(button.dataset.name);
});

// -- one by one --------------------------------------------------------------------------------

$("user").addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target, password = $("user-password").value;
  const topics = $("user-topics").value.split(/[\s,;]+/).filter(Boolean);
  const body = { name: $("user-name").value.trim(), role: $("user-role").value, topics };
  if (password) body.password = password;
  say("Saving…", "");
  const done = await tell(() => call("POST", at("/api/users"), body), "✓ Saved");
  if (!done) return;
  if (done.signed_out) { location.reload(); return; }
  form.reset();
  if (done.added && !password) await invite(body.name); else await refresh();
});
// An account keeps its role unless another is chosen.
$("user-name").addEventListener("input", () => {
  const row = [...document.querySelectorAll("#users tbody tr")]
    .find(one => one.cells[0].textContent === $("user-name").value.trim());
  if (row) $("user-role").value = row.cells[1].textContent;
});

// -- from CSV ----------------------------------------------------------------------------------

$("csv-file").addEventListener("change", async event => {
  const [file] = event.target.files;
  if (file) $("csv").value = await file.text();
});
$("import").addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target, problems = $("csv-problems");
  problems.hidden = true;
  say("Saving…", "");
  try {
    const body = { csv: $("csv").value, invite: $("csv-invite").checked };
    const { added } = await call("POST", at("/api/users/import"), body);
    say(`✓ Added: ${added.length}`);
    form.reset();
    await refresh();
    if (body.invite) showLinks(added);
  } catch (error) {
    say(error.message, "bad");
    const found = error.body?.problems ?? [];
    problems.firstElementChild.replaceChildren(...found.map(({ line, reason }) => made("li", {}, `line ${line}: ${reason}`)));
    problems.hidden = !found.length;
  }
});

keys({
  2: () => $("organise").click(),
  u: () => $("user-name").focus(),
  i: () => $("csv").focus(),
});
