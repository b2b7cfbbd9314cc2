// The guidelines of the campaign, one key away on every page.
import { keys } from "./base.js";

const dialog = document.getElementById("guidelines");
const show = () => dialog.showModal();
document.getElementById("guidelines-button").addEventListener("click", show);
keys({ G: show });
