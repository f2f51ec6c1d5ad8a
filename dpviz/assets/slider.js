// @ts-nocheck
// The privacy slider: a native range input over the index of a list of values, told while it is dragged.
// Values, notes and marks come from the page; every text is set as text.
//
//   import { mountSlider } from "./slider.js";
//   const slider = mountSlider(element, { label: "ε", values: [0.5, 1], texts: ["0.5", "1"], marks: [], ... });
//   slider.update({ ...data, index, move });   // the page has followed the move of that number
//
// dpviz/ui/epsilon.py says what `data` holds. Its events bubble and pass out of a shadow root; `detail` is
//   dpviz:moving         {slider, index, number, wait}: at once; `wait(promise)` holds the next one back until there is
//                        an answer, at most AHEAD_MS
//   dpviz:moved          [index, number]: when the page shall follow

import { make, setText, SVG } from "./elements.js";

const SEND_MS = 40; // at most one message in this time ...
const ANSWER_MS = 400; // ... and only one without an answer, unless the answer takes longer than this
const AHEAD_MS = 600; // how long the page waits for a picture that comes ahead of it
const SETTLE_MS = 300; // of the picture, before the page follows one that came ahead: its rerun would hold the next up
const PATIENCE = 5; // such rests, while a button is held down
const THUMB_PX = 18;
const MARK_PX = 11; // a mark's width: closer ones stand in another lane
const LANE_PX = 10;
const REACH_PX = 16; // how near to a mark the pointer must be
const TARGET_PX = 24; // least height of what can be pressed
const WALK = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity };

let count = 0; // for ids

// A rerun between press and release takes the click away from the button below.
let pressed = false;
document.addEventListener("pointerdown", () => { pressed = true; }, { capture: true });
for (const type of ["pointerup", "pointercancel"]) {
  document.addEventListener(type, () => { pressed = false; }, { capture: true });
}

/** Lanes for marks at these x positions so that no two in one lane overlap. */
export function lanesOf(positions, width) {
  const ends = [];
  return positions.map((x) => {
    let lane = ends.findIndex((end) => x - end >= width);
    if (lane < 0) lane = ends.length;
    ends[lane] = x;
    return lane;
  });
}

/** Marks of one index become one. */
export function gather(marks) {
  const byIndex = new Map();
  for (const mark of marks) byIndex.set(mark.index, [...(byIndex.get(mark.index) ?? []), mark]);
  return [...byIndex].sort(([a], [b]) => a - b).map(([index, all]) => ({
    index,
    name: all.map(({ name }) => name).join(", "),
    text: all.map(({ name, value, description }) => `${name}, ${value}: ${description}`).join(" "),
  }));
}

function triangle() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 10 8", width: 10, height: 8, "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", "M5 0.5L9.5 7.5H0.5Z");
  svg.append(path);
  return svg;
}

export class Slider {
  constructor(parent) {
    this.data = null;
    this.lastMove = null; // the last move sent, answered when the page's data carry it
    this.told = 0; // number of the last move that the page knows of
    this.lastSent = 0;
    this.dragging = false;
    this.build(parent);
  }

  build(parent) {
    count += 1;
    const id = `dpviz-epsilon-${count}`;
    this.root = make("div", "dpviz-epsilon");
    this.label = make("label", "label", "", { for: id });
    this.helpButton = make("button", "help", "", { type: "button", "aria-expanded": "false", "aria-label": "What is this?" });
    this.helpButton.textContent = "?";
    this.value = make("output", "value", "", { for: id, "aria-hidden": "true" });
    const head = make("div", "head");
    head.append(this.label, this.helpButton, this.value);
    this.help = make("p", "help-text");
    this.help.hidden = true;
    this.input = make("input", "", "", { type: "range", min: "0", step: "1", id });
    this.marks = make("div", "marks", "", { role: "listbox", tabindex: "0" });
    this.left = make("span");
    this.right = make("span");
    const ends = make("div", "ends");
    ends.append(this.left, this.right);
    this.note = make("p", "note");
    this.about = make("p", "about", "", { "aria-live": "polite" });
    const track = make("div", "track");
    track.append(this.input, this.marks, ends, this.about);
    const line = make("div", "line");
    line.append(head, track, this.note);
    this.root.append(line, this.help);
    parent.append(this.root);
    this.input.addEventListener("input", () => this.onInput());
    this.input.addEventListener("change", () => this.onChange());
    this.input.addEventListener("pointerdown", () => { this.dragging = true; });
    for (const type of ["pointermove", "pointerdown"]) this.marks.addEventListener(type, (event) => this.pointAt(event));
    this.marks.addEventListener("pointerleave", () => this.tell());
    this.marks.addEventListener("keydown", (event) => this.walk(event));
    this.marks.addEventListener("focus", () => this.tell(this.gathered[this.at]));
    this.marks.addEventListener("blur", () => this.tell());
    for (const type of ["pointerup", "pointercancel", "blur"]) {
      this.input.addEventListener(type, () => { this.dragging = false; });
    }
    this.helpButton.addEventListener("click", () => {
      this.help.hidden = !this.help.hidden;
      this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
    });
    this.observer = new ResizeObserver(() => this.placeMarks());
    this.observer.observe(this.root);
  }

  /** Write what does not change while the slider moves. */
  write(data) {
    setText(this.label, data.label);
    setText(this.left, data.left);
    setText(this.right, data.right);
    setText(this.help, data.help);
    this.helpButton.hidden = data.help === "";
    this.note.hidden = data.notes.length === 0;
  }

  /** Show what the page says now. */
  update(data) {
    const before = this.data;
    this.data = data;
    this.write(data);
    this.input.max = String(data.values.length - 1);
    if (JSON.stringify(before?.marks) !== JSON.stringify(data.marks)) this.buildMarks();
    const answered = this.lastMove === null || data.move === this.lastMove;
    if (answered && !this.dragging) this.put(data.index);
    else this.show();
    if (answered || data.move === this.told) this.answered = true;
  }

  get index() {
    return Number(this.input.value);
  }

  put(index) {
    if (this.index !== index) this.input.value = String(index);
    this.show();
  }

  show() {
    const { texts, notes, spoken, values } = this.data;
    const { index } = this;
    setText(this.value, texts[index]);
    setText(this.note, notes[index] ?? "");
    this.input.setAttribute("aria-valuetext", spoken[index]);
    this.input.style.setProperty("--done", `${(100 * index) / Math.max(1, values.length - 1)}%`);
    this.root.dataset.value = texts[index];
    this.root.dataset.index = String(index);
    this.tell();
  }

  // -- Sending --

  onInput() {
    this.show();
    this.lastMove = Math.max(Date.now(), (this.lastMove ?? 0) + 1); // a new number for each move, also after a reload
    this.unsent = true;
    clearTimeout(this.resting);
    this.announce();
    this.sendSoon();
  }

  /** Let a picture that can come ahead of the page do so; the two would hold each other up. */
  announce() {
    const { index, lastMove: number, data: { key: slider } } = this;
    const pictures = [];
    const detail = { slider, index, number, wait: (picture) => pictures.push(picture) };
    this.emit("moving", detail);
    const late = new Promise((resolve) => { setTimeout(resolve, AHEAD_MS, []); });
    this.pictures = pictures.length > 0 ? Promise.race([Promise.all(pictures), late]) : null;
  }

  emit(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
  }

  onChange() { // released, or a key: always the last word
    this.dragging = false;
    if (this.unsent) this.send();
  }

  sendSoon() {
    clearTimeout(this.timer);
    const waited = performance.now() - this.lastSent;
    const needed = this.answered === false ? ANSWER_MS : SEND_MS;
    if (waited >= needed) this.send();
    else this.timer = setTimeout(() => this.unsent && this.sendSoon(), Math.max(4, Math.min(SEND_MS, needed - waited)));
  }

  send() {
    clearTimeout(this.timer);
    this.unsent = false;
    this.answered = false;
    this.lastSent = performance.now();
    const { index, lastMove: number, pictures } = this;
    const tell = () => this.tellPage(index, number);
    if (!pictures) return void tell();
    pictures.then((drawn) => {
      if (number < this.lastMove) return; // a later move tells
      if (drawn.length && drawn.every(Boolean)) this.tellAtRest(tell);
      else tell();
    });
  }

  /** Wait with the page's rerun, which would hold the next picture up, until the slider rests. */
  tellAtRest(tell, patience = PATIENCE) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      // A button that was let go outside the window is never heard of again.
      if (pressed && !this.dragging && patience > 0) this.tellAtRest(tell, patience - 1);
      else tell();
    }, SETTLE_MS);
  }

  tellPage(index, number) {
    clearTimeout(this.resting);
    if (number <= this.told) return; // a later move has overtaken this one
    this.told = number;
    this.emit("moved", [index, number]);
  }

  // -- Marks of real deployments --

  buildMarks() {
    this.gathered = gather(this.data.marks);
    this.at = 0; // of the mark that the keyboard is at
    this.marks.replaceChildren(...this.gathered.map((mark, i) => {
      const option = make("span", "mark", "", { role: "option", id: `${this.input.id}-mark-${i}`, "aria-label": mark.text });
      option.append(triangle());
      return option;
    }));
    this.marks.hidden = this.about.hidden = this.gathered.length === 0;
    this.marks.title = this.data.hint;
    this.marks.setAttribute("aria-label", this.data.hint);
    this.placeMarks();
  }

  placeMarks() {
    if (!this.gathered) return;
    const room = this.input.clientWidth - THUMB_PX;
    const last = Math.max(1, this.data.values.length - 1);
    const positions = this.positions = this.gathered.map(({ index }) => THUMB_PX / 2 + (index / last) * room);
    const lanes = lanesOf(positions, MARK_PX);
    [...this.marks.children].forEach((option, i) => {
      option.style.left = `${positions[i]}px`;
      option.style.top = `${lanes[i] * LANE_PX}px`;
    });
    const needed = 6 + LANE_PX * (1 + Math.max(0, ...lanes));
    this.marks.style.height = `${Math.max(TARGET_PX, needed)}px`;
    this.marks.style.marginBottom = `${Math.min(0, needed - TARGET_PX)}px`; // over the ends' words, between them
  }

  /** Go from mark to mark by the arrow keys. */
  walk(event) {
    const by = WALK[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.at = Math.max(0, Math.min(this.at + by, this.gathered.length - 1));
    this.tell(this.gathered[this.at]);
  }

  /** The mark nearest to the pointer, anywhere along the strip: the triangles are small. */
  pointAt(event) {
    const x = event.clientX - this.marks.getBoundingClientRect().left;
    const distances = this.positions.map((position) => Math.abs(position - x));
    const near = Math.min(...distances);
    this.tell(near <= REACH_PX ? this.gathered[distances.indexOf(near)] : null);
  }

  /** What is said of the marks, seen while one is pointed at: that one, else the thumb's, else what they are. */
  tell(mark = null) {
    if (!this.gathered?.length) return;
    const here = mark ?? this.gathered.find(({ index }) => index === this.index);
    [...this.marks.children].forEach((option, i) => {
      option.classList.toggle("told", this.gathered[i] === here);
      option.setAttribute("aria-selected", String(this.gathered[i] === mark));
    });
    if (mark) this.marks.setAttribute("aria-activedescendant", this.marks.children[this.gathered.indexOf(mark)].id);
    setText(this.about, here ? here.text : this.data.hint);
    this.about.classList.toggle("pointed", mark !== null);
  }

  destroy() {
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    this.observer.disconnect();
    this.root.remove();
  }
}

/** Draw the slider below an element; see the top of this file. */
export function mountSlider(element, data) {
  const slider = new Slider(element);
  slider.update(data);
  return slider;
}
