// @ts-nocheck
// Compare's stage: a small map of each method at one ε, each with its number, over one chart whose x axis is the slider.
//
// dpviz/tools/compare/stage.py says what the page sends. Everything at every ε is there, so that a move asks nobody: the
// maps glide, the numbers, the finding and the chart follow in the same frame, and the page is told when the slider
// rests (slider.js).

import { make, setText, SVG } from "./elements.js";
import { Slider } from "./slider.js";
import { lookAfterPage, shrinkOnPaper } from "./live_page.js";
import { component } from "./component.js";
import { isOthers, renew, setQuery } from "./live_address.js";

const GLIDE_MS = 200;
const GAP = 12; // CSS pixels between two maps
const MOST_COLUMNS = 8;
const PROMISE_PX = 190; // width of a map below which there is no room for two names
const PHONE = 700; // CSS pixels of width
const LOW = 480; // CSS pixels of a window's height up to which ε is docked, too
const LEAST_CHART = { phone: 260, wide: 190 }; // CSS pixels of height
const MOST_MAP = 0.37; // of the stage's height
const [LARGE, LARGE_LOW] = [1500, 900]; // CSS pixels of width and of the window's height from which type is larger
const [LEAST_MAP, CAPTION, FOOT] = [120, 54, 58]; // CSS pixels of height: of a map, of the lines below it, and below the chart
const TICKS = [1, 1.2, 1.5, 2, 3, 5, 10, 20, 30];
const CLOSE_PX = 19; // between two names
const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const mix = (from, to, t) => from + (to - from) * t;
const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2);

/** A child of an SVG with attributes and text; text is only ever text. */
function draw(parent, tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") element.style.cssText = value; // a published page's policy refuses the attribute
    else element.setAttribute(name, value);
  }
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** The part of a rectangle that is nearer to site i than to any other; all in pixels. */
function cell(sites, i, width, height) {
  let polygon = [[0, 0], [width, 0], [width, height], [0, height]];
  const [ax, ay] = sites[i];
  sites.forEach(([bx, by], j) => {
    if (j === i || (ax === bx && ay === by)) return;
    const [nx, ny] = [bx - ax, by - ay];
    const level = (bx * bx + by * by - ax * ax - ay * ay) / 2;
    const kept = [];
    polygon.forEach((from, k) => {
      const to = polygon[(k + 1) % polygon.length];
      const [a, b] = [nx * from[0] + ny * from[1] - level, nx * to[0] + ny * to[1] - level];
      if (a <= 0) kept.push(from);
      if (a * b < 0) kept.push([mix(from[0], to[0], a / (a - b)), mix(from[1], to[1], a / (a - b))]);
    });
    polygon = kept;
  });
  return polygon;
}

/** `to` in an order in which each place is near the one that it glides from; null where they are not as many. */
export function matched(from, to) {
  if (!from || !to || from.length !== to.length) return null;
  const pairs = from.flatMap(([x, y], i) => to.map((place, j) => [(place[0] - x) ** 2 + (place[1] - y) ** 2, i, j]));
  pairs.sort((a, b) => a[0] - b[0]);
  const order = new Array(from.length).fill(-1);
  const taken = new Set();
  for (const [, i, j] of pairs) {
    if (order[i] >= 0 || taken.has(j)) continue;
    order[i] = j;
    taken.add(j);
  }
  return order.map((j) => to[j]);
}

const brief = ({ short }) => short.replace("as published", "publ.");
const places = (flat) => (flat ? Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]) : null);

class CompareStage extends Slider {
  build(parent) {
    this.root = make("section", "dpviz-compare", "", { "aria-label": "Methods at the same ε" });
    this.finding = make("p", "finding");
    this.now = make("div", "now", "", { "aria-hidden": "true" });
    const head = make("div", "head");
    head.append(this.finding, this.now);
    this.maps = make("div", "maps");
    this.here = make("div", "here", "", { "aria-hidden": "true" }); // ε again where there is no room above: a phone
    this.tool = make("div", "tool");
    this.chart = document.createElementNS(SVG, "svg");
    this.chart.setAttribute("aria-hidden", "true");
    this.still = draw(this.chart, "g", {});
    this.moving = draw(this.chart, "g", {});
    this.input = make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Privacy budget ε" });
    this.progress = make("div", "progress", "", { "aria-hidden": "true" }); // the line below the stage says it in words
    this.tool.append(this.progress, this.chart, this.input);
    this.why = make("button", "why", "What may be compared?", { type: "button", "aria-haspopup": "dialog" });
    this.lede = make("p", "lede");
    this.views = make("div", "seen", "", { role: "group", "aria-label": "View as" });
    this.views.append(...["curator", "public"].map((audience) => {
      const button = make("button", "", "", { type: "button", "data-audience": audience });
      button.addEventListener("click", () => this.emit("audience", audience));
      return button;
    }));
    const foot = make("div", "foot");
    foot.append(this.lede, this.why, this.views);
    this.dialog = make("dialog", "", "", { "aria-label": "What may be compared?" });
    this.dock = make("div", "dock"); // ε at hand in a small window, while the chart's is out of sight
    this.docked = make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Privacy budget ε" });
    this.dockedValue = make("output", "", "", { "aria-hidden": "true" });
    this.dock.append(this.dockedValue, this.docked);
    this.dock.hidden = true;
    this.root.append(head, this.maps, this.tool, foot, this.dialog, this.dock);
    parent.append(this.root);
    this.scroller = document.querySelector('[data-testid="stMain"]');
    this.cards = [];
    this.shown = null; // the place of the thumb now, between two values while it glides
    this.listen();
  }

  listen() {
    this.input.addEventListener("input", () => this.onInput());
    this.input.addEventListener("change", () => this.onChange());
    this.docked.addEventListener("input", () => {
      this.input.value = this.docked.value;
      this.onInput();
    });
    this.docked.addEventListener("change", () => this.onChange());
    this.watcher = new IntersectionObserver(([{ isIntersecting }]) => {
      this.inSight = isIntersecting;
      this.showDock();
    });
    this.watcher.observe(this.input);
    this.tool.addEventListener("pointerdown", (event) => this.press(event));
    this.tool.addEventListener("pointermove", (event) => this.dragging && this.point(event));
    for (const type of ["pointerup", "pointercancel"]) {
      this.tool.addEventListener(type, () => {
        if (!this.dragging) return;
        this.dragging = false;
        this.onChange();
      });
    }
    this.why.addEventListener("click", () => this.dialog.showModal());
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.observer = new ResizeObserver(() => this.layout());
    for (const each of [this.root, this.tool]) this.observer.observe(each); // the chart is lower where the finding's type came late
    this.onResize = () => this.layout();
    this.onScroll = () => this.measure();
    window.addEventListener("resize", this.onResize);
    window.addEventListener("scroll", this.onScroll, { capture: true, passive: true });
    this.schemes = ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"].map((query) => matchMedia(query));
    for (const scheme of this.schemes) scheme.addEventListener("change", this.onResize);
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    if (this.scroller) this.scroller.style.scrollPaddingBottom = "";
    this.watcher.disconnect();
    window.removeEventListener("resize", this.onResize);
    window.removeEventListener("scroll", this.onScroll, { capture: true });
    for (const scheme of this.schemes) scheme.removeEventListener("change", this.onResize);
    super.destroy();
  }

  // -- What the page says --

  update(data) {
    const shown = (all) => JSON.stringify({ ...all, index: 0, move: 0, picks: 0, query: "" }); // what of it is drawn
    const same = this.data !== null && shown(this.data) === shown(data);
    this.data = data;
    this.input.max = this.docked.max = String(data.epsilons.length - 1);
    if (!same) this.fill();
    const answered = this.lastMove === null || data.move === this.lastMove;
    if (answered || data.move === this.told) this.answered = true;
    if (answered && !this.dragging && this.index !== data.index) this.input.value = String(data.index);
    if (same) this.show();
    else this.layout();
  }

  fill() {
    const { maps, records, chosen, conditions } = this.data;
    this.records = places(records);
    if (this.cards.map(({ key }) => key).join() !== maps.map(({ key }) => key).join()) {
      this.cards = maps.map((map) => this.card(map));
      this.maps.replaceChildren(...this.cards.map(({ button }) => button), this.here);
    }
    maps.forEach((map, i) => {
      const card = Object.assign(this.cards[i], { map, places: map.centers.map(places) });
      if (!card.places.some(Boolean)) card.now = null; // what it had is not this audience's, or of other records
    });
    if (!maps.some(({ key }) => key === this.pick)) this.pick = null;
    this.pick = chosen ?? this.pick ?? maps[0]?.key;
    setText(this.lede, this.data.lede);
    this.progress.hidden = this.data.share === null;
    this.progress.style.setProperty("--share", this.data.share ?? 1);
    this.views.hidden = !this.data.views;
    this.input.disabled = this.data.fixed;
    this.views.querySelectorAll("button").forEach((button, i) => {
      setText(button, this.data.views?.[i] ?? "");
      button.setAttribute("aria-pressed", String((button.dataset.audience === "public") === this.data.public));
    });
    const close = make("button", "close", "\u00d7", { type: "button", "aria-label": "Close" });
    close.addEventListener("click", () => this.dialog.close());
    const list = make("ul");
    list.append(...conditions.map(([words, more]) => {
      const item = make("li");
      item.append(make("b", "", words), ` ${more}`);
      return item;
    }));
    this.dialog.replaceChildren(close, make("h2", "", "What may be compared?"), list);
  }

  card({ key }) {
    const button = make("button", "map", "", { type: "button", "aria-pressed": "false" });
    const canvas = make("canvas", "", "", { "aria-hidden": "true" });
    const line = make("i");
    const [name, promise, number, unit] = ["name", "promise", "number", "unit"].map((part) => make("span", part));
    const top = make("span", "top");
    top.append(line, name, promise);
    const value = make("span", "value");
    value.append(number, " ", unit);
    button.append(canvas, top, value);
    button.addEventListener("click", () => {
      this.pick = key;
      this.layout();
      this.emit("picked", [key, this.index]);
    });
    return { key, button, canvas, line, name, promise, number, unit, from: null, to: null };
  }

  // -- Size and colors --

  layout() {
    if (!this.data) return;
    this.theme();
    const width = this.root.clientWidth;
    if (!width) return;
    shrinkOnPaper(this.root);
    const phone = this.phone = width < PHONE;
    this.root.classList.toggle("phone", phone);
    this.large = width >= LARGE && window.innerHeight >= LARGE_LOW;
    this.root.classList.toggle("large", this.large);
    this.names = parseFloat(getComputedStyle(this.root).getPropertyValue("--dpviz-names")) || 0; // for a room
    const count = this.cards.length;
    const columns = phone ? 3 : clamp(count, 5, MOST_COLUMNS);
    const rows = Math.ceil((count + (phone ? 1 : 0)) / columns);
    const gap = phone ? 8 : GAP;
    const side = Math.floor((width - (columns - 1) * gap) / columns);
    const height = this.fit();
    this.reserve();
    const aspect = clamp(this.data.aspect, 0.5, 2);
    const others = this.finding.parentElement.offsetHeight + LEAST_CHART.wide + FOOT + rows * CAPTION;
    const most = phone ? side * 1.2 : Math.max(Math.min(height * MOST_MAP, height - others), LEAST_MAP) / rows;
    this.size = { width: Math.floor(Math.min(side, most * aspect)), height: 0 };
    this.size.height = Math.floor(this.size.width / aspect);
    this.maps.style.gridTemplateColumns = `repeat(${columns}, ${phone ? "minmax(0, 1fr)" : side + "px"})`;
    this.maps.style.gap = `${phone ? 10 : gap}px ${gap}px`;
    this.dots = this.records && this.recordsImage();
    this.words();
    this.drawStill();
    this.land();
    this.show();
  }

  /** As high as the window leaves room, and no lower than the chart needs. */
  fit() {
    const { scroller } = this;
    this.showDock();
    const top = this.root.getBoundingClientRect().top + (scroller?.scrollTop ?? window.scrollY);
    const room = Math.max(window.innerHeight - Math.max(0, top) - 8, 420);
    this.root.style.minHeight = `${room}px`;
    this.tool.style.minHeight = `${LEAST_CHART[this.phone ? "phone" : "wide"]}px`;
    return room;
  }

  showDock() {
    const small = this.phone || window.innerHeight < LOW;
    this.dock.hidden = !small || this.inSight !== false || !this.data || this.data.fixed;
    if (this.scroller) this.scroller.style.scrollPaddingBottom = this.dock.hidden ? "16px" : "72px"; // what gets the focus is seen
  }

  /** Make room for the longest finding, so that nothing below it moves while ε does. */
  reserve() {
    this.finding.style.minHeight = "0";
    const heights = [...new Set(this.data.findings)].map((text) => {
      setText(this.finding, text);
      return this.finding.offsetHeight;
    });
    setText(this.finding, this.data.findings[this.index]);
    this.finding.style.minHeight = `${Math.max(...heights)}px`;
  }

  theme() {
    const style = getComputedStyle(this.root);
    const background = style.getPropertyValue("--st-background-color").trim();
    const hex = /^#([0-9a-f]{6})/i.exec(background)?.[1];
    const [r, g, b] = hex ? [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) : [255, 255, 255];
    const print = matchMedia("print").matches;
    this.root.dataset.theme = !print && 0.299 * r + 0.587 * g + 0.114 * b < 128 ? "dark" : "light";
    const read = (name) => getComputedStyle(this.root).getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries(["box", "page", "ink", "exact", "released", "public"].map((name) => [name, read(name)]));
    this.hue = (map) => `var(--h${map.hue % 10})`;
    this.dpr = Math.min(window.devicePixelRatio || 1, 2);
  }

  canvas(width, height, element = document.createElement("canvas")) {
    const size = [Math.round(width * this.dpr), Math.round(height * this.dpr)];
    if (element.width !== size[0]) element.width = size[0];
    if (element.height !== size[1]) element.height = size[1];
    const context = element.getContext("2d");
    context.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
    return [element, context];
  }

  /** The records are the same in all maps, and at every ε. */
  recordsImage() {
    const { width, height } = this.size;
    const [image, context] = this.canvas(width, height);
    context.fillStyle = this.colors.exact;
    context.globalAlpha = this.root.dataset.theme === "dark" ? 0.62 : 0.5;
    const radius = this.phone ? 0.8 : clamp(width / 200, 1, 1.8);
    for (const [x, y] of this.records) {
      context.beginPath();
      context.arc(x * width, (1 - y) * height, radius, 0, 7);
      context.fill();
    }
    return image;
  }

  /** Where the boxes are on the screen, for whoever measures the page from outside. */
  measure() {
    for (const { button, canvas } of this.cards) {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      button.dataset.dpvizBox = [left, top, width, height].map((value) => value.toFixed(1)).join(" ");
    }
  }

  // -- What a move changes, in one frame --

  show() {
    if (!this.size) return;
    const { data, index } = this;
    setText(this.finding, data.findings[index]);
    setText(this.now, `ε = ${data.texts[index]}`);
    for (const input of [this.input, this.docked]) {
      input.value = String(index);
      input.setAttribute("aria-valuetext", data.spoken[index]);
    }
    setText(this.dockedValue, `ε = ${data.texts[index]}`);
    this.root.dataset.value = data.texts[index];
    this.root.dataset.index = String(index);
    setText(this.here, `ε = ${data.texts[index]}`);
    this.emit("finding", { text: data.findings[index], who: data.public ? "public" : "curator" });
    this.words();
    const now = performance.now();
    this.began = reduced() ? now - GLIDE_MS : now;
    this.shownFrom = this.shown ?? this.axis(data.epsilons[index]);
    for (const card of this.cards) {
      const to = card.places[index];
      card.from = matched(card.now, to) ? card.now : null;
      card.to = (card.from && matched(card.from, to)) ?? to;
    }
    cancelAnimationFrame(this.frame);
    this.step(now); // the first frame is drawn at once
  }

  /** Draw where things are now, and again until they have arrived. */
  step(time) {
    const t = clamp((time - this.began) / GLIDE_MS, 0, 1);
    const eased = ease(t);
    this.shown = mix(this.shownFrom, this.axis(this.data.epsilons[this.index]), 1 - (1 - t) ** 3);
    for (const card of this.cards) {
      if (card.to) {
        card.now = card.to.map(([x, y], i) => (card.from ? [mix(card.from[i][0], x, eased), mix(card.from[i][1], y, eased)] : [x, y]));
      }
      this.drawMap(card); // one on its way keeps what it had, a third as strong
    }
    this.drawMoving();
    if (t < 1) this.frame = requestAnimationFrame((next) => this.step(next));
  }

  land() {
    for (const card of this.cards) this.canvas(this.size.width, this.size.height, card.canvas);
    for (const card of this.cards) {
      card.canvas.style.width = `${this.size.width}px`;
      card.canvas.style.height = `${this.size.height}px`;
    }
    this.measure();
  }

  drawMap(card) {
    const { width, height } = this.size;
    const [, context] = this.canvas(width, height, card.canvas);
    const { colors, phone } = this;
    context.fillStyle = colors.box;
    context.fillRect(0, 0, width, height);
    if (this.dots) context.drawImage(this.dots, 0, 0, width, height);
    const sites = (card.now ?? []).map(([x, y]) => [x * width, (1 - y) * height]);
    const strength = card.to ? 1 : 1 / 3;
    context.strokeStyle = context.fillStyle = colors.released;
    context.lineWidth = phone ? 1 : 1.3;
    if (this.data.flat) {
      for (let i = 0; i < sites.length; i += 1) {
        const polygon = cell(sites, i, width, height);
        if (polygon.length < 3) continue;
        context.beginPath();
        polygon.forEach(([x, y], k) => context[k ? "lineTo" : "moveTo"](x, y));
        context.closePath();
        context.globalAlpha = 0.03 * strength;
        context.fill();
        context.globalAlpha = 0.75 * strength;
        if (sites.length > 1) context.stroke();
      }
    }
    context.globalAlpha = 1;
    context.strokeStyle = colors.public;
    context.lineWidth = 1.5;
    context.strokeRect(0.75, 0.75, width - 1.5, height - 1.5);
    context.globalAlpha = strength;
    const radius = phone ? 4.2 : clamp(width / 38, 5, 9);
    for (const [x, y] of sites) {
      const [cx, cy] = [clamp(x, radius + 1, width - radius - 1), clamp(y, radius + 1, height - radius - 1)];
      context.fillStyle = colors.box;
      context.beginPath();
      context.arc(cx, cy, radius + 2, 0, 7);
      context.fill();
      context.fillStyle = colors.released;
      context.beginPath();
      // What lies outside, or on the wall, is pinned to the edge as half a disc.
      const [right, left, top, bottom] = [x >= width - 1, x <= 1, y <= 1, y >= height - 1];
      if (right) context.arc(width, clamp(cy, radius, height - radius), radius * 1.3, Math.PI / 2, 1.5 * Math.PI);
      else if (left) context.arc(0, clamp(cy, radius, height - radius), radius * 1.3, -Math.PI / 2, Math.PI / 2);
      else if (top) context.arc(cx, 0, radius * 1.3, 0, Math.PI);
      else if (bottom) context.arc(cx, height, radius * 1.3, Math.PI, 2 * Math.PI);
      else context.arc(cx, cy, radius, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  words() {
    const { data, index, phone } = this;
    const few = phone || this.names; // the promise stands below the name
    this.cards.forEach((card, i) => {
      const { map } = card;
      const [number, unit] = map.numbers[index];
      setText(card.name, few ? brief(map) : map.short);
      const more = unit === "×" ? " without privacy, this run" : unit === "in 100" ? " right, at most" : "";
      const promise = map.proved || data.public ? "" : map.promise; // what is usual needs no word
      setText(card.promise, few || this.size?.width < PROMISE_PX ? "" : promise);
      setText(card.number, unit === "×" ? `${number}×` : number);
      const rest = unit === "×" ? (few && promise) || (phone || i ? "" : "this run") : i && unit === "in 100" ? "" : `${unit}${phone ? "" : more}`;
      setText(card.unit, rest);
      card.line.style.background = this.hue(map);
      card.line.hidden = data.public;
      card.line.classList.toggle("dashed", !map.proved);
      card.button.setAttribute("aria-pressed", String(!data.public && map.key === this.pick));
      card.button.setAttribute("aria-label", `${map.name}, ${map.promise}: ${number} ${unit}${more}`);
    });
  }

  // -- The chart --

  axis(epsilon) {
    const { epsilons } = this.data;
    const [low, high] = [Math.log(epsilons[0]), Math.log(epsilons[epsilons.length - 1])];
    return high > low ? (Math.log(epsilon) - low) / (high - low) : 0.5;
  }

  /** The chart's own measures: x of a share of the axis, y of a cost or of a chance. */
  space() {
    const { phone } = this;
    const [width, height] = [this.chart.clientWidth, this.chart.clientHeight];
    const [left, right] = phone ? [4, 30] : this.large ? [176, 56] : [152, 48];
    const [bottom, top] = [height - (phone ? 62 : 70), phone ? 40 : 30];
    const x = (t) => left + 12 + t * (width - left - right - 24);
    const scale = (share) => bottom - clamp(share, 0, 3) * (bottom - top);
    const cost = (value) => scale(Math.log(Math.max(value ?? Infinity, 1)) / Math.log(this.data.top));
    const chance = (value) => scale(((value ?? 100) - 50) / 50);
    return { width, height, left, right, bottom, top, x, cost, chance, size: phone ? 12.5 : this.names ? 18 : this.large ? 16 : 14 };
  }

  drawStill() {
    this.still.replaceChildren();
    const space = this.space();
    if (!space.width) return;
    const { bottom, x, size } = space;
    if (this.data.public) this.drawLaw(space);
    else this.drawCosts(space);
    const track = bottom + 14;
    draw(this.still, "line", { x1: x(0), x2: x(1), y1: track, y2: track, class: "track" });
    const below = 41; // clear of the thumb
    draw(this.still, "text", this.phone ? { x: x(0) - 4, y: bottom + below, class: "k" }
      : { x: x(0) - 16, y: track, "text-anchor": "end", "dominant-baseline": "middle", class: "k" }, "ε");
    for (const value of [0.1, 1, 10]) {
      const at = this.axis(value);
      if (at < -1e-9 || at > 1 + 1e-9) continue;
      draw(this.still, "line", { x1: x(at), x2: x(at), y1: track - 4, y2: track + 4, class: "tick" });
      draw(this.still, "text", { x: x(at), y: bottom + below, "text-anchor": "middle", class: "f halo", "font-size": size }, String(value));
    }
    this.input.style.bottom = `${space.height - track - (this.phone ? 24 : 20)}px`;
    this.input.style.left = `${x(0) - 11}px`;
    this.input.style.width = `${x(1) - x(0) + 22}px`;
  }

  drawCosts(space) {
    const { left, right, width, bottom, top, x, cost, size } = space;
    const { data, phone, still } = this;
    const clip = `dpviz-compare-${(this.clips = (this.clips ?? 0) + 1)}`;
    draw(draw(still, "clipPath", { id: clip }), "rect", { x: left, y: top, width: width - left - right, height: bottom - top + 3 });
    for (const value of TICKS.filter((tick) => tick <= data.top && (tick !== 1.2 || data.top < 3))) {
      draw(still, "line", { x1: left, x2: width - right, y1: cost(value), y2: cost(value), class: "rule" });
      if (value === 1.5 && data.top >= 3) continue; // a line without words
      draw(still, "text", { x: width - right + 8, y: cost(value), "dominant-baseline": "middle", class: "f", "font-size": size - 0.5 }, `${value}×`);
    }
    draw(still, "text", { x: width - right, y: 12, "text-anchor": "end", class: "k", "font-size": size + 0.5 },
      phone ? "Cost, × without privacy" : "Cost, × without privacy; lines: typical, dots: this run");
    if (data.no_data !== null && data.no_data <= data.top) {
      const y = cost(data.no_data);
      draw(still, "line", { x1: left, x2: width - right, y1: y, y2: y, class: "no-data" });
      if (!phone) draw(still, "text", { x: width - right, y: y - 7, "text-anchor": "end", class: "f halo", "font-size": size - 0.5 }, "blind guess");
    }
    const stops = ({ map }) => map.line.filter(Boolean);
    const place = (stop, i) => [x(this.axis(stop[0])), cost(stop[i])];
    const inOrder = [...this.cards].reverse().sort((a, b) => (a.key === this.pick) - (b.key === this.pick));
    const lines = inOrder.filter((card) => stops(card).length > 0);
    const group = draw(still, "g", { "clip-path": `url(#${clip})`, class: "lines" });
    for (const card of lines.filter(({ key }) => !phone || key === this.pick)) {
      const edges = [...stops(card).map((stop) => place(stop, 3)), ...stops(card).reverse().map((stop) => place(stop, 1))];
      draw(group, "path", { d: `${path(edges)}Z`, style: `fill: ${this.hue(card.map)}`, opacity: card.key === this.pick ? 0.2 : 0.05 });
    }
    for (const card of lines) {
      const look = `line${card.key === this.pick ? " picked" : ""}${card.arrived ? "" : " arriving"}`;
      card.arrived = true;
      const attributes = { d: path(stops(card).map((stop) => place(stop, 2))), class: look };
      if (!card.map.proved) attributes["stroke-dasharray"] = "7 4";
      draw(group, "path", { ...attributes, style: `stroke: ${this.hue(card.map)}` });
    }
    if (!phone) this.drawNames(lines, place, stops, space);
    this.drawSmallest(space);
  }

  /** Names stand at the left, where the lines part. */
  drawNames(lines, place, stops, { left, bottom, top, x }) {
    const names = lines.map((card) => ({ card, want: place(stops(card)[0], 2)[1] })).sort((a, b) => a.want - b.want);
    const close = Math.max(CLOSE_PX, this.names);
    let before = top - 4 - close;
    for (const name of names) before = name.y = Math.max(name.want, before + close);
    for (const { card, want, y } of names) {
      const style = `fill: ${this.hue(card.map)}`;
      const to = clamp(want, top, bottom);
      draw(this.still, "path", { d: `M${left - 4} ${y}L${x(0) - 3} ${to}`, style: `stroke: ${this.hue(card.map)}`, class: "lead" });
      const attributes = { x: left - 9, y, "text-anchor": "end", "dominant-baseline": "middle", "data-key": card.key, style };
      draw(this.still, "text", { ...attributes, class: card.key === this.pick ? "name picked" : "name" }, brief(card.map));
    }
  }

  /** The smallest ε that keeps the cost, as a bracket on the axis: of the method that is picked. */
  drawSmallest({ bottom, x, cost, width, size }) {
    const card = this.cards.find(({ key }) => key === this.pick);
    if (!card?.map.smallest) return;
    const { data, phone, still } = this;
    const [early, middle, late] = card.map.smallest;
    const [a, c, b] = [early, middle, late ?? data.epsilons[data.epsilons.length - 1]].map((value) => x(this.axis(value)));
    const y = bottom + 56;
    const stroke = `stroke: ${this.hue(card.map)}`;
    draw(still, "line", { x1: c, x2: c, y1: cost(data.most), y2: y, "stroke-dasharray": "2 3", style: stroke });
    draw(still, "circle", { cx: c, cy: cost(data.most), r: 4, class: "open", style: stroke });
    draw(still, "path", { d: `M${a} ${y - 6}v6H${b}${late === null ? "" : "v-6"}`, class: "bracket", style: stroke });
    draw(still, "circle", { cx: c, cy: y, r: 4, style: `fill: ${this.hue(card.map)}` });
    const isRight = b + 12 < width - (phone ? 205 : 430);
    const attributes = { x: isRight ? b + 10 : a - 10, y: y + 1, "text-anchor": isRight ? "start" : "end", "dominant-baseline": "middle" };
    const words = draw(still, "text", { ...attributes, class: "k halo", "font-size": size + (phone ? 0 : 1) });
    const span = (text, style = "") => draw(words, "tspan", style ? { style } : {}, text);
    const least = middle === data.epsilons[0]; // smaller ones were not tested
    span("From ε = ");
    span(least ? `${middle} or less` : String(middle), "font-weight: 700; fill: var(--ink)");
    if (!phone && early !== late && !least) span(late === null ? ` (${early} or more)` : ` (${early}–${late})`);
    if (!phone) span(` ${card.map.short}`, `font-weight: 650; fill: ${this.hue(card.map)}`);
    span(phone ? ` typically within +${data.limit}` : ` typically costs at most ${data.limit} more`);
  }

  /** What everyone may know: how often an attacker is right at most, one law for all that are proved. */
  drawLaw(space) {
    const { left, right, width, x, chance, size } = space;
    const { still, data, phone } = this;
    for (const value of [50, 75, 100]) {
      draw(still, "line", { x1: left, x2: width - right, y1: chance(value), y2: chance(value), class: "rule" });
      draw(still, "text", { x: width - right + 8, y: chance(value), "dominant-baseline": "middle", class: "f", "font-size": size - 0.5 }, String(value));
    }
    draw(still, "text", { x: left + 12, y: 12, class: "k", "font-size": size + 0.5 }, data.asked[phone ? 1 : 0]);
    const proved = this.cards.filter(({ map }) => map.proved);
    const open = this.cards.filter(({ map }) => !map.proved);
    const label = (text, y, name) => !phone
      && draw(still, "text", { x: left - 9, y, "text-anchor": "end", "dominant-baseline": "middle", class: name }, text);
    if (proved.length) {
      const odds = this.law = proved[0].map.odds.map((value, i) => [x(this.axis(data.epsilons[i])), chance(value)]);
      draw(still, "path", { d: path(odds), class: "law" });
      label(proved.length === 1 ? proved[0].map.short : `${proved.length} proved methods`, odds[0][1], "name own");
    }
    if (open.length) {
      draw(still, "line", { x1: x(0), x2: x(1), y1: chance(100), y2: chance(100), class: "no-limit" });
      label(open.length === 1 ? open[0].map.short : `${open.length} not proved`, chance(100), "name k");
    }
  }

  drawMoving() {
    this.moving.replaceChildren();
    const space = this.space();
    if (!space.width) return;
    const { bottom, top, x, cost, chance, size } = space;
    const { data, index, moving, phone } = this;
    const px = x(this.shown);
    draw(moving, "line", { x1: px, x2: px, y1: data.public ? top : top - 4, y2: bottom + 14, class: "now-line" });
    const right = this.shown > (phone ? 0.25 : 0.6);
    if (data.public) {
      const spent = this.law?.filter(([at]) => at <= px + 0.5) ?? [];
      if (spent.length > 1) draw(moving, "path", { d: `${path(spent)}L${spent.at(-1)[0]} ${chance(50)}L${spent[0][0]} ${chance(50)}Z`, class: "spent" });
      const proved = this.cards.find(({ map }) => map.proved);
      const odds = proved?.map.odds[index] ?? null;
      if (odds !== null) {
        draw(moving, "circle", { cx: px, cy: chance(odds), r: 7, class: "law-dot" });
        const below = (odds > 90 || !right) && chance(odds) + 36 < bottom; // not on the track
        draw(moving, "text", { x: px + (right ? -14 : 14), y: chance(odds) + (below ? 22 : -14), "text-anchor": right ? "end" : "start",
          "dominant-baseline": "middle", class: "law-number halo" }, proved.map.numbers[index][0]);
      }
    } else {
      const above = this.cards.filter(({ map }) => (map.costs[index] ?? 0) > data.top);
      if (above.length) {
        draw(moving, "path", { d: `M${px} ${top - 13}l-6 9h12z`, style: `fill: ${this.hue(above[0].map)}` });
        const words = draw(moving, "text", { x: px + (right ? -12 : 12), y: top - 8, "text-anchor": right ? "end" : "start",
          "dominant-baseline": "middle", class: "above halo", "font-size": size });
        if (!phone) above.forEach(({ map }, i) => draw(words, "tspan", { style: `fill: ${this.hue(map)}`, dx: i ? 10 : 0 },
          brief(map)));
      }
      for (const { map, key } of [...this.cards].reverse()) {
        const value = map.costs[index] ?? null;
        if (value === null || value > data.top) continue;
        draw(moving, "circle", { cx: px, cy: cost(value), r: key === this.pick ? 6.5 : 5, class: "dot", style: `fill: ${this.hue(map)}` });
      }
    }
    draw(moving, "circle", { cx: px, cy: bottom + 14, r: phone ? 18 : 16, class: "focus" });
    draw(moving, "circle", { cx: px, cy: bottom + 14, r: phone ? 13 : 11, class: "thumb" });
  }

  // -- The hand --

  press(event) {
    if (this.data.fixed) return;
    const key = event.target.dataset?.key;
    if (key) {
      this.cards.find((card) => card.key === key)?.button.click();
      return;
    }
    this.dragging = true;
    this.tool.setPointerCapture(event.pointerId);
    this.input.focus({ preventScroll: true });
    this.point(event);
    event.preventDefault();
  }

  /** Take the value that is nearest to the pointer, anywhere in the chart. */
  point(event) {
    const { x } = this.space();
    const at = (event.clientX - this.chart.getBoundingClientRect().left - x(0)) / (x(1) - x(0));
    const far = this.data.epsilons.map((epsilon) => Math.abs(this.axis(epsilon) - at));
    const nearest = far.indexOf(Math.min(...far));
    if (nearest === this.index) return;
    this.input.value = String(nearest);
    this.onInput();
  }

  /** Everything is here already: the page follows when the slider rests. */
  announce() {
    this.emit("moving", { slider: this.data.key, index: this.index, number: this.lastMove, wait: () => {} });
    this.pictures = Promise.resolve([true]);
  }
}

class CompareComponent {
  constructor(parent) {
    this.stage = new CompareStage(parent);
    this.picks = 0;
    parent.addEventListener("dpviz:moved", ({ detail }) => this.given.setStateValue("moved", detail));
    parent.addEventListener("dpviz:picked", ({ detail }) => {
      this.picks = Math.max(this.picks, this.given.data.picks) + 1;
      this.given.setStateValue("picked", [...detail, this.picks]);
    });
    parent.addEventListener("dpviz:audience", ({ detail }) => this.given.setStateValue("audience", [detail, Date.now()]));
    lookAfterPage();
  }

  update(given) {
    if (this.given && isOthers(given.data, this.given.data)) { renew(); return; }
    this.given = given;
    this.stage.update(given.data);
    setQuery(given.data.query);
  }

  destroy() {
    this.stage.destroy();
  }
}

export default component((parent) => new CompareComponent(parent));
