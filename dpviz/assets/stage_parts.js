// Parts that the stages of pages share: their room in the window, canvases, dialogs and buttons.

/** @import { Parts } from "./types.d.ts" */

import { fitCanvas } from "./kit.js";
import { make } from "./elements.js";

/** Return what scrolls around an element, also out of a component. @param {Element} element */
export function scrollerOf(element) {
  const root = element.getRootNode();
  return (root instanceof ShadowRoot ? root.host : element).closest('[data-testid="stMain"]');
}

/** Return the top of an element, CSS pixels, as if nothing were scrolled. @param {Element} element */
export const topOf = (element, scroller = scrollerOf(element)) => element.getBoundingClientRect().top + (scroller?.scrollTop ?? scrollY);

/** Lay out whenever the window or one of some elements has another size, or fonts arrived. @param {Element[]} elements @param {() => void} layOut @param {AbortSignal} signal */
export function watchSizes(elements, layOut, signal) {
  const observer = new ResizeObserver(layOut);
  for (const each of elements) observer.observe(each);
  signal.addEventListener("abort", () => observer.disconnect());
  window.addEventListener("resize", layOut, { signal });
  document.fonts?.addEventListener("loadingdone", layOut, { signal });
}

/** Draw anew whenever the reader's colors, or the page's around a component, are others. The page changes its colors after
 *  the reader's system, and a transition reports it. @param {Element} root @param {() => void} draw @param {AbortSignal} signal */
export function watchColors(root, draw, signal) {
  const around = root.parentNode;
  const host = around instanceof ShadowRoot ? around.host : around;
  if (host instanceof HTMLElement) {
    host.style.transition = "color 1ms";
    host.addEventListener("transitionend", ({ target }) => { if (target === host) draw(); }, { signal });
  }
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"]) matchMedia(query).addEventListener("change", draw, { signal });
}

/** Return the size in pixels of names for a room, 0 for a screen. @param {Element} element */
export const roomSize = (element) => parseFloat(getComputedStyle(element).getPropertyValue("--dpviz-names")) || 0;

/** Fit a canvas to a size, CSS pixels, and return its context. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function fitStageCanvas(canvas, width, height) {
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  return fitCanvas(canvas, width, height, Math.min(window.devicePixelRatio || 1, 2));
}

/** Return a dialog that a click beside it closes, and its own button. @param {string} name @param {Node[]} parts @param {Record<string, string>} attributes */
export function makeDialog(name, parts, attributes) {
  const close = makeButton("close", "\u00d7", () => dialog.close(), { "aria-label": "Close" });
  const dialog = make("dialog", name, [close, ...parts], attributes);
  dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
  return dialog;
}

/** Return a button with a handler. @param {string} name @param {Parts} parts @param {() => void} act @param {Record<string, string>} [attributes] */
export function makeButton(name, parts, act, attributes = {}) {
  const button = make("button", name, parts, { type: "button", ...attributes });
  button.addEventListener("click", act);
  return button;
}
