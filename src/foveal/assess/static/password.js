// A password that is typed twice, and what is wrong with it.

const $ = id => document.getElementById(id);

/** Say what is wrong, above the button. */
export function complain(reason) {
  $("problem").textContent = reason;
  $("problem").hidden = false;
}

/** The password, or null if it was not typed twice alike. */
export function chosenPassword() {
  if ($("new").value === $("again").value) return $("new").value;
  complain("The two passwords differ.");
  $("again").focus();
  return null;
}
