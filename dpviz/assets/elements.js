// Elements of the live picture and the privacy slider.

/** @import { Box, Parts } from "./types.d.ts" */

/** An element with a class, text or parts, and attributes; text is only ever text.
 *  @template {keyof HTMLElementTagNameMap} Tag
 *  @param {Tag} tag @param {string} [className] @param {Parts} [parts] @param {Record<string, string>} [attributes] */
export function make(tag, className = "", parts = "", attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (parts) element.append(...[parts].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Show a page of words from its title, which is read out. */
export function beginAtHeading() {
  const main = document.querySelector('[data-testid="stMain"]');
  const title = main?.querySelector("h1");
  if (!main || !title) return;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
  main.scrollTo(0, 0);
}

/** Write where a box on a canvas is in the window, for whoever measures the page from outside. @param {HTMLElement} element @param {Element} canvas @param {Box} [box] */
export function tellBox(element, canvas, box) {
  const at = canvas.getBoundingClientRect();
  const { left, top, width, height } = box ?? { ...at.toJSON(), left: 0, top: 0 };
  element.dataset.dpvizBox = [at.left + left, at.top + top, width, height].map((px) => px.toFixed(1)).join(" ");
}

/** Show a text. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Whether Streamlit's script makes the page. */
export const isPageBusy = () => (document.querySelector("[data-test-script-state]")?.getAttribute("data-test-script-state") ?? "notRunning") !== "notRunning";
