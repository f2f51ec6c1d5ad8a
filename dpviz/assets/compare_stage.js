// Compare's stage: a small map of each method at one ε, each with its number, over one chart whose x axis is the slider.
//
// dpviz/tools/compare/stage.py says what the page sends. Everything at every ε is there, so that a move asks nobody: the
// maps glide, the numbers, the finding and the chart follow in the same frame, and the page follows when the slider
// rests (moves.js).

import { brief, CompareChart, hueOf } from "./compare_chart.js";
import { clamp, easeInOutCubic, easeOutCubic, mix, nearestIndex, isDark, isStill, tell } from "./kit.js";
import { between, matchPlaces, pairsOf, siteCell } from "./places.js";
import { fitStageCanvas, makeButton, makeDialog, roomSize, scrollerOf, topOf, watchColors, watchSizes } from "./stage_parts.js";
import { isOthers, renew, setQuery } from "./live_address.js";
import { lookAfterPage, shrinkOnPaper } from "./live_page.js";
import { make, setText, tellBox } from "./elements.js";
import { Moves } from "./moves.js";
import { component } from "./component.js";

/** @import { Card, CompareData, Given, Pair } from "./stages.d.ts" */

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
const TITLE = "What may be compared?";
const COLORS = /** @type {const} */ (["box", "exact", "released", "public"]);
const TAU = 2 * Math.PI;

/** @param {CompareData} data What of it is drawn */
const drawnOf = (data) => JSON.stringify({ ...data, index: 0, move: 0, picks: 0, query: "" });

class CompareStage {
  constructor(/** @type {HTMLElement | ShadowRoot} */ parent, /** @type {Given<CompareData>} */ given) {
    this.given = given;
    this.data = given.data;
    this.drawn = "";
    this.picks = 0;
    /** @type {Card[]} */ this.cards = [];
    /** @type {string | null} */ this.pick = null; // key of the method that is looked at
    /** @type {Pair[] | null} */ this.records = null;
    /** @type {HTMLCanvasElement | null} */ this.dots = null; // the records, drawn
    /** @type {number | null} */ this.shown = null; // the place of the thumb now, between two values while it glides
    this.shownFrom = this.began = this.frame = 0;
    this.size = { width: 0, height: 0 };
    this.phone = this.large = this.dark = false;
    this.names = 0; // size of names for a room
    this.inSight = true; // the chart's slider
    this.colors = { box: "", exact: "", released: "", public: "" };
    this.chart = new CompareChart(this);

    this.finding = make("p", "finding");
    this.now = make("div", "now", "", { "aria-hidden": "true" });
    this.head = make("div", "head", [this.finding, this.now]);
    this.maps = make("div", "maps");
    this.here = make("div", "here", "", { "aria-hidden": "true" }); // ε again where there is no room above: a phone
    const slider = () => make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Privacy budget ε" });
    this.input = slider();
    this.progress = make("div", "progress", "", { "aria-hidden": "true" }); // the line below the stage says it in words
    this.tool = make("div", "tool", [this.progress, this.chart.svg, this.input]);
    this.lede = make("p", "lede");
    const why = makeButton("why", TITLE, () => this.dialog.showModal(), { "aria-haspopup": "dialog" });
    this.viewButtons = ["curator", "public"].map((audience) => makeButton("", "", () => tell(this.root, "audience", audience), { "data-audience": audience }));
    this.views = make("div", "seen", this.viewButtons, { role: "group", "aria-label": "View as" });
    this.conditions = make("ul");
    this.dialog = makeDialog("", [make("h2", "", TITLE), this.conditions], { "aria-label": TITLE });
    this.docked = slider();
    this.dockedValue = make("output", "", "", { "aria-hidden": "true" });
    this.dock = make("div", "dock", [this.dockedValue, this.docked], { hidden: "" }); // ε at hand in a small window, while the chart's is out of sight
    const foot = make("div", "foot", [this.lede, why, this.views]);
    this.root = make("section", "dpviz-compare", [this.head, this.maps, this.tool, foot, this.dialog, this.dock], { "aria-label": "Methods at the same ε" });
    parent.append(this.root);
    this.scroller = /** @type {HTMLElement | null} */ (scrollerOf(this.root));

    this.moves = new Moves(this.root, this.input, () => this.show());
    this.moves.grasp(this.tool, (x) => this.indexAt(x));
    this.stopped = new AbortController();
    this.watcher = new IntersectionObserver(([{ isIntersecting }]) => {
      this.inSight = isIntersecting;
      this.showDock();
    });
    this.listen();
    lookAfterPage();
  }

  listen() {
    const { signal } = this.stopped;
    // Everything is here already: the page follows when the slider rests.
    this.root.addEventListener("dpviz:moving", ({ detail }) => detail.wait(Promise.resolve(true)));
    this.root.addEventListener("dpviz:moved", ({ detail }) => this.given.setStateValue("moved", detail));
    this.root.addEventListener("dpviz:audience", ({ detail }) => this.given.setStateValue("audience", [detail, Date.now()]));
    this.docked.addEventListener("input", () => this.moves.goTo(Number(this.docked.value)));
    this.docked.addEventListener("change", () => this.moves.release());
    this.watcher.observe(this.input);
    const layOut = () => this.layOut();
    watchSizes([this.root, this.tool], layOut, signal); // the chart is lower where the finding's type came late
    watchColors(this.root, layOut, signal);
    window.addEventListener("scroll", () => this.measure(), { capture: true, passive: true, signal });
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    if (this.scroller) this.scroller.style.scrollPaddingBottom = "";
    this.watcher.disconnect();
    this.stopped.abort();
    this.moves.stop();
  }

  // -- The page's data --

  update(/** @type {Given<CompareData>} */ given) {
    if (isOthers(given.data, this.data)) {
      renew();
      return;
    }
    this.given = given;
    this.data = given.data;
    const drawn = drawnOf(given.data);
    const isSame = this.drawn === drawn;
    this.drawn = drawn;
    this.input.max = this.docked.max = String(this.data.epsilons.length - 1);
    if (!isSame) this.fill();
    this.moves.follow({ ...this.data, values: this.data.epsilons });
    if (isSame) this.show();
    else this.layOut();
    setQuery(this.data.query);
  }

  fill() {
    const { maps, records, chosen, conditions, share, views } = this.data;
    this.records = pairsOf(records);
    if (this.cards.map(({ key }) => key).join() !== maps.map(({ key }) => key).join()) {
      this.cards = maps.map((map) => this.makeCard(map));
      this.maps.replaceChildren(...this.cards.map(({ button }) => button), this.here);
    }
    maps.forEach((map, i) => {
      const card = Object.assign(this.cards[i], { map, places: map.centers.map(pairsOf) });
      if (!card.places.some(Boolean)) card.now = null; // what it had is not this audience's, or of other records
    });
    if (!maps.some(({ key }) => key === this.pick)) this.pick = null;
    this.pick = chosen ?? this.pick ?? maps[0]?.key ?? null;
    setText(this.lede, this.data.lede);
    this.progress.hidden = share === null;
    this.progress.style.setProperty("--share", String(share ?? 1));
    this.views.hidden = !views;
    this.input.disabled = this.data.fixed;
    this.viewButtons.forEach((button, i) => {
      setText(button, views?.[i] ?? "");
      button.setAttribute("aria-pressed", String((button.dataset.audience === "public") === this.data.public));
    });
    this.conditions.replaceChildren(...conditions.map(([words, more]) => make("li", "", [make("b", "", words), ` ${more}`])));
  }

  /** @param {CompareData["maps"][number]} map @returns {Card} */
  makeCard(map) {
    const { key } = map;
    const canvas = make("canvas", "", "", { "aria-hidden": "true" });
    const line = make("i");
    const [name, promise, number, unit] = ["name", "promise", "number", "unit"].map((part) => make("span", part));
    const words = [make("span", "top", [line, name, promise]), make("span", "value", [number, " ", unit])];
    const button = makeButton("map", [canvas, ...words], () => {
      this.pick = key;
      this.layOut();
      this.picks = Math.max(this.picks, this.data.picks) + 1;
      this.given.setStateValue("picked", [key, this.moves.index, this.picks]);
    }, { "aria-pressed": "false" });
    return { key, map, button, canvas, line, name, promise, number, unit, places: [], from: null, to: null, now: null };
  }

  // -- Size and colors --

  layOut() {
    this.readTheme();
    const width = this.root.clientWidth;
    if (!width) return;
    shrinkOnPaper(this.root);
    const phone = this.phone = width < PHONE;
    this.large = width >= LARGE && window.innerHeight >= LARGE_LOW;
    this.root.classList.toggle("phone", phone);
    this.root.classList.toggle("large", this.large);
    this.names = roomSize(this.root);
    const count = this.cards.length;
    const columns = phone ? 3 : clamp(count, 5, MOST_COLUMNS);
    const rows = Math.ceil((count + (phone ? 1 : 0)) / columns);
    const gap = phone ? 8 : GAP;
    const side = Math.floor((width - (columns - 1) * gap) / columns);
    const height = this.fit();
    this.reserve();
    const aspect = clamp(this.data.aspect, 0.5, 2);
    const others = this.head.offsetHeight + LEAST_CHART.wide + FOOT + rows * CAPTION;
    const most = phone ? side * 1.2 : Math.max(Math.min(height * MOST_MAP, height - others), LEAST_MAP) / rows;
    this.size.width = Math.floor(Math.min(side, most * aspect));
    this.size.height = Math.floor(this.size.width / aspect);
    const track = phone ? "minmax(0, 1fr)" : `${side}px`;
    this.maps.style.gridTemplateColumns = `repeat(${columns}, ${track})`;
    this.maps.style.gap = `${phone ? 10 : gap}px ${gap}px`;
    this.dots = this.records && this.drawRecords(this.records);
    this.write();
    this.chart.draw(this.input);
    for (const { canvas } of this.cards) fitStageCanvas(canvas, this.size.width, this.size.height);
    this.measure();
    this.show();
  }

  /** As high as the window leaves room, and no lower than the chart needs. */
  fit() {
    this.showDock();
    const room = Math.max(window.innerHeight - Math.max(0, topOf(this.root, this.scroller)) - 8, 420);
    this.root.style.minHeight = `${room}px`;
    this.tool.style.minHeight = `${LEAST_CHART[this.phone ? "phone" : "wide"]}px`;
    return room;
  }

  showDock() {
    const isSmall = this.phone || window.innerHeight < LOW;
    this.dock.hidden = !isSmall || this.inSight || this.data.fixed;
    if (this.scroller) this.scroller.style.scrollPaddingBottom = this.dock.hidden ? "16px" : "72px"; // what gets the focus is seen
  }

  /** Make room for the longest finding, so that nothing below it moves while ε does. */
  reserve() {
    const { findings } = this.data;
    this.finding.style.minHeight = "0";
    const heights = [...new Set(findings)].map((text) => {
      setText(this.finding, text);
      return this.finding.offsetHeight;
    });
    setText(this.finding, findings[this.moves.index]);
    this.finding.style.minHeight = `${Math.max(...heights)}px`;
  }

  readTheme() {
    const style = getComputedStyle(this.root); // it follows what is set below
    this.dark = !matchMedia("print").matches && isDark(style.getPropertyValue("--st-background-color"));
    this.root.dataset.theme = this.dark ? "dark" : "light";
    for (const name of COLORS) this.colors[name] = style.getPropertyValue(`--${name}`).trim();
  }

  /** The records are the same in all maps, and at every ε. @param {Pair[]} records */
  drawRecords(records) {
    const { width, height } = this.size;
    const canvas = make("canvas");
    const context = fitStageCanvas(canvas, width, height);
    context.fillStyle = this.colors.exact;
    context.globalAlpha = this.dark ? 0.62 : 0.5;
    const radius = this.phone ? 0.8 : clamp(width / 200, 1, 1.8);
    for (const [x, y] of records) {
      context.beginPath();
      context.arc(x * width, (1 - y) * height, radius, 0, TAU);
      context.fill();
    }
    return canvas;
  }

  measure() {
    for (const { button, canvas } of this.cards) tellBox(button, canvas);
  }

  // -- What a move changes, in one frame --

  show() {
    if (!this.size.width) return;
    const { data, cards, moves: { index } } = this;
    const epsilon = `ε = ${data.texts[index]}`;
    setText(this.finding, data.findings[index]);
    for (const place of [this.now, this.dockedValue, this.here]) setText(place, epsilon);
    for (const input of [this.input, this.docked]) {
      input.value = String(index);
      input.setAttribute("aria-valuetext", data.spoken[index]);
    }
    this.root.dataset.value = data.texts[index];
    this.root.dataset.index = String(index);
    tell(this.root, "finding", { text: data.findings[index], who: data.public ? "public" : "curator" });
    this.write();
    const now = performance.now();
    this.began = isStill() ? now - GLIDE_MS : now;
    this.shownFrom = this.shown ?? this.chart.share(data.epsilons[index]);
    for (const card of cards) {
      const to = card.places[index];
      const matched = matchPlaces(card.now, to);
      card.from = matched && card.now;
      card.to = matched ?? to;
    }
    cancelAnimationFrame(this.frame);
    this.step(now); // the first frame is drawn at once
  }

  /** Draw where things are now, and again until they have arrived. @param {number} time */
  step(time) {
    const { index } = this.moves;
    const t = clamp((time - this.began) / GLIDE_MS, 0, 1);
    this.shown = mix(this.shownFrom, this.chart.share(this.data.epsilons[index]), easeOutCubic(t));
    for (const card of this.cards) {
      if (card.to) card.now = between(card.from, card.to, easeInOutCubic(t));
      this.drawMap(card); // one on its way keeps what it had, a third as strong
    }
    this.chart.move(this.shown, index);
    if (t < 1) this.frame = requestAnimationFrame((next) => this.step(next));
  }

  drawMap(/** @type {Card} */ card) {
    const { colors, phone, size: { width, height } } = this;
    const context = fitStageCanvas(card.canvas, width, height);
    context.fillStyle = colors.box;
    context.fillRect(0, 0, width, height);
    if (this.dots) context.drawImage(this.dots, 0, 0, width, height);
    const sites = (card.now ?? []).map(([x, y]) => /** @type {Pair} */ ([x * width, (1 - y) * height]));
    const strength = card.to ? 1 : 1 / 3;
    context.strokeStyle = context.fillStyle = colors.released;
    context.lineWidth = phone ? 1 : 1.3;
    for (const polygon of this.data.flat ? sites.map((_, i) => siteCell(sites, i, [[0, width], [0, height]])) : []) {
      if (polygon.length < 3) continue;
      context.beginPath();
      for (const [x, y] of polygon) context.lineTo(x, y);
      context.closePath();
      context.globalAlpha = 0.03 * strength;
      context.fill();
      context.globalAlpha = 0.75 * strength;
      if (sites.length > 1) context.stroke();
    }
    context.globalAlpha = 1;
    context.strokeStyle = colors.public;
    context.lineWidth = 1.5;
    context.strokeRect(0.75, 0.75, width - 1.5, height - 1.5);
    context.globalAlpha = strength;
    for (const site of sites) this.drawCenter(context, site);
    context.globalAlpha = 1;
  }

  /** Draw a center as a disc; what lies outside, or on the wall, is half a disc at the edge. @param {CanvasRenderingContext2D} context @param {Pair} site */
  drawCenter(context, [x, y]) {
    const { colors, phone, size: { width, height } } = this;
    const radius = phone ? 4.2 : clamp(width / 38, 5, 9);
    const [cx, cy] = [clamp(x, radius + 1, width - radius - 1), clamp(y, radius + 1, height - radius - 1)];
    context.fillStyle = colors.box;
    context.beginPath();
    context.arc(cx, cy, radius + 2, 0, TAU);
    context.fill();
    context.fillStyle = colors.released;
    context.beginPath();
    if (x >= width - 1) context.arc(width, cy, radius * 1.3, TAU / 4, 0.75 * TAU);
    else if (x <= 1) context.arc(0, cy, radius * 1.3, -TAU / 4, TAU / 4);
    else if (y <= 1) context.arc(cx, 0, radius * 1.3, 0, TAU / 2);
    else if (y >= height - 1) context.arc(cx, height, radius * 1.3, TAU / 2, TAU);
    else context.arc(cx, cy, radius, 0, TAU);
    context.fill();
  }

  /** Write names and numbers below the maps. */
  write() {
    const { data, phone, size, moves: { index } } = this;
    const isBrief = phone || Boolean(this.names); // the promise stands below the name
    this.cards.forEach((card, i) => {
      const { map } = card;
      const [number, unit] = map.numbers[index];
      setText(card.name, isBrief ? brief(map) : map.short);
      const promise = map.proved || data.public ? "" : map.promise; // what is usual needs no word
      setText(card.promise, isBrief || size.width < PROMISE_PX ? "" : promise);
      setText(card.number, unit === "×" ? `${number}×` : number);
      const isFirst = i === 0;
      let more = "";
      let rest = unit;
      if (unit === "×") {
        more = " without privacy, the run drawn here";
        rest = (isBrief && promise) || (isFirst && !phone ? "run drawn here" : "");
      } else if (unit === "in 100") {
        more = number.startsWith("over") ? " right" : " right, at most";
        rest = isFirst ? `${unit}${phone ? "" : more}` : "";
      }
      setText(card.unit, rest);
      card.line.style.background = hueOf(map);
      card.line.hidden = data.public;
      card.line.classList.toggle("dashed", !map.proved);
      card.button.setAttribute("aria-pressed", String(!data.public && map.key === this.pick));
      card.button.setAttribute("aria-label", `${map.name}, ${map.promise}: ${number} ${unit}${more}`);
    });
  }

  /** Return the index of the value that is nearest to the pointer, anywhere in the chart. @param {number} clientX */
  indexAt(clientX) {
    const { chart, data: { epsilons } } = this;
    const at = clientX - chart.svg.getBoundingClientRect().left;
    return nearestIndex(epsilons.map((epsilon) => chart.at(epsilon)), at);
  }
}

export default component((parent, given) => new CompareStage(parent, given));
