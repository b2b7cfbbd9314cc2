// One key for every action; keys are left alone wherever something is typed.

const FIELDS = "textarea, select, [contenteditable], input:not([type=checkbox]):not([type=radio])";
const MOVES = {
  ArrowRight: ["forward", "character", "word"], ArrowLeft: ["backward", "character", "word"],
  ArrowDown: ["forward", "line", "paragraph"], ArrowUp: ["backward", "line", "paragraph"],
  Home: ["backward", "lineboundary", "document"], End: ["forward", "lineboundary", "document"],
  PageDown: ["forward", "page", null], PageUp: ["backward", "page", null],
};

/** "Shift+B", "Ctrl+Z": letters as they are typed, with what is held down. */
function nameOf(event) {
  const held = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  let letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  // On keyboards of other scripts the key counts that has the letter elsewhere.
  if (letter.length === 1 && letter > "\x7f" && /^Key[A-Z]$/.test(event.code)) {
    letter = event.code[3].toLowerCase();
  }
  const shifted = event.shiftKey && (/^[a-z]$/.test(letter) || event.key.length > 1) ? "Shift+" : "";
  return held + shifted + letter;
}

export function listen(commands, selected, mode) {
  document.addEventListener("keydown", event => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]") || event.target.closest?.(FIELDS)) return;
    if (mode.key(event)) { event.preventDefault(); return; }
    if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
    const command = commands.get(nameOf(event));
    if (command) {
      event.preventDefault();
      command(event);
      return;
    }
    const inText = event.target === document.body || event.target === selected.dom.root;
    const isSpace = event.key === " "; // a page down, with Shift a page up, as in every browser
    const move = inText && MOVES[isSpace ? (event.shiftKey ? "PageUp" : "PageDown") : event.key];
    if (!move) return;
    const [direction, plain, withCtrl] = move;
    const unit = event.ctrlKey || event.metaKey ? withCtrl : plain;
    if (!unit) return; // Ctrl+PageDown goes to another tab of the browser
    event.preventDefault();
    selected.dom.root.focus({ preventScroll: true });
    selected.move(direction, unit, event.shiftKey && !isSpace);
  });
}
