// A row of buttons that is one stop of the Tab key: arrows move within it.

import { clamp } from "./kit.js";

const BY = new Map([["ArrowRight", 1], ["ArrowDown", 1], ["ArrowLeft", -1], ["ArrowUp", -1], ["Home", -Infinity], ["End", Infinity]]);
const buttonsOf = (/** @type {Element} */ row) => [...row.querySelectorAll("button")];

/** @param {HTMLButtonElement[]} buttons @param {number} at */
function stopAt(buttons, at) {
  buttons.forEach((button, i) => { button.tabIndex = i === at ? 0 : -1; });
}

/** Put other parts into a place, and give the focus back to the button at the place of the one that had it. @param {Element} place @param {(Node | string)[]} parts */
export function refill(place, parts) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (place.getRootNode());
  const focused = buttonsOf(place).findIndex((button) => button === activeElement);
  place.replaceChildren(...parts);
  if (focused >= 0) buttonsOf(place).slice(0, focused + 1).at(-1)?.focus();
}

/** Put other buttons into a row. @param {Element} row @param {Node[]} parts */
export function refillRow(row, parts) {
  const stop = Math.max(0, buttonsOf(row).findIndex((button) => button.tabIndex === 0));
  refill(row, parts);
  const buttons = buttonsOf(row);
  stopAt(buttons, Math.min(stop, buttons.length - 1));
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
