// Copying a text for another program.
import { tell } from "./base.js";

/** Browsers allow it by HTTPS and on this machine only. */
export const copy = text => tell(async () => {
  if (!navigator.clipboard) throw new Error("This browser does not copy here: select the text yourself.");
  await navigator.clipboard.writeText(text);
  return true;
}, "✓ Copied");
