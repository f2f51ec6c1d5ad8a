// The Audit page's stage as a component of the app: the promise, the leak and what the runs can show on one ε axis,
// which is the slider, and two stacks of dots, a run each, that grow with play.
// dpviz/tools/audit/pictures.py says what a result holds, dpviz/tools/audit/page.py what comes with it. All words and
// numbers come from there, and every text is set as text.

import { clamp, formatCount, pathThrough, isStill, makeShape, tell } from "./kit.js";
import { lookAfterPage, shrinkOnPaper } from "./live_page.js";
import { make, setText } from "./elements.js";
import { makeButton, makeDialog, topOf, watchColors, watchSizes } from "./stage_parts.js";
import { runsPerDot, Stacks } from "./audit_stacks.js";
import { component } from "./component.js";
import { PromiseAxis } from "./audit_axis.js";
import { refill } from "./row.js";

/** @import { AuditData, AuditLook, AuditResult, AuditStep, Given, Tone } from "./stages.d.ts" */

const PHONE_PX = 700; // a narrower window has one column
const LOW_PX = 520; // a lower one has no finding
/** @type {[number, number][]} */
const STEP_MS = [[12, 190], [24, 110], [Infinity, 60]]; // up to so many runs of each world, so long for a step
const GLIDE = 0.3; // of the way that is left, in a frame
const ROC_PX = { left: 52, top: 10, size: 320 };
/** @type {{ leak: null, most: null, tone: Tone }} */
const UNKNOWN = { leak: null, most: null, tone: "open" }; // before there is a result
const FACES = { play: "M3 1.2v11.6L13 7z", pause: "M3 2h3v10H3zM8 2h3v10H8z" };

/** @param {string} words */
const lower = (words) => words[0].toLowerCase() + words.slice(1);
/** A mode's first word or two, without the pair of worlds in brackets. @param {string} [label] */
const shorten = (label = "") => label.replace(/ \(.*\)$/, "").replace(/^.*, /, "");
/** @param {[string, string][]} choices @param {string | null} value */
const titleOf = (choices, value) => choices.find(([each]) => each === value)?.[1] ?? "";

class AuditStage {
  constructor(/** @type {HTMLElement | ShadowRoot} */ parent, /** @type {Given<AuditData>} */ given) {
    this.given = given;
    this.data = given.data;
    /** @type {AuditResult | null} */ this.last = null; // the result on screen
    /** @type {AuditStep | null} */ this.step = null; // that is shown of it
    this.at = Infinity; // how many of its steps have been played
    /** @type {number | null} */ this.shown = null; // where the thumb is drawn, on its way
    this.turn = this.timer = this.painting = 0;
    this.width = this.height = this.pad = 0;
    this.unit = 1;
    this.small = this.brief = false;
    this.listed = ""; // the menu's contents, as JSON

    this.finding = make("p", "finding", "", { role: "heading", "aria-level": "2" });
    this.lede = make("p", "lede");
    const [promised, leak] = ["promised", "leaks ε of at least"].map((label) => {
      const [name, value] = [make("small", "", label), make("b")];
      return { box: make("div", "", [name, value]), name, value };
    });
    this.promised = promised;
    this.leak = leak;
    const middle = make("div", "middle", [make("div", "two", [promised.box, leak.box])]);
    this.axis = new PromiseAxis(middle, () => {
      this.rest();
      this.at = Infinity;
      this.show();
    });
    this.verdict = make("b");
    this.words = make("span");
    this.whyButton = makeButton("link", "See the attack", () => {
      this.showWhy();
      this.why.showModal();
    }, { "aria-haspopup": "dialog" });
    this.stacks = new Stacks();
    this.bar = make("i");
    this.progress = make("div", "progress", [this.bar], { role: "progressbar", "aria-label": "Runs that are done", "aria-valuemax": "100" });
    this.stacks.root.append(this.progress);
    this.play = makeButton("play", "", () => (this.timer ? this.rest() : this.begin()));
    this.done = make("i");
    this.line = make("span", "line", [this.done]);
    this.count = make("span", "count");
    this.stopButton = makeButton("link", "Stop", () => this.ask(this.data.status === "stopped" ? "again" : "stop", ""));
    this.choose = make("button", "choose", "", { type: "button", popovertarget: "dpviz-audited", "aria-haspopup": "true" });
    this.menu = make("div", "menu", "", { popover: "", id: "dpviz-audited" });
    this.switch = make("span", "switch", "", { role: "group", "aria-label": "As published, or as it is proved" });
    this.who = make("span", "switch", "", { role: "group", "aria-label": "View as" });
    this.whyTitle = make("h2", "", "", { id: "dpviz-why" });
    this.roc = makeShape("svg", { viewBox: "0 0 400 376", role: "img", "aria-label": "ROC curve of the attack", class: "roc" });
    this.whyWords = make("div");
    this.why = makeDialog("why", [this.whyTitle, this.roc, this.whyWords], { "aria-labelledby": "dpviz-why" });
    this.root = make("div", "dpviz-audit", [
      make("div", "head", [this.finding, this.lede]), middle,
      make("p", "more", [this.verdict, " ", this.words, " ", this.whyButton]), this.stacks.root,
      make("div", "bar", [this.play, this.line, this.count, this.stopButton, this.choose, this.switch, this.who, this.menu]), this.why]);
    parent.append(this.root);
    this.stopped = new AbortController();
    this.listen();
    lookAfterPage();
  }

  listen() {
    const { signal } = this.stopped;
    // Results that are there need no page: it follows at rest. For all others it would begin runs at every value.
    this.root.addEventListener("dpviz:moving", ({ detail }) => detail.wait(Promise.resolve(true)));
    this.root.addEventListener("dpviz:moved", ({ detail: [index, number] }) => this.given.setStateValue("moved", ["epsilon", index, number]));
    const layOut = () => this.layOut();
    watchSizes([this.root, this.axis.root], layOut, signal);
    watchColors(this.root, () => this.paintSoon(), signal);
    window.addEventListener("scroll", () => this.stacks.tellBox(), { capture: true, passive: true, signal });
    window.addEventListener("beforeprint", () => this.paint(), { signal });
  }

  update(/** @type {Given<AuditData>} */ given) {
    const { data: before } = this;
    const { data } = given;
    this.given = given;
    this.data = data;
    // What another reader may see, or what is of real records, does not stay.
    if (String(before.whom) !== String(data.whom)) this.last = null;
    if (before.mode !== data.mode || before.method !== data.method) this.at = Infinity;
    this.axis.update(data);
    this.layOut();
  }

  /** Tell the page what was chosen. @param {string} kind @param {string} value */
  ask(kind, value) {
    this.turn = Math.max(Date.now(), this.turn + 1);
    this.rest();
    this.given.setStateValue("asked", [kind, value, this.turn]);
  }

  // -- Controls --

  fillControls() {
    const { method, methods, mode, modes, short, switch: two, audience, audiences } = this.data;
    /** @param {string} kind @param {[string, string]} choice @param {string | null} chosen */
    const option = (kind, [value, label], chosen) => makeButton("", label, () => {
      this.menu.hidePopover();
      this.ask(kind, value);
    }, { "aria-pressed": String(value === chosen) });
    /** @param {string} title @param {string} kind @param {[string, string][]} choices @param {string | null} chosen */
    const list = (title, kind, choices, chosen) =>
      make("div", "", [make("h3", "", title), ...choices.map((each) => option(kind, each, chosen))], { role: "group", "aria-label": title });
    const [title, modeTitle] = [titleOf(methods, method), titleOf(modes, mode)];
    const isUsual = (mode !== null && two.includes(mode)) || modes.length < 2 || modeTitle === "default";
    const join = (/** @type {string[]} */ ...words) => words.filter(Boolean).join(", ");
    this.choose.setAttribute("aria-label", join(title, modeTitle));
    setText(this.choose, join(this.brief ? short : title, isUsual ? "" : modeTitle));
    this.choose.hidden = method === null && mode === null;
    const listed = JSON.stringify([methods, method, modes, mode]);
    if (listed !== this.listed) {
      this.menu.replaceChildren(...method === null ? [] : [list("Method", "method", methods, method)],
        ...mode === null || modes.length < 2 ? [] : [list("Mode", "mode", modes, mode)]);
    }
    this.listed = listed;
    this.switch.hidden = mode === null || two.length === 0;
    refill(this.switch, two.map((value) => option("mode", [value, shorten(titleOf(modes, value))], mode)));
    this.who.hidden = audience === null;
    refill(this.who, audience === null ? [] : audiences.map((each) => option("audience", each, audience)));
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
    const played = result?.played ?? [];
    this.step = played[Math.min(this.at, played.length - 1)] ?? null;
    const isLast = this.step === played[played.length - 1];
    this.root.classList.toggle("waits", !result && (!isHere || data.status === "running"));
    this.root.classList.toggle("plays", Boolean(this.step) && !isLast);
    this.root.dataset.status = result ? "done" : data.status;
    const waiting = isHere && data.status !== "done" ? data.said : "Can an attacker tell the two worlds apart?";
    const said = this.step?.finding ?? waiting;
    const promised = result?.promised_text ?? ((isHere && data.promised) || data.texts[this.axis.index]);
    setText(this.finding, said);
    setText(this.lede, data.lede);
    setText(this.promised.value, promised);
    setText(this.promised.name, [`${data.who} promised ε`, result?.note].filter(Boolean).join(", "));
    this.axis.input.setAttribute("aria-valuetext", `promised ε ${promised}. ${said}`);
    this.showResult(result, isLast);
    this.showProgress(isHere);
    if (!this.step || isLast) tell(this.root, "finding", { text: said, who: String(data.whom) }); // read out at rest
    this.showFace();
    this.paintSoon();
  }

  /** Show what the runs so far leak, and how many there are. @param {AuditResult | null} result @param {boolean} isLast */
  showResult(result, isLast) {
    const { step } = this;
    const last = result?.played[result.played.length - 1];
    setText(this.leak.value, step ? step.leak_text : "–");
    this.leak.box.className = step?.tone ?? "open";
    this.verdict.className = last?.tone ?? "";
    setText(this.verdict, isLast ? result?.verdict ?? "" : ""); // not before the evidence
    setText(this.words, result && !isLast ? "Still counting." : result?.words ?? "");
    this.whyButton.hidden = this.play.hidden = this.line.hidden = !result;
    const [all, so] = [last, step].map((each) => (each ? 2 * each.n : 0));
    const perDot = result ? runsPerDot(result) : 1;
    const each = perDot > 1 ? `, ${perDot} a dot` : "";
    const counted = isLast ? `${formatCount(all)} runs${each}` : `${formatCount(so)} of ${formatCount(all)} runs`;
    setText(this.count, step ? counted : "");
    this.done.style.width = `${all ? (100 * so) / all : 0}%`;
    this.root.dataset.runs = String(so);
    this.stacks.canvas.setAttribute("aria-label", this.describe());
  }

  /** Show how far the runs are that the page has begun. @param {boolean} isHere Whether they are of this ε */
  showProgress(isHere) {
    const { result, data: { status, share } } = this;
    const isStopped = isHere && status === "stopped";
    this.stopButton.hidden = Boolean(result) || !isHere || (status !== "running" && !isStopped);
    setText(this.stopButton, isStopped ? "Run it again" : "Stop");
    this.progress.hidden = !this.root.classList.contains("waits");
    const percent = isHere ? 100 * share : 0;
    this.bar.style.width = `${Math.max(2, percent)}%`;
    this.progress.setAttribute("aria-valuenow", String(Math.round(percent)));
  }

  describe() {
    const { last: result, step } = this;
    if (!result || !step) return "Two stacks of dots, one dot per run: no result yet.";
    const [first, second] = result.worlds.map(lower);
    const [likely, other] = result.first_is_likely ? [first, second] : [second, first];
    return `Two stacks of dots, one dot per run, ${step.n} ${first} and ${step.n} ${second}. `
      + `The attacker says “${result.says}” beyond a mark: right in ${step.right} runs ${likely}, `
      + `wrong in ${step.wrong} runs ${other}.`;
  }

  // -- Play --

  begin() {
    const { last: result } = this;
    if (!result) return;
    const last = result.played.length - 1;
    if (this.at >= last) this.at = -1;
    const forward = () => {
      this.at += 1;
      if (this.at >= last) {
        this.rest();
      } else {
        const { n } = result.played[this.at];
        this.timer = setTimeout(forward, STEP_MS.find(([most]) => n < most)?.[1]);
      }
      this.show();
    };
    forward();
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.showFace();
  }

  showFace() {
    const name = this.timer ? "pause" : "play";
    if (this.play.dataset.face === name) return;
    this.play.dataset.face = name;
    this.play.replaceChildren(makeShape("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, [makeShape("path", { d: FACES[name] })]));
    this.play.setAttribute("aria-label", this.timer ? "Pause the runs" : "Play the runs, one by one");
  }

  // -- Layout --

  layOut() {
    const width = this.root.clientWidth;
    if (!width) return;
    shrinkOnPaper(this.root);
    const { innerWidth: windowWidth, innerHeight: windowHeight } = window;
    const top = topOf(this.root);
    this.small = windowWidth <= PHONE_PX;
    const isLow = !this.small && windowHeight < LOW_PX;
    this.brief = this.small || isLow;
    const isLarge = width >= 1500 && windowHeight >= 900;
    const unit = this.unit = isLarge ? 1.2 : clamp(parseFloat(getComputedStyle(document.documentElement).fontSize) / 16, 1, 1.15);
    this.root.style.setProperty("--u", `${unit}px`);
    this.root.classList.toggle("small", this.small);
    this.root.classList.toggle("low", isLow);
    this.fillControls();
    if (this.small) {
      this.pad = 1;
      this.width = width;
      const least = Math.min(0.95 * width, Math.max(windowHeight - top - 240, 220)); // in a low frame all of it is seen
      this.height = clamp(windowHeight - top - 345, least, 1.2 * width);
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
    if (!this.stacks.canvas.style.width) this.paint(); // the first frame has the picture's size
  }

  // -- Picture --

  paintSoon() {
    this.painting ||= requestAnimationFrame(() => {
      this.painting = 0;
      this.paint();
    });
  }

  paint() {
    const { axis, data, pad, width, height, brief, unit, result, step, last } = this;
    if (!width) return;
    const epsilon = data.values[axis.index];
    const wanted = Math.log(epsilon);
    this.shown = this.shown === null || isStill() ? wanted : this.shown + GLIDE * (wanted - this.shown);
    if (Math.abs(wanted - this.shown) < 0.004) this.shown = wanted;
    const promised = result ? result.promised : epsilon;
    const said = step ? `${formatCount(2 * step.n)} runs can show no more` : "";
    const { leak, most, tone } = step ?? UNKNOWN;
    this.drawAxis({ epsilon: Math.exp(this.shown), promised, leak, most, tone, said, small: brief });
    this.stacks.paint({
      box: { left: pad, top: pad, width, height }, full: { width: width + 2 * pad, height: height + 2 * pad }, brief, unit,
      worlds: last?.worlds ?? data.worlds, columns: data.columns, result: last, isPlaying: this.timer > 0,
      step: (result ? step : last?.played[last.played.length - 1]) ?? null, before: (this.timer && last?.played[this.at - 1]) || null,
    });
    this.stacks.tellBox();
    const { dataset } = this.stacks.root;
    if (result) Object.assign(dataset, { dpvizScene: result.scene, dpvizDrawn: String(Number(dataset.dpvizDrawn ?? 0) + 1) });
    else delete dataset.dpvizScene;
    if (this.shown !== wanted || this.stacks.glide) this.paintSoon();
  }

  /** Draw the axis, and put the two numbers over the ends of their bars. @param {AuditLook} look */
  drawAxis(look) {
    const ends = this.axis.draw(look);
    for (const [{ box }, at] of /** @type {[AuditStage["leak"], number][]} */ ([[this.promised, ends.promised], [this.leak, ends.leak]])) {
      const half = box.offsetWidth / 2;
      box.style.left = look.small ? "" : `${clamp(at, half, ends.width - half) - half}px`;
    }
  }

  // -- See the attack --

  showWhy() {
    const { result } = this;
    if (!result) return;
    const { left, top, size } = ROC_PX;
    const x = (/** @type {number} */ value) => left + value * size;
    const y = (/** @type {number} */ value) => top + (1 - value) * size;
    const { right, wrong, n, tone } = result.played[result.played.length - 1];
    /** @type {SVGElement[]} */
    const parts = [];
    for (const { name, kind, points } of result.lines) {
      const path = pathThrough(points.map(([a, b]) => [x(a), y(b)]));
      if (kind === "limit") parts.push(makeShape("path", { d: `${path}L${x(1)} ${y(0)}L${x(0)} ${y(0)}Z`, class: "allowed" }));
      parts.push(makeShape("path", { d: path, class: kind === "attack" ? `attack ${tone}` : kind }, [makeShape("title", {}, name)]));
    }
    if (result.edge < this.data.columns) parts.push(makeShape("circle", { cx: x(wrong / n), cy: y(right / n), r: 6, class: `dot ${tone}` }));
    const label = (/** @type {string} */ text, /** @type {Record<string, string | number>} */ attributes) => parts.push(makeShape("text", attributes, text));
    parts.push(makeShape("path", { d: `M${left} ${top}V${top + size}H${left + size}`, class: "frame" }));
    label(`incorrectly says “${result.says}”`, { x: left + size / 2, y: top + size + 36, "text-anchor": "middle" });
    label(`correctly says “${result.says}”`, { transform: `translate(16 ${top + size / 2}) rotate(-90)`, "text-anchor": "middle" });
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
    tell(this.root, "finding", { text: "", who: "" });
    cancelAnimationFrame(this.painting);
    this.stopped.abort();
    this.axis.moves.stop();
  }
}

export default component((parent, given) => new AuditStage(parent, given));
