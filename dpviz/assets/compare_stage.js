// Compare's stage: a matrix of small maps, methods in rows and values of ε in columns, with the price of each column below.
//
// dpviz/tools/compare/stage.py says what the page sends. Everything at every ε is there, so that a move asks nobody: one
// frame goes to another column, the numbers and the finding follow in the same frame, and the page follows when the
// slider rests (moves.js).

import { clamp, isDark, makeShape, nearestIndex, pathThrough, tell } from "./kit.js";
import { eachBorder, pairsOf } from "./places.js";
import { fitStageCanvas, makeButton, makeDialog, roomSize, scrollerOf, topOf, watchColors, watchSizes } from "./stage_parts.js";
import { isOthers, renew, setQuery } from "./live_address.js";
import { lookAfterPage, shrinkOnPaper } from "./live_page.js";
import { make, setText, tellBox } from "./elements.js";
import { Moves } from "./moves.js";
import { component } from "./component.js";

/** @import { CompareData, CompareRow, Given, Pair } from "./stages.d.ts" */

const PHONE = 700; // CSS pixels of width
const PHONE_COLUMNS = 4;
const LOW = 480; // CSS pixels of a window's height up to which ε is docked, too
const [LARGE, LARGE_LOW] = [1500, 900]; // CSS pixels of width and of the window's height from which type is larger
const HEADS = { phone: 0, wide: 236, large: 300 }; // CSS pixels of width of a row's words
const GAP = { phone: 8, wide: 14 }; // CSS pixels between two columns, at least
const OVER_PX = 10; // of a phone's row of words over the maps, so that a finger finds it: compare_stage.css
const LEAST_SIDE = 56; // CSS pixels
const FRAME = 5; // CSS pixels from a map to the frame around its column
const CLICK_PX = 6; // a pointer that moves farther drags
const FAINTEST = 0.24; // strength of a map whose method fails
const HAZE = 0.15; // of one run's borders, so that 24 on the same spot are opaque
const TITLE = "What may be compared?";
const COLORS = /** @type {const} */ (["page", "box", "exact", "released", "public"]);
const TAU = 2 * Math.PI;

/** @param {CompareData} data What of it is drawn */
const drawnOf = (data) => JSON.stringify({ ...data, index: 0, move: 0, picks: 0, query: "" });
/** Places in a box from bytes: 0 and 255 are its walls. @param {string} text */
const unpacked = (text) => /** @type {Pair[]} */ (pairsOf(Array.from(atob(text), (byte) => byte.charCodeAt(0) / 255)));

class CompareStage {
  constructor(/** @type {HTMLElement | ShadowRoot} */ parent, /** @type {Given<CompareData>} */ given) {
    this.given = given;
    this.data = given.data;
    this.drawn = "";
    this.picks = 0;
    /** @type {CompareRow[]} */ this.rows = [];
    /** @type {HTMLElement[]} */ this.prices = [];
    /** @type {string | null} */ this.pick = null; // key of the method that is looked at
    this.first = 0; // of the columns that a phone shows
    /** @type {Pair} */ this.pressed = [0, 0];
    this.size = { width: 0, height: 0 };
    this.phone = false;
    this.inSight = true; // the slider below the columns
    this.colors = { page: "", box: "", exact: "", released: "", public: "" };

    this.finding = make("p", "finding");
    this.now = make("div", "now", "", { "aria-hidden": "true" });
    const slider = () => make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Privacy budget ε" });
    this.input = slider();
    this.progress = make("div", "progress", "", { "aria-hidden": "true" }); // the line below the stage says it in words
    this.frame = make("div", "frame");
    this.stairs = makeShape("svg", { class: "stairs", "aria-hidden": "true" });
    this.asked = make("div", "asked");
    this.maps = make("div", "maps");
    this.table = make("table");
    this.lede = make("p", "lede");
    const why = makeButton("why", TITLE, () => this.dialog.showModal(), { "aria-haspopup": "dialog" });
    this.viewButtons = ["curator", "public"].map((audience) => makeButton("", "", () => tell(this.root, "audience", audience), { "data-audience": audience }));
    this.views = make("div", "seen", this.viewButtons, { role: "group", "aria-label": "View as" });
    this.conditions = make("ul");
    this.dialog = makeDialog("", [make("h2", "", TITLE), this.conditions], { "aria-label": TITLE });
    this.docked = slider();
    this.dockedValue = make("output", "", "", { "aria-hidden": "true" });
    this.dock = make("div", "dock", [this.dockedValue, this.docked], { hidden: "" }); // ε at hand in a small window, while the columns' is out of sight
    const foot = make("div", "foot", [this.lede, why, this.views]);
    this.root = make("section", "dpviz-compare", [make("div", "head", [this.finding, this.now]), this.progress, this.maps, foot, make("div", "unseen", [this.table]), this.dialog, this.dock], { "aria-label": "Methods at each ε" });
    parent.append(this.root);
    this.scroller = /** @type {HTMLElement | null} */ (scrollerOf(this.root));

    this.moves = new Moves(this.root, this.input, () => this.show());
    this.moves.grasp(this.maps, (x) => this.indexAt(x));
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
    this.maps.addEventListener("pointerdown", ({ clientX, clientY }) => { this.pressed = [clientX, clientY]; });
    this.maps.addEventListener("click", ({ clientX, clientY }) => {
      const isDrag = Math.hypot(clientX - this.pressed[0], clientY - this.pressed[1]) > CLICK_PX;
      const row = this.rows.find(({ cells }) => {
        const { top, bottom } = cells[this.moves.index].getBoundingClientRect();
        return clientY >= top && clientY <= bottom;
      });
      if (row && !isDrag && !this.data.fixed) this.choose(row.key);
    });
    this.watcher.observe(this.input);
    const layOut = () => this.layOut();
    watchSizes([this.root], layOut, signal);
    watchColors(this.root, layOut, signal);
    window.addEventListener("scroll", () => this.measure(), { capture: true, passive: true, signal });
  }

  destroy() {
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
    const { maps, chosen, conditions, share, views, epsilons, prices, texts } = this.data;
    if (this.rows.map(({ key }) => key).join() !== maps.map(({ key }) => key).join() || this.prices.length !== epsilons.length) {
      this.rows = maps.map((map) => this.makeRow(map));
      this.prices = epsilons.map(() => make("div", "price", [make("span", "bar", [make("i"), make("b")]), make("span", "text")]));
      this.first = Math.max(this.data.index - PHONE_COLUMNS + 2, 0);
      this.maps.replaceChildren(this.frame, ...this.rows.flatMap(({ button, cells }) => [button, ...cells]), this.asked, ...this.prices, this.stairs, this.input);
    }
    maps.forEach((map, i) => {
      Object.assign(this.rows[i], { map, centers: map.centers.map(pairsOf), haze: map.haze.map((runs) => runs.map(unpacked)) });
    });
    if (!maps.some(({ key }) => key === this.pick)) this.pick = null;
    this.pick = chosen ?? this.pick ?? maps[0]?.key ?? null;
    this.progress.hidden = share === null;
    this.progress.style.setProperty("--share", String(share ?? 1));
    this.views.hidden = !views;
    this.input.disabled = this.data.fixed;
    this.viewButtons.forEach((button, i) => {
      setText(button, views?.[i] ?? "");
      button.setAttribute("aria-pressed", String((button.dataset.audience === "public") === this.data.public));
    });
    this.prices.forEach((price, i) => {
      price.style.setProperty("--odds", String(prices[i][1]));
      price.classList.toggle("full", prices[i][1] > 0.5);
      setText(/** @type {Element} */ (price.querySelector("b")), prices[i][0]);
      setText(/** @type {Element} */ (price.lastChild), `${i ? "" : "ε "}${texts[i]}`);
    });
    this.conditions.replaceChildren(...conditions.map(([words, more]) => make("li", "", [make("b", "", words), ` ${more}`])));
    const heads = texts.map((text, i) => make("th", "", `ε = ${text}, ${this.data.asked[0]}: ${prices[i][0]}`, { scope: "col" }));
    this.table.replaceChildren(make("caption", "", this.data.lede), make("tr", "", [make("td"), ...heads]), ...maps.map(({ name, promise, reach, numbers }) =>
      make("tr", "", [make("th", "", [name, promise, reach].filter(Boolean).join(", "), { scope: "row" }), ...numbers.map((parts) => make("td", "", parts.join(" ")))])));
  }

  /** @param {CompareData["maps"][number]} map @returns {CompareRow} */
  makeRow(map) {
    const { key } = map;
    const [name, number, unit] = ["name", "number", "unit"].map((part) => make("span", part));
    const button = makeButton("map", [name, make("span", "value", [number, " ", unit])], () => this.choose(key), { "aria-pressed": "false" });
    for (const type of ["pointerdown", "click"]) button.addEventListener(type, (event) => event.stopPropagation());
    const cells = this.data.epsilons.map(() => make("canvas", "", "", { "aria-hidden": "true" }));
    return { key, map, button, cells, name, number, unit, centers: [], haze: [] };
  }

  /** Look at a method's run. @param {string} key */
  choose(key) {
    this.pick = key;
    this.write();
    this.picks = Math.max(this.picks, this.data.picks) + 1;
    this.given.setStateValue("picked", [key, this.moves.index, this.picks]);
  }

  // -- Size and colors --

  layOut() {
    this.readTheme();
    const width = this.root.clientWidth;
    if (!width || !this.rows.length) return;
    shrinkOnPaper(this.root);
    const phone = this.phone = width < PHONE;
    const isLarge = width >= LARGE && window.innerHeight >= LARGE_LOW;
    this.root.classList.toggle("phone", phone);
    this.root.classList.toggle("large", isLarge);
    const head = phone ? 0 : Math.max(HEADS[isLarge ? "large" : "wide"], 10 * roomSize(this.root));
    const count = phone ? Math.min(PHONE_COLUMNS, this.prices.length) : this.prices.length;
    this.showDock();
    this.reserve();
    setText(this.asked, this.data.asked[phone ? 1 : 0]);
    setText(this.lede, phone && this.data.public ? "" : `${this.data.lede} ${phone ? "" : this.data.middle}`);
    const gap = GAP[phone ? "phone" : "wide"];
    const aspect = clamp(this.data.aspect, 0.5, 2);
    // As high as the window leaves room.
    this.hideColumns();
    this.maps.style.gridTemplateColumns = [...(phone ? [] : [`${head}px`]), `repeat(${count}, var(--side, 60px))`].join(" ");
    const rowGap = parseFloat(getComputedStyle(this.maps).rowGap);
    const words = phone ? this.rows[0].button.offsetHeight - 2 * OVER_PX + rowGap : 0;
    const asked = phone ? this.asked.offsetHeight + rowGap : 0;
    const others = this.root.offsetHeight - this.maps.offsetHeight + this.prices[this.first].offsetHeight + asked + FRAME;
    const room = window.innerHeight - Math.max(0, topOf(this.root, this.scroller)) - others - 4;
    const most = room / this.rows.length - rowGap - words;
    const gaps = gap * (phone ? count - 1 : count);
    this.size.width = Math.floor(Math.max(Math.min((width - head - gaps) / count, most * aspect), LEAST_SIDE));
    this.size.height = Math.floor(this.size.width / aspect);
    this.maps.style.setProperty("--side", `${this.size.width}px`);
    this.draw();
    this.measure();
    this.show();
  }

  /** Show a phone the columns around ε alone. */
  hideColumns() {
    const { index } = this.moves;
    const count = this.phone ? PHONE_COLUMNS : this.prices.length;
    this.first = clamp(clamp(this.first, index - count + 1, index), 0, Math.max(this.prices.length - count, 0));
    const isOut = (/** @type {number} */ i) => i < this.first || i >= this.first + count;
    for (const cells of [...this.rows.map((row) => row.cells), this.prices]) cells.forEach((cell, i) => { cell.hidden = isOut(i); });
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
    const isNight = !matchMedia("print").matches && isDark(style.getPropertyValue("--st-background-color"));
    this.root.dataset.theme = isNight ? "dark" : "light";
    for (const name of COLORS) this.colors[name] = style.getPropertyValue(`--${name}`).trim();
  }

  measure() {
    for (const { cells } of this.rows) {
      for (const cell of cells) {
        if (cell.hidden) delete cell.dataset.dpvizBox;
        else tellBox(cell, cell);
      }
    }
  }

  // -- The maps --

  draw() {
    const records = this.drawRecords();
    for (const row of this.rows) row.cells.forEach((cell, i) => this.drawMap(cell, row, i, records));
  }

  /** The records are the same in all maps. */
  drawRecords() {
    const { width, height } = this.size;
    const canvas = make("canvas");
    const context = fitStageCanvas(canvas, width, height);
    context.fillStyle = this.colors.exact;
    context.globalAlpha = 0.42;
    const side = clamp(width / 110, 0.8, 1.6);
    for (const [x, y] of pairsOf(this.data.records) ?? []) context.fillRect(x * width - side / 2, (1 - y) * height - side / 2, side, side);
    return canvas;
  }

  /** Draw a map, which pales as its method fails. @param {HTMLCanvasElement} canvas @param {CompareRow} row @param {number} i @param {HTMLCanvasElement} records */
  drawMap(canvas, { map, centers, haze }, i, records) {
    const { colors, data, size: { width, height } } = this;
    const context = fitStageCanvas(canvas, width, height);
    const cost = map.costs[i] ?? data.most;
    const strength = centers[i] ? clamp((data.most - 1) / Math.max(cost - 1, 1e-9), FAINTEST, 1) : FAINTEST;
    context.fillStyle = colors.page;
    context.fillRect(0, 0, width, height);
    context.globalAlpha = strength;
    context.fillStyle = colors.box;
    context.fillRect(0, 0, width, height);
    context.drawImage(records, 0, 0, width, height);
    context.strokeStyle = context.fillStyle = colors.released;
    context.lineWidth = clamp(width / 60, 1.2, 3);
    const runs = haze[i]?.length ? haze[i] : [centers[i] ?? []];
    context.globalAlpha = strength * (runs.length > 1 ? HAZE : 0.8);
    for (const sites of runs) {
      context.beginPath();
      if (data.flat) {
        eachBorder((site, c) => sites[site][c], sites.length, (x0, y0, x1, y1) => {
          context.moveTo(x0 * width, (1 - y0) * height);
          context.lineTo(x1 * width, (1 - y1) * height);
        });
      }
      context.stroke();
    }
    const radius = clamp(width / 26, 3.2, 7);
    for (const sites of runs) this.drawCenters(context, sites, radius / 2.4);
    context.globalAlpha = strength;
    context.fillStyle = colors.box;
    this.drawCenters(context, centers[i] ?? [], radius + 1.5);
    context.fillStyle = colors.released;
    this.drawCenters(context, centers[i] ?? [], radius);
    context.globalAlpha = 0.45;
    context.strokeStyle = colors.public;
    context.lineWidth = 1;
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
  }

  /** Draw centers as discs; on a wall, and beyond, half of the disc is seen. @param {CanvasRenderingContext2D} context @param {Pair[]} sites @param {number} radius */
  drawCenters(context, sites, radius) {
    const { width, height } = this.size;
    for (const [x, y] of sites) {
      context.beginPath();
      context.arc(clamp(x, 0, 1) * width, (1 - clamp(y, 0, 1)) * height, radius, 0, TAU);
      context.fill();
    }
  }

  /** Draw the line between the maps that work and those that do not, dashed beside methods without a proof. */
  drawStairs() {
    const { rows, first, size, data } = this;
    const isKnown = data.maps.some((map) => map.first !== null); // not for everyone, and not before all runs are there
    const shown = rows[0].cells.map((cell, i) => (cell.hidden ? -1 : i)).filter((i) => i >= 0);
    const [start, next] = shown.map((i) => rows[0].cells[i].offsetLeft);
    const gap = next - start - size.width;
    const end = shown.length + first;
    /** @param {number} column */
    const x = (column) => (column < end ? rows[0].cells[Math.max(column, first)].offsetLeft - gap / 2 : rows[0].cells[end - 1].offsetLeft + size.width + gap / 2);
    const tops = rows.map(({ cells, button }) => (this.phone ? button.offsetTop + OVER_PX : cells[first].offsetTop - 4));
    tops.push(rows[rows.length - 1].cells[first].offsetTop + size.height + 4);
    /** @type {Pair[]} */ let points = [];
    this.stairs.replaceChildren(...[true, false].map((isProved) => {
      points = points.slice(-1); // the one goes on where the other ends
      rows.forEach(({ map }, i) => {
        if (isKnown && map.proved === isProved) points.push(...[tops[i], tops[i + 1]].map((y) => /** @type {Pair} */ ([x(map.first ?? data.epsilons.length), y])));
      });
      return makeShape("path", { d: pathThrough(points), class: isProved ? "" : "open" });
    }));
  }

  // -- What a move changes, in one frame --

  show() {
    if (!this.size.width) return;
    const { data, moves: { index } } = this;
    const epsilon = `ε = ${data.texts[index]}`;
    setText(this.finding, data.findings[index]);
    for (const place of [this.now, this.dockedValue]) setText(place, epsilon);
    for (const input of [this.input, this.docked]) {
      input.value = String(index);
      input.setAttribute("aria-valuetext", data.spoken[index]);
    }
    this.root.dataset.value = data.texts[index];
    this.root.dataset.index = String(index);
    tell(this.root, "finding", { text: data.findings[index], who: data.public ? "public" : "curator" });
    this.write();
    const before = this.first;
    this.hideColumns();
    if (before !== this.first) this.measure();
    this.drawStairs();
    const [top, price] = [this.rows[0].cells[index], this.prices[index]];
    Object.assign(this.frame.style, {
      left: `${top.offsetLeft - FRAME}px`, width: `${this.size.width + 2 * FRAME}px`, top: `${top.offsetTop - FRAME}px`,
      height: `${price.offsetTop + price.offsetHeight - top.offsetTop + 2 * FRAME}px`,
    });
    this.prices.forEach((each, i) => each.classList.toggle("here", i === index));
  }

  /** Write the number of each method at ε. */
  write() {
    const { data, phone, moves: { index } } = this;
    for (const [i, { map, name, number, unit, button }] of this.rows.entries()) {
      const isPicked = !data.public && map.key === this.pick;
      const [value, of] = map.numbers[index];
      setText(name, map.short);
      setText(number, of === "×" ? `${value}×` : value);
      let rest = of === "×" || (i && of === "in 100") ? "" : of; // said once
      if (!map.proved && !data.public) rest = map.promise; // what is usual needs no word
      else if (isPicked && !phone) rest = map.reach;
      setText(unit, rest);
      number.classList.toggle("works", !data.public && map.first !== null && index >= map.first);
      button.setAttribute("aria-pressed", String(isPicked));
      button.setAttribute("aria-label", [map.name, map.promise, `${value} ${of}${of === "×" ? " without privacy, the median" : ""}`, map.reach].filter(Boolean).join(", "));
    }
  }

  /** Return the column that is nearest to the pointer. @param {number} clientX */
  indexAt(clientX) {
    return nearestIndex(this.prices.map((price) => {
      const { left, width } = price.getBoundingClientRect();
      return price.hidden ? Infinity : left + width / 2;
    }), clientX);
  }
}

export default component((parent, given) => new CompareStage(parent, given));
