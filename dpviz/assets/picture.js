// The live picture: a packed scene on a canvas, with its legend, steps and data table, below any element of any page.
//
//   import { housed, mount } from "./picture.js";
//   const picture = mount(housed(element, css), packed, { key: "picture", height: 400 });
//   picture.update(other);                     // zoom, step, play and the cluster seen alone live on
//   picture.destroy();
//
// `packed` are the bytes of dpviz.plots.scene.pack. Options, and the events by which it tells what the reader does, are in
// types.d.ts; events bubble and pass out of a shadow root. For a stage there are also `aspect`, width over height of the
// public box; `Picture.margins(phone)` around it; `playButton` and `range`, which it takes up; `waiting(true)` while
// another picture is on its way. `data-dpviz-box` on its element is where the public box is drawn: left, top, width and
// height in the viewport, CSS pixels.
// Colors and type come from the custom properties --dpviz-background, -text, -border, -accent and -font.

/** @import { Lens } from "./lens.js" */
/** @import { Box, Cache, Detail, Glide, Layer, Options, Packed, Scale, Scene, Size, View } from "./types.d.ts" */

import { clamp, contextOf, easeInOut, listenUntil, onNextFrame, Timer } from "./kit.js";
import { enlargement, frameAfter, groupCount, readHeader, readTheme, unpack } from "./live_base.js";
import { drawScene } from "./live_draw.js";
import { drawLabels } from "./live_labels.js";
import { glideTo, hasCenters, progress, sameClusters, slotsOf } from "./live_glide.js";
import { turned } from "./live_turn.js";
import { tablesOf } from "./live_table.js";
import { icon, iconButton, tableElement } from "./live_parts.js";
import { make, setText, tellBox } from "./elements.js";
import { Hands } from "./live_hands.js";
import { Legend } from "./live_legend.js";
import { Tools } from "./live_tools.js";

const ROOMY = { left: 34, top: 10, right: 10, bottom: 24 }; // around the box on a stage: the ends of its axes
const BARE = { left: 0, top: 0, right: 0, bottom: 0 }; // on a phone
const EASE_MS = 200; // from one frame's marks to the next, less where a scene plays faster
const REPORT_MS = 250; // until a cluster seen alone is reported: a double click is not worth two messages
const PAGES_OWN = "picture"; // the key of a page's main picture
const NUMBERED = /^(cluster )\d+(?=$|:)/i; // a cluster that is named by its number, with or without what is said of it
const LEGEND_PX = 190; // room a legend needs beside the picture
const WIDEST = 1.6; // width over height of a picture that has the room
const BESIDE_PX = 420; // width of the narrowest picture with its legend beside it
const BELOW_PX = 8; // under the picture and its steps
const LEAST_PX = 260; // height of a picture in a low window: then the page scrolls
const LEAST_PLAIN_PX = 120; // the same of a plain picture, which shows one thing
const LEGEND_BELOW_PX = 64; // most room that a picture leaves for a legend under it
const KNOWN_PICTURES = 64;
const KEYS = "Arrow keys step, space plays, plus and minus zoom, 0 resets the view, Escape ends isolation. Shift and arrow "
  + "keys turn a solid picture or move a zoomed one. The numbers are in the data table.";
const latestSlots = /** @type {Map<string | undefined, number[] | null>} */ (new Map()); // key of a live picture -> the colors of its clusters, for charts beside it
const latestFrames = /** @type {Map<string | undefined, number>} */ (new Map()); // key of a live picture -> its frame, for charts that follow it

/** @type {Scene["x"]} */
const NO_AXIS = { label: "", unit: "", view: [0, 1], values: [0, 1], ticks: false, log: false, whole: false, names: [], ends: null };
/** @type {Scene} before there is one */
export const NO_SCENE = { title: "", alt: "", caption: "", hash: "", x: NO_AXIS, y: NO_AXIS, layers: [], frames: [["", ""]], start_frame: 0,
  equal: false, scrubber: false, group_names: [], pace: 0, solid: null };

export class Picture {
  /** What draws the lens of a scene that has one, in a page that may have it. @type {typeof Lens | null} */
  static Lens = null;

  /** Room around the box on a stage, CSS pixels. @param {boolean | undefined} phone */
  static margins(phone) {
    return phone ? BARE : ROOMY;
  }

  /** @param {Element | ShadowRoot} parent @param {Options} options */
  constructor(parent, options) {
    this.options = options;
    this.scene = NO_SCENE;
    this.frame = 0;
    this.from = 0; // the frame the picture eases from
    this.easeStart = /** @type {number | null} */ (null); // time stamp of the first eased frame
    this.easing = false;
    this.glide = /** @type {Glide | null} */ (null); // the way from the scene before, while marks are on it
    this.touched = false; // the reader chose a frame
    this.playing = false;
    this.width = 0; // CSS pixels
    this.height = 0;
    this.room = 0; // the width of all
    this.dpr = 0;
    this.enlarged = 1; // how much larger than on a screen, for a projector
    this.large = 1; // the same of type and marks on a stage
    this.hidden = /** @type {Set<string>} */ (new Set()); // names of layers switched off
    this.offered = /** @type {Set<string>} */ (new Set()); // names of layers that begin switched off, and have
    this.slots = /** @type {number[] | null} */ (null); // of each cluster's color and symbol; null: its own number
    this.knownSlots = /** @type {Map<string, number[] | null>} */ (new Map()); // hash of a scene -> its slots
    this.isolated = /** @type {number | null} */ (null);
    this.reported = /** @type {number | null} */ (null); // the cluster seen alone that the page knows
    this.picks = 0; // number of the last pick
    this.counters = { drawn: 0, frames: 0 };
    this.pending = false; // new data not drawn yet: the picture had no size
    this.scale = /** @type {Scale | null} */ (null); // as it was last drawn
    this.plot = { left: 0, top: 0, width: 0, height: 0 };
    this.box = /** @type {Box | null} */ (null); // on a stage
    this.boxTold = ""; // where the style sheet has it
    /** @type {Cache} */
    this.cache = { orders: new WeakMap(), heats: new WeakMap(), points: new Map(), sprites: new Map() };
    this.motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.player = new Timer();
    this.reporter = new Timer();
    this.teller = new Timer();
    this.drawSoon = onNextFrame(() => this.draw());
    this.schedule = onNextFrame((now) => this.tick(now));
    this.tellBoxSoon = onNextFrame(() => this.teller.start(() => this.tellBox(), 0)); // once the frame has laid the page out
    this.stopped = new AbortController();
    this.listen = listenUntil(this.stopped.signal);

    this.root = make("figure", "dpviz-live");
    this.title = make("div", "title");
    this.picture = make("div", "picture");
    this.canvas = make("canvas", "", "", { role: "img", tabindex: "0", "aria-describedby": "keys" });
    this.ctx = contextOf(this.canvas);
    this.caption = make("figcaption");
    this.tableButton = make("button", "table-button", "Data table", { type: "button", "aria-expanded": "false" });
    this.tables = make("div", "tables", "", { hidden: "" });
    this.problem = make("p", "problem", "", { role: "alert", hidden: "" });
    this.foot = make("div", "foot");
    this.side = make("div", "side");
    this.scrubber = make("div", "scrubber", "", { role: "group", "aria-label": "Steps" });
    this.range = make("input", "steps", "", { type: "range", min: "0", step: "1", "aria-label": "Step" });
    this.playButton = iconButton("play", "Play", () => this.togglePlay());
    this.frameLabel = make("div", "frame-label");
    this.frameDetail = make("div", "frame-detail");
    this.words = make("div", "words", "", { "aria-live": "polite" });
    this.menu = options.stage ? make("div", "layers", "", { popover: "auto", role: "group", "aria-label": "Layers" }) : null;
    this.lens = /** @type {Lens | null} */ (null); // of scenes that have one
    this.legend = new Legend(this);
    this.hands = new Hands(this);
    this.tools = new Tools(this);
    this.observer = new ResizeObserver(() => this.resize());
    this.build();
    parent.append(this.root);
    this.theme = readTheme(this.root); // it stays while ε moves
    this.themeName = "";
    this.listenToPage();
  }

  // -- Elements --

  build() {
    const { hands, tools, legend } = this;
    const controls = make("div", "controls", [
      iconButton("first", "First step", () => this.step(-Infinity)),
      iconButton("back", "One step back", () => this.step(-1)),
      this.playButton,
      iconButton("forward", "One step forward", () => this.step(1)),
      iconButton("last", "Last step", () => this.step(Infinity)),
      this.range]);
    this.words.append(this.frameLabel, this.frameDetail);
    this.scrubber.append(controls, this.words);
    const bar = make("div", "bar", [tools.bar]);
    this.picture.append(this.canvas, make("span", "", KEYS, { id: "keys", hidden: "" }), bar, hands.tip);
    this.side.append(legend.layers, legend.groups);
    if (this.menu) { // the box alone: what else there is of the picture stands in its menu
      this.root.classList.add("staged");
      const views = make("div", "views", [hands.zoomers, tools.selectors]);
      this.menu.append(legend.layers, legend.groups, views, this.caption, this.tableButton, this.tables);
      this.words.classList.add("unseen"); // read out; the stage writes them where it has room
      this.foot.append(this.problem);
      this.picture.append(tools.inspector);
      this.root.append(this.picture, this.words, this.menu, this.foot);
    } else {
      bar.append(hands.zoomers);
      this.foot.append(this.caption, this.tableButton, this.tables, this.problem);
      this.root.append(this.title, this.picture, this.side, this.scrubber, this.foot);
    }
  }

  listenToPage() {
    const on = this.listen;
    on(this.range, "input", () => {
      this.pause();
      this.go(Number(this.range.value), { ease: false });
    });
    on(this.tableButton, "click", () => {
      this.tables.hidden = !this.tables.hidden;
      this.tableButton.setAttribute("aria-expanded", String(!this.tables.hidden));
      if (this.tables.hidden) this.tables.replaceChildren();
      else this.buildTables();
    });
    on(document, "dpviz:frame", ({ detail }) => {
      if (this.options.follow && detail?.key === this.options.follow) this.follow(detail.frame, detail.ease);
    });
    on(this.motion, "change", () => this.schedule());
    on(window, "resize", () => this.resize());
    this.observer.observe(this.root);
    if (this.options.surround) this.observer.observe(this.options.surround); // what stands above may grow
    if (!this.menu) return;
    on(document, "scroll", () => this.tellBoxSoon(), { capture: true, passive: true });
  }

  /** Let a button open the native popover with layers, clusters, zoom, selection and table; the style sheet puts it beside the button. @param {HTMLButtonElement} button */
  layersMenu(button) {
    button.popoverTargetElement = this.menu;
    button.setAttribute("aria-haspopup", "true");
  }

  // -- New data --

  /** Show another scene or other options; null for those that there are. An equal scene is not drawn again. @param {Packed | null} packed @param {Options | null} options */
  update(packed, options = null) {
    const first = !this.loaded;
    if (packed) this.waiting(false);
    const { height } = this.options;
    if (options) this.options = options;
    const { root, options: { key, plain, whole, coarse, stage, selected, picks } } = this;
    root.dataset.dpvizKey = key ?? "";
    root.classList.toggle("plain", Boolean(plain));
    root.classList.toggle("whole", Boolean(whole));
    this.tableButton.disabled = Boolean(coarse);
    if (first) this.isolated = this.reported = selected ?? null;
    this.picks = Math.max(this.picks, picks ?? 0);
    if (options || !packed) this.theme = readTheme(root);
    this.theme.round = Boolean(stage); // borders part the clusters there: dots are calmer than eight shapes
    if (stage) this.theme.background = this.theme.box;
    this.theme.slots = this.slots;
    root.classList.toggle("dark", this.theme.name === "dark");
    const themeName = [this.theme.name, this.theme.background, this.theme.text, this.theme.font].join("|");
    try {
      this.problem.hidden = true;
      if (packed && readHeader(packed).header.hash !== this.scene.hash) this.load(this.read(packed));
      else if (this.themeName !== themeName) { this.legend.show(); this.draw(); }
      else if (height !== this.options.height || stage) this.resize();
    } catch (error) {
      this.problem.hidden = false;
      const why = error instanceof Error ? error.message : error;
      this.problem.textContent = `This picture could not be drawn (${why}). Reload the page to try again.`;
      console.error(error);
      return;
    }
    this.themeName = themeName;
    this.tools.update(first);
  }

  get loaded() {
    return this.scene !== NO_SCENE;
  }

  /** A packed scene; on a stage its axes begin and end where the public box does. @param {Packed} packed */
  read(packed) {
    const scene = unpack(packed);
    if (this.options.stage) for (const axis of [scene.x, scene.y]) axis.view = axis.ends ?? axis.view;
    return scene;
  }

  /** Clusters keep colors, symbols and names from one picture to the next; return the number now of the one seen alone. @param {Scene | null} old @param {Scene} scene */
  keepColors(old, scene) {
    const same = sameClusters(old, scene);
    if (old) this.knownSlots.set(old.hash, this.slots); // a picture that comes back has the colors that it had
    if (this.knownSlots.size > KNOWN_PICTURES) this.knownSlots.delete([...this.knownSlots.keys()][0]);
    const known = this.knownSlots.get(scene.hash);
    if (same) this.slots = known === undefined ? slotsOf(scene, same, this.slots) : known;
    else this.slots = hasCenters(scene) ? null : latestSlots.get(this.options.follow ?? PAGES_OWN) ?? null;
    this.theme.slots = this.slots;
    latestSlots.set(this.options.key, this.slots);
    this.name(scene);
    return same && this.isolated !== null ? [...same].find(([, was]) => was === this.isolated)?.[0] ?? null : this.isolated;
  }

  /** "cluster 3" is the one in the third color. @param {Scene} scene */
  name(scene) {
    const { slots } = this;
    if (slots) scene.group_names = scene.group_names.map((name, i) => name.replace(NUMBERED, `$1${(slots[i] ?? i) + 1}`));
  }

  /** Width over height of the public box in equal units; 1 where the axes are not the box's, or have units of their own. */
  get aspect() {
    const { x, y, equal } = this.scene;
    return equal && x.ends && y.ends ? (x.ends[1] - x.ends[0]) / (y.ends[1] - y.ends[0]) : 1;
  }

  /** While another picture is on its way, this one stays, faint, under a thin line. @param {boolean} is */
  waiting(is) {
    this.root.classList.toggle("waiting", is);
    this.root.toggleAttribute("aria-busy", is);
  }

  /** Take the same scene with exact numbers. @param {Packed} packed */
  refine(packed) {
    const scene = this.read(packed);
    if (scene.hash !== this.scene.hash) return;
    this.name(scene);
    this.scene = scene;
    this.options = { ...this.options, coarse: false };
    this.tableButton.disabled = false;
    this.draw();
  }

  /** Tell whoever listens, also outside of a shadow root.
   *  @template {string} Name @param {Name} name @param {Detail<Name>} detail */
  tell(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
  }

  /** The step that the reader has gone to, from 0; null where it is the one that the scene opens with. */
  get chosen() {
    return this.touched && this.stepped && this.frame !== this.scene.start_frame ? this.frame : null;
  }

  load(/** @type {Scene} */ scene) {
    const old = this.loaded ? this.scene : null;
    const shown = { scene: old, frame: this.frame, glide: this.glide, now: performance.now() };
    const alone = this.keepColors(old, scene);
    this.scene = scene;
    const last = scene.frames.length - 1;
    this.hands.angles = null; // where the reader has turned a solid picture, until the page has drawn it so
    this.root.classList.toggle("solid", Boolean(scene.solid));
    for (const layer of scene.layers) {
      if (layer.shown !== false) continue;
      if (!this.offered.has(layer.name)) this.hidden.add(layer.name);
      this.offered.add(layer.name);
    }
    this.from = this.frame = this.openAt(old, scene);
    this.easing = false;
    this.glide = this.motion.matches ? null : glideTo(scene, this.frame, shown);
    this.isolate(alone !== null && alone < groupCount(scene) ? alone : null);
    if (this.playing && last < 1) this.pause();
    this.canvas.setAttribute("aria-label", scene.alt);
    showText(this.title, this.options.named === false ? "" : scene.title);
    showText(this.caption, scene.caption);
    this.scrubber.hidden = this.playButton.hidden = this.range.hidden = !this.stepped || last < 1;
    this.range.max = String(last);
    this.root.classList.toggle("equal", scene.equal);
    this.hands.tip.hidden = true;
    this.pending = true;
    this.showFrame();
    this.announce(false);
    if (!(this.options.size && this.room > 0)) this.layOut(); // the stage has: asked for a size, the browser lays out the page
    this.tools.patch();
    this.draw();
    if (this.glide) this.schedule();
  }

  /** The frame that a new scene opens with: that of the picture it follows, one that a link names, or the one before. @param {Scene | null} old @param {Scene} scene */
  openAt(old, scene) {
    const { follow, frame = null } = this.options;
    const linked = old || !this.stepped ? null : frame;
    if (linked !== null) this.touched = true;
    const chosen = latestFrames.get(follow) ?? linked;
    return chosen === null ? frameAfter(old, scene, this.frame, this.touched) : clamp(chosen, 0, scene.frames.length - 1);
  }

  // -- Frames --

  /** Whether the reader steps this picture, or it follows another one. */
  get stepped() {
    return this.scene.scrubber && !this.options.follow;
  }

  go(/** @type {number} */ frame, { ease = true } = {}) {
    this.touched = true;
    this.follow(frame, ease);
    this.tell("step", this.frame);
  }

  /** Show a frame without telling. @param {number} frame @param {boolean} ease */
  follow(frame, ease) {
    const target = clamp(frame, 0, this.scene.frames.length - 1);
    if (!this.loaded || target === this.frame) return;
    this.from = this.frame;
    this.frame = target;
    this.hands.tip.hidden = true;
    this.glide = null; // steps are eased by themselves
    this.easing = ease && !this.motion.matches && this.scene.eased !== false;
    this.easeStart = null;
    this.showFrame();
    this.announce(this.easing);
    this.schedule();
  }

  announce(/** @type {boolean} */ ease) {
    if (!this.stepped) return;
    const { frame, options: { key }, scene: { frames, stage = null } } = this;
    latestFrames.set(key, frame);
    const [label, detail] = frames[frame];
    this.tell("frame", { key, frame, frames: frames.length, label, detail, ease, stage });
  }

  step(/** @type {number} */ by) {
    this.pause();
    this.go(this.frame + by);
  }

  togglePlay() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const last = this.scene.frames.length - 1;
    if (last < 1) return;
    this.showPlaying(true);
    if (this.frame === last) this.go(0, { ease: false });
    const advance = () => {
      if (this.frame >= this.scene.frames.length - 1) return void this.pause();
      this.go(this.frame + 1);
      this.player.start(advance, this.scene.pace);
    };
    this.player.start(advance, this.scene.pace);
  }

  pause() {
    this.player.stop();
    this.showPlaying(false);
  }

  showPlaying(/** @type {boolean} */ playing) {
    this.playing = playing;
    const label = playing ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = `${label} (space)`;
    this.words.setAttribute("aria-live", playing ? "off" : "polite");
    this.tell("playing", { key: this.options.key, playing });
  }

  showFrame() {
    const { range, words, scene: { frames } } = this;
    const [label, detail] = frames[this.frame];
    if (range.value !== String(this.frame)) range.value = String(this.frame);
    words.title = [label, detail].filter(Boolean).join(": ");
    range.setAttribute("aria-valuetext", label || `Step ${this.frame + 1} of ${frames.length}`);
    range.style.setProperty("--done", `${(100 * this.frame) / Math.max(1, frames.length - 1)}%`);
    const isSaid = !this.menu || this.touched; // on a stage they are there to be read out, once somebody steps
    showText(this.frameLabel, isSaid ? label : "");
    showText(this.frameDetail, isSaid ? detail : "");
    this.root.dataset.dpvizFrame = String(this.frame);
    this.legend.show();
    this.tools.show();
    if (!this.tables.hidden) this.buildTables();
  }

  // -- Drawing --

  tick(/** @type {number} */ now) {
    this.easeStart ??= now;
    const t = this.easing ? clamp((now - this.easeStart) / Math.min(EASE_MS, this.scene.pace), 0, 1) : 1;
    this.easing = t < 1;
    if (!this.glide) this.root.dataset.dpvizFrames = String(this.counters.frames += 1); // steps: a glide has its own
    this.draw(easeInOut(t), now);
    if (this.easing || this.glide) this.schedule();
  }

  draw(t = 1, now = performance.now()) {
    if (!this.loaded || !(this.width > 0)) return;
    const { hands: { angles }, options, canvas } = this;
    const dpr = (devicePixelRatio || 1) * this.enlarged;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const glided = this.glide ? progress(this.glide, now) : 1;
    if (glided >= 1) this.glide = null;
    this.root.classList.toggle("gliding", this.glide !== null);
    const scene = angles ? turned(this.scene, this.frame, angles) : this.scene;
    const view = this.view(angles ? 1 : t, dpr, glided);
    const { scale, plot, box } = drawScene(this.ctx, scene, view);
    Object.assign(this, { scale, plot, box });
    if (box) this.drawOver(scene, view, { scale, box });
    this.tools.draw(this.ctx, scale);
    if (box && JSON.stringify(box) !== this.boxTold) this.tellBox();
    if (!this.pending) return;
    this.pending = false;
    this.counters.drawn += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    this.root.dataset.dpvizScene = this.scene.hash;
    this.root.dataset.dpvizDrawn = String(this.counters.drawn);
    if (box) this.tellBoxSoon(); // the words that come with it may move the picture
    this.tell("drawn", { key: options.key, stage: this.scene.stage ?? null });
    if (!options.arrive) return;
    options.arrive = false; // what the reader clicked elsewhere has led to it, and not to what stands above
    const root = this.root.getRootNode();
    (root instanceof ShadowRoot ? root.host : this.root).scrollIntoView({ block: "center" });
  }

  /** Draw names and the lens over a stage's picture. @param {Scene} scene @param {View} view @param {{ scale: Scale, box: Box }} places */
  drawOver(scene, view, places) {
    if (scene.lens && Picture.Lens) this.lens ??= new Picture.Lens(this.picture, Boolean(this.options.lens));
    const taken = scene.lens && this.lens ? [this.lens.bounds(places.box, scene.lens)] : [];
    if (!this.hands.angles) drawLabels(this.ctx, scene, view, { ...places, taken });
    this.lens?.draw(this.ctx, scene, { ...view, ...places });
  }

  /** How often attackers are right about the person under the lens. */
  get rate() {
    return this.scene.lens?.rate;
  }

  /** Write where the public box is drawn, in the viewport. */
  tellBox() {
    if (!this.box) return;
    const box = JSON.stringify(this.box);
    if (box !== this.boxTold) for (const [side, px] of Object.entries(this.box)) this.picture.style.setProperty(`--box-${side}`, `${px}px`);
    this.boxTold = box;
    tellBox(this.root, this.canvas, this.box);
  }

  /** @returns {View} */
  view(t = 1, dpr = 1, glided = 1) {
    const { frame, from, glide, hidden, isolated, width, height, theme, cache, options, large, hands: { zoom, lifted, pointed } } = this;
    const margins = options.stage ? Picture.margins(options.phone) : null;
    return { large, frame, from, t, glide, glided, zoom, hidden, isolated, lifted, pointed, width, height, dpr, theme, cache, margins,
      phone: Boolean(options.phone) };
  }

  // -- Size --

  /** Sizes from the width there is: the legend stands beside a square picture where it fits. */
  layOut() {
    const room = this.root.clientWidth;
    if (!(room > 0)) return;
    this.room = room;
    const { fits, whole, stage, height: wanted = 0 } = this.options;
    const { equal } = this.scene;
    if (stage) {
      const { left, top, right, bottom } = Picture.margins(this.options.phone);
      this.large = enlargement(); // other pictures grow as a whole
      // Without a size, the box is as wide as there is room.
      return void this.setSize(this.options.size ?? { width: room, height: Math.round((room - left - right) / this.aspect) + top + bottom });
    }
    this.enlarged = enlargement();
    const space = room / this.enlarged;
    const beside = Boolean(fits || equal) && space >= (fits ? BESIDE_PX : wanted) + LEGEND_PX;
    this.root.classList.toggle("beside", beside);
    const height = fits ? this.fitting(beside) / this.enlarged : wanted;
    const widest = fits ? (equal && WIDEST) || Infinity : 1.12;
    const highest = equal ? space : Math.max(180, space * (fits ? 1 : 0.8));
    this.picture.style.zoom = String(this.enlarged);
    this.picture.style.setProperty("--enlarged", String(this.enlarged));
    this.setSize({ width: beside ? Math.min(space - LEGEND_PX, Math.round(height * widest)) : space,
      height: Math.round(Math.min(height, highest)) });
    this.side.style.maxHeight = whole && fits && beside ? `${this.height * this.enlarged}px` : "";
  }

  /** @param {Size} size */
  setSize({ width, height }) {
    [this.width, this.height] = [width, height];
    this.picture.style.width = `${width}px`;
    this.picture.style.height = `${height}px`;
  }

  /** The height, in the window's pixels, that is left below what stands above the picture, with its steps in view, and the
   *  legend where it stands below.
   *  @param {boolean} beside */
  fitting(beside) {
    const { scroller, plain, whole } = this.options; // of a whole picture all of its legend is in view
    const above = this.picture.getBoundingClientRect().top + (scroller?.scrollTop ?? scrollY);
    const own = this.scrubber.hidden ? 0 : this.scrubber.offsetHeight;
    const docked = parseFloat(getComputedStyle(this.root).getPropertyValue("--dpviz-docked")) || 0;
    const most = docked ? 0 : LEGEND_BELOW_PX;
    const legend = beside ? 0 : Math.min(this.side.offsetHeight, plain || whole ? Infinity : most);
    const rest = whole ? this.foot.offsetHeight : 0;
    const left = innerHeight - above - own - legend - rest - docked - BELOW_PX;
    return Math.max(plain ? LEAST_PLAIN_PX : LEAST_PX, Math.floor(left));
  }

  resize() {
    if (!this.loaded) return;
    const sizes = () => [this.room, this.width, this.height, this.dpr, this.enlarged].join();
    const before = sizes();
    this.layOut();
    this.dpr = devicePixelRatio;
    if (this.pending || sizes() !== before) this.draw();
    else if (this.options.stage) this.tellBox(); // it may stand elsewhere
  }

  // -- Layers, tables and clusters --

  /** Switch a layer off, or on again. @param {Layer} layer */
  toggleLayer({ name }) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.legend.show();
    if (!this.tables.hidden) this.buildTables();
    this.draw();
  }

  buildTables() {
    this.tables.replaceChildren(...tablesOf(this.scene, this.frame, this.hidden).map(tableElement));
  }

  /** See one cluster alone, or all of them. @param {number | null} group */
  isolate(group) {
    if (group === this.isolated) return;
    this.isolated = group;
    this.root.dataset.dpvizSelected = group === null ? "" : String(group);
    if (this.loaded) this.legend.show();
    this.draw();
    this.reporter.start(() => {
      if (this.isolated === this.reported) return;
      this.reported = this.isolated;
      this.tell("selected", this.isolated);
    }, REPORT_MS);
  }

  /** Report a layer's pick, and mark; its number is larger than any before, also before the page was left and reopened. @param {Layer} layer @param {number | null} i */
  pick(layer, i = null) {
    this.picks = Math.max(this.picks + 1, Date.now());
    this.root.dataset.dpvizPicked = layer.pick;
    this.tell("picked", [layer.pick, this.picks, i]);
  }

  destroy() {
    this.stopped.abort();
    this.observer.disconnect();
    for (const timer of [this.player, this.reporter, this.teller]) timer.stop();
    for (const request of [this.drawSoon, this.schedule, this.tellBoxSoon]) request.cancel();
    this.hands.destroy();
    this.tools.destroy();
    for (const latest of [latestFrames, latestSlots]) latest.delete(this.options.key);
    for (const part of [this.root, this.playButton, this.range]) part.remove(); // the last two may stand on a stage
  }
}

/** Show a text, or nothing at all. @param {HTMLElement} element @param {string} text */
function showText(element, text) {
  setText(element, text);
  element.hidden = text === "";
}

/** A root of its own below an element, with this style: the page's does not reach into it, nor its own out of it. @param {Element} element @param {string} css */
export function housed(element, css) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  return root;
}

/** Draw a packed scene below an element or shadow root; see the top of this file. @param {Element | ShadowRoot} element @param {Packed} packed @param {Options} [options] */
export function mount(element, packed, options = {}) {
  const picture = new Picture(element, options);
  picture.update(packed);
  return picture;
}
