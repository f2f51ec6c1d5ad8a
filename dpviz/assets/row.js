// @ts-nocheck
// A row of buttons that is one stop of the Tab key: arrows move within it.

const BY = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
const buttonsOf = (row) => [...row.querySelectorAll("button")];

function stopAt(buttons, at) {
  buttons.forEach((button, i) => { button.tabIndex = i === at ? 0 : -1; });
}

/** Rebuild a row, and give the focus back to the button that had it. */
export function keepFocus(row, rebuild) {
  const before = buttonsOf(row);
  const focused = before.indexOf(row.getRootNode().activeElement);
  const stop = Math.max(0, before.findIndex((button) => button.tabIndex === 0));
  rebuild();
  const buttons = buttonsOf(row);
  stopAt(buttons, Math.min(stop, buttons.length - 1));
  if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
}

/** Move within a row by the arrow keys. */
export function moveFocus(event, row) {
  const by = BY[event.key];
  if (by === undefined) return;
  const buttons = buttonsOf(row);
  const at = Math.max(0, Math.min(buttons.indexOf(event.target) + by, buttons.length - 1));
  stopAt(buttons, at);
  buttons[at].focus();
  event.preventDefault();
  event.stopPropagation();
}
