// The stage: text left, picture right, one screen. Finding, instrument and guarantee stand beside one picture or two, with
// what plays them and who looks below. It is the same in the app, on published pages and in pages to keep.
//
// `StageData` in stages.d.ts describes the data. Its events, beside those of the picture and the slider: `dpviz:audience`
// (a name), `dpviz:count` (a number), `dpviz:open` (a page), `dpviz:finding` ({text, who}: the finding at a run's end, and
// its reader).

import { isStill, tell } from "./kit.js";
import { make, setText } from "./elements.js";
import { makeButton, topOf, watchSizes } from "./stage_parts.js";
import { Instrument } from "./instrument.js";
import { enlargement } from "./live_base.js";
import { mount, NO_SCENE, Picture } from "./picture.js";
import { refill } from "./row.js";

/** @import { Home, Packed, Scene, StageCount, StageData, StagePicture, StageWords } from "./stages.d.ts" */

const PHONE_PX = 700; // width up to which all stands below each other
const LOW_PX = 480; // height up to which picture and bar stand beside each other
const [LARGE_PX, LARGE_WIDTH_PX] = [900, 1500]; // height and width from which type and strips are larger
const BAR_PX = 46; // what plays, below the picture
const FOOT_PX = 10; // below that
const [GAP_PX, NARROW_GAP_PX, NARROW_PX] = [56, 40, 1100]; // between text and picture, and the width up to which it is narrow
const LEAST_TEXT_PX = { usual: 340, low: 290, narrow: 232 };
const LEAST_LOW_PX = 540; // width from which a low window has room for both
const [MOST_SHARE, MOST_PAIR_SHARE] = [0.58, 0.7]; // of the width, for the pictures
const LEAST_BOX_PX = 180;
const LEAST_BAR_PX = 480; // width of a box from which the bar below it fits in one row
const BETWEEN_PX = 16; // two pictures
const SWEEP_AFTER_MS = 900;
const VISITED = "dpviz-swept"; // in the browser's memory
const NO_PICTURE = { scene: NO_SCENE, frame: 0, rate: undefined };

export class Stage {
  constructor(/** @type {Element | ShadowRoot} */ parent) {
    /** @type {Map<string, { host: HTMLElement, picture: Picture }>} */ this.pictures = new Map();
    this.index = 0; // the place of the ε of what is on the screen
    /** @type {StageData} */ this.data = { pictures: [] };
    /** @type {Instrument | null} */ this.instrument = null;
    this.isQuiet = this.swept = false;
    this.sizeKey = this.homeKey = this.toldLede = "";
    /** @type {string | undefined} */ this.audienceKey = "";

    this.finding = make("p", "finding", "", { role: "heading", "aria-level": "2" });
    this.lede = make("p", "lede");
    this.tool = make("div", "tool");
    this.numbers = make("dl", "numbers"); // in the instrument's place where ε cannot be moved
    this.verdict = make("b");
    this.promise = make("span");
    this.mark = make("strong", "mark");
    this.why = makeButton("why", "Details", () => {
      if (this.data.why) document.getElementById(this.data.why)?.showPopover?.();
    }, { "aria-haspopup": "dialog", "aria-label": "Details of the guarantee" });
    this.guarantee = make("p", "guarantee", [this.verdict, this.promise, " ", this.mark, " ", this.why]);
    this.actions = make("p", "actions");
    this.pics = make("div", "pics");
    this.step = make("span", "step");
    this.count = make("span", "count", "", { role: "group" });
    this.who = make("span", "who", "", { role: "radiogroup", "aria-label": "View as" });
    this.layers = make("button", "more-layers", "Layers", { type: "button" });
    this.bar = make("div", "below", [this.step, this.count, this.who, this.layers]);
    const head = make("div", "head", [this.finding, this.lede]);
    this.root = make("div", "dpviz-stage", [ // no landmark: a page may have several
      make("div", "left", [head, this.tool, this.numbers, this.guarantee, this.actions]),
      make("div", "right", [this.pics, this.bar])], { role: "group", "aria-label": "Stage" });
    parent.append(this.root);

    this.stopped = new AbortController();
    this.root.addEventListener("dpviz:frame", () => { if (!this.isQuiet) this.write(); });
    this.root.addEventListener("dpviz:band", ({ detail }) => this.instrument?.setBand(detail.index, detail.values));
    this.bar.addEventListener("keydown", (event) => this.lead?.hands.onKey(event)); // k and Escape, as on the picture
    watchSizes([this.root], () => this.layOut(), this.stopped.signal);
  }

  /** The picture that is stepped, and whose words stand beside it. */
  get lead() {
    return this.pictures.values().next().value?.picture ?? null;
  }

  /** Show the page's data. @param {StageData} data */
  update(data) {
    this.data = data;
    this.showInstrument();
    this.showAudience();
    this.showCount(data.count ?? null);
    this.why.hidden = !data.why;
    this.showHome(data.home ?? null);
    const keys = new Set(data.pictures.map(({ key }) => key));
    for (const [key, { host, picture }] of this.pictures) {
      if (keys.has(key)) continue;
      picture.destroy();
      host.remove();
      this.pictures.delete(key);
    }
    this.root.classList.toggle("pair", data.pictures.length > 1);
    if (data.instrument) this.index = data.shown ?? data.instrument.index;
    this.changeQuietly(() => data.pictures.forEach((picture) => this.put(picture)));
    this.layOut();
    this.write();
    if (data.sweeps && this.instrument) this.sweepOnce();
  }

  /** Draw a picture that has come, with its words, on one frame; `index` is the place of its ε. @param {string} key @param {Packed} packed @param {number} index */
  show(key, packed, index) {
    const known = this.pictures.get(key)?.picture;
    if (!known) return;
    if (known === this.lead) this.index = index;
    this.changeQuietly(() => known.update(packed));
    if (known === this.lead) this.write();
  }

  /** Change pictures that tell of their steps meanwhile: the words follow once, afterwards. @param {() => void} change */
  changeQuietly(change) {
    this.isQuiet = true;
    change();
    this.isQuiet = false;
  }

  put(/** @type {StagePicture} */ { packed, ...options }) {
    const { key } = options;
    const given = { ...options, stage: true, scroller: this.data.scroller };
    const known = this.pictures.get(key);
    if (known) {
      const { phone, size } = known.picture.options; // what else there was may be the curator's
      known.picture.update(packed, { ...given, phone, size });
      known.picture.waiting(false);
      return;
    }
    if (!packed) return; // a later message brings it
    const host = make("div", "pic");
    this.pics.append(host);
    const { phone, ...size } = this.sizeOf(this.data.pictures.length || 1);
    this.pictures.set(key, { host, picture: mount(host, packed, { ...given, phone, size }) });
    if (!this.lead || this.pictures.size > 1) return;
    this.lead.layersMenu(this.layers);
    this.bar.prepend(this.lead.playButton, this.lead.range);
  }

  // -- Words --

  /** Write the words of the picture on the screen: at its end the finding, before it the step; nothing without a picture. */
  write() {
    const { home } = this.data;
    const { frame, rate, scene } = this.lead ?? NO_PICTURE;
    const { frames, scrubber, start_frame: end, stage: words = null } = scene;
    const isEnd = frame === end || frames.length < 2;
    const [label, detail] = frames[frame];
    const { finding = "", lede = "" } = words ?? {};
    setText(this.finding, home?.question ?? (isEnd ? finding : detail || label));
    this.writeLede(home ? finding : lede);
    this.writeGuarantee(home ? null : words);
    this.instrument?.words(words, this.index, isEnd, rate);
    this.writeNumbers(words, isEnd);
    this.layers.hidden = scene === NO_SCENE;
    this.step.hidden = !scrubber || frames.length < 2;
    setText(this.step, label.replace(/^\d+: /, "")); // where it is the slider shows
    if (isEnd) tell(this.root, "finding", { text: finding, who: this.data.audience?.value ?? "" });
  }

  /** @param {string} text With **bold** words */
  writeLede(text) {
    this.lede.hidden = !text;
    if (text === this.toldLede) return;
    this.toldLede = text;
    this.lede.replaceChildren(...text.split("**").map((part, i) => (i % 2 ? make("b", "", part) : part)));
  }

  writeNumbers(/** @type {StageWords | null} */ words, /** @type {boolean} */ isEnd) {
    const { risk = null, loss = null, strip = null, risk_label: label } = (!this.instrument && words) || {};
    const rows = [];
    if (risk) rows.push([`${label} Attackers can be right`, risk.text, "in 100", ""]);
    if (loss && strip) rows.push([strip.label, loss.text, `${strip.unit}${isEnd ? "" : " at the end"}`, "lost"]);
    this.numbers.hidden = rows.length === 0;
    this.numbers.replaceChildren(...rows.map(([term, number, unit, kind]) =>
      make("div", "", [make("dt", "", term), make("dd", kind, [make("b", "", number), ` ${unit}`])])));
  }

  writeGuarantee(/** @type {StageWords | null} */ words) {
    const text = words?.guarantee ?? "";
    const at = text.indexOf(". ") + 1 || text.length; // not the point of a number
    const lead = words?.verdict === "proved" ? at : text.length; // what is only claimed is said as a whole
    setText(this.verdict, text.slice(0, lead));
    setText(this.promise, text.slice(lead));
    setText(this.mark, text ? this.data.mark ?? "" : "");
    this.guarantee.dataset.verdict = words?.verdict ?? "";
    this.guarantee.hidden = !text;
  }

  // -- Controls --

  showInstrument() {
    const { instrument: data } = this.data;
    this.tool.hidden = !data;
    if (!data) this.instrument?.destroy();
    this.instrument = data ? this.instrument ?? new Instrument(this.tool) : null;
    if (data) this.instrument?.update(data);
  }

  showAudience() {
    const { audience } = this.data;
    const key = JSON.stringify(audience?.choices);
    if (key !== this.audienceKey) {
      this.who.replaceChildren(...(audience?.choices ?? []).map(([value, words]) => {
        const input = make("input", "", "", { type: "radio", name: "audience", value });
        input.addEventListener("change", () => tell(this.root, "audience", value)); // the page brings the picture
        return make("label", "", [words, input]);
      }));
    }
    this.audienceKey = key;
    this.who.hidden = !audience;
    for (const input of this.who.querySelectorAll("input")) input.checked = input.value === audience?.value;
  }

  /** Show the home page's ways to begin. @param {Home | null} home */
  showHome(home) {
    this.root.classList.toggle("home", Boolean(home));
    this.actions.hidden = !home;
    this.bar.hidden = Boolean(home);
    const key = JSON.stringify(home?.actions ?? null);
    if (key === this.homeKey) return;
    this.homeKey = key;
    this.actions.replaceChildren(make("span", "definition", home?.definition), ...(home?.actions ?? []).map(([words, page], i) => {
      const link = make("a", i ? "" : "begin", words, { href: page });
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || this.data.linked) return;
        event.preventDefault();
        tell(this.root, "open", page);
      });
      return link;
    }));
  }

  showCount(/** @type {StageCount | null} */ count) {
    this.count.hidden = !count;
    if (!count) return;
    const { label, value, low, high } = count;
    const button = (/** @type {string} */ words, /** @type {string} */ sign, /** @type {number} */ number) => {
      const made = makeButton("", "", () => tell(this.root, "count", number), { "aria-label": `${words}: ${label}`, "data-sign": sign });
      made.disabled = number < low || number > high;
      return made;
    };
    this.count.setAttribute("aria-label", label);
    refill(this.count, [button("Fewer", "\u2212", value - 1), make("output", "", `${label} = ${value}`), button("More", "+", value + 1)]);
  }

  /** Move ε once by itself, on the first visit of a browser. */
  sweepOnce() {
    if (this.swept || isStill()) return;
    this.swept = true;
    try {
      if (localStorage.getItem(VISITED)) return;
      localStorage.setItem(VISITED, "1");
    } catch {
      return; // without a memory it would move at every visit
    }
    setTimeout(() => this.instrument?.sweep(), SWEEP_AFTER_MS);
  }

  // -- Layout --

  get isNarrow() {
    return this.root.clientWidth <= PHONE_PX;
  }

  get isLow() {
    const isBroad = this.isNarrow && innerWidth > innerHeight && !this.data.free; // as in a frame of another page
    return (innerHeight < LOW_PX || isBroad) && this.root.clientWidth >= LEAST_LOW_PX;
  }

  get isPhone() {
    return this.isNarrow && !this.isLow;
  }

  get isLarge() {
    return !this.isPhone && !this.isLow && innerHeight >= LARGE_PX && this.root.clientWidth >= LARGE_WIDTH_PX;
  }

  /** Return the width that the text leaves for n pictures. @param {number} n */
  roomFor(n) {
    const room = this.root.clientWidth;
    if (this.isPhone) return room;
    const low = this.isNarrow ? LEAST_TEXT_PX.narrow : LEAST_TEXT_PX.low;
    const text = this.isLow ? low : LEAST_TEXT_PX.usual;
    return Math.min(room * (n > 1 ? MOST_PAIR_SHARE : MOST_SHARE), room - (room < NARROW_PX ? NARROW_GAP_PX : GAP_PX) - text);
  }

  /** Return the size of one of n pictures with its margins, CSS pixels: as large as width and window leave room. @param {number} n */
  sizeOf(n) {
    const { isPhone, isLow, data: { height: fixed, home, scroller } } = this;
    const aspect = this.lead?.aspect ?? 1;
    const bare = isPhone || (isLow && this.isNarrow) || Boolean(home);
    const margins = Picture.margins(bare);
    const [across, down] = [margins.left + margins.right, margins.top + margins.bottom];
    const below = isLow ? 0 : home?.below ?? BAR_PX;
    const high = fixed ?? innerHeight - topOf(this.root, scroller ?? null) - below - FOOT_PX - down;
    const wide = (this.roomFor(n) - BETWEEN_PX * (n - 1)) / n - across;
    const fitted = isPhone && !fixed ? wide / aspect : Math.min(high, wide / aspect);
    const height = Math.max(LEAST_BOX_PX, Math.floor(fitted));
    return { width: Math.round(height * aspect + across), height: height + down, phone: bare };
  }

  layOut() {
    const { root, isPhone, isLow, isNarrow, isLarge, pictures: { size: n } } = this;
    if (!(root.clientWidth > 0)) return;
    const docked = isPhone && innerWidth <= PHONE_PX && !this.data.free;
    const classes = { phone: isPhone, docked, low: isLow, narrow: isLow && isNarrow, large: isLarge };
    for (const [name, has] of Object.entries(classes)) root.classList.toggle(name, has);
    const { phone, ...size } = this.sizeOf(n || 1);
    const margins = Picture.margins(phone);
    root.classList.toggle("tight", !isPhone && !isLow && size.width * n - margins.left - margins.right < LEAST_BAR_PX);
    const lengths = {
      picture: size.width, pictures: size.width * n + BETWEEN_PX * (n - 1), "box-left": margins.left, "box-right": margins.right,
    };
    for (const [name, length] of Object.entries(lengths)) root.style.setProperty(`--${name}`, `${length}px`);
    const key = JSON.stringify([size, phone, enlargement()]);
    if (key !== this.sizeKey) {
      this.sizeKey = key;
      for (const { picture } of this.pictures.values()) picture.update(null, { ...picture.options, phone, size });
    }
    this.fitInstrument(size.height);
  }

  /** @param {number} height Of the pictures */
  fitInstrument(height) {
    const { isLow, data: { home } } = this;
    const above = this.tool.getBoundingClientRect().top - this.root.getBoundingClientRect().top;
    const ends = home ? this.actions.offsetHeight : this.guarantee.offsetHeight;
    const bar = isLow ? -BAR_PX : BAR_PX;
    const free = height + (home ? 0 : bar) - above - (isLow && !home ? 0 : ends + 14);
    this.instrument?.fit(this.instrumentSize, Math.max(0, free), Boolean(home));
  }

  get instrumentSize() {
    if (this.isNarrow) return "phone";
    if (this.isLow) return "low";
    return this.isLarge ? "large" : "laptop";
  }

  destroy() {
    this.stopped.abort();
    tell(this.root, "finding", { text: "", who: "" });
    this.instrument?.destroy();
    for (const { picture } of this.pictures.values()) picture.destroy();
    this.root.remove();
  }
}
