// A line that says how far long work is, asks the server again while it lasts, and when the picture has changed.
// It asks a short way of its own first; the page itself is asked when there is something to draw.

import { component } from "./component.js";
import { isPageBusy, make } from "./elements.js";

/** @import { Given, WaitData } from "./stages.d.ts" */

const PATIENCE_MS = 2500; // without an answer
const TRIES = 5;
const LEAVING_MS = 2000; // after which a link has led nowhere
const BUSY_MS = 100; // until the page is looked at again
// Streamlit serves this script from below the app's own address, wherever a proxy has put it.
const BASE = import.meta.url.includes("/_stcore/") ? import.meta.url.split("/_stcore/")[0] : null;

// A question of the page that the reader leaves would bring that page back, or none: Streamlit's messages name their page.
let left = -Infinity; // when the reader last followed a link
document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("a[href]")) left = performance.now();
}, true);
window.addEventListener("popstate", () => { left = performance.now(); });

/** Whether the page is being made, or about to be left. */
const isBusy = () => performance.now() - left < LEAVING_MS || isPageBusy();

/** Whether the stage has its place: until then what stands far below it is in sight. */
const isStaged = () => {
  const stage = document.querySelector(".st-key-dpviz-stage");
  return !(stage instanceof HTMLElement) || stage.offsetHeight > Math.min(innerHeight / 2, 300);
};

/**
 * How many pieces are done, and after how many milliseconds to look again; null where only the page can say.
 * @param {string} address @returns {Promise<{ done: number, every: number } | null>}
 */
async function peek(address) {
  try {
    const response = await fetch(`${BASE}/${address}`, { cache: "no-store" });
    return response.status === 200 ? await response.json() : null;
  } catch {
    return null;
  }
}

class Wait {
  constructor(/** @type {Given["parentElement"]} */ parent, /** @type {Given<WaitData>} */ given) {
    left = -Infinity; // this is the page that the link led to
    this.data = given.data;
    this.trigger = given.setTriggerValue;
    this.loaded = 0; // time of the last update
    this.text = make("span");
    this.bar = make("i");
    this.root = make("div", "dpviz-wait", [this.text, this.bar], { role: "progressbar" });
    parent.append(this.root);
    this.wishes = 0; // number of what was wanted so far: a later wish replaces an earlier one
    this.isNew = false; // whether there is a picture of which the page has not been asked yet
    this.sight = new IntersectionObserver((entries) => {
      if (entries.at(-1)?.isIntersecting) this.ask(this.data.every);
      else this.wish();
    });
    this.closed = new AbortController();
    const { signal } = this.closed;
    window.addEventListener("dpviz:drawn", ({ detail }) => {
      if (detail?.key !== this.data.follow || this.data.unseen) return;
      this.isNew = true;
      this.ask(this.data.quiet);
    }, { signal });
    window.addEventListener("dpviz:moving", () => { // what is waited for is about to change, or its picture is about to be drawn
      if (this.data.done < this.data.all && !this.data.unseen) this.ask(2 * this.data.quiet);
    }, { signal });
  }

  wish() {
    clearTimeout(this.timer);
    this.wishes += 1;
    return this.wishes;
  }

  /** Ask the page after so many milliseconds, and again if it does not answer. @param {number} after */
  ask(after, tries = TRIES) {
    this.wish();
    this.timer = setTimeout(() => {
      if (isBusy() || (this.data.unseen && !isStaged())) {
        this.ask(BUSY_MS, tries);
        return;
      }
      this.isNew = false;
      this.trigger(this.data.unseen ? "seen" : "tick", Date.now());
      if (tries > 1) this.ask(PATIENCE_MS, tries - 1);
    }, after);
  }

  /** Look how far the work is, and ask the page once all is done, or now and then when there is more to draw. @param {number} ms */
  peekAfter(ms) {
    const wish = this.wish();
    this.timer = setTimeout(async () => {
      const answer = await peek(this.data.peek);
      if (wish !== this.wishes) return;
      const { all, done: drawn, redrawn } = this.data;
      if (answer) this.show(answer.done);
      const isDue = performance.now() - this.loaded > (drawn ? redrawn : 0);
      if (answer === null || answer.done >= all || (answer.done > drawn && isDue)) this.ask(0);
      else this.peekAfter(answer.every);
    }, ms);
  }

  update(/** @type {Given<WaitData>} */ { data, setTriggerValue }) {
    this.data = data;
    this.trigger = setTriggerValue;
    this.loaded = performance.now();
    this.show(data.done);
    this.root.hidden = data.done >= data.all;
    if (this.isNew) return; // what comes was asked for before that picture, which is not forgotten for it
    this.wish();
    this.sight.disconnect(); // a place that is in sight already is told anew
    if (this.root.hidden) return;
    if (data.unseen) this.sight.observe(this.root);
    else if (data.peek && BASE !== null) this.peekAfter(data.every);
    else this.ask(data.every);
  }

  show(/** @type {number} */ done) {
    const { all, what, said, share } = this.data;
    // Where more pieces follow from those that are done, their number is no measure: then there are words.
    const [value, most] = said === null ? [done, all] : [share ?? 0, 1];
    this.root.setAttribute("aria-valuemax", String(most));
    this.root.setAttribute("aria-valuenow", String(value));
    this.root.setAttribute("aria-label", said ?? what);
    this.text.textContent = said ?? `${what}: ${done} of ${all}`;
    this.bar.style.setProperty("--share", String(most ? value / most : 1));
  }

  destroy() {
    this.wish();
    this.sight.disconnect();
    this.closed.abort();
  }
}

export default component((parent, given) => new Wait(parent, given));
