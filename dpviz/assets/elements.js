// Elements of the live picture and the privacy slider.

export const SVG = "http://www.w3.org/2000/svg";

/** An element with a class, text and attributes; text is only ever text.
 *  @template {keyof HTMLElementTagNameMap} Tag
 *  @param {Tag} tag @param {string} [className] @param {string} [text] @param {Record<string, string>} [attributes] */
export function make(tag, className = "", text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
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

/** Show a text. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Whether Streamlit's script makes the page. */
export const isPageBusy = () => (document.querySelector("[data-test-script-state]")?.getAttribute("data-test-script-state") ?? "notRunning") !== "notRunning";
