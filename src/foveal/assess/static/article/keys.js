// One key for every action; keys are left alone wherever something is typed.

const FIELDS = "textarea, select, [contenteditable], input:not([type=checkbox]):not([type=radio])";
const MOVES = {
  ArrowRight: ["forward", "character", "word"], ArrowLeft: ["backward", "character", "word"],
  ArrowDown: ["forward", "line", "paragraph"], ArrowUp: ["backward", "line", "paragraph"],
  Home: ["backward", "lineboundary", null], End: ["forward", "lineboundary", null],
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
    const move = inText && MOVES[event.key];
    if (!move) return;
    const [direction, plain, withCtrl] = move;
    const unit = event.ctrlKey || event.metaKey ? withCtrl : plain;
    if (!unit) return; // Ctrl+Home and Ctrl+End go to the ends of the page, as everywhere
    event.preventDefault();
    selected.dom.root.focus({ preventScroll: true });
    selected.move(direction, unit, event.shiftKey);
  });
}
