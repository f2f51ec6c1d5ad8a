// Compare's chart: a line for each method over the axis of ε, which is the slider, or the one law that is public.

import { clamp, logPlaces, pathThrough, makeShape } from "./kit.js";

/** @import { Card, CompareData, CompareView, Pair, Stop } from "./stages.d.ts" */

const TICKS = [1, 1.2, 1.5, 2, 3, 5, 10, 20, 30];
const CLOSE_PX = 19; // between two names
const TRACK_PX = 14; // from the chart's foot to the slider's track
const WORDS_PX = 41; // from there to the axis' words, clear of the thumb
const BRACKET_PX = 56;
const MIDDLE = { "dominant-baseline": "middle" };

/** @param {{ short: string }} map */
export const brief = ({ short }) => short.replace("as published", "publ.");
/** @param {{ hue: number }} map */
export const hueOf = ({ hue }) => `var(--h${hue % 10})`;
/** @param {Card} card @returns {Stop[]} */
const stopsOf = ({ map }) => map.line.filter((stop) => stop !== null);

export class CompareChart {
  constructor(/** @type {CompareView} */ view) {
    this.view = view;
    this.svg = makeShape("svg", { "aria-hidden": "true" });
    this.still = makeShape("g");
    this.moving = makeShape("g");
    this.svg.append(this.still, this.moving);
    /** @type {Set<string>} */ this.arrived = new Set(); // methods whose line has been drawn
    this.clips = 0;
    /** @type {Pair[]} */ this.law = [];
    this.width = this.height = this.left = this.right = this.top = this.bottom = this.size = 0;
  }

  /** @template {keyof SVGElementTagNameMap} Tag @param {Tag} tag @param {Record<string, string | number>} attributes @param {Element} [parent] */
  add(tag, attributes, text = "", parent = this.still) {
    const element = makeShape(tag, attributes, text);
    parent.append(element);
    return element;
  }

  /** Draw a level line. @param {number} y @param {string} name @param {Pair} [ends] */
  addRule(y, name, [from, to] = [this.left, this.width - this.right]) {
    this.add("line", { x1: from, x2: to, y1: y, y2: y, class: name });
  }

  /** Write at the right of a level line. @param {number} y @param {string} words */
  addTick(y, words) {
    this.add("text", { x: this.width - this.right + 8, y, ...MIDDLE, class: "f", "font-size": this.size - 0.5 }, words);
  }

  /** Return the place of an ε on the axis, as a share of it. @param {number} epsilon */
  share(epsilon) {
    const { epsilons } = this.view.data;
    return logPlaces([epsilons[0], epsilon, epsilons[epsilons.length - 1]])[1];
  }

  /** @param {number} share Of the axis */
  x(share) {
    return this.left + 12 + share * (this.width - this.left - this.right - 24);
  }

  at(/** @type {number} */ epsilon) {
    return this.x(this.share(epsilon));
  }

  y(/** @type {number} */ share) {
    return this.bottom - clamp(share, 0, 3) * (this.bottom - this.top);
  }

  /** @param {number | null | undefined} value × without privacy */
  cost(value) {
    return this.y(Math.log(Math.max(value ?? Infinity, 1)) / Math.log(this.view.data.top));
  }

  /** @param {number | null} value Times in 100 */
  chance(value) {
    return this.y(((value ?? 100) - 50) / 50);
  }

  get isPhone() {
    return this.view.phone;
  }

  get typeSize() {
    if (this.isPhone) return 12.5;
    if (this.view.names) return 18;
    return this.view.large ? 16 : 14;
  }

  measure() {
    const { isPhone } = this;
    const { clientWidth: width, clientHeight: height } = this.svg;
    const [left, right] = this.view.large ? [176, 56] : [152, 48];
    Object.assign(this, { width, height, size: this.typeSize, top: isPhone ? 40 : 30, bottom: height - (isPhone ? 62 : 70) },
      isPhone ? { left: 4, right: 30 } : { left, right });
    return width > 0;
  }

  /** Draw what does not move with ε, and put the slider's input over the track. @param {HTMLInputElement} input */
  draw(input) {
    this.still.replaceChildren();
    if (!this.measure()) return;
    const { bottom, isPhone, size } = this;
    if (this.view.data.public) this.drawLaw();
    else this.drawCosts();
    const track = bottom + TRACK_PX;
    const [start, end] = [this.x(0), this.x(1)];
    this.addRule(track, "track", [start, end]);
    this.add("text", isPhone ? { x: start - 4, y: bottom + WORDS_PX, class: "k" } : { x: start - 16, y: track, "text-anchor": "end", ...MIDDLE, class: "k" }, "ε");
    for (const value of [0.1, 1, 10]) {
      const share = this.share(value);
      if (share < -1e-9 || share > 1 + 1e-9) continue;
      this.add("line", { x1: this.x(share), x2: this.x(share), y1: track - 4, y2: track + 4, class: "tick" });
      this.add("text", { x: this.x(share), y: bottom + WORDS_PX, "text-anchor": "middle", class: "f halo", "font-size": size }, String(value));
    }
    Object.assign(input.style, { bottom: `${this.height - track - (isPhone ? 24 : 20)}px`, left: `${start - 11}px`, width: `${end - start + 22}px` });
  }

  drawCosts() {
    const { left, right, width, bottom, top, size, isPhone, view: { data, cards, pick } } = this;
    const id = `dpviz-compare-${this.clips += 1}`;
    this.add("rect", { x: left, y: top, width: width - left - right, height: bottom - top + 3 }, "", this.add("clipPath", { id }));
    for (const value of TICKS.filter((tick) => tick <= data.top && (tick !== 1.2 || data.top < 3))) {
      this.addRule(this.cost(value), "rule");
      if (value !== 1.5 || data.top < 3) this.addTick(this.cost(value), `${value}×`); // else a line without words
    }
    this.add("text", { x: width - right, y: 12, "text-anchor": "end", class: "k", "font-size": size + 0.5 },
      isPhone ? "Cost, × without privacy" : "Cost, × without privacy; lines: typical, dots: runs drawn here");
    if (data.no_data !== null && data.no_data <= data.top) {
      const y = this.cost(data.no_data);
      this.addRule(y, "no-data");
      if (!isPhone) this.add("text", { x: width - right, y: y - 7, "text-anchor": "end", class: "f halo", "font-size": size - 0.5 }, "blind guess");
    }
    const drawn = [...cards].reverse().filter((card) => stopsOf(card).length > 0);
    const lines = [...drawn.filter(({ key }) => key !== pick), ...drawn.filter(({ key }) => key === pick)];
    const group = this.add("g", { "clip-path": `url(#${id})`, class: "lines" });
    for (const card of lines) {
      const isPicked = card.key === pick;
      if (isPhone && !isPicked) continue;
      const edges = [...this.line(card, 3), ...this.line(card, 1).reverse()];
      this.add("path", { d: `${pathThrough(edges)}Z`, style: `fill: ${hueOf(card.map)}`, opacity: isPicked ? 0.2 : 0.05 }, "", group);
    }
    for (const card of lines) {
      const look = `line${card.key === pick ? " picked" : ""}${this.arrived.has(card.key) ? "" : " arriving"}`;
      this.arrived.add(card.key);
      const dashes = card.map.proved ? "none" : "7 4";
      this.add("path", { d: pathThrough(this.line(card, 2)), class: look, "stroke-dasharray": dashes, style: `stroke: ${hueOf(card.map)}` }, "", group);
    }
    if (!isPhone) this.drawNames(lines);
    this.drawSmallest();
  }

  /** Return the points of a method's line: 1 and 3 are the ends of its band. @param {Card} card @param {1 | 2 | 3} c */
  line(card, c) {
    return stopsOf(card).map((stop) => /** @type {Pair} */ ([this.at(stop[0]), this.cost(stop[c])]));
  }

  /** Write names at the left, where the lines part. @param {Card[]} cards */
  drawNames(cards) {
    const { left, bottom, top } = this;
    const names = cards.map((card) => ({ card, want: this.line(card, 2)[0][1], y: 0 })).sort((a, b) => a.want - b.want);
    const close = Math.max(CLOSE_PX, this.view.names);
    let before = top - 4 - close;
    for (const name of names) before = name.y = Math.max(name.want, before + close);
    for (const { card, want, y } of names) {
      const hue = hueOf(card.map);
      this.add("path", { d: `M${left - 4} ${y}L${this.x(0) - 3} ${clamp(want, top, bottom)}`, style: `stroke: ${hue}`, class: "lead" });
      const look = card.key === this.view.pick ? "name picked" : "name";
      const name = this.add("text", { x: left - 9, y, "text-anchor": "end", ...MIDDLE, class: look, style: `fill: ${hue}` }, brief(card.map));
      name.addEventListener("pointerdown", (event) => {
        event.stopPropagation();
        if (!this.view.data.fixed) card.button.click();
      });
    }
  }

  /** Draw the smallest ε that keeps the picked method's cost as a bracket on the axis. */
  drawSmallest() {
    const { bottom, width, size, isPhone, view: { data, cards, pick } } = this;
    const card = cards.find(({ key }) => key === pick);
    if (!card?.map.smallest) return;
    const [early, middle, late] = card.map.smallest;
    const [a, c, b] = [early, middle, late ?? data.epsilons[data.epsilons.length - 1]].map((value) => this.at(value));
    const y = bottom + BRACKET_PX;
    const hue = hueOf(card.map);
    const stroke = `stroke: ${hue}`;
    this.add("line", { x1: c, x2: c, y1: this.cost(data.most), y2: y, "stroke-dasharray": "2 3", style: stroke });
    this.add("circle", { cx: c, cy: this.cost(data.most), r: 4, class: "open", style: stroke });
    this.add("path", { d: `M${a} ${y - 6}v6H${b}${late === null ? "" : "v-6"}`, class: "bracket", style: stroke });
    this.add("circle", { cx: c, cy: y, r: 4, style: `fill: ${hue}` });
    const isRight = b + 12 < width - (isPhone ? 205 : 430);
    const place = isRight ? { x: b + 10, "text-anchor": "start" } : { x: a - 10, "text-anchor": "end" };
    const words = this.add("text", { ...place, y: y + 1, ...MIDDLE, class: "k halo", "font-size": size + (isPhone ? 0 : 1) });
    const span = (/** @type {string} */ text, style = "") => this.add("tspan", style ? { style } : {}, text, words);
    const isLeast = middle === data.epsilons[0]; // smaller ones were not tested
    span("From ε = ");
    span(isLeast ? `${middle} or less` : String(middle), "font-weight: 700; fill: var(--ink)");
    if (!isPhone && early !== late && !isLeast) span(late === null ? ` (${early} or more)` : ` (${early}–${late})`);
    if (!isPhone) span(` ${card.map.short}`, `font-weight: 650; fill: ${hue}`);
    span(isPhone ? ` typically within +${data.limit}` : ` typically costs at most ${data.limit} more`);
  }

  /** Draw what everyone may know: how often an attacker is right at most, one law for all that are proved. */
  drawLaw() {
    const { left, size, isPhone, view: { data, cards } } = this;
    for (const value of [50, 75, 100]) {
      this.addRule(this.chance(value), "rule");
      this.addTick(this.chance(value), String(value));
    }
    this.add("text", { x: left + 12, y: 12, class: "k", "font-size": size + 0.5 }, data.asked[isPhone ? 1 : 0]);
    const label = (/** @type {Card[]} */ named, /** @type {string} */ all, /** @type {number} */ y, /** @type {string} */ name) => {
      const words = named.length === 1 ? named[0].map.short : `${named.length} ${all}`;
      if (!isPhone) this.add("text", { x: left - 9, y, "text-anchor": "end", ...MIDDLE, class: name }, words);
    };
    const proved = cards.filter(({ map }) => map.proved);
    const open = cards.filter(({ map }) => !map.proved);
    if (proved.length) {
      this.law = proved[0].map.odds.map((value, i) => [this.at(data.epsilons[i]), this.chance(value)]);
      this.add("path", { d: pathThrough(this.law), class: "law" });
      label(proved, "proved methods", this.law[0][1], "name own");
    }
    if (open.length) {
      this.addRule(this.chance(100), "no-limit", [this.x(0), this.x(1)]);
      label(open, "not proved", this.chance(100), "name k");
    }
  }

  /** Draw what moves: dots and thumb at a share of the axis, and the numbers of one ε. @param {number} share @param {number} index */
  move(share, index) {
    this.moving.replaceChildren();
    if (!this.measure()) return;
    const { bottom, top, isPhone, view: { data } } = this;
    const x = this.x(share);
    this.add("line", { x1: x, x2: x, y1: data.public ? top : top - 4, y2: bottom + TRACK_PX, class: "now-line" }, "", this.moving);
    const isLate = share > (isPhone ? 0.25 : 0.6);
    if (data.public) this.moveLaw(x, index, isLate);
    else this.moveCosts(x, index, isLate);
    for (const [name, r] of /** @type {const} */ ([["focus", isPhone ? 18 : 16], ["thumb", isPhone ? 13 : 11]])) {
      this.add("circle", { cx: x, cy: bottom + TRACK_PX, r, class: name }, "", this.moving);
    }
  }

  moveLaw(/** @type {number} */ x, /** @type {number} */ index, /** @type {boolean} */ isLate) {
    const spent = this.law.filter(([at]) => at <= x + 0.5);
    if (spent.length > 1) {
      const [from, to] = [spent[0][0], spent[spent.length - 1][0]];
      this.add("path", { d: `${pathThrough(spent)}L${to} ${this.chance(50)}L${from} ${this.chance(50)}Z`, class: "spent" }, "", this.moving);
    }
    const proved = this.view.cards.find(({ map }) => map.proved);
    const odds = proved?.map.odds[index] ?? null;
    if (!proved || odds === null) return;
    const y = this.chance(odds);
    this.add("circle", { cx: x, cy: y, r: 7, class: "law-dot" }, "", this.moving);
    const isBelow = (odds > 90 || !isLate) && y + 36 < this.bottom; // not on the track
    const place = isLate ? { x: x - 14, "text-anchor": "end" } : { x: x + 14, "text-anchor": "start" };
    this.add("text", { ...place, y: y + (isBelow ? 22 : -14), ...MIDDLE, class: "law-number halo" }, proved.map.numbers[index][0], this.moving);
  }

  moveCosts(/** @type {number} */ x, /** @type {number} */ index, /** @type {boolean} */ isLate) {
    const { top, size, view: { data, cards, pick } } = this;
    const above = cards.filter(({ map }) => (map.costs[index] ?? 0) > data.top);
    if (above.length) {
      this.add("path", { d: `M${x} ${top - 13}l-6 9h12z`, style: `fill: ${hueOf(above[0].map)}` }, "", this.moving);
      const place = isLate ? { x: x - 12, "text-anchor": "end" } : { x: x + 12, "text-anchor": "start" };
      const words = this.add("text", { ...place, y: top - 8, ...MIDDLE, class: "above halo", "font-size": size }, "", this.moving);
      if (!this.isPhone) above.forEach(({ map }, i) => this.add("tspan", { style: `fill: ${hueOf(map)}`, dx: i ? 10 : 0 }, brief(map), words));
    }
    for (const { map, key } of [...cards].reverse()) {
      const value = map.costs[index] ?? null;
      if (value === null || value > data.top) continue;
      const look = { r: key === pick ? 6.5 : 5, class: "dot", style: `fill: ${hueOf(map)}` };
      this.add("circle", { cx: x, cy: this.cost(value), ...look }, "", this.moving);
    }
  }
}
