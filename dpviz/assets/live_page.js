// The live picture: what the page around it lacks. A way past the menu leads to the page's control, a menu that the
// keyboard opens is the next stop, and the finding is read out when it rests.

import { Timer } from "./kit.js";

const PAPER_PX = 680; // a sheet's width
const QUIET_MS = 1000; // while ε moves, the finding changes with every value
const STAGE = ".st-key-dpviz-stage, .st-key-home-top"; // where the page's control is
const OPENING_MS = 200; // of a menu
const CONTROLS = ["input", "button"]; // the first ones are wanted most
const RUNNING = '[data-testid="stApp"][data-test-script-state="running"]'; // what is on screen may be the page before

/** The element that an event begins at, which may be text. @param {Event} event */
const targetOf = ({ target }) => (target instanceof Element ? target : null);

/** The page's first control, also inside of a component. @returns {HTMLElement | null} */
function control() {
  const stage = document.querySelector(STAGE);
  const roots = [stage, ...stage?.querySelectorAll("*") ?? []].map((element) => element?.shadowRoot ?? element);
  for (const wanted of CONTROLS) {
    for (const root of roots) {
      const found = /** @type {HTMLElement?} */ (root?.querySelector(wanted) ?? null);
      if (found) return found;
    }
  }
  return null;
}

function skip(/** @type {Event} */ event) {
  const found = targetOf(event)?.closest('[data-testid="stSkipToContent"]') && control();
  if (!found) return;
  event.preventDefault();
  event.stopPropagation(); // Streamlit would give the focus to all of the page's content
  found.focus();
}

/** The next stop of the Tab key is the menu that the keyboard has just opened: Streamlit appends it to the page. @param {MouseEvent} event */
function enterMenu(event) {
  const button = event.detail === 0 && targetOf(event)?.closest('[data-testid="stPopover"] button');
  if (!button) return;
  setTimeout(() => {
    const menu = /** @type {HTMLElement?} */ (document.querySelector('[data-testid="stPopoverBody"]'));
    if (!menu || menu.contains(document.activeElement)) return;
    menu.tabIndex = -1;
    menu.focus({ preventScroll: true });
  }, OPENING_MS);
}

/** Read out the finding when it rests: what is new in an element that stays is read out, and only that. @param {Element} said */
function sayAtRest(said) {
  const timer = new Timer();
  let [text, place] = ["", ""];
  const say = () => {
    if (document.querySelector(RUNNING)) return void timer.start(say, QUIET_MS);
    if ("dpvizPlaying" in document.documentElement.dataset) return;
    if (text && said.textContent !== text) said.textContent = text;
  };
  document.addEventListener("dpviz:finding", ({ detail }) => {
    const now = detail.text ? `${location.pathname} ${detail.who}` : "";
    if (now !== place) said.textContent = ""; // another page or audience, or no picture at all: what was said is not true there
    [text, place] = [detail.text, now];
    if (text) requestAnimationFrame(() => { document.documentElement.dataset.dpvizArrived = ""; }); // what follows the stage may show
    timer.start(say, QUIET_MS);
  });
}

/** Let what was laid out for a screen shrink to a sheet's width where it is printed; the style sheet zooms by it. @param {HTMLElement} root */
export function shrinkOnPaper(root) {
  if (!matchMedia("print").matches) root.style.setProperty("--printed", String(Math.min(1, PAPER_PX / root.clientWidth)));
}

/** Look after the page, once for all pictures: another component, which has a copy of this module, may do so already. */
export function lookAfterPage() {
  if (document.querySelector(".dpviz-said")) return;
  const said = document.createElement("div");
  said.className = "dpviz-said";
  said.setAttribute("role", "status");
  document.body.append(said);
  document.addEventListener("click", skip, { capture: true });
  document.addEventListener("click", enterMenu);
  sayAtRest(said);
}
