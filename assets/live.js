// The live picture, second part: its elements and state.
// A keyed component is not mounted again when its data change, so zoom, frame, play and isolation live on.

import {
  GROUP_SYMBOLS, NO_GROUP, STROKED, clamp, colourOf, disc, drawScene, easeInOut, frameAfter, groupCount, hit,
  isDashed, pickAt, readHeader, readTheme, strokeWidth, symbolPath, tablesOf, tooltipLines, unpack,
} from "./live_draw.js";

const PLAY_MS = 700; // between two frames while playing
const EASE_MS = 200; // from one frame's marks to the next
const SCROLL_MS = 300; // a wheel that scrolled the page so recently does not zoom
const LEGEND_PX = 190; // room a legend needs beside the picture
const MAX_ZOOM = 200;
const SVG = "http://www.w3.org/2000/svg";

const latestFrames = new Map(); // key of a live picture -> its frame, for charts that follow it
const instances = new WeakMap(); // parentElement -> Live

// ---- DOM -------------------------------------------------------------------------------------------------------

/** An element with a class, text and attributes; text is only ever text. */
function make(tag, className = "", text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function svg(size, shapes, attributes = {}) {
  const root = document.createElementNS(SVG, "svg");
  const all = { width: size, height: size, viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true", ...attributes };
  for (const [name, value] of Object.entries(all)) root.setAttribute(name, value);
  for (const { tag = "path", ...rest } of shapes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(rest)) shape.setAttribute(name, value);
    root.append(shape);
  }
  return root;
}

const ICONS = {
  first: "M4 3h1.6v10H4zM13 3v10L6.4 8z",
  back: "M11.5 3v10L4.5 8z",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4.5 3v10l7-5z",
  last: "M10.4 3H12v10h-1.6zM3 3v10l6.6-5z",
  plus: "M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2z",
  minus: "M3 7.2h10v1.6H3z",
  reset: "M3 3h4v1.5H4.5V7H3zM9 3h4v4h-1.5V4.5H9zM3 9h1.5v2.5H7V13H3zM11.5 9H13v4H9v-1.5h2.5z",
};
const icon = (name) => svg(16, [{ d: ICONS[name], fill: "currentColor" }]);
const lockIcon = () => svg(16, [{ d: symbolPath("lock", 5), transform: "translate(8 8)", fill: "currentColor" }],
  { class: "lock", width: 12, height: 12 });

function iconButton(name, label, onClick) {
  const button = make("button", `icon ${name}`, "", { type: "button", "aria-label": label, title: label });
  button.append(icon(name));
  button.addEventListener("click", onClick);
  return button;
}

/** A layer's symbol for the legend. */
function legendSymbol(layer, theme) {
  const colour = colourOf(theme, layer, 0);
  const dashed = isDashed(layer) ? { "stroke-dasharray": "3 2.2" } : {};
  const stroke = { fill: "none", stroke: colour, "stroke-width": 1.8, ...dashed };
  switch (layer.kind) {
    case "points": return svg(18, [[5, 5.5, 0], [13, 7, 1], [7.5, 13, 2]].map(([x, y, g]) => ({
      d: symbolPath(layer.role === "cluster" ? GROUP_SYMBOLS[g] : layer.symbol, 2.6), transform: `translate(${x} ${y})`,
      ...(layer.role === "exact" ? { fill: "none", stroke: colour } : { fill: colourOf(theme, layer, g) }) })));
    case "marks": {
      const hollow = STROKED.has(layer.symbol) || (layer.role === "exact" && layer.symbol !== "lock");
      return svg(18, [{ d: symbolPath(layer.symbol, 5), transform: "translate(9 9)",
        ...(hollow ? { fill: "none", stroke: colour, "stroke-width": 2 } : { fill: colour }) }]);
    }
    case "circles": return svg(18, [{ ...stroke, d: disc(7), transform: "translate(9 9)", fill: colour,
      "fill-opacity": layer.fill }]);
    case "heat": return svg(18, [8, 5.5, 3].map((r) => ({ d: disc(r), transform: "translate(9 9)", fill: colour,
      "fill-opacity": 0.3 })));
    case "arrows": return svg(18, [{ ...stroke, d: "M2 15L12 6" }, { d: "M16 2L13.5 9L8.6 4.4Z", fill: colour }]);
    case "bars": return svg(18, [{ ...stroke, d: "M3 16V8H8V16ZM10 16V3H15V16Z", fill: colour,
      "fill-opacity": layer.fill, "stroke-width": 1.2 }]);
    case "bands": return svg(18, [{ d: "M1 7Q6 2 17 3V12Q8 11 1 16Z", fill: colour,
      "fill-opacity": Math.max(0.25, layer.fill) }]);
    case "grid": return svg(18, [[2, 2, 0.75], [9, 2, 0.3], [2, 9, 0.15], [9, 9, 0.5]].map(([x, y, opacity]) => ({
      d: `M${x} ${y}h6.5v6.5h-6.5z`, fill: colour, "fill-opacity": opacity })));
    case "trails": return svg(18, [{ ...stroke, d: "M2 14L7 8L11 11L16 3", "stroke-opacity": 0.75 }]);
    case "cursor": return svg(18, [{ ...stroke, d: "M9 1V17" }]);
    default: return svg(18, [{ ...stroke, d: "M1 9H17", "stroke-width": clamp(strokeWidth(layer), 1.5, 4),
      "stroke-opacity": layer.role === "reference" ? 0.55 : 1 }]);
  }
}

const groupSymbol = (group, theme, coloured) => svg(14, [{
  d: symbolPath(coloured ? GROUP_SYMBOLS[group % GROUP_SYMBOLS.length] : "circle", 4), transform: "translate(7 7)",
  ...(coloured && !STROKED.has(GROUP_SYMBOLS[group % GROUP_SYMBOLS.length])
    ? { fill: theme.clusters[group % theme.clusters.length] }
    : { fill: "none", stroke: coloured ? theme.clusters[group % theme.clusters.length] : theme.text, "stroke-width": 2 }),
}]);

function tableElement({ caption, head, rows, total, which = "first" }) {
  const table = make("table");
  const said = total > rows.length ? `${caption} (${which} ${rows.length} of ${total} rows)` : caption;
  table.append(make("caption", "", said));
  const headRow = table.createTHead().insertRow();
  for (const title of head) headRow.append(make("th", "", title, { scope: "col" }));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) line.insertCell().textContent = cell;
  }
  const scroller = make("div", "scroll", "", { tabindex: "0", role: "region", "aria-label": said });
  scroller.append(table);
  return scroller;
}

// ---- State -----------------------------------------------------------------------------------------------------

const HOME = { k: 1, x: 0.5, y: 0.5 };

class Live {
  constructor(parent) {
    this.scene = null;
    this.options = {};
    this.frame = 0;
    this.from = 0; // the frame the picture eases from
    this.easeStart = null; // time stamp of the first eased frame
    this.easing = false;
    this.touched = false; // the reader chose a frame
    this.playing = false;
    this.zoom = HOME;
    this.hidden = new Set(); // names of layers switched off
    this.offered = new Set(); // names of layers that begin switched off, and have
    this.isolated = null;
    this.reported = null;
    this.lifted = null; // the {name, pick, i} that a click would pick
    this.picks = 0; // number of the last pick
    this.counters = { drawn: 0, frames: 0 };
    this.pending = false; // new data not drawn yet: the picture had no size
    this.cache = { orders: new WeakMap(), heats: new WeakMap(), points: new Map(), sprites: new Map() };
    this.motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.build(parent);
    this.listen();
  }

  build(parent) {
    this.root = make("figure", "dpviz-live");
    this.title = make("div", "title");
    this.picture = make("div", "picture");
    this.canvas = make("canvas", "", "", { role: "img", tabindex: "0", "aria-describedby": "keys" });
    const keys = make("span", "unseen", "Arrow keys step, space plays, plus and minus zoom, 0 resets the view, "
      + "Escape ends isolation. The numbers are in the data table.", { id: "keys" });
    this.ctx = this.canvas.getContext("2d");
    this.tip = make("div", "tip", "", { "aria-hidden": "true" });
    this.tip.hidden = true;
    const zoomers = make("div", "zoomers", "", { role: "group", "aria-label": "Zoom" });
    zoomers.append(
      iconButton("plus", "Zoom in", () => this.zoomBy(1.5)),
      iconButton("minus", "Zoom out", () => this.zoomBy(1 / 1.5)),
      iconButton("reset", "Reset view", () => this.setZoom(HOME)));
    this.picture.append(this.canvas, keys, zoomers, this.tip);
    this.buildScrubber();
    this.legend = make("div", "legend", "", { role: "group", "aria-label": "Legend: show or hide" });
    this.groups = make("div", "legend groups", "", { role: "group", "aria-label": "Clusters: isolate one" });
    this.side = make("div", "side");
    this.side.append(this.legend, this.groups);
    this.caption = make("figcaption");
    this.tableButton = make("button", "table-button", "Data table", { type: "button", "aria-expanded": "false" });
    this.tables = make("div", "tables");
    this.tables.hidden = true;
    this.problem = make("p", "problem", "", { role: "alert" });
    this.problem.hidden = true;
    const foot = make("div", "foot");
    foot.append(this.caption, this.tableButton, this.tables, this.problem);
    this.root.append(this.title, this.picture, this.side, this.scrubber, foot);
    parent.append(this.root);
  }

  buildScrubber() {
    this.scrubber = make("div", "scrubber", "", { role: "group", "aria-label": "Steps" });
    this.range = make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Step" });
    this.playButton = iconButton("play", "Play", () => this.togglePlay());
    this.frameLabel = make("div", "frame-label");
    this.frameDetail = make("div", "frame-detail");
    this.words = make("div", "words", "", { "aria-live": "polite" });
    this.words.append(this.frameLabel, this.frameDetail);
    const controls = make("div", "controls");
    controls.append(
      iconButton("first", "First step", () => this.step(-Infinity)),
      iconButton("back", "One step back", () => this.step(-1)),
      this.playButton,
      iconButton("forward", "One step forward", () => this.step(1)),
      iconButton("last", "Last step", () => this.step(Infinity)),
      this.range);
    this.scrubber.append(controls, this.words);
  }

  listen() {
    this.stopped = new AbortController();
    const on = (target, type, handler, options = {}) => target.addEventListener(type, handler,
      { signal: this.stopped.signal, ...options });
    on(this.range, "input", () => {
      this.pause();
      this.go(Number(this.range.value), { ease: false });
    });
    on(this.root, "keydown", (event) => this.onKey(event));
    on(this.tableButton, "click", () => this.toggleTable());
    on(document, "dpviz:frame", ({ detail }) => {
      if (detail && this.options.follow && detail.key === this.options.follow) this.follow(detail.frame, detail.ease);
    });
    on(this.motion, "change", () => this.schedule());
    this.listenToPointer(on);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.root);
  }

  listenToPointer(on) {
    this.pointers = new Map();
    this.scrolled = -Infinity; // when the wheel last scrolled the page: a scroll that arrives here goes on
    const { canvas } = this;
    on(canvas, "wheel", (event) => this.onWheel(event), { passive: false });
    on(canvas, "dblclick", () => this.setZoom(HOME));
    on(canvas, "pointerdown", (event) => {
      if (event.button !== 0) return;
      this.pointers.set(event.pointerId, event);
      this.moved = this.pointers.size > 1;
      try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
    });
    on(canvas, "pointermove", (event) => this.onPointerMove(event));
    on(canvas, "pointerup", (event) => {
      const down = this.pointers.delete(event.pointerId);
      if (down && !this.moved && this.pointers.size === 0) this.onClick(event);
      this.root.classList.remove("dragging");
    });
    on(canvas, "pointercancel", (event) => this.pointers.delete(event.pointerId));
    on(canvas, "pointerleave", () => {
      this.tip.hidden = true;
      this.lift(null);
    });
    on(document, "wheel", (event) => { if (!event.defaultPrevented) this.scrolled = event.timeStamp; }, { passive: true });
  }

  // -- New data --

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data.byteOffset % 8 === 0 ? data : data.slice());
    const hash = readHeader(body).header.hash;
    const first = this.scene === null;
    const sameHeight = this.options.height === options.height;
    this.options = options;
    this.root.dataset.dpvizKey = options.key;
    if (first) this.isolated = this.reported = options.selected ?? null;
    this.picks = Math.max(this.picks, options.picks ?? 0);
    this.theme = readTheme(this.root);
    this.root.classList.toggle("dark", this.theme.name === "dark");
    if (hash !== this.scene?.hash) this.load(unpack(body));
    else if (this.themeName !== this.themeKey()) { this.buildLegend(); this.draw(); }
    else if (!sameHeight) this.resize();
    this.themeName = this.themeKey();
    setQuery(options.query);
  }

  themeKey() {
    return `${this.theme.name}|${this.theme.background}|${this.theme.text}|${this.theme.font}`;
  }

  load(scene) {
    const old = this.scene;
    this.scene = scene;
    for (const { name, shown } of scene.layers) {
      if (shown === false && !this.offered.has(name)) this.hidden.add(name);
      if (shown === false) this.offered.add(name);
    }
    const followed = latestFrames.get(this.options.follow);
    this.frame = followed === undefined
      ? frameAfter(old, scene, this.frame, this.touched)
      : clamp(followed, 0, scene.frames.length - 1);
    this.from = this.frame;
    this.easing = false;
    if (this.isolated !== null && this.isolated >= groupCount(scene)) this.isolate(null);
    if (this.playing && scene.frames.length < 2) this.pause();
    this.canvas.setAttribute("aria-label", scene.alt);
    setText(this.title, scene.title);
    setText(this.caption, scene.caption);
    this.scrubber.hidden = !this.stepped || scene.frames.length < 2;
    this.range.max = String(scene.frames.length - 1);
    this.root.classList.toggle("equal", scene.equal);
    this.tip.hidden = true;
    this.pending = true;
    this.showFrame();
    this.announce(false);
    this.layOut();
    this.draw();
  }

  // -- Frames --

  /** Whether the reader steps this picture, or it follows another one. */
  get stepped() {
    return this.scene.scrubber && !this.options.follow;
  }

  go(frame, { ease = true } = {}) {
    const target = clamp(frame, 0, this.scene.frames.length - 1);
    this.touched = true;
    if (target !== this.frame) this.move(target, ease);
  }

  move(target, ease) {
    this.from = this.frame;
    this.frame = target;
    this.easing = ease && !this.motion.matches;
    this.easeStart = null;
    this.showFrame();
    this.announce(this.easing);
    this.schedule();
  }

  follow(frame, ease) {
    if (!this.scene) return;
    const target = clamp(frame, 0, this.scene.frames.length - 1);
    if (target !== this.frame) this.move(target, ease);
  }

  announce(ease) {
    if (!this.stepped) return;
    latestFrames.set(this.options.key, this.frame);
    const detail = { key: this.options.key, frame: this.frame, ease };
    document.dispatchEvent(new CustomEvent("dpviz:frame", { detail }));
  }

  step(by) {
    this.pause();
    this.go(clamp(this.frame + by, 0, this.scene.frames.length - 1));
  }

  togglePlay() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const last = this.scene.frames.length - 1;
    if (last < 1) return;
    this.playing = true;
    this.showPlaying();
    if (this.frame === last) this.go(0, { ease: false });
    const advance = () => {
      if (this.frame >= this.scene.frames.length - 1) this.pause();
      else {
        this.go(this.frame + 1);
        this.timer = setTimeout(advance, PLAY_MS);
      }
    };
    this.timer = setTimeout(advance, PLAY_MS);
  }

  pause() {
    clearTimeout(this.timer);
    this.playing = false;
    this.showPlaying();
  }

  showPlaying() {
    const label = this.playing ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = `${label} (space)`;
    this.words.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  showFrame() {
    const [label, detail] = this.scene.frames[this.frame];
    if (this.range.value !== String(this.frame)) this.range.value = String(this.frame);
    this.range.setAttribute("aria-valuetext", label || `Step ${this.frame + 1} of ${this.scene.frames.length}`);
    this.range.style.setProperty("--done", `${(100 * this.frame) / Math.max(1, this.scene.frames.length - 1)}%`);
    setText(this.frameLabel, label);
    setText(this.frameDetail, detail);
    this.root.dataset.dpvizFrame = String(this.frame);
    this.buildLegend();
    if (!this.tables.hidden) this.buildTables();
  }

  // -- Drawing --

  schedule() {
    this.request ??= requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.request = undefined;
    this.easeStart ??= now;
    const t = this.easing ? clamp((now - this.easeStart) / EASE_MS, 0, 1) : 1;
    this.easing = t < 1;
    this.draw(easeInOut(t));
    this.counters.frames += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    if (this.easing) this.schedule();
  }

  draw(t = 1) {
    if (!this.scene || !(this.width > 0)) return;
    const dpr = devicePixelRatio || 1;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    Object.assign(this, drawScene(this.ctx, this.scene, this.view(t, dpr)));
    if (!this.pending) return;
    this.pending = false;
    this.counters.drawn += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    this.root.dataset.dpvizScene = this.scene.hash;
    this.root.dataset.dpvizDrawn = String(this.counters.drawn);
    window.dispatchEvent(new CustomEvent("dpviz:drawn", { detail: { key: this.options.key } }));
  }

  view(t = 1, dpr = 1) {
    const { frame, from, zoom, hidden, isolated, lifted, width, height, theme, cache } = this;
    return { frame, from, t, zoom, hidden, isolated, lifted, width, height, dpr, theme, cache };
  }

  /** Sizes from the width there is: the legend stands beside a square picture where it fits. */
  layOut() {
    const room = this.root.clientWidth;
    if (!(room > 0)) return;
    const { height } = this.options;
    const beside = this.scene.equal && room >= height + LEGEND_PX;
    this.root.classList.toggle("beside", beside);
    this.width = beside ? Math.min(room - LEGEND_PX, Math.round(height * 1.12)) : room;
    this.height = Math.round(Math.min(height, this.scene.equal ? room : Math.max(180, room * 0.8)));
    this.picture.style.width = `${this.width}px`;
    this.picture.style.height = `${this.height}px`;
    this.room = room;
  }

  resize() {
    if (!this.scene) return;
    const before = [this.room, this.width, this.height, this.dpr];
    this.layOut();
    this.dpr = devicePixelRatio;
    if (this.pending || [this.room, this.width, this.height, this.dpr].some((now, i) => now !== before[i])) this.draw();
  }

  // -- Legend and table --

  buildLegend() {
    const { scene, theme } = this;
    const shown = scene.layers.filter((layer) => layer.rows[this.frame] >= 0);
    const chips = new Map(); // layers of one name share a chip
    for (const layer of shown) if (layer.legend && !chips.has(layer.name)) chips.set(layer.name, layer);
    const key = JSON.stringify([theme.name, [...chips].map(([name, l]) => [name, l.kind, l.role, l.symbol, l.audience, l.dash,
      l.fill, l.size, l.hue, l.pick]), [...this.hidden]]);
    if (key !== this.legendKey) {
      this.legendKey = key;
      this.keepFocus(this.legend, () => this.legend.replaceChildren(...[...chips.values()].map((l) => this.entry(l))));
    }
    this.buildGroups(shown);
  }

  /** A layer's line in the legend: its chip; where it can be picked, its symbol switches it and its words pick it. */
  entry(layer) {
    const chip = this.chip(layer);
    if (!layer.pick) return chip;
    const words = make("button", "pick", "", { type: "button", title: "Click to show this one." });
    words.append(make("span", "unseen", "Show "), ...chip.lastElementChild.childNodes);
    chip.lastElementChild.replaceChildren(make("span", "unseen", layer.name));
    words.addEventListener("click", () => this.pick(layer));
    for (const type of ["focus", "pointerenter"]) words.addEventListener(type, () => this.lift({ layer, i: null }));
    for (const type of ["blur", "pointerleave"]) words.addEventListener(type, () => this.lift(null));
    const entry = make("span", "entry");
    entry.append(chip, words);
    return entry;
  }

  chip(layer) {
    const chip = make("button", "chip", "", { type: "button", "aria-pressed": String(!this.hidden.has(layer.name)),
      title: layer.audience === "curator" ? "Only the data holder sees this. Click to hide or show." : "Click to hide or show." });
    chip.dataset.layer = layer.name;
    chip.dataset.audience = layer.audience;
    const words = make("span", "", layer.name);
    if (layer.audience === "curator") words.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
    chip.append(legendSymbol(layer, this.theme), words);
    chip.addEventListener("click", () => {
      if (!this.hidden.delete(layer.name)) this.hidden.add(layer.name);
      this.buildLegend();
      if (!this.tables.hidden) this.buildTables();
      this.draw();
    });
    return chip;
  }

  buildGroups(shown) {
    const names = shown.some((layer) => layer.isolate) ? this.scene.group_names.slice(0, 24) : [];
    const coloured = shown.some((layer) => layer.role === "cluster");
    const key = JSON.stringify([this.theme.name, names, coloured, this.isolated]);
    if (key === this.groupsKey) return;
    this.groupsKey = key;
    this.groups.hidden = names.length === 0;
    this.keepFocus(this.groups, () => this.groups.replaceChildren(...names.map((name, group) => {
      const chip = make("button", "chip group", "", { type: "button", "aria-pressed": String(this.isolated === group),
        title: "Click to see this cluster alone." });
      chip.dataset.group = String(group);
      chip.append(groupSymbol(group, this.theme, coloured), make("span", "", name));
      chip.addEventListener("click", () => this.isolate(this.isolated === group ? null : group));
      return chip;
    })));
  }

  /** Rebuild a row of buttons and give the focus back to the one that had it. */
  keepFocus(row, rebuild) {
    const focused = [...row.querySelectorAll("button")].indexOf(row.getRootNode().activeElement);
    rebuild();
    if (focused >= 0) row.querySelectorAll("button")[focused]?.focus();
  }

  toggleTable() {
    this.tables.hidden = !this.tables.hidden;
    this.tableButton.setAttribute("aria-expanded", String(!this.tables.hidden));
    if (this.tables.hidden) this.tables.replaceChildren();
    else this.buildTables();
  }

  buildTables() {
    this.tables.replaceChildren(...tablesOf(this.scene, this.frame, this.hidden).map(tableElement));
  }

  // -- Isolation --

  isolate(group) {
    if (group === this.isolated) return;
    this.isolated = group;
    this.root.dataset.dpvizSelected = group === null ? "" : String(group);
    if (this.scene) this.buildLegend();
    this.draw();
    clearTimeout(this.reporting); // a double click is not worth two messages
    this.reporting = setTimeout(() => {
      if (this.isolated === this.reported) return;
      this.reported = this.isolated;
      this.setStateValue("selected", this.isolated);
    }, 250);
  }

  // -- Picking --

  /** Report a layer's pick, and mark; its number is larger than any before, also before the page was left and reopened. */
  pick(layer, i = null) {
    this.picks = Math.max(this.picks + 1, Date.now());
    this.root.dataset.dpvizPicked = layer.pick;
    this.setStateValue("picked", [layer.pick, this.picks, i]);
  }

  /** Draw thicker what a click would pick. */
  lift(found) {
    const lifted = found && { name: found.layer.name, pick: found.layer.pick, i: found.i };
    if (JSON.stringify(lifted) === JSON.stringify(this.lifted)) return;
    this.lifted = lifted;
    this.root.dataset.dpvizLifted = lifted ? lifted.pick : "";
    this.drawSoon();
  }

  // -- Pointer, wheel and keys --

  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  onClick(event) {
    this.canvas.focus({ preventScroll: true });
    if (!this.scale) return;
    const at = this.position(event);
    const picked = pickAt(this.scene, this.view(), this.scale, ...at);
    const found = hit(this.scene, this.view(), this.scale, ...at, { clusters: true });
    if (picked && !(found && !found.layer.pick && found.distance < picked.distance)) {
      return void this.pick(picked.layer, picked.i);
    }
    const group = found && found.group !== NO_GROUP ? found.group : null;
    this.isolate(group === this.isolated ? null : group);
  }

  onPointerMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.hover(event);
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (!this.moved && Math.hypot(dx, dy) < 4) return;
    this.moved = true;
    this.tip.hidden = true;
    this.root.classList.add("dragging");
    if (this.pointers.size === 2) this.pinch(event);
    else if (event.pointerType !== "touch" || this.zoom.k > 1) this.panBy(dx, dy);
    this.pointers.set(event.pointerId, event);
  }

  pinch(event) {
    const spread = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    const [a, b] = [...this.pointers.values()];
    const other = a.pointerId === event.pointerId ? b : a;
    const before = a.pointerId === event.pointerId ? a : b;
    const factor = spread(event, other) / Math.max(1, spread(before, other));
    const box = this.canvas.getBoundingClientRect();
    this.zoomBy(factor, (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
  }

  hover(event) {
    this.hoverAt = this.position(event);
    this.hovering ??= requestAnimationFrame(() => {
      this.hovering = undefined;
      if (!this.scale || this.pointers.size) return;
      const found = hit(this.scene, this.view(), this.scale, ...this.hoverAt);
      const picked = pickAt(this.scene, this.view(), this.scale, ...this.hoverAt);
      this.lift(picked);
      this.tip.hidden = !found;
      this.canvas.style.cursor = found || picked ? "pointer" : "";
      if (found) this.showTip(found);
    });
  }

  showTip(found) {
    const lines = tooltipLines(this.scene, found);
    this.tip.replaceChildren(...lines.map((text, i) => make("div", i === 0 ? "name" : "", text)));
    const [x, y] = [this.scale.x(found.x), this.scale.y(found.y)];
    const { offsetWidth: w, offsetHeight: h } = this.tip;
    const left = x + 14 + w > this.width ? x - 14 - w : x + 14;
    this.tip.style.left = `${clamp(left, 0, Math.max(0, this.width - w))}px`;
    this.tip.style.top = `${clamp(y - h / 2, 0, Math.max(0, this.height - h))}px`;
  }

  onWheel(event) {
    const scrolling = event.timeStamp - this.scrolled < SCROLL_MS || (event.deltaY > 0 && this.zoom.k <= 1);
    if (scrolling && !event.ctrlKey) return; // with ctrl it is a pinch
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.zoomBy(Math.exp(-clamp(pixels, -200, 200) * (event.ctrlKey ? 0.01 : 0.002)), ...this.position(event));
  }

  /** Zoom so that the scene stays put under a pixel (the middle, unless told). */
  zoomBy(factor, px = null, py = null) {
    if (!this.scale) return;
    const { plot, scale, scene, zoom } = this;
    const k = clamp(zoom.k * factor, 1, MAX_ZOOM);
    if (k === 1) return void this.setZoom(HOME);
    const x = scale.left(px ?? plot.left + plot.width / 2);
    const y = scale.up(py ?? plot.top + plot.height / 2);
    const keep = (axis, middle, at) => {
      const home = (at - axis.view[0]) / (axis.view[1] - axis.view[0]);
      return home + ((middle - home) * zoom.k) / k;
    };
    this.setZoom({ k, x: keep(scene.x, zoom.x, x), y: keep(scene.y, zoom.y, y) });
  }

  panBy(dx, dy) {
    const { scale, scene, zoom } = this;
    const span = (axis) => axis.view[1] - axis.view[0];
    this.setZoom({ ...zoom, x: zoom.x - dx / scale.kx / span(scene.x), y: zoom.y + dy / scale.ky / span(scene.y) });
  }

  setZoom(zoom) {
    this.zoom = { k: zoom.k, x: clamp(zoom.x, -0.25, 1.25), y: clamp(zoom.y, -0.25, 1.25) };
    this.root.classList.toggle("zoomed", zoom !== HOME);
    this.root.dataset.dpvizZoom = this.zoom.k.toFixed(3);
    this.drawSoon();
  }

  drawSoon() {
    this.redraw ??= requestAnimationFrame(() => {
      this.redraw = undefined;
      this.draw();
    });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    const onPicture = event.composedPath()[0] === this.canvas;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const pan = event.shiftKey && onPicture ? arrows[event.key] : undefined;
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "_": 1 / 1.5 };
    if (event.key === "Escape" && this.isolated !== null) this.isolate(null);
    else if (this.stepped && (event.key === "k" || (event.key === " " && onPicture))) this.togglePlay();
    else if (!onPicture) return;
    else if (pan) this.panBy(-40 * pan[0], 40 * pan[1]);
    else if (event.key in zooms) this.zoomBy(zooms[event.key]);
    else if (event.key === "0") this.setZoom(HOME);
    else if (event.key in steps && !event.shiftKey && this.stepped) this.step(steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // -- The end --

  fail(error) {
    this.problem.hidden = false;
    this.problem.textContent = `This picture could not be drawn (${error.message}). Reload the page to try again.`;
  }

  destroy() {
    this.stopped.abort();
    this.observer.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.reporting);
    for (const request of [this.request, this.redraw, this.hovering]) if (request !== undefined) cancelAnimationFrame(request);
    latestFrames.delete(this.options.key);
    this.root.remove();
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}

/** Put the knobs into the address without a new entry in the history. */
function setQuery(query) {
  if (!query || location.search === `?${query}`) return;
  history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
}

export default function mount(component) {
  const { parentElement } = component;
  if (!component.data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Live(parentElement));
  const live = instances.get(parentElement);
  try {
    live.problem.hidden = true;
    live.update(component);
  } catch (error) {
    live.fail(error);
    console.error(error);
  }
  return () => {
    live.destroy();
    instances.delete(parentElement);
  };
}
