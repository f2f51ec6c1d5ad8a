// A page's tour: up to three pop-overs, each beside what it is about, on the first visit of this browser.
// It waits for the first picture, never covers what it points at, and ends with a key, a tap, or by doing what it says.

const KEPT = "dpviz:tour"; // in the browser's storage, once the tour was seen or skipped
const SETTLE_MS = 500; // after the first picture
const EVERY_MS = 250; // until the pop-over is placed again: what it points at may move
const GAP_PX = 12;
const EDGE_PX = 8;
const PASSING = new Set(["Tab", "Shift", "Control", "Alt", "Meta", "Escape"]); // keys that do nothing to a control
const MENU = '[data-testid="stPopoverBody"], [role="dialog"][aria-modal], [data-baseweb="menu"]'; // what opens above the page
const instances = new WeakMap(); // parentElement -> Tour

/** What is remembered; a browser that keeps nothing shows no tour, rather than one on every page. */
function isSeen() {
  try {
    return localStorage.getItem(KEPT) !== null;
  } catch {
    return true;
  }
}

function remember() {
  try {
    localStorage.setItem(KEPT, "seen");
  } catch { /* then it is shown again */ }
}

/** The first element that matches and is seen, in the document and in the components' own trees. */
function find(selector, root = document) {
  for (const element of root.querySelectorAll(`${selector}, .stBidiComponent *, [data-testid^=stBidiComponent]`)) {
    if (element.matches(selector) && isVisible(element)) return element;
    const inside = element.shadowRoot && find(selector, element.shadowRoot);
    if (inside) return inside;
  }
  return null;
}

function isVisible(element) {
  const { width, height, bottom, top } = element.getBoundingClientRect();
  return width > 0 && height > 0 && bottom > 0 && top < innerHeight && element.checkVisibility?.() !== false;
}

/** The corner at which a box of this size stands beside the target; the sides are tried in this order. */
export function place(target, { width, height }, sides, room) {
  const middle = {
    x: Math.min(Math.max(EDGE_PX, (target.left + target.right - width) / 2), room.width - width - EDGE_PX),
    y: Math.min(Math.max(EDGE_PX, (target.top + target.bottom - height) / 2), room.height - height - EDGE_PX),
  };
  const corners = {
    below: { left: middle.x, top: target.bottom + GAP_PX },
    above: { left: middle.x, top: target.top - GAP_PX - height },
    right: { left: target.right + GAP_PX, top: middle.y },
    left: { left: target.left - GAP_PX - width, top: middle.y },
  };
  const fits = ({ left, top }) => left >= EDGE_PX && top >= EDGE_PX
    && left + width <= room.width - EDGE_PX && top + height <= room.height - EDGE_PX;
  const side = sides.find((each) => fits(corners[each]));
  return side ? { side, ...corners[side] } : null;
}

class Tour {
  constructor(parent) {
    this.at = -1; // which pop-over is open
    this.stopped = new AbortController();
    this.build(parent);
    const on = (target, type, handler, options = {}) => target.addEventListener(type, handler,
      { signal: this.stopped.signal, ...options });
    on(window, "dpviz:drawn", () => this.begin());
    on(document, "keydown", (event) => { if (event.key === "Escape" && this.isOpen) this.end(); });
    on(document, "pointerup", (event) => this.done(event), { capture: true });
    on(document, "keyup", (event) => { if (!PASSING.has(event.key)) this.done(event); }, { capture: true });
    for (const type of ["resize", "scroll"]) on(window, type, () => this.put(), { capture: true, passive: true });
  }

  build(parent) {
    const make = (tag, name, attributes = {}) => {
      const element = document.createElement(tag);
      element.className = name;
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    this.box = make("div", "dpviz-tour", { role: "dialog", "aria-labelledby": "title", "aria-describedby": "words" });
    this.box.popover = "manual";
    this.title = make("strong", "title", { id: "title" });
    this.words = make("p", "words", { id: "words", "aria-live": "polite" });
    this.count = make("span", "count");
    this.skip = make("button", "skip", { type: "button" });
    this.next = make("button", "next", { type: "button" });
    const row = make("div", "row");
    row.append(this.count, this.skip, this.next);
    this.box.append(this.title, this.words, row);
    this.skip.addEventListener("click", () => this.end());
    this.next.addEventListener("click", () => this.go(this.at + 1));
    parent.append(this.box);
  }

  get isOpen() {
    return this.at >= 0;
  }

  update(data) {
    this.data = data;
    if (find(".dpviz-live[data-dpviz-key=picture][data-dpviz-drawn]")) this.begin();
  }

  begin() {
    const embedded = new URLSearchParams(location.search).get("embed") === "true";
    if (this.isOpen || this.waiting || embedded || isSeen()) return;
    this.waiting = setTimeout(() => this.go(0), SETTLE_MS);
  }

  /** Open the pop-over of this number, or the next one whose target is on the screen. */
  go(number) {
    const { steps, words } = this.data;
    while (number < steps.length && !find(steps[number].at)) number += 1;
    if (number >= steps.length) return void this.end();
    this.at = number;
    const { title, text } = steps[number];
    const last = number + 1 === steps.length;
    this.title.textContent = title;
    this.words.textContent = text;
    this.count.textContent = `${number + 1} / ${steps.length}`;
    this.skip.textContent = words.skip;
    this.skip.hidden = last;
    this.next.textContent = last ? words.done : words.next;
    this.box.showPopover?.();
    this.put();
    clearInterval(this.timer);
    this.timer = setInterval(() => this.put(), EVERY_MS);
    const idle = document.activeElement === document.body || this.hasFocus;
    if (idle) this.next.focus({ preventScroll: true });
  }

  get hasFocus() {
    return this.box.contains(this.box.getRootNode().activeElement);
  }

  /** Stand beside the target; out of the way while it is not on the screen. */
  put() {
    if (!this.isOpen) return;
    if (document.querySelector(MENU)) return void this.end(); // whoever opens a menu is on the way already
    const { at, sides } = this.data.steps[this.at];
    const target = find(at)?.getBoundingClientRect();
    const size = { width: this.box.offsetWidth, height: this.box.offsetHeight };
    const found = target && place(target, size, sides, { width: innerWidth, height: innerHeight });
    this.box.classList.toggle("away", !found);
    if (!found) return;
    this.box.dataset.side = found.side;
    this.box.style.left = `${found.left}px`;
    this.box.style.top = `${found.top}px`;
    const middle = (target.left + target.right) / 2 - found.left;
    this.box.style.setProperty("--toward", `${Math.min(Math.max(16, middle), size.width - 16)}px`);
  }

  /** Whoever does what the pop-over is about has understood it. */
  done(event) {
    if (!this.isOpen) return;
    const target = find(this.data.steps[this.at].at);
    if (target && event.composedPath().includes(target)) this.go(this.at + 1);
  }

  end() {
    const target = this.hasFocus ? find(this.data.steps[Math.max(0, this.at)].at) : null;
    this.close();
    target?.focus?.();
    remember();
  }

  close() {
    clearTimeout(this.waiting);
    clearInterval(this.timer);
    this.at = -1;
    if (this.box.matches(":popover-open")) this.box.hidePopover();
  }

  /** The page is left: what was shown counts as seen. */
  destroy() {
    if (this.isOpen) remember();
    this.close();
    this.stopped.abort();
    this.box.remove();
  }
}

export default function ({ data, parentElement }) {
  if (!data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Tour(parentElement));
  const tour = instances.get(parentElement);
  tour.update(data);
  return () => {
    // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
    if (parentElement.isConnected) return;
    tour.destroy();
    instances.delete(parentElement);
  };
}
