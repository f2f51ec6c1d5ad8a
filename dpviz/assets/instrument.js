// The instrument: ε as the x axis of what it does. Two strips stand over the slider's track: what an attacker may guess,
// and what is lost. One line goes through both, with a number at each dot.
//
// The thumb is where the reader has moved it; ε, dots and numbers are of the picture on the screen, and in a demo, the
// thumb as well.

import { clamp, logPlaces, mix, nearestIndex, pathThrough, makeShape } from "./kit.js";
import { make, setText } from "./elements.js";
import { Marks } from "./marks.js";
import { Moves } from "./moves.js";
import { makeButton } from "./stage_parts.js";

/** @import { Band, InstrumentData, Measure, Pair, Places, StageWords } from "./stages.d.ts" */

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
const LINE = "line: median"; // the dot is this run
const DRAW_MS = 30; // until bands that come one after the other are drawn
const MAX_MOVES = 64;
const PEOPLE_ROWS = [2, 3, 4, 5];
const PERSON_PX = { width: 11, height: 29 }; // with the room around one
const SIZES = { // CSS pixels: height of a strip, between the two, over the track, under it; type of values and words; radii
  phone: { strip: 42, gap: 22, foot: 20, below: 30, value: 17, words: 13, dot: 5.5, thumb: 13 },
  low: { strip: 40, gap: 22, foot: 18, below: 30, value: 17, words: 13, dot: 5.5, thumb: 11 },
  laptop: { strip: 88, gap: 42, foot: 26, below: 50, value: 26, words: 15, dot: 7, thumb: 11 },
  large: { strip: 150, gap: 56, foot: 30, below: 62, value: 35, words: 17, dot: 8, thumb: 13 },
};
const LEAST_STRIP = 34;
const MOST_STRIP = 260;

/** Return the heights [top, bottom] of a line's parts between two x. @param {Pair[]} line @param {Pair} ends @returns {Pair[]} */
export function heightsWithin(line, [from, to]) {
  return line.slice(1).flatMap(([x, y], i) => (x < from || line[i][0] > to ? [] : [[Math.min(y, line[i][1]), Math.max(y, line[i][1])]]));
}

/**
 * Return the baseline nearest to a dot at y, between two heights, whose number crosses the `taken` heights least.
 * @param {number} y @param {Pair} room @param {number} size @param {Pair[]} taken
 */
export function freeBaseline(y, [low, high], size, taken) {
  const wanted = y + size * 0.35;
  const choices = Array.from({ length: Math.max(1, Math.ceil((high - low) / 2)) }, (_, i) => low + 2 * i);
  const costs = choices.map((at) => {
    const crossed = taken.map(([top, bottom]) => Math.max(0, Math.min(bottom, at) - Math.max(top, at - size * 0.75) + CLEAR_PX));
    return 100 * crossed.reduce((sum, each) => sum + each, 0) + Math.abs(at - wanted);
  });
  return choices[costs.indexOf(Math.min(...costs))];
}

/**
 * Return the odds at every ε, in 100: what is proved grows with ε, so that those at one place give all.
 * @param {Measure | null} risk @param {number[]} values @param {number} place
 */
export function oddsAlong(risk, values, place) {
  if (!risk) return [];
  const share = risk.value / SURE_ODDS;
  const proved = Math.log(share / Math.max(1e-16, 1 - share)) / values[place];
  return values.map((epsilon) => SURE_ODDS / (1 + Math.exp(-proved * epsilon)));
}

/**
 * Return what is expected at every ε, by the law that came with the picture at one place.
 * @param {Measure["law"] | undefined} law @param {number[]} values @param {number} place @returns {Band[]}
 */
export function expectedAlong(law, values, place) {
  if (!law?.length) return [];
  return values.map((epsilon) => {
    const times = epsilon / values[place];
    const after = clamp(law.filter(([factor]) => factor < times).length, 1, law.length - 1);
    const [[from, ...less], [to, ...more]] = [law[after - 1], law[after]];
    const share = Math.log(times / from) / Math.log(to / from); // beyond the law's ends it goes on as it does there
    const between = less.map((value, c) => (value > 0 && more[c] > 0 ? value ** (1 - share) * more[c] ** share : mix(value, more[c], share)));
    return /** @type {Band} */ (between);
  });
}

export class Instrument {
  constructor(/** @type {Element} */ parent) {
    /** @type {InstrumentData | null} */ this.data = null;
    /** @type {Band[]} */ this.bands = []; // at each value of ε, of what is lost
    /** @type {InstrumentData["bandKey"]} */ this.bandKey = undefined;
    /** @type {Map<number, number>} */ this.visited = new Map(); // index -> what was lost there
    this.place = 0; // index of the picture's ε
    /** @type {number[]} */ this.places = []; // of each value, as a share of the axis
    /** @type {StageWords | null} */ this.said = null; // the words of that picture
    this.end = true; // whether the picture shows its last step
    /** @type {number | undefined} */ this.rate = undefined; // how often attackers are right about the person under a lens
    /** @type {Map<number, number>} */ this.indexes = new Map(); // of moves, by number
    /** @type {keyof typeof SIZES} */ this.size = "laptop";
    this.height = 0;
    this.width = this.heading = NaN; // until they are measured
    this.brief = this.unaccompanied = false;
    this.playing = 0; // timer of the demo
    this.namedAt = "";
    /** @type {Pair[]} */ this.riskLine = [];
    /** @type {Pair[]} */ this.lossLine = [];
    this.riskY = this.lossY = (/** @type {number} */ value) => value;

    const id = `dpviz-instrument-${Date.now()}`;
    this.label = make("label", "unseen", "", { for: id });
    this.value = make("output", "epsilon", "", { for: id, "aria-hidden": "true" });
    this.left = make("span");
    this.right = make("span");
    const ends = make("span", "ends", [this.left, this.right], { "aria-hidden": "true" });
    this.pauseButton = makeButton("pause", "Pause the demo", () => this.rest(), { hidden: "" });
    this.head = make("div", "reading", [this.label, this.value, this.pauseButton, ends]);
    this.drawing = makeShape("svg", { "aria-hidden": "true" });
    this.thumb = makeShape("circle", { class: "thumb" });
    this.focus = makeShape("circle", { class: "focus" });
    this.input = make("input", "", "", { type: "range", min: "0", step: "1", id });
    this.marks = new Marks(id);
    this.root = make("div", "dpviz-instrument dpviz-epsilon", [this.head, this.drawing, this.input, this.marks.root, this.marks.about]);
    parent.append(this.root);
    this.moves = new Moves(this.root, this.input, () => this.show());
    this.moves.grasp(this.drawing, (x) => this.indexAt(x));
    this.root.addEventListener("dpviz:moving", ({ detail }) => {
      this.indexes.set(detail.number, detail.index);
      if (this.indexes.size > MAX_MOVES) this.indexes.delete(Math.min(...this.indexes.keys()));
    });
    for (const type of ["pointerdown", "keydown"]) this.root.addEventListener(type, () => this.rest());
    this.observer = new ResizeObserver(() => {
      this.measure();
      this.draw();
    });
    this.observer.observe(this.root);
  }

  get index() {
    return this.moves.index;
  }

  update(/** @type {InstrumentData} */ data) {
    this.data = data;
    setText(this.label, data.label);
    setText(this.left, data.left);
    setText(this.right, data.right);
    this.places = logPlaces(data.values);
    if (data.bandKey !== this.bandKey) {
      this.bandKey = data.bandKey;
      this.bands = [];
      this.visited.clear();
    }
    data.bands?.forEach((band, i) => { if (band) this.bands[i] = band; });
    this.unaccompanied = Boolean(data.unaccompanied);
    this.input.max = String(data.values.length - 1);
    if (this.marks.fill(data.marks, data.hint)) this.namedAt = "";
    this.moves.follow(data);
    this.show();
  }

  // -- What the picture says --

  /**
   * Show the words of a picture, drawn at the index-th value; `end` says whether its last step is on the screen, and
   * `rate` how often attackers are right about the person under its lens.
   * @param {StageWords | null} words @param {number} index @param {boolean} [end] @param {number} [rate]
   */
  words(words, index, end = true, rate = undefined) {
    Object.assign(this, { said: words, place: index, end, rate });
    if (words?.loss && !words.loss.law.length) this.visited.set(index, words.loss.value);
    this.draw();
  }

  /** Fill the strip of losses at one value of ε. @param {number} index @param {Band} values */
  setBand(index, values) {
    this.bands[index] = values;
    clearTimeout(this.drawingSoon);
    this.drawingSoon = setTimeout(() => this.draw(), DRAW_MS);
  }

  /** Return the index of the move with this number. @param {number} number */
  indexOf(number) {
    return this.indexes.get(number) ?? this.index;
  }

  show() {
    if (!this.data) return;
    const { index, data: { texts, spoken } } = this;
    this.input.setAttribute("aria-valuetext", spoken[index]);
    this.root.dataset.value = texts[index];
    this.root.dataset.index = String(index);
    if (this.thumb.isConnected) this.moveThumb(); // all else is of the picture
    else this.draw();
    if (this.unaccompanied) setText(this.value, `${this.symbol} = ${texts[index]}`); // the picture waits, faint
    this.marks.follow(index);
  }

  moveThumb() {
    const isLed = this.playing && !this.unaccompanied; // by the pictures of a demo
    const at = this.x(this.places[isLed ? this.place : this.index] ?? 0);
    for (const mark of [this.focus, this.thumb]) mark.setAttribute("cx", String(at));
  }

  // -- The first visit --

  /** Sweep once over ε, so that something is seen to happen; a touch ends it, and so does its button. */
  sweep(path = SWEEP) {
    const logs = this.data?.values.map(Math.log) ?? [];
    this.pauseButton.hidden = false;
    document.documentElement.dataset.dpvizPlaying = ""; // what nobody asked for is not read out
    const go = (/** @type {number} */ step) => {
      this.playing = setTimeout(() => {
        this.input.value = String(nearestIndex(logs, Math.log(path[step])));
        this.moves.move();
        if (step + 1 < path.length) go(step + 1);
        else this.playing = setTimeout(() => this.rest(), SWEEP_MS); // once the last picture is there
      }, SWEEP_MS);
    };
    go(0);
  }

  rest() {
    clearTimeout(this.playing);
    this.playing = 0;
    if (this.thumb.isConnected) this.moveThumb();
    delete document.documentElement.dataset.dpvizPlaying;
    this.pauseButton.hidden = true;
  }

  /** Return the index of the value nearest to the pointer. @param {number} clientX */
  indexAt(clientX) {
    const { left, width } = this.drawing.getBoundingClientRect();
    return nearestIndex(this.places, (clientX - left - ENDS_PX) / (width - 2 * ENDS_PX));
  }

  // -- Drawing --

  /** Fit the strips into a height, CSS pixels; a brief instrument has no words at its lines. @param {keyof typeof SIZES} size @param {number} height */
  fit(size, height, brief = false) {
    Object.assign(this, { size, height, brief });
    this.measure();
    this.draw();
  }

  /** Ask the browser for sizes only when they may have changed: after each drawing it would lay the page out for them. */
  measure() {
    this.width = this.drawing.clientWidth;
    this.heading = this.head.offsetHeight;
    this.namedAt = "";
  }

  get isPhone() {
    return this.size === "phone";
  }

  get sizes() {
    return SIZES[this.size];
  }

  get symbol() {
    return this.data?.label.includes("ρ") ? "ρ" : "ε";
  }

  /** @param {number} share Of the axis */
  x(share) {
    return ENDS_PX + share * (this.width - 2 * ENDS_PX);
  }

  draw() {
    if (Number.isNaN(this.width)) this.measure();
    const { data, width, heading, sizes, isPhone } = this;
    if (!data || !(width > 0)) return;
    const both = Boolean(this.said?.strip); // what nobody may measure has no strip, and the other one its room
    const strip = this.stripHeight(both);
    const first = isPhone ? 22 : 32; // the top of the first strip
    const second = first + (both ? strip + sizes.gap : 0);
    const track = this.said ? second + strip + sizes.foot : first; // without a picture there is nothing to say above ε
    const height = track + sizes.below;
    setText(this.value, `${this.symbol} = ${data.texts[this.place]}`);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.style.height = `${height}px`;
    this.input.style.bottom = `${sizes.below - 22}px`;
    const at = this.x(this.places[this.place]);
    const view = { at, width, strip, first, second };
    this.drawing.replaceChildren(
      ...(this.rate ? [] : [makeShape("line", { x1: at, x2: at, y1: first, y2: track, class: "here" })]),
      ...(this.said ? [...(this.rate ? this.drawPeople(view, this.said, this.rate) : this.drawRisk(view, this.said)), ...this.drawLoss(view, this.said)] : []),
      ...this.drawTrack(data, track), ...this.drawDots(view),
    );
    const named = `${width} ${track} ${isPhone} ${heading}`;
    if (named !== this.namedAt) this.placeNames(track, isPhone || this.size === "low");
    this.namedAt = named;
  }

  /** @param {boolean} both Whether there are two strips */
  stripHeight(both) {
    const { sizes, height, heading } = this;
    if (this.isPhone) return both ? sizes.strip : 2 * sizes.strip + sizes.gap;
    const room = height - heading - sizes.gap - sizes.foot - sizes.below - 34;
    return both ? clamp(room / 2, LEAST_STRIP, MOST_STRIP) : clamp(room + sizes.gap, LEAST_STRIP, 2 * MOST_STRIP);
  }

  /** Draw the odds of an attacker's guess: closed form, over all values. @param {Places} view @param {StageWords} said */
  drawRisk({ at, first: top, width, strip }, said) {
    const y = this.riskY = (/** @type {number} */ value) => top + strip - (clamp(value, COIN_ODDS, SURE_ODDS) - COIN_ODDS) / (SURE_ODDS - COIN_ODDS) * strip;
    const odds = oddsAlong(said.risk, this.data?.values ?? [], this.place);
    const line = this.riskLine = odds.map((risk, i) => /** @type {Pair} */ ([this.x(this.places[i]), y(risk)]));
    /** @type {SVGElement[]} */
    const marks = [makeShape("line", { x1: 0, x2: width, y1: y(COIN_ODDS), y2: y(COIN_ODDS), class: "rule" })];
    const question = said.risk_label ?? "Did you take part?";
    marks.push(makeShape("text", { x: 0, y: top - 12, class: "label" }, line.length ? `${question}${this.afterQuestion(question)}` : question),
      makeShape("text", { x: width, y: y(COIN_ODDS) - 6, class: "faint end" }, `coin: ${COIN_ODDS}`));
    if (line.length > 1) {
      const id = `dpviz-spent-${Math.round(width)}`;
      const area = makeShape("clipPath", { id }, [makeShape("rect", { x: 0, y: top - 8, width: Math.max(0, at), height: strip + 16 })]);
      const spent = `${pathThrough(line)}L${line[line.length - 1][0]} ${y(COIN_ODDS)}L${line[0][0]} ${y(COIN_ODDS)}Z`;
      marks.push(area,
        makeShape("path", { d: spent, class: "spent", "clip-path": `url(#${id})` }),
        makeShape("path", { d: pathThrough(line), class: "ahead" }),
        makeShape("path", { d: pathThrough(line), class: "risk", "clip-path": `url(#${id})` }));
    } else if (!this.isPhone) {
      marks.push(makeShape("text", { x: 0, y: top + strip / 2 + 4, class: "value-words" }, "no limit is proved"));
    }
    return marks;
  }

  /** Draw a hundred attackers, those first who are right about the person under the lens. @param {Places} view @param {StageWords} said @param {number} rate */
  drawPeople({ first: top, width, strip }, { risk, risk_label: asked }, rate) {
    const { value, words } = this.sizes;
    const right = Math.round(100 * rate);
    // As many rows as make them largest.
    const scales = PEOPLE_ROWS.map((n) => Math.min(width / Math.ceil(100 / n) / PERSON_PX.width, (strip - value - 8) / n / PERSON_PX.height));
    const scale = Math.max(...scales);
    const rows = PEOPLE_ROWS[scales.indexOf(scale)];
    const [across, down] = [width / Math.ceil(100 / rows), scale * PERSON_PX.height];
    const people = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from }, (_, i) => {
      const [column, row] = [Math.floor((from + i) / rows), (from + i) % rows];
      const [x, y] = [(column + 0.5) * across, top + row * down];
      const [head, body] = [3.1 * scale, 4 * scale];
      return `M${x - head} ${y + head}a${head} ${head} 0 1 0 ${2 * head} 0a${head} ${head} 0 1 0 ${-2 * head} 0`
        + `M${x - body} ${y + 22 * scale}V${y + 11 * scale}a${body} ${body} 0 0 1 ${2 * body} 0V${y + 22 * scale}Z`;
    }).join("");
    const allowed = risk ? ` ε allows ${risk.value > 99 ? "" : "at most "}${risk.text}.` : "";
    const rest = makeShape("tspan", { class: "unit-of" }, ` guess right. A coin: 50.${allowed}`);
    const who = this.isPhone || asked.length > LONG_QUESTION ? "A hundred attackers guess" : "A hundred attackers who know everyone else guess";
    const question = `${who}: ${asked[0].toLowerCase()}${asked.slice(1)}`;
    return [
      makeShape("text", { x: 0, y: top - words + 3, class: "label" }, question),
      makeShape("path", { d: people(0, right), class: "people" }),
      makeShape("path", { d: people(right, 100), class: "people wrong" }),
      makeShape("text", { x: 0, y: top + strip, class: "value" }, [rate > 0.995 ? "over 99" : String(right), rest]),
    ];
  }

  /** Return who can be right, after a question; "" where there is no room, and the number says it. @param {string} question */
  afterQuestion(question) {
    if (!this.isPhone) return " Attackers can be right";
    return question.length > LONG_QUESTION ? "" : " Can be right";
  }

  /** Draw what is lost: the middle of runs with its band, or the law that the public may expect. @param {Places} view @param {StageWords} said */
  drawLoss({ at, second: top, width, strip }, { strip: scale, loss }) {
    if (!scale) return [];
    const { sizes, isPhone } = this;
    const along = (/** @type {number} */ value) => (scale.log ? Math.log(Math.max(value, scale.low)) : value);
    const [low, high] = [along(scale.low), along(scale.high)];
    const y = this.lossY = (/** @type {number} */ value) => top + strip - clamp((along(value) - low) / (high - low), 0, 1) * strip;
    /** @type {SVGElement[]} */
    const marks = [makeShape("line", { x1: 0, x2: width, y1: top + strip, y2: top + strip, class: "rule" })];
    const isMeasured = this.bands.filter(Boolean).length > 1;
    const found = isMeasured ? this.bands : expectedAlong(loss?.law, this.data?.values ?? [], this.place);
    const known = found.map((band, i) => ({ at: this.x(this.places[i]), band })).filter(({ band }) => band);
    const line = (/** @type {number} */ c) => known.map((each) => /** @type {Pair} */ ([each.at, y(each.band[c])]));
    this.lossLine = line(1);
    if (known.length > 1) {
      marks.push(makeShape("path", { d: `${pathThrough(line(2))}${pathThrough(line(0).reverse()).replace("M", "L")}Z`, class: "band" }),
        makeShape("path", { d: pathThrough(this.lossLine), class: "middle" }));
    }
    for (const [i, value] of loss && !loss.law.length ? this.visited : []) {
      if (i !== this.place) marks.push(makeShape("circle", { cx: this.x(this.places[i]), cy: y(value), r: 2.5, class: "been" }));
    }
    marks.push(...this.nameLoss(scale.label, width, top, isMeasured && loss));
    let taken = NaN;
    for (const [value, words] of scale.lines) {
      marks.push(makeShape("line", { x1: 0, x2: width, y1: y(value), y2: y(value), class: "dashed" }));
      const isTaken = Math.abs(y(value) - taken) <= sizes.words + 2;
      const isNear = loss && Math.abs(y(value) - y(loss.value)) < sizes.value + sizes.words;
      const meets = isNear && at > width - LINE_ROOM_PX - NUMBER_ROOM_PX;
      const side = meets ? { x: 0, class: "faint" } : { x: width, class: "faint end" }; // beside the number, not under it
      if (!isPhone && !this.brief && !isTaken) marks.push(makeShape("text", { ...side, y: y(value) - 6 }, words));
      if (!isTaken) taken = y(value);
    }
    return marks;
  }

  /** Name the strip of what is lost and, if both are measured, its dot and its line. @param {string} label @param {number} width @param {number} top @param {StageWords["loss"] | false} measured */
  nameLoss(label, width, top, measured) {
    const y = top - (this.isPhone ? 6 : 12);
    const key = measured && !measured.law.length ? [makeShape("text", { x: width, y, class: "faint end" }, LINE)] : [];
    return [makeShape("text", { x: 0, y, class: "label" }, label), ...key];
  }

  drawTrack(/** @type {InstrumentData} */ { values, texts }, /** @type {number} */ y) {
    const { sizes, places } = this;
    /** @type {SVGElement[]} */
    const marks = [makeShape("line", { x1: this.x(0), x2: this.x(1), y1: y, y2: y, class: "track" })];
    for (const end of [0.1, 1, 10]) {
      const i = values.findIndex((value) => Math.abs(value / end - 1) < 1e-9);
      if (i < 0) continue;
      const x = this.x(places[i]);
      marks.push(makeShape("line", { x1: x, x2: x, y1: y - 4, y2: y + 4, class: "tick" }),
        makeShape("text", { x, y: y + sizes.thumb + 16, class: "faint middle-of" }, texts[i]));
    }
    this.thumb = makeShape("circle", { cy: y, r: sizes.thumb, class: "thumb" });
    this.focus = makeShape("circle", { cy: y, r: sizes.thumb + FOCUS_PX, class: "focus" });
    this.moveThumb();
    return [...marks, this.focus, this.thumb];
  }

  /** Draw the two dots and the numbers at them, on top of all lines. @param {Places} view */
  drawDots({ at, width, first, second, strip }) {
    const { said, sizes } = this;
    /** @type {SVGElement[]} */
    const marks = [];
    const widthOf = (/** @type {string} */ text, /** @type {string} */ unit) => text.length * sizes.value * 0.5 + unit.length * sizes.words * 0.46; // about as written
    /** @param {number} y @param {number} top @param {[string, string]} words @param {string} kind @param {Pair[]} line @param {Pair[]} [across] */
    const write = (y, top, [text, unit], kind, line, across = []) => {
      const end = at + ROOM_PX + widthOf(text, unit);
      const left = end > width && at > width / 2;
      /** @type {Pair} */
      const ends = left ? [2 * at - end, at - ROOM_PX] : [at + ROOM_PX, end];
      const free = freeBaseline(y, [top + sizes.value * 0.7, top + strip - 6], sizes.value, [...heightsWithin(line, ends), ...across]);
      return makeShape("text", { x: ends[left ? 1 : 0], y: free, class: `value ${left ? "end " : ""}${kind}` },
        [text, makeShape("tspan", { class: "unit-of" }, ` ${unit}`)]);
    };
    if (said?.risk && !this.rate) {
      const y = this.riskY(said.risk.value);
      const unit = this.afterQuestion(said.risk_label) ? "in 100" : "in 100 right";
      marks.push(makeShape("circle", { cx: at, cy: y, r: sizes.dot, class: "dot" }),
        write(y, first, [said.risk.text, unit], "risk-value", this.riskLine));
    }
    if (said?.loss && said.strip) {
      const y = this.lossY(said.loss.value);
      const when = this.end ? "" : " at the end";
      const isLong = widthOf(said.loss.text, said.strip.unit + when) > Math.max(at, width - at) - ROOM_PX;
      const name = isLong ? said.strip.short : said.strip.unit;
      const unit = `${this.isPhone || this.brief ? "" : name}${when}`; // the line's name says it
      const across = said.strip.lines.map(([value]) => /** @type {Pair} */ ([this.lossY(value), this.lossY(value)]));
      marks.push(makeShape("circle", { cx: at, cy: y, r: sizes.dot, class: "dot released" }),
        write(y, second, [said.loss.text, unit], "loss-value", this.lossLine, across));
    }
    return marks;
  }

  /** Place the names of real deployments under the track. @param {number} track @param {boolean} bare */
  placeNames(track, bare) {
    this.marks.place(this.marks.gathered.map(({ index }) => this.x(this.places[index])));
    this.marks.root.style.top = `${track + this.heading + 8}px`;
    let end = -Infinity; // of the last name that is written
    this.marks.options.forEach((option, i) => {
      const { name } = this.marks.gathered[i];
      const at = this.marks.positions[i];
      const half = (name.length * (this.size === "large" ? 7.4 : 6.4)) / 2; // about as wide as it is written
      const isShort = name.split(" ").length < 3; // a longer name is told when it is pointed at
      const fits = !bare && isShort && at - half > end + 8;
      option.classList.toggle("bare", !fits);
      if (fits) end = at + half;
    });
  }

  destroy() {
    this.rest();
    clearTimeout(this.drawingSoon);
    this.moves.stop();
    this.observer.disconnect();
    this.root.remove();
  }
}
