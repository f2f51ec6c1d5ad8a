// @ts-nocheck
// The instrument: ε as the x axis of what it does. Two strips stand over the slider's track: what an attacker may guess,
// and what is lost. One line goes through both, with a number at each dot.
//
//   import { Instrument } from "./instrument.js";
//   const instrument = new Instrument(element);
//   instrument.update(data);              // as for the slider; see dpviz/ui/controls.py
//   instrument.words(words, index);       // of the picture that has just been drawn, and the place of its ε
//   instrument.setBand(i, [low, middle, high]);
//
// The thumb is where the reader has moved it; ε, dots and numbers are of the picture on the screen, and in a demo, the
// thumb as well.

import { make, setText, SVG } from "./elements.js";
import { clamp, mix } from "./kit.js";
import { Slider } from "./slider.js";

const SWEEP = [10, 6, 3, 2, 1, 0.6, 0.4, 0.25, 0.15, 0.1, 0.1, 0.1, 0.15, 0.25, 0.4, 0.6, 1]; // ε of the first visit
const SWEEP_MS = 230; // from one to the next
const COIN_ODDS = 50; // times in 100 that a guess is right
const SURE_ODDS = 100;
const ROOM_PX = 12; // between a value and its dot
const LINE_ROOM_PX = 180; // that the words of a dashed line take, at most
const LONG_QUESTION = 24; // characters, beside which a phone has no room for more
const FOCUS_PX = 5; // from the thumb to the ring around it that has the keyboard's focus
const NUMBER_ROOM_PX = 170; // that a number takes with its unit, right of the line
const ENDS_PX = 10; // of the track, from the edges
const CLEAR_PX = 4; // between a number and a line
const SIZES = { // CSS pixels: height of a strip, between the two, over the track, under it; type of values and words; radii
  phone: { strip: 42, gap: 22, foot: 20, below: 30, value: 17, words: 13, dot: 5.5, thumb: 13 },
  low: { strip: 40, gap: 22, foot: 18, below: 30, value: 17, words: 13, dot: 5.5, thumb: 11 },
  laptop: { strip: 88, gap: 42, foot: 26, below: 50, value: 26, words: 15, dot: 7, thumb: 11 },
  large: { strip: 150, gap: 56, foot: 30, below: 62, value: 35, words: 17, dot: 8, thumb: 13 },
};
const LEAST_STRIP = 34;
const MOST_STRIP = 260;

/** An element of a drawing. */
function drawn(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

const pathOf = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** How high a line runs between two x: [[top, bottom]] of its parts there, [] where it has none. */
function heightsWithin(line, [from, to]) {
  return line.slice(1).flatMap(([x, y], i) => (x < from || line[i][0] > to ? [] : [[Math.min(y, line[i][1]), Math.max(y, line[i][1])]]));
}

/** The baseline nearest to a dot at y, between two heights, whose number crosses the `taken` heights least. */
function freeBaseline(y, [low, high], size, taken) {
  const wanted = y + size * 0.35;
  const choices = Array.from({ length: Math.max(1, Math.ceil((high - low) / 2)) }, (_, i) => low + 2 * i);
  const crossed = (at) => taken.reduce((sum, [top, bottom]) => (
    sum + Math.max(0, Math.min(bottom, at) - Math.max(top, at - size * 0.75) + CLEAR_PX)), 0);
  const cost = (at) => 100 * crossed(at) + Math.abs(at - wanted);
  return choices.reduce((best, at) => (cost(at) < cost(best) ? at : best));
}

export class Instrument extends Slider {
  build(parent) {
    this.bands = []; // at each value of ε: [low, middle, high] of what is lost
    this.visited = new Map(); // index -> what was lost there
    this.place = 0; // index of the picture's ε: `at` is the mark that the keyboard is at
    this.said = null; // the words of that picture
    this.moves = new Map(); // number of a move -> its index
    this.size = "laptop";
    this.root = make("div", "dpviz-instrument dpviz-epsilon");
    const id = `dpviz-instrument-${Date.now()}`;
    this.label = make("label", "unseen", "", { for: id });
    this.value = make("output", "epsilon", "", { for: id, "aria-hidden": "true" });
    this.left = make("span");
    this.right = make("span");
    const ends = make("span", "ends", "", { "aria-hidden": "true" });
    ends.append(this.left, this.right);
    this.pauseButton = make("button", "pause", "Pause the demo", { type: "button" });
    this.pauseButton.hidden = true;
    this.pauseButton.addEventListener("click", () => this.rest());
    const head = make("div", "reading");
    head.append(this.label, this.value, this.pauseButton, ends);
    this.drawing = drawn("svg", { "aria-hidden": "true" });
    this.input = make("input", "", "", { type: "range", min: "0", step: "1", id });
    this.marks = make("div", "marks", "", { role: "listbox", tabindex: "0" });
    this.about = make("p", "about", "", { "aria-live": "polite" });
    this.root.append(head, this.drawing, this.input, this.marks, this.about);
    parent.append(this.root);
    this.listen();
  }

  listen() {
    this.input.addEventListener("input", () => this.onInput());
    this.input.addEventListener("change", () => this.onChange());
    this.input.addEventListener("blur", () => { this.dragging = false; });
    const { drawing } = this;
    drawing.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.dragging = true;
      try { drawing.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
      this.input.focus({ preventScroll: true });
      this.pointTo(event);
      event.preventDefault();
    });
    drawing.addEventListener("pointermove", (event) => this.dragging && this.pointTo(event));
    for (const type of ["pointerup", "pointercancel"]) {
      drawing.addEventListener(type, () => { if (this.dragging) this.onChange(); });
    }
    for (const type of ["pointermove", "pointerdown"]) this.marks.addEventListener(type, (event) => this.pointAt(event));
    this.marks.addEventListener("pointerleave", () => this.tell());
    this.marks.addEventListener("keydown", (event) => this.walk(event));
    this.marks.addEventListener("focus", () => this.tell(this.gathered[this.at]));
    this.marks.addEventListener("blur", () => this.tell());
    for (const type of ["pointerdown", "keydown"]) this.root.addEventListener(type, () => this.rest());
    this.observer = new ResizeObserver(() => {
      this.measure();
      this.draw();
    });
    this.observer.observe(this.root);
  }

  write(data) {
    setText(this.label, data.label);
    setText(this.left, data.left);
    setText(this.right, data.right);
    const logs = data.values.map(Math.log);
    const [first, last] = [logs[0], logs[logs.length - 1]];
    this.places = logs.map((log) => (last > first ? (log - first) / (last - first) : 0.5));
    if (data.bandKey !== this.bandKey) {
      this.bandKey = data.bandKey;
      this.bands = [];
      this.visited.clear();
    }
    data.bands?.forEach((band, i) => { if (band) this.bands[i] = band; });
  }

  // -- What the picture says --

  /** Show the words of a picture, drawn at the index-th value; `end` says whether its last step is on the screen. */
  words(words, index, end = true) {
    this.said = words;
    this.place = index;
    this.end = end;
    if (words?.loss && !words.loss.law.length) this.visited.set(index, words.loss.value);
    this.draw();
  }

  /** Fill the strip of losses at one value of ε. */
  setBand(index, values) {
    this.bands[index] = values;
    clearTimeout(this.drawingSoon);
    this.drawingSoon = setTimeout(() => this.draw(), 30);
  }

  /** The index of the move with this number. */
  indexOf(number) {
    return this.moves.get(number) ?? this.index;
  }

  announce() {
    this.moves.set(this.lastMove, this.index);
    if (this.moves.size > 64) this.moves.delete(this.moves.keys().next().value);
    super.announce();
  }

  show() {
    const { texts, spoken } = this.data;
    this.input.setAttribute("aria-valuetext", spoken[this.index]);
    this.root.dataset.value = texts[this.index];
    this.root.dataset.index = String(this.index);
    if (this.thumb) this.moveThumb(); // all else is of the picture
    else this.draw();
    if (this.unaccompanied) setText(this.value, `${this.symbol} = ${texts[this.index]}`); // the picture waits, faint
    this.tell();
  }

  moveThumb() {
    const isLed = this.playing && !this.unaccompanied; // by the pictures of a demo
    const at = this.places[isLed ? this.place : this.index] ?? 0;
    for (const mark of [this.focus, this.thumb]) mark.setAttribute("cx", this.x(at));
  }

  // -- The first visit --

  /** Sweep once over ε, so that something is seen to happen; a touch ends it, and so does its button. */
  sweep(path = SWEEP) {
    const { values } = this.data;
    const nearest = (epsilon) => values.reduce((best, value, i) => (
      Math.abs(Math.log(value / epsilon)) < Math.abs(Math.log(values[best] / epsilon)) ? i : best), 0);
    this.pauseButton.hidden = false;
    document.documentElement.dataset.dpvizPlaying = ""; // what nobody asked for is not read out
    const go = (step) => {
      this.playing = setTimeout(() => {
        this.input.value = String(nearest(path[step]));
        this.onInput();
        if (step + 1 < path.length) go(step + 1);
        else this.playing = setTimeout(() => this.rest(), SWEEP_MS); // once the last picture is there
      }, SWEEP_MS);
    };
    go(0);
  }

  rest() {
    clearTimeout(this.playing);
    this.playing = 0;
    if (this.thumb) this.moveThumb();
    delete document.documentElement.dataset.dpvizPlaying;
    this.pauseButton.hidden = true;
  }

  // -- Pointer --

  /** Move to the value nearest to the pointer. */
  pointTo(event) {
    const box = this.drawing.getBoundingClientRect();
    const t = (event.clientX - box.left - ENDS_PX) / (box.width - 2 * ENDS_PX);
    const index = this.places.reduce((best, place, i) => (Math.abs(place - t) < Math.abs(this.places[best] - t) ? i : best), 0);
    if (index === this.index) return;
    this.input.value = String(index);
    this.onInput();
  }

  // -- Drawing --

  /** Fit the strips into a height, CSS pixels; a brief instrument has no words at its lines. */
  fit(size, height, brief = false) {
    this.size = size;
    this.height = height;
    this.brief = brief;
    this.measure();
    this.draw();
  }

  /** Ask the browser for sizes only when they may have changed: after each drawing it would lay the page out for them. */
  measure() {
    this.width = this.drawing.clientWidth;
    this.heading = this.value.parentElement.offsetHeight;
    this.namedAt = "";
  }

  draw() {
    if (this.width === undefined) this.measure();
    const { width, heading } = this;
    if (!this.data || !(width > 0)) return;
    const sizes = SIZES[this.size];
    const { places, data: { texts } } = this;
    const phone = this.size === "phone";
    const rest = sizes.gap + sizes.foot + sizes.below + 34;
    const both = Boolean(this.said?.strip); // what nobody may measure has no strip, and the other one its room
    const room = (this.height ?? 0) - heading - rest + (both ? 0 : sizes.gap);
    const strip = phone ? (both ? sizes.strip : 2 * sizes.strip + sizes.gap) : clamp(room / (both ? 2 : 1), LEAST_STRIP, both ? MOST_STRIP : 2 * MOST_STRIP);
    const x = this.x = (t) => ENDS_PX + t * (width - 2 * ENDS_PX);
    const first = phone ? 22 : 32; // the top of the first strip
    const second = first + (both ? strip + sizes.gap : 0);
    const track = this.said ? second + strip + sizes.foot : first; // without a picture there is nothing to say above ε
    const height = track + sizes.below;
    setText(this.value, `${this.symbol} = ${texts[this.place]}`);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.style.height = `${height}px`;
    Object.assign(this.input.style, { bottom: `${sizes.below - 22}px` });
    const at = x(places[this.place]);
    const view = { x, at, width, strip, sizes, phone };
    this.drawing.replaceChildren(
      drawn("line", { x1: at, x2: at, y1: first, y2: track, class: "here" }),
      ...(this.said ? [...this.risk({ ...view, top: first }), ...this.loss({ ...view, top: second })] : []),
      ...this.track({ ...view, y: track }), ...this.dots(view, first, second),
    );
    const named = `${width} ${track} ${phone} ${heading}`;
    if (named !== this.namedAt) this.placeNames(x, track, phone || this.size === "low");
    this.namedAt = named;
  }

  get symbol() {
    return this.data.label.includes("ρ") ? "ρ" : "ε";
  }

  /** What an attacker may guess: closed form, over all values. */
  risk({ x, at, top, width, strip, sizes, phone }) {
    const y = (value) => top + strip - (clamp(value, COIN_ODDS, SURE_ODDS) - COIN_ODDS) / (SURE_ODDS - COIN_ODDS) * strip;
    this.riskY = y;
    const line = this.riskLine = this.law(this.said.risk).map((risk, i) => [x(this.places[i]), y(risk)]);
    const marks = [drawn("line", { x1: 0, x2: width, y1: y(COIN_ODDS), y2: y(COIN_ODDS), class: "rule" })];
    const question = this.said.risk_label ?? "Did you take part?";
    marks.push(drawn("text", { x: 0, y: top - 12, class: "label" }, line.length ? `${question}${this.guessed(question)}` : question));
    marks.push(drawn("text", { x: width, y: y(COIN_ODDS) - 6, class: "faint end" }, `coin: ${COIN_ODDS}`));
    if (line.length > 1) {
      const clip = `dpviz-spent-${Math.round(width)}`;
      const area = drawn("clipPath", { id: clip });
      area.append(drawn("rect", { x: 0, y: top - 8, width: Math.max(0, at), height: strip + 16 }));
      const [first, last] = [line[0], line[line.length - 1]];
      marks.push(area,
        drawn("path", { d: `${pathOf(line)}L${last[0]} ${y(COIN_ODDS)}L${first[0]} ${y(COIN_ODDS)}Z`, class: "spent", "clip-path": `url(#${clip})` }),
        drawn("path", { d: pathOf(line), class: "ahead" }),
        drawn("path", { d: pathOf(line), class: "risk", "clip-path": `url(#${clip})` }));
    } else if (!phone) {
      marks.push(drawn("text", { x: 0, y: top + strip / 2 + 4, class: "value-words" }, "no limit is proved"));
    }
    return marks;
  }

  /** Who is right at most, after a question; "" where there is no room, and the number says it. */
  guessed(question) {
    if (this.size !== "phone") return " Attackers guess right at most";
    return question.length > LONG_QUESTION ? "" : " Right at most";
  }

  /** The odds at every value of ε: what is proved grows with ε, so that one of them says all. */
  law(risk) {
    if (!risk) return [];
    const { values } = this.data;
    const share = risk.value / SURE_ODDS;
    const proved = Math.log(share / Math.max(1e-16, 1 - share)) / values[this.place];
    return values.map((epsilon) => SURE_ODDS / (1 + Math.exp(-proved * epsilon)));
  }

  /** What is lost: the middle of runs with its band, or the law that the public may expect. */
  loss({ x, at, top, width, strip, sizes, phone }) {
    const words = this.said;
    const scale = words?.strip;
    if (!scale) return [];
    const along = scale.log ? (value) => Math.log(Math.max(value, scale.low)) : (value) => value;
    const [low, high] = [along(scale.low), along(scale.high)];
    const y = (value) => top + strip - clamp((along(value) - low) / (high - low), 0, 1) * strip;
    this.lossY = y;
    const marks = [drawn("line", { x1: 0, x2: width, y1: top + strip, y2: top + strip, class: "rule" })];
    const found = this.bands.filter(Boolean).length > 1 ? this.bands : this.expected(words.loss?.law);
    const known = found.map((band, i) => band && [x(this.places[i]), ...band]).filter(Boolean);
    this.lossLine = known.map(([px, , middle]) => [px, y(middle)]);
    if (known.length > 1) {
      const [upper, lower] = [known.map(([px, , , most]) => [px, y(most)]), known.map(([px, least]) => [px, y(least)])];
      marks.push(drawn("path", { d: `${pathOf(upper)}${pathOf(lower.reverse()).replace("M", "L")}Z`, class: "band" }),
        drawn("path", { d: pathOf(this.lossLine), class: "middle" }));
    }
    if (words.loss && !words.loss.law.length) {
      for (const [i, value] of this.visited) if (i !== this.place) marks.push(drawn("circle", { cx: x(this.places[i]), cy: y(value), r: 2.5, class: "been" }));
    }
    marks.push(drawn("text", { x: 0, y: top - (phone ? 6 : 12), class: "label" }, scale.label));
    let taken = null;
    for (const [value, line] of scale.lines) {
      marks.push(drawn("line", { x1: 0, x2: width, y1: y(value), y2: y(value), class: "dashed" }));
      const free = taken === null || Math.abs(y(value) - taken) > sizes.words + 2;
      const near = words.loss && Math.abs(y(value) - y(words.loss.value)) < sizes.value + sizes.words;
      const meets = near && at > width - LINE_ROOM_PX - NUMBER_ROOM_PX;
      const side = meets ? { x: 0, class: "faint" } : { x: width, class: "faint end" }; // beside the number, not under it
      if (!phone && !this.brief && free) marks.push(drawn("text", { ...side, y: y(value) - 6 }, line));
      if (free) taken = y(value);
    }
    return marks;
  }

  /** What is expected at every value of ε: [low, middle, high], by the law that came with the picture. */
  expected(law) {
    if (!law?.length) return [];
    const { data: { values }, place } = this;
    return values.map((epsilon) => {
      const times = epsilon / values[place];
      const after = clamp(law.filter(([factor]) => factor < times).length, 1, law.length - 1);
      const [[from, ...less], [to, ...more]] = [law[after - 1], law[after]];
      const share = Math.log(times / from) / Math.log(to / from); // beyond the law's ends it goes on as it does there
      return less.map((value, c) => (value > 0 && more[c] > 0 ? value ** (1 - share) * more[c] ** share : mix(value, more[c], share)));
    });
  }

  track({ x, at, y, sizes, phone }) {
    const { data: { values, texts }, places } = this;
    const marks = [drawn("line", { x1: x(0), x2: x(1), y1: y, y2: y, class: "track" })];
    for (const end of [0.1, 1, 10]) {
      const i = values.findIndex((value) => Math.abs(value / end - 1) < 1e-9);
      if (i < 0) continue;
      marks.push(drawn("line", { x1: x(places[i]), x2: x(places[i]), y1: y - 4, y2: y + 4, class: "tick" }),
        drawn("text", { x: x(places[i]), y: y + sizes.thumb + 16, class: "faint middle-of" }, texts[i]));
    }
    this.thumb = drawn("circle", { cy: y, r: sizes.thumb, class: "thumb" });
    this.focus = drawn("circle", { cy: y, r: sizes.thumb + FOCUS_PX, class: "focus" });
    this.moveThumb();
    return [...marks, this.focus, this.thumb];
  }

  /** The two dots and the numbers at them, on top of all lines. */
  dots({ at, width, sizes, phone, strip }, first, second) {
    const { said } = this;
    const marks = [];
    const wide = (text, unit) => text.length * sizes.value * 0.5 + unit.length * sizes.words * 0.46; // about as written
    const write = (y, top, text, unit, kind, line, across = []) => {
      const end = at + ROOM_PX + wide(text, unit);
      const left = end > width && at > width / 2;
      const ends = left ? [2 * at - end, at - ROOM_PX] : [at + ROOM_PX, end];
      const free = freeBaseline(y, [top + sizes.value * 0.7, top + strip - 6], sizes.value, [...heightsWithin(line, ends), ...across]);
      const value = drawn("text", { x: ends[left ? 1 : 0], y: free, class: `value ${left ? "end " : ""}${kind}` }, text);
      value.append(drawn("tspan", { class: "unit-of" }, ` ${unit}`));
      return value;
    };
    if (said?.risk) {
      const y = this.riskY(said.risk.value);
      marks.push(drawn("circle", { cx: at, cy: y, r: sizes.dot, class: "dot" }),
        write(y, first, said.risk.text, this.guessed(said.risk_label) ? "in 100" : "in 100 right", "risk-value", this.riskLine));
    }
    if (said?.loss && said.strip) {
      const y = this.lossY(said.loss.value);
      const when = this.end === false ? " at the end" : "";
      const isLong = wide(said.loss.text, said.strip.unit + when) > Math.max(at, width - at) - ROOM_PX;
      const unit = `${phone || this.brief ? "" : isLong ? said.strip.short : said.strip.unit}${when}`; // the line's name says it
      marks.push(drawn("circle", { cx: at, cy: y, r: sizes.dot, class: "dot released" }),
        write(y, second, said.loss.text, unit, "loss-value", this.lossLine, said.strip.lines.map(([value]) => [this.lossY(value), this.lossY(value)])));
    }
    return marks;
  }

  // -- Names of real deployments, under the track --

  buildMarks() {
    super.buildMarks();
    this.namedAt = "";
    [...this.marks.children].forEach((option, i) => option.replaceChildren(this.gathered[i].name));
  }

  placeMarks() {} // they are placed when the track is drawn

  placeNames(x, track, bare) {
    if (!this.gathered) return;
    this.positions = this.gathered.map(({ index }) => x(this.places[index]));
    this.marks.style.top = `${track + this.heading + 8}px`;
    let end = -Infinity; // of the last name that is written
    [...this.marks.children].forEach((option, i) => {
      option.style.left = `${this.positions[i]}px`;
      const half = (option.textContent.length * (this.size === "large" ? 7.4 : 6.4)) / 2; // about as wide as it is written
      const isShort = option.textContent.split(" ").length < 3; // a longer name is told when it is pointed at
      const fits = !bare && isShort && this.positions[i] - half > end + 8;
      option.classList.toggle("bare", !fits);
      if (fits) end = this.positions[i] + half;
    });
  }

  destroy() {
    this.rest();
    clearTimeout(this.drawingSoon);
    super.destroy();
  }
}
