// Which document this page is about, and requests to the server for it.

// A proxy may serve the campaign below a path of its own, `root`.
const [, root, topicPath, topic, doc] =
  location.pathname.match(/^(.*?)(\/topics\/([^/]+))\/documents\/(.+)$/) ?? [];
const topicUrl = `${root}${topicPath}`;
const role = new URLSearchParams(location.search).get("as");
const query = role ? `?as=${encodeURIComponent(role)}` : "";

/** The parts of the address; `role` is set where somebody decides for all. */
export const here = {
  role, query,
  topic: decodeURIComponent(topic ?? ""),
  doc: decodeURIComponent(doc ?? ""),
  api: `${root}/api${topicPath}/documents/${doc}${query}`,
  topicApi: path => `${root}/api${topicPath}/${path}${query}`,
  up: role ? `${root}/organise/adjudicate` : topicUrl,
  login: `${root}/login`,
  of: name => `${topicUrl}/documents/${name.split("/").map(encodeURIComponent).join("/")}${query}`,
};

const LONGEST = 20_000; // milliseconds after which a request counts as lost

/** Requests; every one that changes something carries the token of the session. */
export class Api {
  constructor(token) { this.token = token; }

  /** Status and content; only a network that fails raises. */
  async call(method, url, body = undefined, { keepalive = false } = {}) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (method !== "GET" && this.token) headers["X-CSRF-Token"] = this.token;
    const stop = new AbortController(), clock = setTimeout(() => stop.abort(), LONGEST);
    try {
      const answer = await fetch(url, {
        method, headers, keepalive, signal: stop.signal, credentials: "same-origin",
        redirect: "error", cache: "no-store",
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      let content = {};
      try { content = await answer.json(); } catch (error) {
        if (answer.ok) throw error; // cut off on its way: ask again
      }
      return { status: answer.status, content };
    } finally { clearTimeout(clock); }
  }

  get(url) { return this.call("GET", url); }
  post(url, body, options) { return this.call("POST", url, body, options); }
  put(url, body) { return this.call("PUT", url, body); }
}

/** Random, and unlike crypto.randomUUID also where a page comes by plain http. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}
