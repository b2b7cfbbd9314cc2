// A new password of one's own.
import { call, keys } from "./base.js";
import { complain, chosenPassword } from "./password.js";
import { at } from "./root.js";

document.getElementById("password").addEventListener("submit", async event => {
  event.preventDefault();
  const password = chosenPassword();
  if (password === null) return;
  try {
    const body = { old: document.getElementById("old")?.value ?? "", new: password };
    await call("POST", at("/api/account/password"), body);
    location.assign(at("/"));
  } catch (error) { complain(error.message); }
});

keys({ 2: () => document.querySelector(".brand").click() });
