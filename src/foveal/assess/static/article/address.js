// Which document of which topic this page is about, and in whose name.

const [, topicUrl, topic, doc] = location.pathname.match(/^(\/topics\/([^/]+))\/documents\/(.+)$/) ?? [];
const role = new URLSearchParams(location.search).get("as");
const query = role ? `?as=${encodeURIComponent(role)}` : "";

/** The parts of the address; `role` is set where somebody decides for all. */
export const here = {
  topicUrl, role, query,
  topic: decodeURIComponent(topic ?? ""),
  doc: decodeURIComponent(doc ?? ""),
  api: `/api${location.pathname}${query}`,
  topicApi: path => `/api${topicUrl}/${path}${query}`,
  up: role ? "/organise/adjudicate" : topicUrl,
  of: name => `${topicUrl}/documents/${name.split("/").map(encodeURIComponent).join("/")}${query}`,
};
