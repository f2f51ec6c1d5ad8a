// A line that says how far long work is, asks the server again while it lasts, and when the picture has changed.

const PATIENCE_MS = 2500; // without an answer
const TRIES = 5;
const LEAVING_MS = 2000; // after which a link has led nowhere
const BUSY_MS = 100; // until the page is looked at again
const instances = new WeakMap(); // parentElement -> Wait

// A question of the page that the reader leaves would bring that page back, or none: Streamlit's messages name their page.
let left = -Infinity; // when the reader last followed a link
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest("a[href]")) left = performance.now();
}, true);
window.addEventListener("popstate", () => { left = performance.now(); });

/** Whether the page is being made, or about to be left. */
const isBusy = () => {
  const state = document.querySelector("[data-test-script-state]")?.getAttribute("data-test-script-state");
  return performance.now() - left < LEAVING_MS || (state !== undefined && state !== null && state !== "notRunning");
};

/** What the line reads: done of all, or nothing when there is nothing to wait for. */
export const progressText = ({ done, all, what }) => (done < all ? `${what}: ${done} of ${all}` : "");

class Wait {
  constructor(root) {
    left = -Infinity; // this is the page that the link led to
    this.line = document.createElement("div");
    this.line.className = "dpviz-wait";
    this.line.setAttribute("role", "progressbar");
    this.text = document.createElement("span");
    this.bar = document.createElement("i");
    this.line.append(this.text, this.bar);
    root.append(this.line);
    this.onDrawn = (event) => {
      if (event.detail?.key === this.data?.follow) this.ask(this.data.quiet);
    };
    window.addEventListener("dpviz:drawn", this.onDrawn);
  }

  /** Ask the server after so many milliseconds, and again if it does not answer; a later wish replaces an earlier one. */
  ask(after, tries = TRIES) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (isBusy()) {
        this.ask(BUSY_MS, tries);
        return;
      }
      this.trigger("tick", Date.now());
      if (tries > 1) this.ask(PATIENCE_MS, tries - 1);
    }, after);
  }

  load(data, trigger) {
    this.data = data;
    this.trigger = trigger;
    clearTimeout(this.timer);
    const { done, all } = data;
    const pending = done < all;
    this.line.hidden = !pending;
    this.line.setAttribute("aria-valuemax", all);
    this.line.setAttribute("aria-valuenow", done);
    this.line.setAttribute("aria-label", data.what);
    this.text.textContent = progressText(data);
    this.bar.style.setProperty("--share", all ? done / all : 1);
    if (pending) this.ask(data.every);
  }

  close() {
    clearTimeout(this.timer);
    window.removeEventListener("dpviz:drawn", this.onDrawn);
    this.line.remove();
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  let wait = instances.get(parentElement);
  if (!wait) {
    wait = new Wait(parentElement);
    instances.set(parentElement, wait);
  }
  wait.load(data, setTriggerValue);
  return () => {
    // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
    if (parentElement.isConnected) return;
    wait.close();
    instances.delete(parentElement);
  };
}
