// @ts-nocheck
// The Audit page's stage as a component of the app: the promise, the leak and what the runs can show on one ε axis,
// which is the slider, and two stacks of dots, a run each, that grow with play.
// dpviz/tools/audit/pictures.py says what a result holds, dpviz/tools/audit/page.py what comes with it. All words and
// numbers come from there, and every text is set as text.

import { component } from "./component.js";
import { make, setText, SVG } from "./elements.js";
import { lookAfterPage, shrinkOnPaper } from "./live_page.js";
import { Slider } from "./slider.js";

const LEAST_EPSILON = 0.05; // at the axis' ends
const MOST_EPSILON = 20;
const AXIS_TICKS = [0.1, 1, 10];
const PHONE_PX = 700; // a narrower window has one column
const LOW_PX = 520; // a lower one has no finding
const MOST_DOTS = 1400; // of a stack; with more runs a dot stands for several
const STEP_MS = [[12, 190], [24, 110], [Infinity, 60]]; // up to so many runs of each world, so long for a step
const GLIDE = 0.3; // of the way that is left, in a frame
const GLIDE_MS = 180; // from one result's stacks to the next one's
const INKS = ["page", "box-fill", "ink", "soft", "rule", "released", "wrong"];
const LEAST_SHARE = 0.3; // of the picture's height, for one of the two stacks
const ROC_PX = { left: 52, top: 10, size: 320 };

const share = (value) => Math.log(Math.max(value, LEAST_EPSILON) / LEAST_EPSILON) / Math.log(MOST_EPSILON / LEAST_EPSILON);
const within = (value, low, high) => Math.min(Math.max(value, low), high);
const isDark = (color) => {
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
};
const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function shape(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

/** The ε axis: a native range input over the audited values, drawn as one line with the promise, the leak and the most. */
class PromiseAxis extends Slider {
  build(parent) {
    this.root = make("div", "tool dpviz-epsilon");
    this.svg = shape("svg", { "aria-hidden": "true" });
    this.input = make("input", "", "", { type: "range", min: "0", step: "1" });
    this.root.append(this.svg, this.input);
    parent.append(this.root);
    this.onShow = () => {};
    this.input.addEventListener("input", () => this.onInput());
    this.input.addEventListener("change", () => this.onChange());
    this.input.addEventListener("blur", () => { this.dragging = false; });
    this.root.addEventListener("pointerdown", (event) => this.grasp(event));
    this.root.addEventListener("pointermove", (event) => this.dragging && this.goTo(event));
    for (const type of ["pointerup", "pointercancel"]) this.root.addEventListener(type, () => this.onChange());
    this.observer = new ResizeObserver(() => this.data && this.onShow());
    this.observer.observe(this.root);
  }

  update(data) {
    this.data = data;
    this.input.setAttribute("aria-label", data.label);
    this.input.max = String(data.values.length - 1);
    this.input.disabled = !data.moves;
    this.root.classList.toggle("fixed", !data.moves);
    const answered = this.lastMove === null || data.move === this.lastMove;
    if (answered && !this.dragging && this.index !== data.index) this.input.value = String(data.index);
    if (answered || data.move === this.told) this.answered = true;
    this.show();
  }

  show() {
    this.onShow();
  }

  grasp(event) {
    if (!this.data.moves) return;
    this.dragging = true;
    this.root.setPointerCapture(event.pointerId);
    this.goTo(event);
    this.input.focus({ preventScroll: true });
    event.preventDefault();
  }

  /** Take the value that is nearest to the pointer. */
  goTo(event) {
    const { left, width } = this.svg.getBoundingClientRect();
    const at = (event.clientX - left - this.margin) / (width - 2 * this.margin);
    const distances = this.data.values.map((value) => Math.abs(share(value) - at));
    const index = distances.indexOf(Math.min(...distances));
    if (index === this.index) return;
    this.input.value = String(index);
    this.onInput();
  }

  /** Draw the axis; `look` = {epsilon, promised, leak, most, tone, said, small}: numbers, null where there is none. */
  draw({ epsilon, promised, leak, most, tone, said, small }) {
    const width = this.svg.clientWidth || 500;
    const margin = this.margin = 14;
    const base = small ? 40 : 62;
    const height = base + (small ? 28 : 54);
    const above = base - (small ? 24 : 30);
    const x = (value) => margin + within(share(value), 0, 1) * (width - 2 * margin);
    const parts = [];
    if (most !== null && x(most) < width - margin) {
      const from = x(most);
      const hatch = shape("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
      hatch.append(shape("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" }));
      parts.push(hatch,
        shape("rect", { x: from, y: above - 8, width: x(MOST_EPSILON) - from, height: 16, fill: "url(#hatch)" }),
        shape("line", { x1: from, x2: from, y1: above - 12, y2: base, class: "most" }));
      if (!small) parts.push(shape("text", { x: x(MOST_EPSILON), y: above - 16, "text-anchor": "end", class: "faint" }, said));
    }
    parts.push(shape("line", { x1: x(0), x2: x(MOST_EPSILON), y1: base, y2: base, class: "track" }));
    if (leak !== null) {
      const from = tone === "broken" ? x(promised) : x(0);
      parts.push(shape("line", { x1: from, x2: x(leak), y1: above, y2: above, class: `leak ${tone}` }),
        shape("circle", { cx: x(leak), cy: above, r: 7, class: `end ${tone}` }));
    }
    if (promised !== null) parts.push(shape("line", { x1: x(promised), x2: x(promised), y1: above - 12, y2: base, class: "promise" }));
    for (const tick of AXIS_TICKS) {
      parts.push(shape("line", { x1: x(tick), x2: x(tick), y1: base - 4, y2: base + 4, class: "most" }),
        shape("text", { x: x(tick), y: base + 27, "text-anchor": "middle", class: "faint" }, String(tick)));
    }
    parts.push(shape("text", small ? { x: x(0), y: base + 27, class: "symbol" } : { x: x(0.5), y: base + 48, class: "symbol" },
      small ? "ε" : "ε: the smaller, the more private"));
    if (this.data.moves) {
      const at = { cx: x(epsilon), cy: base };
      parts.push(shape("circle", { ...at, r: small ? 18 : 16, class: "focus" }), shape("circle", { ...at, r: small ? 13 : 11, class: "thumb" }));
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.replaceChildren(...parts);
  }
}

class AuditStage {
  constructor(parent) {
    this.parent = parent;
    this.data = null;
    this.last = null; // the result on screen
    this.at = Infinity; // how many of its steps have been played
    this.shown = null; // where the thumb is drawn, on its way
    this.turn = 0;
    this.build();
    this.listen();
    lookAfterPage();
  }

  build() {
    this.root = make("div", "dpviz-audit");
    const head = make("div", "head");
    this.finding = make("p", "finding", "", { role: "heading", "aria-level": "2" });
    this.lede = make("p", "lede");
    head.append(this.finding, this.lede);
    const two = this.two = make("div", "two");
    const number = (label) => {
      const box = make("div");
      const name = make("small", "", label);
      const value = make("b");
      box.append(name, value);
      two.append(box);
      return { box, name, value };
    };
    this.promised = number("promised");
    this.leak = number("leaks ε of at least");
    const middle = make("div", "middle");
    middle.append(two);
    this.axis = new PromiseAxis(middle);
    const more = make("p", "more");
    this.verdict = make("b");
    this.words = make("span");
    this.whyButton = make("button", "link", "See the attack", { type: "button", "aria-haspopup": "dialog" });
    more.append(this.verdict, " ", this.words, " ", this.whyButton);
    // Files of the picture, and settings that bring it back, find it as they find every other one.
    const picture = this.picture = make("div", "picture dpviz-live", "", { "data-dpviz-key": "picture" });
    this.canvas = make("canvas", "", "", { role: "img" });
    this.progress = make("div", "progress", "", { role: "progressbar", "aria-label": "Runs that are done", "aria-valuemax": "100" });
    this.bar = make("i");
    this.progress.append(this.bar);
    picture.append(this.canvas, this.progress);
    const tools = make("div", "bar");
    this.play = make("button", "play", "", { type: "button" });
    this.line = make("span", "line");
    this.done = make("i");
    this.line.append(this.done);
    this.count = make("span", "count");
    this.stopButton = make("button", "link", "Stop", { type: "button" });
    this.choose = make("button", "choose", "", { type: "button", popovertarget: "dpviz-audited", "aria-haspopup": "true" });
    this.menu = make("div", "menu", "", { popover: "", id: "dpviz-audited" });
    this.switch = make("span", "switch", "", { role: "group", "aria-label": "As published, or as it is proved" });
    this.who = make("span", "switch", "", { role: "group", "aria-label": "View as" });
    tools.append(this.play, this.line, this.count, this.stopButton, this.choose, this.switch, this.who, this.menu);
    this.buildWhy();
    this.root.append(head, middle, more, picture, tools, this.why);
    this.probe = make("i", "probe");
    this.root.append(this.probe);
    this.parent.append(this.root);
  }

  buildWhy() {
    this.why = make("dialog", "why", "", { "aria-labelledby": "dpviz-why" });
    this.whyTitle = make("h2", "", "", { id: "dpviz-why" });
    const close = make("button", "close", "×", { type: "button", "aria-label": "Close" });
    this.roc = shape("svg", { viewBox: "0 0 400 376", role: "img", "aria-label": "ROC curve of the attack" });
    this.roc.classList.add("roc");
    this.whyWords = make("div");
    this.why.append(close, this.whyTitle, this.roc, this.whyWords);
    close.addEventListener("click", () => this.why.close());
    this.why.addEventListener("click", (event) => { if (event.target === this.why) this.why.close(); });
  }

  listen() {
    this.stopped = new AbortController();
    const on = (target, type, handler, options = {}) => target.addEventListener(type, handler, { signal: this.stopped.signal, ...options });
    this.axis.onShow = () => { this.rest(); this.at = Infinity; this.show(); };
    // Results that are there need no page: it follows at rest. For all others it would begin runs at every value.
    on(this.root, "dpviz:moving", ({ detail }) => detail.wait(Promise.resolve(true)));
    on(this.root, "dpviz:moved", ({ detail: [index, number] }) => this.setStateValue?.("moved", ["epsilon", index, number]));
    on(this.whyButton, "click", () => { this.showWhy(); this.why.showModal(); });
    on(this.play, "click", () => (this.timer ? this.rest() : this.begin()));
    on(this.stopButton, "click", () => this.ask(this.data.status === "stopped" ? "again" : "stop", ""));
    on(window, "resize", () => this.layOut());
    on(window, "scroll", () => this.tellBox(), { capture: true, passive: true });
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.later());
    on(matchMedia("(forced-colors: active)"), "change", () => this.later());
    on(window, "beforeprint", () => this.paint());
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(this.root);
    document.fonts?.ready.then(() => this.layOut());
  }

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const before = this.data;
    this.data = data;
    // What another reader may see, or what is of real records, does not stay.
    if (String(before?.whom) !== String(data.whom)) this.last = null;
    if (before?.mode !== data.mode || before?.method !== data.method) this.at = Infinity;
    this.axis.update(data);
    this.layOut();
  }

  /** Tell the page what was chosen. */
  ask(kind, value) {
    this.turn = Math.max(Date.now(), this.turn + 1);
    this.rest();
    this.setStateValue?.("asked", [kind, value, this.turn]);
  }

  // -- Controls --

  fillControls() {
    const { method, methods, mode, modes, short, switch: two } = this.data;
    const option = (kind, [value, label], chosen) => {
      const button = make("button", "", label, { type: "button", "aria-pressed": String(value === chosen) });
      button.addEventListener("click", () => { this.menu.hidePopover(); this.ask(kind, value); });
      return button;
    };
    const list = (title, buttons) => {
      const box = make("div", "", "", { role: "group", "aria-label": title });
      box.append(make("h3", "", title), ...buttons);
      return box;
    };
    const title = methods.find(([value]) => value === method)?.[1] ?? "";
    const isUsual = two.includes(mode);
    const modeTitle = modes.find(([value]) => value === mode)?.[1] ?? "";
    this.choose.setAttribute("aria-label", [title, modeTitle].filter(Boolean).join(", "));
    setText(this.choose, [this.brief ? short : title, isUsual || modes.length < 2 || modeTitle === "default" ? "" : modeTitle].filter(Boolean).join(", "));
    this.choose.hidden = method === null && mode === null;
    const parts = [];
    if (method !== null) parts.push(list("Method", methods.map((each) => option("method", each, method))));
    if (mode !== null && modes.length > 1) parts.push(list("Mode", modes.map((each) => option("mode", each, mode))));
    if (JSON.stringify([methods, method, modes, mode]) !== this.listed) this.menu.replaceChildren(...parts);
    this.listed = JSON.stringify([methods, method, modes, mode]);
    this.switch.hidden = mode === null || two.length === 0;
    const labels = new Map(modes);
    this.fillSwitch(this.switch, two.map((value) => option("mode", [value, this.short(labels.get(value))], mode)));
    const { audience, audiences } = this.data;
    this.who.hidden = audience === null;
    this.fillSwitch(this.who, audience === null ? [] : audiences.map((each) => option("audience", each, audience)));
  }

  /** Put buttons into a switch, and the focus back to where it was. */
  fillSwitch(place, buttons) {
    const focused = place.contains(this.root.getRootNode().activeElement);
    place.replaceChildren(...buttons);
    if (focused) place.querySelector('[aria-pressed="true"]')?.focus();
  }

  /** A mode's first word or two, without the pair of worlds in brackets. */
  short(label) {
    return label.replace(/ \(.*\)$/, "").replace(/^.*, /, "");
  }

  // -- Words and numbers --

  get result() {
    return this.data.results[this.axis.index] ?? null;
  }

  /** Put words, numbers, axis and picture to the value of the slider and the step of play, all in one frame. */
  show() {
    const { data, result } = this;
    if (result) this.last = result;
    const isHere = this.axis.index === data.index;
    const waits = !result;
    this.root.classList.toggle("waits", waits && (!isHere || data.status === "running"));
    const steps = result?.played ?? [];
    const step = steps[Math.min(this.at, steps.length - 1)] ?? null;
    this.step = step;
    const last = steps.at(-1);
    const said = waits ? (isHere && data.status !== "done" ? data.said : "Can an attacker tell the two worlds apart?") : step.finding;
    setText(this.finding, said);
    setText(this.lede, data.lede);
    const promised = result ? result.promised_text : isHere && data.promised ? data.promised : data.texts[this.axis.index];
    setText(this.promised.value, promised);
    setText(this.promised.name, [`${data.who} promised ε`, result?.note].filter(Boolean).join(", "));
    setText(this.leak.value, step ? step.leak_text : "–");
    this.leak.box.className = step?.tone ?? "open";
    this.verdict.className = last?.tone ?? "";
    setText(this.verdict, result?.verdict ?? "");
    setText(this.words, result ? (step === last ? result.words : "Still counting.") : "");
    this.whyButton.hidden = !result;
    const all = last ? 2 * last.n : 0;
    const so = step ? 2 * step.n : 0;
    const perDot = last ? this.perDot(last.n) : 1;
    const each = perDot > 1 ? `, ${perDot} a dot` : "";
    setText(this.count, !step ? "" : step === last ? `${all.toLocaleString("en")} runs${each}` : `${so.toLocaleString("en")} of ${all.toLocaleString("en")} runs`);
    this.done.style.width = `${all ? (100 * so) / all : 0}%`;
    this.play.hidden = this.line.hidden = !result;
    const isStopped = isHere && data.status === "stopped";
    this.stopButton.hidden = !(isHere && waits && (data.status === "running" || isStopped));
    setText(this.stopButton, isStopped ? "Run it again" : "Stop");
    const portion = isHere ? data.share : 0;
    this.progress.hidden = !this.root.classList.contains("waits");
    this.bar.style.width = `${Math.max(2, 100 * portion)}%`;
    this.progress.setAttribute("aria-valuenow", String(Math.round(100 * portion)));
    const spoken = `promised ε ${promised}. ${said}`;
    this.axis.input.setAttribute("aria-valuetext", spoken);
    this.canvas.setAttribute("aria-label", this.alt());
    this.root.classList.toggle("plays", Boolean(step) && step !== last);
    this.root.dataset.runs = String(so);
    this.root.dataset.status = waits ? data.status : "done";
    if (!step || step === last) this.tell("finding", { text: said, who: String(data.whom) }); // read out at rest
    this.face();
    this.later();
  }

  tell(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
  }

  alt() {
    const { last: result, step } = this;
    if (!result || !step) return "Two stacks of dots, a run each: no result yet.";
    const [likely, other] = result.first_is_likely ? result.worlds : [...result.worlds].reverse();
    return `Two stacks of dots, a run each, ${step.n} ${this.lower(result.worlds[0])} and ${step.n} ${this.lower(result.worlds[1])}. `
      + `The attacker says “${result.says}” beyond a mark: right in ${step.right} runs ${this.lower(likely)}, `
      + `wrong in ${step.wrong} runs ${this.lower(other)}.`;
  }

  lower(words) {
    return words[0].toLowerCase() + words.slice(1);
  }

  // -- Play --

  begin() {
    const last = this.last.played.length - 1;
    if (this.at >= last) this.at = -1;
    const forward = () => {
      this.at += 1;
      if (this.at >= last) { this.rest(); this.show(); return; }
      const { n } = this.last.played[this.at];
      this.timer = setTimeout(forward, STEP_MS.find(([most]) => n < most)[1]);
      this.show();
    };
    forward();
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.face();
  }

  face() {
    const name = this.timer ? "pause" : "play";
    if (this.play.dataset.face === name) return;
    this.play.dataset.face = name;
    const svg = shape("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" });
    svg.append(shape("path", { d: this.timer ? "M3 2h3v10H3zM8 2h3v10H8z" : "M3 1.2v11.6L13 7z" }));
    this.play.replaceChildren(svg);
    this.play.setAttribute("aria-label", this.timer ? "Pause the runs" : "Play the runs, one by one");
  }

  // -- Layout --

  layOut() {
    if (!this.data) return;
    const width = this.root.clientWidth;
    if (!width) return;
    shrinkOnPaper(this.root);
    const { innerWidth: windowWidth, innerHeight: windowHeight } = window;
    const scroller = this.root.getRootNode().host?.closest('[data-testid="stMain"]');
    const top = this.root.getBoundingClientRect().top + (scroller?.scrollTop ?? window.scrollY);
    this.small = windowWidth <= PHONE_PX;
    const isLarge = width >= 1500 && windowHeight >= 900;
    const unit = this.unit = isLarge ? 1.2 : within(parseFloat(getComputedStyle(document.documentElement).fontSize) / 16, 1, 1.15);
    this.root.style.setProperty("--u", `${unit}px`);
    this.root.classList.toggle("small", this.small);
    const isLow = !this.small && windowHeight < LOW_PX;
    this.root.classList.toggle("low", isLow);
    this.brief = this.small || isLow;
    this.fillControls();
    if (this.small) {
      this.pad = 1;
      this.width = width;
      const least = Math.min(0.95 * width, Math.max(windowHeight - top - 240, 220)); // in a low frame all of it is seen
      this.height = within(windowHeight - top - 345, least, 1.2 * width);
      this.root.style.height = "";
    } else {
      const room = Math.max(windowHeight - top, 340);
      this.pad = 10;
      this.height = Math.max(room - 66 * unit - 2 * this.pad, 240);
      this.width = isLow ? Math.min(1.25 * this.height, width - 320) : Math.min(1.06 * this.height, width - 360 * unit - 40);
      this.root.style.height = `${room}px`;
    }
    this.root.style.setProperty("--box", `${this.width}px`);
    this.show();
  }

  tellBox() {
    if (!this.width || !this.root.isConnected) return;
    const { left, top } = this.canvas.getBoundingClientRect();
    const numbers = [left + this.pad, top + this.pad, this.width, this.height].map((each) => Math.round(10 * each) / 10);
    this.picture.dataset.dpvizBox = numbers.join(" ");
  }

  later() {
    this.asked ||= requestAnimationFrame(() => { this.asked = 0; this.paint(); });
  }

  // -- Picture --

  inks() {
    return Object.fromEntries(INKS.map((name) => {
      this.probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(this.probe).color];
    }));
  }

  perDot(n) {
    return Math.max(1, Math.ceil(n / MOST_DOTS));
  }

  paint() {
    if (!this.data || !this.width) return;
    const wanted = Math.log(this.data.values[this.axis.index]);
    this.shown = this.shown === null || isStill() ? wanted : this.shown + GLIDE * (wanted - this.shown);
    if (Math.abs(wanted - this.shown) < 0.004) this.shown = wanted;
    const { result, step } = this;
    this.axis.draw({
      epsilon: Math.exp(this.shown),
      promised: result ? result.promised : this.data.values[this.axis.index],
      leak: step?.leak ?? null,
      most: step?.most ?? null,
      tone: step?.tone ?? "open",
      said: step ? `${(2 * step.n).toLocaleString("en")} runs can show no more` : "",
      small: this.brief,
    });
    const stacks = this.gliding(this.last, result ? step : this.last?.played.at(-1));
    this.paintStacks(this.last, stacks);
    this.tellBox();
    const { dataset } = this.picture;
    if (result) Object.assign(dataset, { dpvizScene: result.scene, dpvizDrawn: String(Number(dataset.dpvizDrawn ?? 0) + 1) });
    else delete dataset.dpvizScene;
    if (this.shown !== wanted || this.glide) this.later();
  }

  /** The step as it is drawn: stacks and mark on their way from those of another result. */
  gliding(result, step) {
    if (!result || !step) return null;
    const target = { ...step, edge: result.edge, middle: this.middleOf(result) };
    const before = this.stacks;
    if (before && before.scene !== result.scene && !isStill()) this.glide = { from: before, began: performance.now(), scene: result.scene };
    if (this.glide?.scene !== result.scene || this.timer) this.glide = null;
    const done = this.glide ? (performance.now() - this.glide.began) / GLIDE_MS : 1;
    if (done >= 1) this.glide = null;
    const from = this.glide?.from;
    const mixed = (a, b) => (from ? a + (b - a) * (1 - (1 - done) ** 3) : b);
    const columns = target.columns.map((world, i) => world.map((count, j) => mixed(from?.columns[i][j] ?? 0, count)));
    const stacks = { ...target, columns, edge: mixed(from?.edge, target.edge), middle: mixed(from?.middle, target.middle) };
    this.stacks = { ...stacks, scene: result.scene };
    return stacks;
  }

  paintStacks(result, step) {
    const { canvas, width, height, pad, small } = this;
    const dpr = Math.min(window.devicePixelRatio || 1, 2);
    const full = [width + 2 * pad, height + 2 * pad];
    const pixels = full.map((each) => Math.round(each * dpr));
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
      [canvas.width, canvas.height] = pixels;
      [canvas.style.width, canvas.style.height] = full.map((each) => `${each}px`);
    }
    const ctx = canvas.getContext("2d");
    const ink = this.inks();
    this.picture.classList.toggle("dark", isDark(ink.page));
    const named = parseFloat(getComputedStyle(this.root).getPropertyValue("--dpviz-names")) || 0; // for a room
    const size = this.brief ? 14 : Math.max(16 * this.unit, named - 1);
    const family = getComputedStyle(this.root).fontFamily;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.clearRect(0, 0, ...full);
    ctx.lineWidth = 1;
    ctx.strokeStyle = ink.rule;
    ctx.strokeRect(pad + 0.5, pad + 0.5, width - 1, height - 1);
    const tag = (text, x, y, color, align, px, weight) => {
      ctx.font = `${weight} ${px}px ${family}`;
      ctx.textAlign = align;
      ctx.textBaseline = "middle";
      ctx.lineJoin = "round";
      ctx.lineWidth = 4;
      ctx.strokeStyle = ink["box-fill"];
      if (align === "left") ctx.strokeText(text, x, y); // over the mark
      ctx.fillStyle = color;
      ctx.fillText(text, x, y);
    };
    const middle = pad + height * (step?.middle ?? 0.5);
    const [upper, lower] = result?.worlds ?? this.data.worlds;
    if (result && step) this.paintDots(ctx, result, step, ink, middle);
    ctx.globalAlpha = 1;
    ctx.fillStyle = ink.soft;
    ctx.fillRect(pad + 1, middle - 0.5, width - 2, 1);
    const mark = result && step && result.edge < this.data.columns ? pad + 8 + (step.edge / this.data.columns) * (width - 16) : null;
    const names = () => {
      ctx.font = `650 ${size + 1}px ${family}`;
      for (const [text, y] of [[upper, pad + 22], [lower, pad + height - 22]]) {
        const meets = mark > pad + 8 && mark < pad + 22 + ctx.measureText(text).width;
        tag(text, meets ? mark + 10 : pad + 14, y, ink.ink, "left", size + 1, 650); // beside the mark, not under it
      }
    };
    if (mark === null) return void names();
    const x = mark;
    ctx.strokeStyle = ink.ink;
    ctx.lineWidth = 1.6;
    ctx.beginPath();
    ctx.moveTo(x, pad + 1);
    ctx.lineTo(x, pad + height - 1);
    ctx.stroke();
    names();
    const end = pad + width - 14;
    const times = (n) => `${n.toLocaleString("en")} ${n === 1 ? "time" : "times"}`;
    const right = this.brief ? `right ${step.right.toLocaleString("en")}` : `right ${times(step.right)}`;
    const wrong = this.brief ? `wrong ${step.wrong.toLocaleString("en")}` : `wrong ${times(step.wrong)}`;
    const [above, below] = result.first_is_likely ? [right, wrong] : [wrong, right];
    const color = (text) => (text === right ? ink.released : step.wrong ? ink.wrong : ink.soft);
    const says = this.brief ? `says “${result.says}”` : `here the attacker says “${result.says}” →`;
    ctx.font = `400 ${size - 1}px ${family}`;
    const fits = ctx.measureText(says).width < end - x - 8;
    tag(says, fits ? end : x - 10, pad + 22, ink.soft, "right", size - 1, 400);
    tag(above, end, pad + 22 + 1.5 * size, color(above), "right", size + 1, 650);
    tag(below, end, pad + height - 22, color(below), "right", size + 1, 650);
  }

  /** Where the line between the worlds lies, as a share of the height: a high stack gets more room. */
  middleOf(result) {
    if (!result) return 0.5;
    const [above, below] = result.played.at(-1).columns.map((world) => Math.sqrt(Math.max(...world)));
    return within(above / (above + below || 1), LEAST_SHARE, 1 - LEAST_SHARE);
  }

  /** Dots in columns, from the middle line outwards: full where the attacker speaks, red where that is wrong. */
  paintDots(ctx, result, step, ink, middle) {
    const { width, height, pad, small } = this;
    const last = result.played.at(-1);
    const perDot = this.perDot(last.n);
    const { columns } = this.data;
    const wide = (width - 16) / columns;
    const at = (middle - pad) / height;
    const rooms = [at, 1 - at].map((part) => part * height - (this.brief ? 58 : 62)); // the words need some
    const peaks = last.columns.map((world) => Math.max(1, ...world) / perDot);
    const needed = Math.max(...peaks.map((peak, world) => Math.sqrt((peak * wide) / Math.max(rooms[world], 20))));
    const per = Math.max(1, Math.round(needed + 0.2));
    const pitch = wide / per;
    const rise = Math.min(pitch, ...peaks.map((peak, world) => rooms[world] / Math.ceil(peak / per)));
    const radius = Math.min(pitch, Math.max(rise, 3)) * 0.42;
    const before = this.timer ? this.last.played[this.at - 1] : null;
    const faint = isDark(ink.page) ? 0.45 : 0.34;
    ctx.globalAlpha = 0.045;
    ctx.fillStyle = ink.ink;
    const edge = pad + 8 + step.edge * wide;
    if (result.edge < columns) ctx.fillRect(edge, pad + 1, pad + width - edge - 1, height - 2);
    step.columns.forEach((counts, world) => {
      const isLikely = (world === 0) === result.first_is_likely;
      counts.forEach((count, column) => {
        const said = column >= result.edge;
        ctx.globalAlpha = said ? 1 : faint;
        ctx.fillStyle = said && !isLikely ? ink.wrong : ink.released;
        const dots = count / perDot;
        for (let i = 0; i < dots; i += 1) {
          const part = Math.sqrt(Math.min(1, dots - i)); // of a dot whose runs are not all there: its area says how many
          const isNew = before && i >= before.columns[world][column] / perDot;
          const x = pad + 8 + (column * per + (i % per) + 0.5) * pitch;
          const y = middle + (world === 0 ? -1 : 1) * (5 + radius + Math.floor(i / per) * rise);
          ctx.beginPath();
          ctx.arc(x, y, radius * part * (isNew ? 1.5 : 1), 0, 7);
          ctx.fill();
        }
      });
    });
  }

  // -- See the attack --

  showWhy() {
    const { result } = this;
    if (!result) return;
    const { left, top, size } = ROC_PX;
    const x = (value) => left + value * size;
    const y = (value) => top + (1 - value) * size;
    const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
    const parts = [];
    for (const { name, kind, points } of result.lines) {
      if (kind === "limit") parts.push(shape("path", { d: `${path(points)}L${x(1)} ${y(0)}L${x(0)} ${y(0)}Z`, class: "allowed" }));
      const line = shape("path", { d: path(points), class: kind === "attack" ? `attack ${result.played.at(-1).tone}` : kind });
      line.append(shape("title", {}, name));
      parts.push(line);
    }
    const { right, wrong, n, tone } = result.played.at(-1);
    if (result.edge < this.data.columns) parts.push(shape("circle", { cx: x(wrong / n), cy: y(right / n), r: 6, class: `dot ${tone}` }));
    const label = (text, attributes) => parts.push(shape("text", attributes, text));
    parts.push(shape("path", { d: `M${left} ${top}V${top + size}H${left + size}`, class: "frame" }));
    label(`wrongly says “${result.says}”`, { x: left + size / 2, y: top + size + 36, "text-anchor": "middle" });
    label(`rightly says “${result.says}”`, { transform: `translate(16 ${top + size / 2}) rotate(-90)`, "text-anchor": "middle" });
    label("100 %", { x: left - 8, y: top + 8, "text-anchor": "end" });
    label("0", { x: left - 8, y: top + size, "text-anchor": "end" });
    label("100 %", { x: left + size, y: top + size + 18, "text-anchor": "end" });
    if (result.promised !== null) label(`what ε = ${result.promised_text} allows`, { x: x(0.98), y: y(0.32), "text-anchor": "end", class: "named" });
    if (result.lines.some(({ kind }) => kind === "best")) label("dashed: the best attack on this noise", { x: x(0.98), y: y(0.22), "text-anchor": "end" });
    this.roc.replaceChildren(...parts);
    setText(this.whyTitle, result.title);
    this.whyWords.replaceChildren(...result.paragraphs.map((text) => make("p", "", text)));
  }

  destroy() {
    this.rest();
    this.tell("finding", { text: "", who: "" });
    cancelAnimationFrame(this.asked);
    this.stopped.abort();
    this.observer.disconnect();
    this.axis.destroy();
    this.root.remove();
  }
}

export default component((parent) => new AuditStage(parent));
