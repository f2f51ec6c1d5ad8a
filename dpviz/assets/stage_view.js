// @ts-nocheck
// The stage: text left, picture right, one screen. Finding, instrument and guarantee stand beside one picture or two, with
// what plays them and who looks below. It is the same in the app, on published pages and in pages to keep.
//
//   import { Stage } from "./stage_view.js";
//   const stage = new Stage(root);
//   stage.update({ instrument, audience, count, why, pictures: [{ packed, ...options of the picture }] });
//   stage.show("picture", packed, index);       // another picture, drawn at the index-th value of ε, with its words
//
//   instrument   the data of the slider and its strips (dpviz/ui/controls.py); null, as all that is left out: there is none
//   audience     {value, choices: [[name, words], ...]}: who looks; null: nobody chooses
//   count        {label, value, low, high}: a whole number that stands below the picture, as k; null: none
//   mark         a sentence about this very picture, after its guarantee
//   why          the id of the element that "Details" opens, in the page around
//   sweeps       whether ε moves once by itself
//   scroller     what scrolls
//   home         {question, actions: [[words, page], ...], below}: of the home page, where a question stands over all;
//                `below` are the CSS pixels left below the pictures
//   linked       whether those pages are addresses, which the browser opens
//   shown        the place of the ε of the pictures, where it is not the instrument's
//   free         whether it stands among other things: ε is not docked to the window
//   height       of the pictures, CSS pixels; else they are as high as the window leaves room
//
// Its events, beside those of the picture and the slider: `dpviz:audience` (a name), `dpviz:count` (a number),
// `dpviz:finding` ({text, who}: what is said of a run at its end, and to whom).

import { make, setText } from "./elements.js";
import { Instrument } from "./instrument.js";
import { enlargement } from "./live_base.js";
import { icon, iconButton } from "./live_parts.js";
import { mount, Picture } from "./picture.js";

const PHONE_PX = 700; // width up to which all stands below each other
const LOW_PX = 480; // height up to which picture and bar stand beside each other
const LARGE_PX = 900; // height from which type and strips are larger
const BAR_PX = 46; // what plays, below the picture
const FOOT_PX = 10; // below that
const GAP_PX = 56; // between text and picture
const NARROW_GAP_PX = 40;
const LEAST_TEXT_PX = 340;
const LEAST_LOW_TEXT_PX = 290;
const LEAST_NARROW_TEXT_PX = 232;
const LEAST_LOW_PX = 540; // width from which a low window has room for both
const MOST_SHARE = 0.58; // of the width, for the pictures
const LEAST_BOX_PX = 180;
const LEAST_BAR_PX = 480; // width of a box from which the bar below it fits in one row
const BETWEEN_PX = 16; // two pictures
const VISITED = "dpviz-swept"; // in the browser's memory

export class Stage {
  constructor(parent) {
    this.pictures = new Map(); // key -> {host, picture}
    this.index = 0; // the place of the ε of what is on the screen
    this.data = null;
    this.instrument = null;
    this.build(parent);
    this.stopped = new AbortController();
    const on = (target, type, handler) => target.addEventListener(type, handler, { signal: this.stopped.signal });
    on(this.root, "dpviz:frame", () => { if (!this.isQuiet) this.say(); });
    on(this.root, "dpviz:playing", () => this.showPlaying());
    on(this.bar, "keydown", (event) => this.lead?.hands.onKey(event)); // k and Escape, as on the picture
    on(this.root, "dpviz:band", ({ detail }) => this.instrument?.setBand(detail.index, detail.values));
    on(window, "resize", () => this.layOut());
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(this.root);
  }

  build(parent) {
    this.root = make("div", "dpviz-stage", "", { role: "group", "aria-label": "Stage" }); // no landmark: a page may have several
    this.finding = make("p", "finding", "", { role: "heading", "aria-level": "2" });
    this.lede = make("p", "lede");
    const head = make("div", "head");
    head.append(this.finding, this.lede);
    this.tool = make("div", "tool");
    this.numbers = make("dl", "numbers"); // in the instrument's place where ε cannot be moved
    this.guarantee = make("p", "guarantee");
    this.verdict = make("b");
    this.promise = make("span");
    this.why = make("button", "why", "Details", { type: "button", "aria-haspopup": "dialog", "aria-label": "Details of the guarantee" });
    this.why.addEventListener("click", () => this.openWhy());
    this.mark = make("strong", "mark");
    this.guarantee.append(this.verdict, this.promise, " ", this.mark, " ", this.why);
    this.pics = make("div", "pics");
    this.bar = make("div", "below");
    this.playButton = iconButton("play", "Play", () => this.lead?.togglePlay());
    this.playButton.classList.add("play");
    this.steps = make("input", "steps", "", { type: "range", min: "0", step: "1", "aria-label": "Step" });
    this.steps.addEventListener("input", () => {
      this.lead.pause();
      this.lead.go(Number(this.steps.value), { ease: false });
    });
    this.step = make("span", "step");
    this.count = make("span", "count", "", { role: "group" });
    this.who = make("span", "who", "", { role: "radiogroup", "aria-label": "View as" });
    this.layers = make("button", "more-layers", "Layers", { type: "button" });
    this.bar.append(this.playButton, this.steps, this.step, this.count, this.who, this.layers);
    const left = make("div", "left");
    const right = make("div", "right");
    left.append(head, this.tool, this.numbers, this.guarantee);
    right.append(this.pics, this.bar);
    this.actions = make("p", "actions");
    left.append(this.actions);
    this.root.append(left, right);
    parent.append(this.root);
  }

  /** The picture that is stepped, and whose words stand beside it. */
  get lead() {
    return this.pictures.values().next().value?.picture ?? null;
  }

  /** Show what the page says now. */
  update(data) {
    this.data = data;
    this.showInstrument(data.instrument);
    this.showAudience(data.audience);
    this.showCount(data.count);
    this.why.hidden = !data.why;
    this.showHome(data.home);
    const keys = new Set(data.pictures.map(({ key }) => key));
    for (const [key, { host, picture }] of this.pictures) {
      if (keys.has(key)) continue;
      picture.destroy();
      host.remove();
      this.pictures.delete(key);
    }
    this.root.classList.toggle("pair", data.pictures.length > 1);
    if (data.instrument) this.index = data.shown ?? data.instrument.index;
    this.quietly(() => {
      for (const { packed, ...options } of data.pictures) this.put(options.key, packed, options);
    });
    this.layOut();
    this.say();
    if (data.sweeps && this.instrument) this.sweepOnce();
  }

  /** Draw a picture that has come, with its words, on one frame; `index` is the place of its ε. */
  show(key, packed, index) {
    const known = this.pictures.get(key);
    if (!known) return;
    const isLead = known.picture === this.lead;
    if (isLead) this.index = index;
    this.quietly(() => known.picture.update(packed));
    if (isLead) this.say();
  }

  /** Change pictures that tell of their steps meanwhile: all of it is said once, afterwards. */
  quietly(change) {
    this.isQuiet = true;
    change();
    this.isQuiet = false;
  }

  put(key, packed, options) {
    const given = { ...options, stage: true, scroller: this.data.scroller };
    const known = this.pictures.get(key);
    if (known) {
      const { phone, size } = known.picture.options; // what else there was may be the curator's
      known.picture.update(packed, { ...given, phone, size });
      known.picture.waiting?.(false);
      return;
    }
    const host = make("div", "pic");
    this.pics.append(host);
    const { phone, ...size } = this.sizeOf(this.data.pictures.length || 1);
    this.pictures.set(key, { host, picture: mount(host, packed, { ...given, phone, size }) });
    if (this.pictures.size === 1) this.lead.layersMenu(this.layers);
  }

  // -- Words --

  /** Say what the picture on the screen says: at its end the finding, before it the step. */
  say() {
    const { lead } = this;
    const scene = lead?.scene;
    if (!scene) return void this.sayNothing();
    const words = scene.stage ?? null;
    const end = lead.frame === scene.start_frame || scene.frames.length < 2;
    const [label, detail] = scene.frames[lead.frame];
    const { home } = this.data;
    setText(this.finding, home ? home.question : end ? words?.finding ?? "" : detail || label);
    const lede = home ? words?.finding : words?.lede;
    if (lede !== this.told) this.tellLede(this.told = lede);
    this.sayGuarantee(home ? null : words);
    this.instrument?.words(words, this.index, end);
    this.sayNumbers(words, end);
    this.layers.hidden = false;
    this.showSteps(scene, label);
    if (end) this.tell("finding", { text: words?.finding ?? "", who: this.data.audience?.value ?? "" });
  }

  /** Without a picture nothing is said, and ε can be moved. */
  sayNothing() {
    setText(this.finding, this.data.home?.question ?? "");
    this.tell("finding", { text: "", who: "" });
    this.tellLede(this.told = "");
    this.sayGuarantee(null);
    this.instrument?.words(null, this.index);
    this.sayNumbers(null);
    this.playButton.hidden = this.steps.hidden = this.step.hidden = this.layers.hidden = true;
  }

  tellLede(text) {
    const parts = (text ?? "").split("**");
    this.lede.replaceChildren(...parts.map((part, i) => (i % 2 ? make("b", "", part) : part)));
    this.lede.hidden = !text;
  }

  sayNumbers(words, end) {
    const { risk, loss, strip, risk_label: label } = (!this.instrument && words) || {};
    const lost = loss && strip && [strip.label, loss.text, `${strip.unit}${end ? "" : " at the end"}`, "lost"];
    const said = [risk && [`${label} Attackers guess right at most`, risk.text, "in 100", ""], lost].filter(Boolean);
    this.numbers.hidden = said.length === 0;
    this.numbers.replaceChildren(...said.map(([term, number, unit, kind]) => {
      const [row, told] = [make("div"), make("dd", kind)];
      told.append(make("b", "", number), ` ${unit}`);
      row.append(make("dt", "", term), told);
      return row;
    }));
  }

  sayGuarantee(words) {
    const text = words?.guarantee ?? "";
    const at = text.indexOf(". ") + 1 || text.length; // not the point of a number
    const lead = words?.verdict === "proved" ? at : text.length; // what is only claimed is said as a whole
    setText(this.verdict, text.slice(0, lead));
    setText(this.promise, text.slice(lead));
    setText(this.mark, text ? this.data.mark ?? "" : "");
    this.guarantee.dataset.verdict = words?.verdict ?? "";
    this.guarantee.hidden = !text;
  }

  openWhy() {
    document.getElementById(this.data.why)?.showPopover?.();
  }

  showSteps(scene, label) {
    const n = scene.frames.length;
    const stepped = scene.scrubber && n > 1;
    this.playButton.hidden = this.steps.hidden = this.step.hidden = !stepped;
    this.steps.max = String(n - 1);
    this.steps.value = String(this.lead.frame);
    this.steps.style.setProperty("--done", `${(100 * this.lead.frame) / Math.max(1, n - 1)}%`);
    this.steps.setAttribute("aria-valuetext", label || `Step ${this.lead.frame + 1} of ${n}`);
    setText(this.step, label.replace(/^\d+: /, "")); // where it is the slider shows
    this.showPlaying();
  }

  showPlaying() {
    const playing = Boolean(this.lead?.playing);
    if (playing === this.isPlaying) return;
    this.isPlaying = playing;
    const label = playing ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = `${label} (space)`;
  }

  // -- Controls --

  showInstrument(data) {
    this.tool.hidden = !data;
    if (!data) {
      this.instrument?.destroy();
      this.instrument = null;
    } else {
      this.instrument ??= new Instrument(this.tool);
      this.instrument.unaccompanied = Boolean(data.unaccompanied); // no picture comes ahead of the page
      this.instrument.update(data);
    }
  }

  showAudience(audience) {
    const key = JSON.stringify(audience ?? null);
    if (key === this.audienceKey) return;
    this.audienceKey = key;
    this.who.hidden = !audience;
    this.who.replaceChildren(...(audience?.choices ?? []).map(([name, words]) => {
      const chosen = name === audience.value;
      const button = make("button", "", words, { type: "button", role: "radio", "aria-checked": String(chosen), tabindex: chosen ? "0" : "-1" });
      button.dataset.name = name;
      button.addEventListener("click", () => this.look(name));
      return button;
    }));
    this.who.onkeydown = (event) => {
      if (!/^Arrow/.test(event.key)) return;
      const other = [...this.who.children].find((button) => button.getAttribute("aria-checked") !== "true");
      event.preventDefault();
      event.stopPropagation();
      other?.focus();
      other?.click();
    };
  }

  /** Look as somebody else: what the picture holds comes from the page. */
  look(name) {
    for (const button of this.who.children) {
      const chosen = button.dataset.name === name;
      button.setAttribute("aria-checked", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    this.tell("audience", name);
  }

  /** The home page's ways to begin. */
  showHome(home) {
    this.root.classList.toggle("home", Boolean(home));
    this.actions.hidden = !home;
    this.bar.hidden = Boolean(home);
    const key = JSON.stringify(home?.actions ?? null);
    if (key === this.homeKey) return;
    this.homeKey = key;
    this.actions.replaceChildren(...(home?.actions ?? []).map(([words, page], i) => {
      const link = make("a", i ? "" : "begin", words, { href: page });
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || this.data.linked) return;
        event.preventDefault();
        this.tell("open", page);
      });
      return link;
    }));
  }

  showCount(count) {
    this.count.hidden = !count;
    if (!count) return;
    const { label, value, low, high } = count;
    const to = (number) => () => this.tell("count", number);
    const button = (words, sign, number) => {
      const made = make("button", "", "", { type: "button", "aria-label": words, "data-sign": sign });
      made.disabled = number < low || number > high;
      made.addEventListener("click", to(number));
      return made;
    };
    const focused = this.count.contains(this.root.getRootNode().activeElement) ? this.root.getRootNode().activeElement.dataset.sign : "";
    this.count.setAttribute("aria-label", label);
    this.count.replaceChildren(button(`Fewer: ${label}`, "\u2212", value - 1), make("output", "", `${label} = ${value}`), button(`More: ${label}`, "+", value + 1));
    if (focused) [...this.count.children].find((child) => child.dataset.sign === focused)?.focus();
  }

  /** Move ε once by itself, on the first visit of a browser. */
  sweepOnce() {
    if (this.swept || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.swept = true;
    try {
      if (localStorage.getItem(VISITED)) return;
      localStorage.setItem(VISITED, "1");
    } catch {
      return; // without a memory it would move at every visit
    }
    setTimeout(() => this.instrument?.sweep(), 900);
  }

  // -- Layout --

  get isPhone() {
    return this.isNarrow && !this.isLow;
  }

  get isLow() {
    const isBroad = this.isNarrow && innerWidth > innerHeight && !this.data?.free; // as in a frame of another page
    return (innerHeight < LOW_PX || isBroad) && this.root.clientWidth >= LEAST_LOW_PX;
  }

  get isNarrow() {
    return this.root.clientWidth <= PHONE_PX;
  }

  /** The size of one of n pictures with its margins, CSS pixels: as large as width and window leave room. */
  sizeOf(n = 1) {
    const { lead, isPhone: phone, isLow: low } = this;
    const room = this.root.clientWidth;
    const aspect = lead?.aspect ?? 1;
    const home = this.data?.home;
    const bare = phone || (low && this.isNarrow) || Boolean(home);
    const margins = Picture.margins(bare);
    const [across, down] = [margins.left + margins.right, margins.top + margins.bottom];
    const above = this.root.getBoundingClientRect().top + (this.data?.scroller?.scrollTop ?? scrollY);
    const high = this.data?.height ?? innerHeight - above - (low ? 0 : home ? home.below : BAR_PX) - FOOT_PX - down;
    const gap = room < 1100 ? NARROW_GAP_PX : GAP_PX;
    const most = phone ? room : Math.min(room * (n > 1 ? 0.7 : MOST_SHARE), room - gap - (low ? (this.isNarrow ? LEAST_NARROW_TEXT_PX : LEAST_LOW_TEXT_PX) : LEAST_TEXT_PX));
    const wide = (most - BETWEEN_PX * (n - 1)) / n - across;
    const height = Math.max(LEAST_BOX_PX, Math.floor(phone && !this.data?.height ? wide / aspect : Math.min(high, wide / aspect)));
    return { width: Math.round(height * aspect + across), height: height + down, phone: bare };
  }

  layOut() {
    const { root } = this;
    if (!this.data || !(root.clientWidth > 0)) return;
    const { isPhone: phone, isLow: low } = this;
    root.classList.toggle("phone", phone);
    root.classList.toggle("docked", phone && innerWidth <= PHONE_PX && !this.data.free);
    root.classList.toggle("low", low);
    root.classList.toggle("narrow", low && this.isNarrow);
    root.classList.toggle("large", !phone && !low && innerHeight >= LARGE_PX && root.clientWidth >= 1500);
    const { phone: bare, ...size } = this.sizeOf(this.pictures.size || 1);
    const margins = Picture.margins(bare);
    const key = JSON.stringify([size, bare, enlargement()]);
    root.classList.toggle("tight", !phone && !low && size.width * this.pictures.size - margins.left - margins.right < LEAST_BAR_PX);
    root.style.setProperty("--picture", `${size.width}px`);
    root.style.setProperty("--pictures", `${size.width * this.pictures.size + BETWEEN_PX * (this.pictures.size - 1)}px`);
    root.style.setProperty("--box-left", `${margins.left}px`);
    root.style.setProperty("--box-right", `${margins.right}px`);
    if (key !== this.sizeKey) {
      this.sizeKey = key;
      for (const { picture } of this.pictures.values()) picture.update(null, { ...picture.options, phone: bare, size });
    }
    this.fitInstrument(phone, low, size);
  }

  fitInstrument(phone, low, size) {
    if (!this.instrument) return;
    const kind = phone || (low && this.isNarrow) ? "phone" : low ? "low" : this.root.classList.contains("large") ? "large" : "laptop";
    const above = this.tool.getBoundingClientRect().top - this.root.getBoundingClientRect().top;
    const { home } = this.data;
    const ends = home ? this.actions.offsetHeight : this.guarantee.offsetHeight;
    const free = size.height + (home ? 0 : low ? -BAR_PX : BAR_PX) - above - (low && !home ? 0 : ends + 14);
    this.instrument.fit(kind, Math.max(0, free), Boolean(home));
  }

  tell(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
  }

  destroy() {
    this.stopped.abort();
    this.tell("finding", { text: "", who: "" });
    this.observer.disconnect();
    this.instrument?.destroy();
    for (const { picture } of this.pictures.values()) picture.destroy();
    this.root.remove();
  }
}
