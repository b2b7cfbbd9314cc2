// Loads the document of this page, shows it, takes up what was not saved, and lets the work begin.
import { Api, here } from "./api.js";
import { byId, drawn } from "./nodes.js";
import { Page } from "./page.js";
import { supported } from "./painting.js";
import { Saver } from "./saver.js";
import { Structure, TextDom } from "./textdom.js";

const OLD = "This browser cannot paint text without changing it (CSS Custom Highlight API). Chromium and " +
  "Chrome 105, Edge 105, Safari 17.2 and Firefox 140 or newer can.";
const AWAY = "The server does not answer; reload the page when it does. What was not saved is kept in " +
  "this browser.";

function refuse(words) {
  byId("problem").textContent = words;
  byId("problem").hidden = false;
  byId("save").textContent = "✗ not loaded";
  byId("save").className = "bad";
  document.body.dataset.ready = "refused";
}

function head(loaded) {
  const { title, doc } = loaded.structure;
  byId("doc-title").textContent = title || doc;
  byId("doc-name").textContent = doc;
  document.title = `${title || doc} · Foveal`;
  byId("up").href = here.up;
  byId("up").textContent = `Topic ${here.topic}`;
  byId("role").textContent = here.role ? "final assessment" : "";
  for (const way of ["previous", "next"]) {
    document.querySelector(`[data-do=${way}]`).disabled = !loaded[way];
  }
}

async function load(api) {
  try {
    const { status, content } = await api.get(here.api);
    if (status === 200) return content;
    refuse(content.reason ?? `The server answered ${status}.`);
  } catch { refuse(AWAY); }
  return null;
}

async function start() {
  if (!supported()) { refuse(OLD); return; }
  const api = new Api(document.querySelector("meta[name=csrf]").content);
  const loaded = await load(api);
  if (!loaded) return;
  api.token = loaded.csrf;
  head(loaded);
  const root = byId("text"), structure = new Structure(loaded.structure);
  root.className = `text v-${structure.vocabulary}`;
  const dom = new TextDom(structure, root);
  const saver = new Saver(api, here.api, loaded.campaign, `${loaded.assessor}${here.query}`, loaded.version,
    dom.measured());
  const left = await saver.start();
  const page = new Page(loaded, api, dom, saver);
  if (page.connection.checkText()) {
    page.model.resume(left);
    saver.send();
    page.connection.event("view").catch(() => {}); // of no weight for the work itself
  }
  page.focus();
  page.begin();
  await drawn();
  performance.mark("foveal-ready");
  document.body.dataset.ready = "yes";
  page.connection.greet();
}

start();
