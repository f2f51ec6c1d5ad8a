// Moves of a range input over the index of a list of values: the page follows them while the thumb is dragged.
//
// Events of the root bubble and pass out of a shadow root; `detail` is
//   dpviz:moving         {slider, index, number, wait}: at once; `wait(promise)` holds the next one back until there is
//                        an answer, at most AHEAD_MS
//   dpviz:moved          [index, number]: when the page shall follow

import { cancelParam, setParamSoon } from "./live_address.js";
import { isPageBusy } from "./elements.js";
import { nearestIndex, tell } from "./kit.js";

const SEND_MS = 40; // at most one message in this time ...
const ANSWER_MS = 400; // ... and only one without an answer, unless the answer takes longer than this
const AHEAD_MS = 600; // how long the page waits for a picture that comes ahead of it
const SETTLE_MS = 300; // of the picture, before the page follows one that came ahead: its rerun would hold the next up
const LEAVE_MS = 2500; // how long a link waits for the page
const PATIENCE = 5; // such rests, while a button is held down
const AGAIN_MS = 800; // until a page at rest hears a move again: Streamlit drops one that comes with another part's message
const AGAIN = 5; // such messages
const CARRIED_MS = 60_000; // how long a move waits for a page with its slider
const pointer = { watched: false, pressed: false };
const all = /** @type {Set<Moves>} */ (new Set());
const held = { link: /** @type {HTMLElement | null} */ (null), opens: false };
// Moves that the page of before has not answered, by the slider's key.
const carried = /** @type {Map<string, { value: number, until: number }>} */ (new Map());

/** A rerun between press and release takes the click away from the button below. */
function watchPointer() {
  if (pointer.watched) return;
  pointer.watched = true;
  for (const type of ["pointerdown", "pointerup", "pointercancel"]) {
    document.addEventListener(type, () => { pointer.pressed = type === "pointerdown"; }, { capture: true });
  }
  document.addEventListener("click", holdLink, { capture: true });
  window.addEventListener("popstate", () => { for (const moves of all) moves.carry(); }, { capture: true });
}

/** Follow a link once the page has followed the last move. The message of a page that is left would lead back to it. @param {MouseEvent} event */
function holdLink(event) {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const late = [...all].filter((moves) => moves.isUnsent || !moves.isAnswered);
  if (!(link instanceof HTMLAnchorElement) || link.target === "_blank" || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (held.opens || !late.length) return;
  event.preventDefault();
  event.stopPropagation();
  const isHeld = held.link !== null;
  held.link = link; // of several, the last
  for (const moves of late) moves.tellPage(moves.index, moves.last ?? 0);
  const end = performance.now() + LEAVE_MS;
  const open = () => {
    if (performance.now() < end && (late.some((moves) => !moves.isAnswered) || isPageBusy())) {
      setTimeout(open, SEND_MS);
      return;
    }
    held.opens = true;
    held.link?.click();
    Object.assign(held, { link: null, opens: false });
  };
  if (!isHeld) open();
}

export class Moves {
  /** @param {EventTarget} root The origin of the events @param {HTMLInputElement} input @param {() => void} show Shows where the thumb is now */
  constructor(root, input, show) {
    this.root = root;
    this.input = input;
    this.show = show;
    this.key = "";
    /** @type {number[]} */ this.values = [];
    /** @type {number | null} */ this.last = null; // number of the last move, answered when the page's data carry it
    this.told = 0; // number of the last move that the page knows of
    this.lastSent = 0;
    this.isAnswered = true;
    this.isUnsent = false;
    this.dragging = false;
    /** @type {Promise<boolean[]> | null} */ this.pictures = null; // whether each of the last move's pictures has come; null: none was asked for
    watchPointer();
    all.add(this);
    input.addEventListener("input", () => this.move());
    input.addEventListener("change", () => this.release());
    for (const type of ["pointerdown", "pointerup", "pointercancel", "blur"]) {
      input.addEventListener(type, () => { this.dragging = type === "pointerdown"; });
    }
  }

  get index() {
    return Number(this.input.value);
  }

  /**
   * Take over the page's data: its value counts once it has followed the last move.
   * @param {{ key?: string, index: number, move: number | null, values?: number[] }} data
   */
  follow({ key = "", index, move, values = [] }) {
    const isFirst = this.values.length === 0;
    Object.assign(this, { key, values });
    const isLast = this.last === null || move === this.last;
    if (isLast || move === this.told) this.isAnswered = true;
    if (isLast && this.last !== null) carried.delete(key);
    if (isLast && !this.dragging && this.index !== index) this.input.value = String(index);
    if (isFirst) this.takeCarried();
  }

  /** Take a move to the next page with this slider. A message of the page that is left would lead back to it. */
  carry() {
    const value = this.values[this.index];
    if (this.key && value !== undefined && (this.isUnsent || !this.isAnswered)) carried.set(this.key, { value, until: Date.now() + CARRIED_MS });
    this.rest();
  }

  /** Repeat the move that another page did not answer, once this page is drawn. A page can be built twice until it answers. */
  takeCarried() {
    const move = carried.get(this.key);
    if (!move || Date.now() > move.until || this.input.disabled) return;
    const index = nearestIndex(this.values, move.value);
    if (index === this.index) carried.delete(this.key);
    else queueMicrotask(() => { this.goTo(index); });
  }

  /**
   * Let the pointer choose the value at its place, anywhere on a surface.
   * @param {GlobalEventHandlers & Element} surface
   * @param {(x: number) => number} indexAt From CSS pixels in the window
   */
  grasp(surface, indexAt) {
    const take = (/** @type {PointerEvent} */ { clientX }) => this.goTo(indexAt(clientX));
    surface.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.input.disabled) return;
      this.dragging = true;
      try { surface.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
      this.input.focus({ preventScroll: true });
      take(event);
      event.preventDefault();
    });
    surface.addEventListener("pointermove", (event) => { if (this.dragging) take(event); });
    for (const type of ["pointerup", "pointercancel"]) surface.addEventListener(type, () => { if (this.dragging) this.release(); });
  }

  /** Move to another value. @param {number} index */
  goTo(index) {
    if (index === this.index) return;
    this.input.value = String(index);
    this.move();
  }

  move() {
    this.last = Math.max(Date.now(), (this.last ?? 0) + 1); // a new number for each move, also after a reload
    this.isUnsent = true;
    clearTimeout(this.resting);
    this.show();
    if (this.key) setParamSoon(this.key.replace("knob:", ""), String(this.values[this.index]));
    this.announce();
    this.sendSoon();
  }

  /** Let a picture that can come ahead of the page do so; the two would hold each other up. */
  announce() {
    const { index, last: number, key: slider } = this;
    /** @type {Promise<boolean>[]} */
    const pictures = [];
    tell(this.root, "moving", { slider, index, number, wait: (/** @type {Promise<boolean>} */ picture) => pictures.push(picture) });
    /** @type {Promise<boolean[]>} */
    const late = new Promise((resolve) => { setTimeout(resolve, AHEAD_MS, []); });
    this.pictures = pictures.length > 0 ? Promise.race([Promise.all(pictures), late]) : null;
  }

  /** The pointer or the key is up: always the last word. */
  release() {
    this.dragging = false;
    if (this.isUnsent) this.send();
  }

  sendSoon() {
    clearTimeout(this.timer);
    const waited = performance.now() - this.lastSent;
    const needed = this.isAnswered ? SEND_MS : ANSWER_MS;
    if (waited >= needed) this.send();
    else this.timer = setTimeout(() => { if (this.isUnsent) this.sendSoon(); }, Math.max(4, Math.min(SEND_MS, needed - waited)));
  }

  send() {
    clearTimeout(this.timer);
    this.isUnsent = this.isAnswered = false;
    this.lastSent = performance.now();
    const { index, pictures, last: number } = this;
    const send = () => this.tellPage(index, number ?? 0);
    if (!pictures) {
      send();
      return;
    }
    pictures.then((drawn) => {
      if (number !== this.last) return; // a later move tells
      if (drawn.length && drawn.every(Boolean)) this.sendAtRest(send);
      else send();
    });
  }

  /** Wait with the page's rerun, which would hold the next picture up, until the slider rests. @param {() => void} send */
  sendAtRest(send, patience = PATIENCE) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      // A button that was let go outside the window is never heard of again.
      if (pointer.pressed && !this.dragging && patience > 0) this.sendAtRest(send, patience - 1);
      else send();
    }, SETTLE_MS);
  }

  tellPage(/** @type {number} */ index, /** @type {number} */ number) {
    clearTimeout(this.resting);
    if (number <= this.told) return; // a later move has overtaken this one
    this.told = number;
    this.isUnsent = this.isAnswered = false;
    tell(this.root, "moved", [index, number]);
    this.tellAgain(index, number);
  }

  tellAgain(/** @type {number} */ index, /** @type {number} */ number, left = AGAIN) {
    clearTimeout(this.again);
    if (!this.key || left === 0) return;
    this.again = setTimeout(() => {
      if (this.isAnswered || this.told !== number) return;
      const isBusy = isPageBusy();
      if (!isBusy) tell(this.root, "moved", [index, number]);
      this.tellAgain(index, number, isBusy ? left : left - 1);
    }, AGAIN_MS);
  }

  /** Send nothing more of what was moved. */
  rest() {
    cancelParam();
    for (const timer of [this.timer, this.resting, this.again]) clearTimeout(timer);
    this.pictures = null;
    this.told = this.last ?? 0;
  }

  stop() {
    all.delete(this);
    this.rest();
  }
}
