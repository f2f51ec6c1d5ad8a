// A row of buttons that is one stop of the Tab key: arrows move within it.

import { clamp } from "./kit.js";

const BY = new Map([["ArrowRight", 1], ["ArrowDown", 1], ["ArrowLeft", -1], ["ArrowUp", -1], ["Home", -Infinity], ["End", Infinity]]);
const buttonsOf = (/** @type {Element} */ row) => [...row.querySelectorAll("button")];

/** @param {HTMLButtonElement[]} buttons @param {number} at */
function stopAt(buttons, at) {
  buttons.forEach((button, i) => { button.tabIndex = i === at ? 0 : -1; });
}

/** Rebuild a row, and give the focus back to the button that had it. @param {Element} row @param {() => void} rebuild */
export function keepFocus(row, rebuild) {
  const before = buttonsOf(row);
  const { activeElement } = /** @type {Document | ShadowRoot} */ (row.getRootNode());
  const focused = before.findIndex((button) => button === activeElement);
  const stop = Math.max(0, before.findIndex((button) => button.tabIndex === 0));
  rebuild();
  const buttons = buttonsOf(row);
  stopAt(buttons, Math.min(stop, buttons.length - 1));
  if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
}

/** Move within a row by the arrow keys. @param {KeyboardEvent} event @param {Element} row */
export function moveFocus(event, row) {
  const by = BY.get(event.key);
  if (by === undefined) return;
  const buttons = buttonsOf(row);
  const at = clamp(buttons.findIndex((button) => button === event.target) + by, 0, buttons.length - 1);
  stopAt(buttons, at);
  buttons[at].focus();
  event.preventDefault();
  event.stopPropagation();
}
