// An invitation: the token is in the fragment of the address, which browsers send to no server.
import { call } from "./base.js";
import { complain, chosenPassword } from "./password.js";
import { at } from "./root.js";

const $ = id => document.getElementById(id);
const token = location.hash.slice(1);
history.replaceState(null, "", location.pathname); // out of sight, and out of bookmarks

try {
  const { name } = await call("POST", at("/api/invitation"), { token });
  $("who").textContent = `, ${name}`;
  $("name").value = name;
  $("join").hidden = false;
  $("new").focus();
} catch (error) { complain(error.message); }

$("join").addEventListener("submit", async event => {
  event.preventDefault();
  const password = chosenPassword();
  if (password === null) return;
  try {
    await call("POST", at("/api/join"), { token, password });
    location.replace(at("/"));
  } catch (error) { complain(error.message); }
});
