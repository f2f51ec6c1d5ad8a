// @ts-nocheck
// The live picture: a packed scene on a canvas, with its legend, steps and data table, below any element of any page.
//
//   import { housed, mount } from "./picture.js";
//   const picture = mount(housed(element, css), packed, { key: "picture", height: 400 });
//   picture.update(other);                     // zoom, step, play and the cluster seen alone live on
//   picture.destroy();
//
// `packed` are the bytes of dpviz.plots.scene.pack. Options, all of which may be left out:
//   key                  its name on the page
//   height               CSS pixels; with `fits` as high as the window leaves room, `scroller` and `surround` being what
//                        scrolls and what stands around it
//   stage                the public box alone, on a stage: `size` {width, height} of the canvas, CSS pixels, left out as
//                        wide as there is room; on a `phone` the box has no margins. Axes have their ends alone, marks are
//                        named where they stand, and layers, zoom, selection and table are in `picture.layersMenu()`
//   named                false where the page says the title itself
//   whole                alone in another page: without a caption, and with `fits` all of its legend is in view
//   plain                without tools and table, with a legend that says what the marks are and switches nothing
//   coarse               its numbers are not exact, and say nothing before `picture.refine(other)` has brought those
//   frame                the step it opens with, from 0; else the scene's own
//   follow               key of the picture whose steps this one shows
//   selected, picks      the cluster seen alone, and the number of the last pick, of a picture that was here before
//   select, inspected    whether points can be selected: {region, number}; and what is inside: {number, lines}
//   drawing              whether points can be drawn: {id, number, ...}; see dpviz/ui/data/drawing.py
//   arrive               scroll to the picture when it is drawn
//
// It tells what the reader does by events on its element, which bubble and pass out of a shadow root; `detail` is
//   dpviz:drawn          {key, stage}: new data are on the screen; `stage` are the words that came with them, or null
//   dpviz:frame          {key, frame, frames, label, detail, ease, stage}: another step of `frames` is shown, by whatever
//   dpviz:playing        {key, playing}: the steps play, or no more
//   dpviz:step           the step, from 0, that the reader or the play button went to; see `picture.chosen`
//   dpviz:selected       the cluster seen alone, or null
//   dpviz:picked         [pick of a layer, number, mark or null]
//   dpviz:region         [number, corners] of a selection, scene coordinates
//   dpviz:sketched       [id, number, [x, y, class, ...], whether to undo] of a drawing
//   dpviz:turned         [number, yaw, pitch] of a solid picture, degrees
// For a stage: `aspect`, width over height of the public box; `Picture.margins(phone)` around it; `step(by)`,
// `togglePlay()`, `frame`, `playing`; `waiting(true)` while another picture is on its way. `data-dpviz-box` on its element
// is where the public box is drawn: left, top, width and height in the viewport, CSS pixels.
// Colors and type come from the custom properties --dpviz-background, -text, -border, -accent and -font.

import { clamp, contextOf, easeInOut } from "./kit.js";
import { enlargement, frameAfter, groupCount, groupsAt, readHeader, reader, readTheme, unpack } from "./live_base.js";
import { drawScene } from "./live_draw.js";
import { drawLabels } from "./live_labels.js";
import { glideTo, hasCenters, progress, sameClusters, slotsOf } from "./live_glide.js";
import { turned } from "./live_turn.js";
import { tablesOf } from "./live_table.js";
import { groupSymbol, icon, iconButton, legendSymbol, lockIcon, tableElement } from "./live_parts.js";
import { make, setText } from "./elements.js";
import { HOME } from "./live_hands.js";
import { Tools } from "./live_tools.js";
import { keepFocus, moveFocus } from "./row.js";

const ROOMY = { left: 34, top: 10, right: 10, bottom: 24 }; // around the box on a stage: the ends of its axes
const BARE = { left: 0, top: 0, right: 0, bottom: 0 }; // on a phone
const EASE_MS = 200; // from one frame's marks to the next, less where a scene plays faster
const PAGES_OWN = "picture"; // the key of a page's main picture
const NUMBERED = /^(cluster )\d+(?=$|:)/i; // a cluster that is named by its number, with or without what is said of it
const MENU_PX = 8; // between the menu and its button, and the window's edge
const LEGEND_PX = 190; // room a legend needs beside the picture
const WIDEST = 1.6; // width over height of a picture that has the room
const BESIDE_PX = 420; // width of the narrowest picture with its legend beside it
const BELOW_PX = 8; // under the picture and its steps
const SAID_PX = 6; // above what a tool says
const LEAST_PX = 260; // height of a picture in a low window: then the page scrolls
const LEAST_PLAIN_PX = 120; // the same of a plain picture, which shows one thing
const LEGEND_BELOW_PX = 64; // most room that a picture leaves for a legend under it
const MOST_GROUPS = 24;
const FEW_GROUPS = 8; // of more than ten clusters; the others are behind a button
const MOST_LINES = 7; // of a legend; the others are behind a button
const MOST_LARGE_LINES = 5; // in type for a room, where seven are higher than the picture
const KNOWN_PICTURES = 64;
const KEPT_LINES = 2; // of these, for what a map draws in front
const stepsHeights = new Map(); // key of a live picture -> height of its steps: one that follows leaves as much
const latestSlots = new Map(); // key of a live picture -> the colors of its clusters, for charts beside it
const latestFrames = new Map(); // key of a live picture -> its frame, for charts that follow it

// ---- State -----------------------------------------------------------------------------------------------------

export class Picture extends Tools {
  /** Room around the box on a stage, CSS pixels. */
  static margins(phone) {
    return phone ? BARE : ROOMY;
  }

  constructor(parent, options) {
    super();
    this.scene = null;
    this.options = options;
    this.frame = 0;
    this.from = 0; // the frame the picture eases from
    this.easeStart = null; // time stamp of the first eased frame
    this.easing = false;
    this.glide = null; // the way from the scene before, while marks are on it
    this.touched = false; // the reader chose a frame
    this.playing = false;
    this.zoom = HOME;
    this.enlarged = 1; // how much larger than on a screen, for a projector
    this.unfolded = false; // whether the legend shows all of its lines
    this.hidden = new Set(); // names of layers switched off
    this.offered = new Set(); // names of layers that begin switched off, and have
    this.slots = null; // of each cluster's color and symbol; null: its own number
    this.knownSlots = new Map(); // hash of a scene -> its slots
    this.isolated = null;
    this.reported = null;
    this.lifted = null; // the {name, pick, i} that a click would pick
    this.pointed = null; // the {name, i} of the mark under the pointer
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
    const keys = make("span", "",
      "Arrow keys step, space plays, plus and minus zoom, 0 resets the view, Escape ends isolation. Shift and arrow keys turn a solid picture or move a zoomed one. The numbers are in the data table.", { id: "keys", hidden: "" });
    this.ctx = contextOf(this.canvas);
    this.tip = make("div", "tip", "", { "aria-hidden": "true" });
    this.tip.hidden = true;
    const zoomers = make("div", "zoomers", "", { role: "group", "aria-label": "Zoom" });
    zoomers.append(
      iconButton("plus", "Zoom in", () => this.zoomBy(1.5)),
      iconButton("minus", "Zoom out", () => this.zoomBy(1 / 1.5)),
      iconButton("reset", "Reset view", () => this.setZoom(HOME)));
    this.buildTools();
    const bar = make("div", "bar");
    bar.append(this.tools);
    this.picture.append(this.canvas, keys, bar, this.tip);
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
    this.foot = make("div", "foot");
    if (this.options.stage) this.buildStage(zoomers);
    else {
      this.tools.prepend(this.selectors);
      bar.append(zoomers);
      this.foot.append(this.caption, this.tableButton, this.tables, this.problem);
      this.root.append(this.title, this.picture, this.inspector, this.side, this.scrubber, this.foot);
    }
    parent.append(this.root);
  }

  /** The box alone: what else there is of the picture stands in its menu. */
  buildStage(zoomers) {
    this.root.classList.add("staged");
    this.menu = make("div", "layers", "", { popover: "auto", role: "group", "aria-label": "Layers" });
    const views = make("div", "views");
    views.append(zoomers, this.selectors);
    this.menu.append(this.legend, this.groups, views, this.caption, this.tableButton, this.tables);
    this.menu.addEventListener("toggle", () => this.placeMenu());
    this.unfolded = true; // the menu scrolls
    this.words.classList.add("unseen"); // read out; the stage writes them where it has room
    this.foot.append(this.problem);
    this.picture.append(this.inspector);
    this.root.append(this.picture, this.words, this.menu, this.foot);
  }

  /** The native popover with layers, clusters, zoom, selection and table; given a button, that opens it. */
  layersMenu(button = null) {
    if (button) {
      this.menuButton = button;
      button.popoverTargetElement = this.menu;
      button.setAttribute("aria-haspopup", "true");
    }
    return this.menu;
  }

  /** Put the open menu beside its button: above it where there is more room. */
  placeMenu() {
    if (!this.menuButton || !this.menu.matches(":popover-open")) return;
    const at = this.menuButton.getBoundingClientRect();
    const above = at.top > innerHeight - at.bottom;
    const { style } = this.menu;
    style.maxHeight = `${Math.floor((above ? at.top : innerHeight - at.bottom) - 2 * MENU_PX)}px`;
    style.top = above ? "auto" : `${at.bottom + MENU_PX}px`;
    style.bottom = above ? `${innerHeight - at.top + MENU_PX}px` : "auto";
    style.left = `${clamp(at.right - this.menu.offsetWidth, MENU_PX, Math.max(MENU_PX, innerWidth - this.menu.offsetWidth - MENU_PX))}px`;
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
    for (const row of [this.legend, this.groups, this.paints]) on(row, "keydown", (event) => moveFocus(event, row));
    on(this.root, "keydown", (event) => this.onKey(event));
    on(this.tableButton, "click", () => this.toggleTable());
    on(document, "dpviz:frame", ({ detail }) => {
      if (detail && this.options.follow && detail.key === this.options.follow) this.follow(detail.frame, detail.ease);
    });
    on(this.motion, "change", () => this.schedule());
    this.listenToPointer(on);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.root);
    this.menuObserver = new ResizeObserver(() => this.placeMenu());
    if (this.menu) this.menuObserver.observe(this.menu);
    if (this.options.surround) this.observer.observe(this.options.surround); // what stands above may grow
    on(window, "resize", () => this.resize());
    if (this.options.stage) on(document, "scroll", () => this.tellBoxSoon(), { capture: true, passive: true });
  }

  listenToPointer(on) {
    this.pointers = new Map();
    const { canvas } = this;
    on(canvas, "wheel", (event) => this.onWheel(event), { passive: false });
    on(canvas, "dblclick", () => { if (!this.tool) this.setZoom(HOME); });
    on(canvas, "pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.pointerType === "touch") this.tip.hidden = true;
      this.pointers.set(event.pointerId, event);
      this.moved = this.pointers.size > 1;
      if (this.moved) this.toolCancel();
      else this.toolDown(event);
      try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
    });
    on(canvas, "pointermove", (event) => this.onPointerMove(event));
    on(canvas, "pointerup", (event) => {
      const down = this.pointers.delete(event.pointerId);
      this.root.classList.remove("dragging");
      if (this.stroke && !this.stroke.keyed) return void this.toolUp();
      if (down && !this.tool && !this.moved && this.pointers.size === 0) this.onClick(event);
    });
    on(canvas, "pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.toolCancel();
    });
    on(canvas, "pointerleave", ({ pointerType }) => {
      if (pointerType === "touch") return; // a finger that is lifted leaves its words; the next touch takes them
      this.tip.hidden = true;
      this.lift(null);
      this.pointAt(null);
    });
  }

  // -- New data --

  /** Show another scene or other options; null for those that there are. An equal scene is not drawn again. */
  update(packed, options = null) {
    const first = this.scene === null;
    if (packed) this.waiting(false);
    const before = this.options;
    if (options) this.options = options;
    this.root.dataset.dpvizKey = this.options.key ?? "";
    this.root.classList.toggle("plain", Boolean(this.options.plain));
    this.root.classList.toggle("whole", Boolean(this.options.whole));
    this.tableButton.disabled = Boolean(this.options.coarse);
    if (first) this.isolated = this.reported = this.options.selected ?? null;
    this.picks = Math.max(this.picks, this.options.picks ?? 0);
    if (first || options || !packed) this.theme = readTheme(this.root); // it stays while ε moves
    this.theme.round = Boolean(this.options.stage); // borders part the clusters there: dots are calmer than eight shapes
    if (this.options.stage) this.theme.background = this.theme.box;
    this.theme.slots = this.slots;
    this.root.classList.toggle("dark", this.theme.name === "dark");
    try {
      this.problem.hidden = true;
      if (packed && readHeader(packed).header.hash !== this.scene?.hash) this.load(this.read(packed));
      else if (this.themeName !== this.themeKey()) { this.buildLegend(); this.draw(); }
      else if (before.height !== this.options.height || this.options.stage) this.resize();
    } catch (error) {
      this.fail(error);
      console.error(error);
      return;
    }
    this.themeName = this.themeKey();
    this.updateTools(first);
  }

  /** A packed scene; on a stage its axes begin and end where the public box does. */
  read(packed) {
    const scene = unpack(packed);
    if (this.options.stage) for (const axis of [scene.x, scene.y]) axis.view = axis.ends ?? axis.view;
    return scene;
  }

  /** Clusters keep colors, symbols and names from one picture to the next; return the number now of the one seen alone. */
  keepColors(old, scene) {
    const same = sameClusters(old, scene);
    if (old) this.knownSlots.set(old.hash, this.slots); // a picture that comes back has the colors that it had
    if (this.knownSlots.size > KNOWN_PICTURES) this.knownSlots.delete(this.knownSlots.keys().next().value);
    if (same && this.knownSlots.has(scene.hash)) this.slots = this.knownSlots.get(scene.hash);
    else if (same) this.slots = slotsOf(scene, same, this.slots);
    else this.slots = hasCenters(scene) ? null : latestSlots.get(this.options.follow ?? PAGES_OWN) ?? null;
    this.theme.slots = this.slots;
    latestSlots.set(this.options.key, this.slots);
    this.name(scene);
    return same && this.isolated !== null ? [...same].find(([, was]) => was === this.isolated)?.[0] ?? null : this.isolated;
  }

  /** "cluster 3" is the one in the third color. */
  name(scene) {
    const { slots } = this;
    if (slots) scene.group_names = scene.group_names.map((name, i) => name.replace(NUMBERED, `$1${(slots[i] ?? i) + 1}`));
  }

  /** Width over height of the public box in equal units; 1 where the axes are not the box's, or have units of their own. */
  get aspect() {
    const { x, y, equal } = this.scene ?? {};
    return equal && x.ends && y.ends ? (x.ends[1] - x.ends[0]) / (y.ends[1] - y.ends[0]) : 1;
  }

  /** The words that stand beside the picture, which came with it. */
  get stageWords() {
    return this.scene?.stage ?? null;
  }

  /** While another picture is on its way, this one stays, faint, under a thin line. */
  waiting(is) {
    this.root.classList.toggle("waiting", is);
    this.root.toggleAttribute("aria-busy", is);
  }

  /** Take the same scene with exact numbers. */
  refine(packed) {
    const scene = this.read(packed);
    if (scene.hash !== this.scene?.hash) return;
    this.name(scene);
    this.scene = scene;
    this.options = { ...this.options, coarse: false };
    this.tableButton.disabled = false;
    this.draw();
  }

  /** Tell whoever listens, also outside of a shadow root. */
  tell(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
  }

  /** The step that the reader has gone to, from 0; null where it is the one that the scene opens with. */
  get chosen() {
    return this.touched && this.stepped && this.frame !== this.scene.start_frame ? this.frame : null;
  }

  themeKey() {
    return `${this.theme.name}|${this.theme.background}|${this.theme.text}|${this.theme.font}`;
  }

  load(scene) {
    const shown = { scene: this.scene, frame: this.frame, glide: this.glide, now: performance.now() };
    const old = this.scene;
    const alone = this.keepColors(old, scene);
    this.scene = scene;

    this.angles = null; // where the reader has turned a solid picture, until the page has drawn it so
    this.root.classList.toggle("solid", Boolean(scene.solid));
    for (const { name, shown } of scene.layers) {
      if (shown === false && !this.offered.has(name)) this.hidden.add(name);
      if (shown === false) this.offered.add(name);
    }
    const linked = old || !this.stepped ? null : this.options.frame ?? null;
    if (linked !== null) [this.frame, this.touched] = [clamp(linked, 0, scene.frames.length - 1), true];
    const followed = latestFrames.get(this.options.follow);
    this.frame = followed === undefined
      ? linked !== null ? this.frame : frameAfter(old, scene, this.frame, this.touched)
      : clamp(followed, 0, scene.frames.length - 1);
    this.from = this.frame;
    this.easing = false;
    this.glide = this.motion.matches ? null : glideTo(scene, this.frame, shown);
    this.isolate(alone !== null && alone < groupCount(scene) ? alone : null);
    if (this.playing && scene.frames.length < 2) this.pause();
    this.canvas.setAttribute("aria-label", scene.alt);
    showText(this.title, this.options.named === false ? "" : scene.title);
    showText(this.caption, scene.caption);
    this.scrubber.hidden = !this.stepped || scene.frames.length < 2;
    this.range.max = String(scene.frames.length - 1);
    this.root.classList.toggle("equal", scene.equal);
    this.tip.hidden = true;
    this.pending = true;
    this.showFrame();
    this.announce(false);
    if (!(this.options.size && this.room > 0)) this.layOut(); // the stage has: asked for a size, the browser lays out the page
    this.patch();
    this.draw();
    if (this.glide) this.schedule();
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
    this.tell("step", target);
  }

  move(target, ease) {
    this.from = this.frame;
    this.frame = target;
    this.tip.hidden = true;
    this.glide = null; // steps are eased by themselves
    this.easing = ease && !this.motion.matches && this.scene.eased !== false;
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
    const [label, detail] = this.scene.frames[this.frame];
    const { frame, stageWords: stage } = this;
    this.tell("frame", { key: this.options.key, frame, frames: this.scene.frames.length, label, detail, ease, stage });
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
        this.timer = setTimeout(advance, this.scene.pace);
      }
    };
    this.timer = setTimeout(advance, this.scene.pace);
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
    this.tell("playing", { key: this.options.key, playing: this.playing });
  }

  showFrame() {
    const [label, detail] = this.scene.frames[this.frame];
    if (this.range.value !== String(this.frame)) this.range.value = String(this.frame);
    this.words.title = [label, detail].filter(Boolean).join(": ");
    this.range.setAttribute("aria-valuetext", label || `Step ${this.frame + 1} of ${this.scene.frames.length}`);
    this.range.style.setProperty("--done", `${(100 * this.frame) / Math.max(1, this.scene.frames.length - 1)}%`);
    const isSaid = !this.menu || this.touched; // on a stage they are there to be read out, once somebody steps
    showText(this.frameLabel, isSaid ? label : "");
    showText(this.frameDetail, isSaid ? detail : "");
    this.root.dataset.dpvizFrame = String(this.frame);
    this.buildLegend();
    if (this.toolButtons) this.showTools();
    if (!this.tables.hidden) this.buildTables();
  }

  // -- Drawing --

  schedule() {
    this.request ??= requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.request = undefined;
    this.easeStart ??= now;
    const t = this.easing ? clamp((now - this.easeStart) / Math.min(EASE_MS, this.scene.pace), 0, 1) : 1;
    this.easing = t < 1;
    if (!this.glide) this.root.dataset.dpvizFrames = String(this.counters.frames += 1); // steps: a glide has its own
    this.draw(easeInOut(t), now);
    if (this.easing || this.glide) this.schedule();
  }

  draw(t = 1, now = performance.now()) {
    if (!this.scene || !(this.width > 0)) return;
    const dpr = (devicePixelRatio || 1) * this.enlarged;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const glided = this.glide ? progress(this.glide, now) : 1;
    if (glided >= 1) this.glide = null;
    this.root.classList.toggle("gliding", this.glide !== null);
    const scene = this.angles ? turned(this.scene, this.frame, this.angles) : this.scene;
    Object.assign(this, drawScene(this.ctx, scene, this.view(this.angles ? 1 : t, dpr, glided)));
    if (this.options.stage && !this.angles) drawLabels(this.ctx, scene, this.view(t, dpr, glided), this);
    this.drawTools(this.ctx);
    if (this.options.stage && JSON.stringify(this.box) !== this.boxTold) this.tellBox();
    if (!this.pending) return;
    this.pending = false;
    this.counters.drawn += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    this.root.dataset.dpvizScene = this.scene.hash;
    this.root.dataset.dpvizDrawn = String(this.counters.drawn);
    if (this.options.stage) this.tellBoxSoon(); // the words that come with it may move the picture
    this.tell("drawn", { key: this.options.key, stage: this.stageWords });
    if (this.options.arrive) this.arrive();
  }

  /** Write where the public box is drawn, in the viewport. */
  tellBox() {
    if (!this.box) return;
    const at = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.box;
    const box = JSON.stringify(this.box);
    if (box !== this.boxTold) for (const [side, px] of Object.entries(this.box)) this.picture.style.setProperty(`--box-${side}`, `${px}px`);
    this.boxTold = box;
    this.root.dataset.dpvizBox = [at.left + left, at.top + top, width, height].map((px) => px.toFixed(1)).join(" ");
  }

  tellBoxSoon() {
    this.telling ??= requestAnimationFrame(() => setTimeout(() => { // the frame has laid the page out: asking for places is free
      this.telling = undefined;
      this.tellBox();
    }));
  }

  /** Bring the picture onto the screen: what the reader clicked elsewhere has led to it, and not to what stands above. */
  arrive() {
    this.options.arrive = false;
    (this.root.getRootNode().host ?? this.root).scrollIntoView({ block: "center" });
  }

  view(t = 1, dpr = 1, glided = 1) {
    const { frame, from, glide, zoom, hidden, isolated, lifted, pointed, width, height, theme, cache } = this;
    const margins = this.options.stage ? Picture.margins(this.options.phone) : null; // of a stage
    const phone = Boolean(this.options.phone);
    const large = this.options.stage ? this.large : 1; // other pictures grow as a whole
    return { large, frame, from, t, glide, glided, zoom, hidden, isolated, lifted, pointed, width, height, dpr, theme, cache,
      margins, phone };
  }

  /** Sizes from the width there is: the legend stands beside a square picture where it fits. */
  layOut() {
    const room = this.root.clientWidth;
    if (!(room > 0)) return;
    if (this.options.stage) return void this.layOutStage(room);
    this.enlarged = enlargement();
    const { fits } = this.options;
    const space = room / this.enlarged;
    const beside = (fits || this.scene.equal) && space >= (fits ? BESIDE_PX : this.options.height) + LEGEND_PX;
    this.root.classList.toggle("beside", beside);
    const height = fits ? this.fitting(beside) / this.enlarged : this.options.height;
    const widest = !fits ? 1.12 : this.scene.equal ? WIDEST : Infinity;
    this.width = beside ? Math.min(space - LEGEND_PX, Math.round(height * widest)) : space;
    this.height = Math.round(Math.min(height, this.scene.equal ? space : Math.max(180, space * (fits ? 1 : 0.8))));
    this.picture.style.zoom = String(this.enlarged);
    this.picture.style.setProperty("--enlarged", String(this.enlarged));
    this.picture.style.width = `${this.width}px`;
    this.picture.style.height = `${this.height}px`;
    this.side.style.maxHeight = this.options.whole && fits && beside ? `${this.height * this.enlarged}px` : "";
    this.room = room;
  }

  /** The size that the stage gives; without one the box is as wide as there is room. */
  layOutStage(room) {
    const { left, top, right, bottom } = Picture.margins(this.options.phone);
    const fitted = { width: room, height: Math.round((room - left - right) / this.aspect) + top + bottom };
    Object.assign(this, this.options.size ?? fitted);
    this.large = enlargement();
    this.picture.style.width = `${this.width}px`;
    this.picture.style.height = `${this.height}px`;
    this.room = room;
  }

  /** The height, in the window's pixels, that is left below what stands above the picture, with its steps in view, and the
   *  legend where it stands below. */
  fitting(beside) {
    const above = this.picture.getBoundingClientRect().top + (this.options.scroller?.scrollTop ?? scrollY);
    const own = this.scrubber.hidden ? 0 : this.scrubber.offsetHeight;
    stepsHeights.set(this.options.key, own);
    const steps = stepsHeights.get(this.options.follow) ?? own;
    const docked = parseFloat(getComputedStyle(this.root).getPropertyValue("--dpviz-docked")) || 0;
    const said = this.inspector.hidden ? 0 : this.inspector.offsetHeight + SAID_PX;
    const { plain, whole } = this.options; // all of its legend is in view
    const foot = whole ? this.foot.offsetHeight : 0;
    const below = plain || whole ? this.side.offsetHeight : docked ? 0 : Math.min(this.side.offsetHeight, LEGEND_BELOW_PX);
    const legend = beside ? 0 : below;
    return Math.max(plain ? LEAST_PLAIN_PX : LEAST_PX, Math.floor(innerHeight - above - said - steps - legend - foot - docked - BELOW_PX));
  }

  resize() {
    if (!this.scene) return;
    const before = [this.room, this.width, this.height, this.dpr, this.enlarged];
    this.layOut();
    this.dpr = devicePixelRatio;
    if (this.pending || [this.room, this.width, this.height, this.dpr, this.enlarged].some((now, i) => now !== before[i])) this.draw();
    else if (this.options.stage) this.tellBox(); // it may stand elsewhere
  }

  // -- Legend and table --

  buildLegend() {
    const { scene, theme } = this;
    const shown = scene.layers.filter((layer) => layer.rows[this.frame] >= 0);
    const chips = new Map(); // layers of one name share a chip
    for (const layer of shown) if (layer.legend && !chips.has(layer.name)) chips.set(layer.name, layer);
    const key = JSON.stringify([theme.name, [...chips].map(([name, l]) => [name, l.kind, l.role, l.symbol, l.audience, l.dash,
      l.fill, l.size, l.hue, l.pick]), [...this.hidden], this.unfolded, this.slots]);
    if (key !== this.legendKey) {
      this.legendKey = key;
      // What starts switched off comes last: it is there on request.
      const lines = [...chips.values()].sort((a, b) => (a.shown === false) - (b.shown === false));
      const most = enlargement() > 1 ? MOST_LARGE_LINES : MOST_LINES;
      const entries = (this.unfolded ? lines : foremost(lines, most, scene.equal)).map((layer) => this.entry(layer));
      if (lines.length > most && !this.menu) entries.push(this.moreButton(lines.length - most));
      keepFocus(this.legend, () => this.legend.replaceChildren(...entries));
    }
    this.buildGroups(shown);
  }

  moreButton(count) {
    const words = this.unfolded ? "Fewer" : `${count} more`;
    const button = make("button", "chip more", words, { type: "button", "aria-expanded": String(Boolean(this.unfolded)) });
    button.addEventListener("click", () => {
      this.unfolded = !this.unfolded;
      this.buildLegend();
    });
    return button;
  }

  /** A layer's line in the legend: its chip; where it can be picked, its symbol switches it and its words pick it. */
  entry(layer) {
    const chip = this.chip(layer);
    if (!layer.pick) return chip;
    const words = make("button", "pick", "", { type: "button", title: "Click to show this one." });
    const named = make("span");
    named.append(make("span", "unseen", "Show "), ...chip.lastElementChild.childNodes);
    words.append(named);
    chip.lastElementChild.replaceChildren(make("span", "unseen", layer.name));
    words.addEventListener("click", () => this.pick(layer));
    for (const type of ["focus", "pointerenter"]) words.addEventListener(type, () => this.lift({ layer, i: null }));
    for (const type of ["blur", "pointerleave"]) words.addEventListener(type, () => this.lift(null));
    const entry = make("span", "entry");
    entry.append(chip, words);
    return entry;
  }

  chip(layer) {
    const { plain } = this.options;
    const chip = plain ? make("span", "chip") : make("button", "chip", "", {
      type: "button", "aria-pressed": String(!this.hidden.has(layer.name)), title: layer.audience === "curator"
        ? "Only the data holder sees this. Click to hide or show." : "Click to hide or show." });
    chip.dataset.layer = layer.name;
    chip.dataset.audience = layer.audience;
    const words = make("span", "", layer.name);
    if (layer.audience === "curator") words.append(...locked(words));
    chip.append(legendSymbol(layer, this.theme), words);
    if (plain) return chip;
    chip.addEventListener("click", () => {
      if (!this.hidden.delete(layer.name)) this.hidden.add(layer.name);
      this.buildLegend();
      if (!this.tables.hidden) this.buildTables();
      this.draw();
    });
    return chip;
  }

  buildGroups(shown) {
    const seen = groupsAt(shown, this.frame);
    const colored = shown.some((layer) => layer.role === "cluster");
    const names = [...this.scene.group_names.entries()]
      // Without marks in the clusters' colors, as for the public, an entry would name nothing that is seen.
      .filter(([group]) => seen.has(group) && (colored || group === this.isolated)).slice(0, MOST_GROUPS);
    const folds = names.length > FEW_GROUPS + 2 && !this.menu;
    const few = folds && !this.unfolded ? names.filter(([group], i) => i < FEW_GROUPS || group === this.isolated) : names;
    const key = JSON.stringify([this.theme.name, few, folds, colored, this.isolated, this.slots]);
    if (key === this.groupsKey) return;
    this.groupsKey = key;
    this.groups.hidden = names.length === 0;
    const chips = few.map(([group, name]) => {
      const chip = make("button", "chip group", "", { type: "button", "aria-pressed": String(this.isolated === group),
        title: "Click to see this cluster alone." });
      chip.dataset.group = String(group);
      chip.append(groupSymbol(group, this.theme, colored), make("span", "", name));
      chip.addEventListener("click", () => this.isolate(this.isolated === group ? null : group));
      return chip;
    });
    if (folds) chips.push(this.moreButton(names.length - FEW_GROUPS));
    keepFocus(this.groups, () => this.groups.replaceChildren(...chips));
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
      this.tell("selected", this.isolated);
    }, 250);
  }

  // -- Picking --

  /** Report a layer's pick, and mark; its number is larger than any before, also before the page was left and reopened. */
  pick(layer, i = null) {
    this.picks = Math.max(this.picks + 1, Date.now());
    this.root.dataset.dpvizPicked = layer.pick;
    this.tell("picked", [layer.pick, this.picks, i]);
  }

  /** Draw thicker what a click would pick. */
  lift(found) {
    const lifted = found && { name: found.layer.name, pick: found.layer.pick, i: found.i };
    if (JSON.stringify(lifted) === JSON.stringify(this.lifted)) return;
    this.lifted = lifted;
    this.root.dataset.dpvizLifted = lifted ? lifted.pick : "";
    this.drawSoon();
  }

  /** Draw in full what belongs to the mark under the pointer, or to the mark that a line under it belongs to. */
  pointAt(found) {
    const hub = found?.layer.hub;
    const pointed = found && { name: hub || found.layer.name, i: hub ? reader(found.layer.arrays.hub, found.row)(found.i) : found.i };
    if (JSON.stringify(pointed) === JSON.stringify(this.pointed)) return;
    const before = this.pointed?.name;
    this.pointed = pointed;
    if (this.scene.layers.some(({ hub }) => hub && (hub === pointed?.name || hub === before))) this.drawSoon();
  }

  // -- The end --

  fail(error) {
    this.problem.hidden = false;
    this.problem.textContent = `This picture could not be drawn (${error.message}). Reload the page to try again.`;
  }

  destroy() {
    this.stopped.abort();
    this.observer.disconnect();
    this.menuObserver.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.reporting);
    clearTimeout(this.spraying);
    clearTimeout(this.turning);
    for (const request of [this.request, this.redraw, this.hovering, this.telling]) if (request !== undefined) cancelAnimationFrame(request);
    latestFrames.delete(this.options.key);
    latestSlots.delete(this.options.key);
    stepsHeights.delete(this.options.key);
    this.root.remove();
  }
}

/** The `most` lines of a legend that there is room for. On a map the box gives way first, and what is drawn last, which is
 *  the release, stays; in a chart what is last gives way. */
function foremost(lines, most, isMap) {
  if (!isMap || lines.length <= most) return lines.slice(0, most);
  const on = lines.filter(({ shown }) => shown !== false);
  const foreground = on[0]?.role === "public" ? lines.slice(1) : lines;
  const kept = new Set(on.slice(-KEPT_LINES));
  for (const line of foreground) if (kept.size < most) kept.add(line);
  return foreground.filter((line) => kept.has(line));
}

/** What words end with when only the data holder sees what they name: the last word keeps its lock beside it. */
function locked(words) {
  const text = words.textContent;
  const at = text.lastIndexOf(" ") + 1;
  words.textContent = text.slice(0, at);
  const last = make("span", "kept", text.slice(at));
  last.append(" ", lockIcon());
  return [last, make("span", "unseen", "(secret)")];
}

/** Show a text, or nothing at all. */
function showText(element, text) {
  setText(element, text);
  element.hidden = text === "";
}

/** A root of its own below an element, with this style: the page's does not reach into it, nor its own out of it. */
export function housed(element, css) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  return root;
}

/** Draw a packed scene below an element or shadow root; see the top of this file. */
export function mount(element, packed, options = {}) {
  const picture = new Picture(element, options);
  picture.update(packed);
  return picture;
}
