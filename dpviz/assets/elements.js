// @ts-nocheck
// Elements of the live picture and the privacy slider.

export const SVG = "http://www.w3.org/2000/svg";

const READ = new Set(["aria-label", "alt", "title"]); // attributes that are words
const tongue = { language: "en", words: {} }; // the reader's language, and what scripts say in it

/** Take over what the page tells of the reader's language; without it scripts speak English. */
export function learn({ language = "en", words = {} }) {
  Object.assign(tongue, { language, words });
}

export const language = () => tongue.language;

/** Words of a script in the reader's language; {name} stands for one of `values`. */
export function say(text, values = {}) {
  const message = Object.hasOwn(tongue.words, text) ? tongue.words[text] : text;
  return Object.entries(values).reduce((said, [name, value]) => said.replaceAll("{" + name + "}", value), message);
}

/** An element with a class, text and attributes; text is only ever text. */
export function make(tag, className = "", text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = say(text);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, READ.has(name) ? say(value) : value);
  return element;
}

/** Show a page of words from its heading, which is read out: a step's own, else the page's title. */
export function beginAtHeading() {
  const main = document.querySelector('[data-testid="stMain"]');
  const title = main?.querySelector(".st-key-lesson h3, h1");
  if (!title) return;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
  main.scrollTo(0, 0);
}

export function setText(element, text) {
  const said = say(text);
  if (element.textContent !== said) element.textContent = said;
}
