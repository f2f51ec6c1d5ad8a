// A published page: the app's own words and pictures, state by state, from scripts beside it; no server, no request
// outside, and the same from a file. `dpvizIndex` says what there is, `dpvizData` hands over one file of it.

import { Files, LATE, takeFrom } from "./site_files.js";
import { housed, mount } from "./picture.js";
import { make, setText } from "./elements.js";
import { makeButton } from "./stage_parts.js";
import { nearestIndex } from "./kit.js";
import { Slider } from "./slider.js";
import { Stage } from "./stage_view.js";

/** @import { PageAt, PageState, PicturePart, SiteIndex, SiteOptions, Tool } from "./stages.d.ts" */
/** @import { Picture } from "./picture.js" */

const AUDIENCES = ["curator", "public"]; // in the order of the switch's words
const WHY = "dpviz-why"; // the id of the card that a stage opens
const PACE = 1200; // ms from one step of a control that plays to the next, as in the app
const PREFETCHED = 6; // files that are asked for at a time, when nothing else is
const IDLE_MS = 60; // until files are asked for ahead of the reader
const TELL_MS = 400; // until a state is in the address: browsers refuse many changes in a row
export const MAIN = "picture"; // key of the picture that a page is about, where it has more than one
const SHORT = { view: "audience", step: "frame", seed: "noise_seed" }; // names in an address, and what links call them

/**
 * An address' query with the names that links have: `eps` is the slider's value, `mode` the choice among modes. What is
 * there under a link's own name stays: some links use a short one for something else.
 * @param {URLSearchParams} query @param {{ knob: string, mode: string }} index
 */
export function longNames(query, { knob, mode }) {
  /** @type {Record<string, string>} */
  const names = { ...SHORT, eps: knob, mode };
  const long = (/** @type {string} */ name) => (names[name] && !query.has(names[name]) ? names[name] : name);
  return new URLSearchParams([...query].map(([name, value]) => [long(name), value]));
}

/** The place of the value that is nearest to a wanted one, null where none is wanted. @param {number[]} values @param {number} wanted */
export const nearest = (values, wanted) => (wanted > 0 ? nearestIndex(values.map(Math.log), Math.log(wanted)) : null);

export class Site {
  /** Open a page. @param {SiteIndex} index @param {SiteOptions} options */
  constructor(index, { main, marked, query, base }) {
    this.index = index;
    this.main = main;
    this.marked = marked;
    this.files = new Files(base);
    /** @type {Map<string, { host: Element, picture: Picture }>} */ this.pictures = new Map();
    /** @type {PageState | null} */ this.shown = null;
    /** @type {(string | null)[]} */ this.filled = []; // keys of the words that stand in the frame
    this.query = longNames(query, index);
    this.at = this.opening();
    this.slider = make("div", "slider");
    /** @type {Slider | null} */ this.control = null;
    /** @type {Stage | null} */ this.stage = null;
    /** @type {Element | null} */ this.stageHost = null;
    this.rest = ""; // what the stage shows, but for ε
    this.isBehind = false; // whether ε alone has moved, and all else waits
    /** @type {Tool | null} */ this.tool = null;
    /** @type {HTMLElement | null} */ this.verdict = null; // of the reader's guess
    this.problem = make("p", "problem", "This state could not be loaded. Move ε again, or reload the page.", { role: "alert" });
    /** @type {number | null} */ this.move = null; // number of the last move that was asked for
    this.drawing = 0;
    main.addEventListener("dpviz:moving", ({ detail }) => {
      if (this.tool) {
        this.tool.index = detail.index;
        this.tellAddress();
      } else {
        this.move = detail.number;
        this.go({ stop: detail.index });
      }
    });
    // The page has followed the slider.
    main.addEventListener("dpviz:moved", ({ detail: [stop, move] }) => {
      if (index.slider) (this.control ?? this.stage?.instrument)?.update({ ...index.slider, index: stop, move });
    });
    main.addEventListener("dpviz:audience", ({ detail }) => this.go({ audience: index.audiences.indexOf(detail) }));
    main.addEventListener("dpviz:step", () => this.tellAddress());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { picture } of [...this.pictures.values(), ...this.stage?.pictures.values() ?? []]) picture.update(null);
    });
    this.came = this.comes(); // with the words and controls of what it opens with
    if (this.came) this.offer();
    this.go({});
  }

  /** What the address asks for, else what the page opens with. @returns {PageAt} */
  opening() {
    const { slider, control, stops, question, seeds, audiences, modes, knob, mode } = this.index;
    const found = (/** @type {(string | number)[]} */ list, /** @type {string} */ name, kept = 0) => {
      const i = list.map(String).indexOf(this.query.get(name) ?? "");
      return i < 0 ? kept : i;
    };
    const fixed = control ? found(stops, knob, control.index) : 0;
    const stop = slider ? nearest(slider.values, Number(this.query.get(knob))) ?? slider.index : fixed;
    return { mode: found(modes, mode), seed: found(seeds, "noise_seed"), audience: found(audiences, "audience"), stop, asked: question !== null && !this.query.has(knob) };
  }

  name({ mode, seed, audience, stop, asked } = this.at) {
    return asked ? "asked" : `${mode}.${mode ? 0 : seed}.${audience}.${stop}`;
  }

  /**
   * Files that a state needs: what many states share, what all audiences see of this one, and its own. The one that the
   * page opens with is drawn from its own alone, until the rest is there.
   * @param {string} name
   */
  parts(name) {
    const [mode, seed, audience = 0, stop] = name.split(".");
    const all = this.index.audiences.length > 1 ? [`${mode}.${seed}.all.${stop}`] : [];
    const { first } = this.index; // with what other states share with it
    if (name === first) return [first];
    return [...(first ? [first, LATE] : []), `shared.${audience}`, ...all, name];
  }

  /** Whether the first picture is drawn, and the file of what it did without is not there yet. */
  get isCoarse() {
    return this.name() === this.index.first && !this.files.ready.has(LATE);
  }

  /** Show the state at another place; of places that are asked for meanwhile the last one counts. @param {Partial<PageAt>} change */
  async go(change) {
    this.at = { ...this.at, ...change };
    const name = this.name();
    const parts = this.parts(name);
    try {
      if (!parts.every((each) => this.files.ready.has(each))) {
        await Promise.all(parts.map((each) => this.files.load(each)));
        this.problem.remove();
      }
    } catch {
      this.fail();
      return;
    }
    if (name === this.name()) this.show(name);
  }

  fail() {
    this.main.prepend(this.problem);
  }

  show(/** @type {string} */ name) {
    const state = this.files.ready.get(name);
    if (!state) return;
    if (state.frame !== this.shown?.frame) {
      this.came &&= this.comes(); // it may have been moved on before its first picture
      this.build(state);
      this.fill(state); // a picture that is new is as large as the words leave it room
    }
    const main = state.pictures.find(({ key }) => key === MAIN) ?? state.pictures[0];
    if (main?.stage) this.drawStage(state);
    else if (main) this.draw(main);
    this.shown = state;
    cancelAnimationFrame(this.drawing);
    clearTimeout(this.following);
    const soon = () => { this.following = setTimeout(() => this.accompany(state, main, name)); };
    if (document.hidden) soon(); // no frame is shown
    else this.drawing = requestAnimationFrame(soon);
  }

  /** Bring words and charts after the picture, once that is on the screen: they take as long as it does. @param {PageState} state @param {PicturePart | undefined} main @param {string} name */
  accompany(state, main, name) {
    if (this.isBehind) this.setStage(state);
    if (this.index.why) this.dress();
    this.fill(state);
    if (main) this.pictures.get(main.key)?.picture.resize(); // the words may leave it other room
    for (const part of state.pictures) if (part !== main && !part.stage) this.draw(part);
    this.marked.dataset.dpvizState = name;
    this.tellAddress();
    this.prefetch();
  }

  /** Ask for the sheet of the words, once; a page to keep has it. */
  dress() {
    const [frame, words] = ["site.css", "words.css"].map((name) => document.querySelector(`link[href$="/${name}"]`));
    const href = frame?.getAttribute("href")?.replace(/site\.css$/, "words.css");
    if (href && !words) document.head.append(make("link", "", "", { rel: "stylesheet", href }));
  }

  /** Whether the page came with the frame and the words of the state that is wanted. */
  comes() {
    return this.name() === this.index.first && this.main.childElementCount > 0;
  }

  /** Put the page's frame up, and into it what lives longer than a frame. @param {PageState} state */
  build(state) {
    this.filled = this.came ? state.leaves.map((key, i) => (this.leaf(i)?.hasChildNodes() ? key : null)) : [];
    if (!this.came) {
      this.main.innerHTML = this.files.text(state.frame);
      this.offer();
    }
    this.came = false;
    const places = new Set([...this.main.querySelectorAll("[data-picture]")].map((place) => place.getAttribute("data-picture")));
    for (const [key, { picture }] of this.pictures) {
      if (places.has(key)) continue;
      picture.destroy();
      this.pictures.delete(key);
    }
  }

  /** Put slider, switches and buttons into the frame. */
  offer() {
    const { index, main } = this;
    this.offerSlider();
    for (const place of main.querySelectorAll("[data-switch]")) this.offerSwitch(place);
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (main.querySelectorAll("[data-again]"))) {
      button.textContent = "New noise";
      button.hidden = index.seeds.length < 2 || this.at.mode > 0;
      button.addEventListener("click", () => this.go({ seed: (this.at.seed + 1) % index.seeds.length }));
    }
    for (const button of main.querySelectorAll("[data-guess]")) {
      button.addEventListener("click", () => this.answer(button.getAttribute("data-guess") ?? ""));
    }
    this.offerRange(main.querySelector("[data-range]"));
  }

  /** Put the state's words into the frame, as far as they are there. @param {PageState} state */
  fill(state) {
    state.leaves.forEach((key, i) => {
      const place = this.leaf(i);
      if (!place || key === this.filled[i] || !this.files.blobs.has(key)) return;
      const text = this.files.text(key);
      if (place.hasAttribute("data-tool")) this.useTool(place, JSON.parse(text)).catch(() => this.fail());
      else place.innerHTML = text;
      this.filled[i] = key;
    });
    if (!this.at.asked && this.verdict) this.main.querySelector("h1")?.after(this.verdict);
  }

  leaf(/** @type {number} */ i) {
    return this.main.querySelector(`[data-leaf="${i}"]`);
  }

  /** Show the stage of a tool: all that it shows at any ε has come with its words. @param {Element} place @param {Tool["data"]} data */
  async useTool(place, data) {
    const values = data.epsilons ?? data.values ?? [];
    const index = nearest(values, Number(this.query.get(this.index.knob))) ?? data.index;
    /** @type {Tool} */
    const tool = this.tool ??= { data, values, index, opens: data.index, host: place, script: takeFrom("data/stage.js", this.files.base) };
    if (place !== tool.host) { // of another frame: ε and the method that is looked at live on
      tool.host.setAttribute("data-leaf", place.getAttribute("data-leaf") ?? "");
      place.replaceWith(tool.host);
    }
    const [start, sheet] = await tool.script;
    tool.root ??= housed(tool.host, sheet);
    tool.end = start({ data: { ...data, index: tool.index }, parentElement: tool.root, setStateValue: () => {} });
  }

  /** @param {PicturePart} part */
  draw({ key, height, fits, named, follow, whole = false, ...scene }) {
    const place = this.main.querySelector(`[data-picture="${CSS.escape(key)}"]`);
    const known = this.pictures.get(key);
    const options = { key, height, fits, named, follow, whole, coarse: this.isCoarse, frame: key === MAIN ? this.linkedFrame() : null };
    if (known) {
      if (place !== known.host) place?.replaceWith(known.host);
      known.picture.update(this.files.scene(scene), options);
    } else if (place) {
      this.pictures.set(key, { host: place, picture: mount(housed(place, SHEETS.picture), this.files.scene(scene), options) });
    }
  }

  /** Draw the stage: its words come with its picture, on one frame. Where ε alone has moved, all else waits. @param {PageState} state */
  drawStage(state) {
    const { mode, seed, audience, stop } = this.at;
    const parts = state.pictures.filter(({ stage }) => stage);
    const rest = [mode, seed, audience, ...parts.map(({ key }) => key)].join();
    this.isBehind = Boolean(this.stageHost?.isConnected) && rest === this.rest;
    this.rest = rest;
    if (this.isBehind) for (const part of parts) this.stage?.show(part.key, this.files.scene(part), stop);
    else this.setStage(state);
  }

  /** Put the whole stage up. @param {PageState} state */
  setStage(state) {
    const place = this.main.querySelector("[data-stage]");
    if (!this.stage) {
      if (!place) return;
      this.stageHost = place;
      this.stage = new Stage(housed(place, SHEETS.stage + SHEETS.picture));
    } else if (place && this.stageHost && place !== this.stageHost) place.replaceWith(this.stageHost); // step and zoom live on
    const { at, index: { slider, audiences, switches, why, home } } = this;
    const words = switches.audience?.words ?? [];
    const choices = audiences.map((name) => /** @type {[string, string]} */ ([name, words[AUDIENCES.indexOf(name)] ?? name]));
    const parts = state.pictures.filter(({ stage }) => stage);
    this.stage.update({
      instrument: slider && { ...slider, index: at.stop, move: this.move, bands: this.bands, bandKey: `${at.mode}.${at.audience}` },
      audience: audiences.length > 1 ? { value: audiences[at.audience], choices } : null,
      why: why ? WHY : null,
      home,
      linked: true,
      ...this.staging,
      pictures: parts.map((part) => ({ key: part.key, follow: part.follow, coarse: this.isCoarse, packed: this.files.scene(part),
        frame: part.key === MAIN ? this.linkedFrame() : null })),
    });
  }

  /** Loss of runs with different noise, at each stop. Curator only. */
  get bands() {
    const { audiences, bands } = this.index;
    return audiences[this.at.audience] === "public" ? [] : bands[this.at.mode] ?? [];
  }

  /** Other data of a stage here. @returns {Partial<import("./stages.d.ts").StageData>} */
  get staging() {
    return {};
  }

  /** Put in what the first picture did without, while its state is shown. */
  refine() {
    if (!this.shown || this.shown !== this.files.ready.get(this.index.first ?? "")) return;
    this.fill(this.shown);
    for (const part of this.shown.pictures) {
      (this.stage?.pictures.get(part.key) ?? this.pictures.get(part.key))?.picture.refine(this.files.scene(part));
    }
  }

  linkedFrame() {
    const text = this.query.get("frame") ?? this.index.frame ?? "";
    return /^[1-9]\d{0,5}$/.test(text) ? Number(text) - 1 : null;
  }

  // -- Controls --

  offerSwitch(/** @type {Element} */ place) {
    const { mode, modes, modeWords, switches } = this.index;
    if (place.getAttribute("data-switch") !== mode || modes.length < 2) return;
    const options = modeWords.map((text, i) => make("option", "", text, { value: String(i) }));
    const select = make("select", "", options, { "aria-label": switches[mode].label });
    select.value = String(this.at.mode);
    select.addEventListener("change", () => this.go({ mode: Number(select.value) }));
    place.append(select);
  }

  /** The reader has guessed, or would rather be told. @param {string} guess */
  answer(guess) {
    const { right, verdicts } = this.index.question ?? { right: -1, verdicts: {} };
    const kind = Number(guess) === right ? "right" : "wrong";
    this.verdict = make("p", `verdict ${guess === "-1" ? "" : kind}`, verdicts[guess], { role: "status" });
    this.go({ asked: false });
  }

  offerSlider() {
    const { slider, staged } = this.index;
    this.main.querySelector("[data-slider]")?.replaceWith(this.slider);
    this.slider.hidden = !slider || staged; // one stop is no choice
    if (slider && !staged) this.control ??= new Slider(housed(this.slider, SHEETS.slider), { ...slider, index: this.at.stop });
  }

  offerRange(/** @type {Element | null} */ place) {
    const { control } = this.index;
    if (!place || !control) return;
    const { label, words, plays } = control;
    const input = make("input", "", "", { type: "range", min: "0", max: String(words.length - 1), "aria-label": label });
    const said = make("output");
    const show = () => {
      input.value = String(this.at.stop);
      setText(said, words[this.at.stop]);
      input.setAttribute("aria-valuetext", words[this.at.stop]);
    };
    const go = (/** @type {number} */ stop) => {
      this.go({ stop });
      show();
    };
    show();
    input.addEventListener("input", () => go(Number(input.value)));
    place.append(make("span", "label", label), input, said);
    if (plays) place.prepend(this.makePlayer(go, words.length - 1));
  }

  /** Return a button that takes the control's steps one after the other, from the first again after the last. @param {(stop: number) => void} go @param {number} last */
  makePlayer(go, last) {
    let clock = 0;
    const pause = () => {
      clearInterval(clock);
      clock = 0;
      setText(button, "Play");
    };
    const button = makeButton("button", "Play", () => {
      if (clock) {
        pause();
        return;
      }
      setText(button, "Pause");
      if (this.at.stop >= last) go(0);
      clock = setInterval(() => {
        if (button.isConnected) go(this.at.stop + 1);
        if (!button.isConnected || this.at.stop >= last) pause();
      }, PACE);
    });
    return button;
  }

  // -- Ahead of the reader --

  /** Ask for the nearest states that are not there yet, when there is nothing else to do. */
  prefetch() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      const { at: { stop }, files, index: { first, slider, control } } = this;
      if (first && !files.ready.has(LATE)) await files.load(LATE).then(() => this.refine(), () => null);
      const count = (slider?.values ?? control?.words ?? [0]).length;
      const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => Math.abs(a - stop) - Math.abs(b - stop));
      const names = order.map((i) => this.name({ ...this.at, stop: i, asked: false }));
      const next = names.filter((name) => !files.states.has(name)).slice(0, PREFETCHED);
      if (next.length) {
        await Promise.all(next.flatMap((name) => this.parts(name)).map((name) => files.load(name).catch(() => null)));
        this.prefetch();
      } else {
        this.marked.dataset.dpvizAll = this.name({ ...this.at, asked: false }).replace(/\d+$/, "");
      }
    }, IDLE_MS);
  }

  /** The query of the state on screen: what differs from the state that the page opens with. */
  get here() {
    const { at, tool, index: { knob, slider, control, stops, question, seeds, audiences, mode, modes } } = this;
    const query = new URLSearchParams();
    /** @param {string} name @param {(string | number)[]} choices @param {number} i @param {number | null} opens */
    const put = (name, choices, i, opens) => { if (i !== opens) query.set(name, String(choices[i])); };
    // A page that asks first opens with its question; the value of its control says that it was answered.
    if (slider) put(knob, slider.values, at.stop, question ? null : slider.index);
    else if (tool) put(knob, tool.values, tool.index, tool.opens);
    else if (control) put(knob, stops, at.stop, question ? null : control.index);
    if (at.asked) query.delete(knob);
    if (seeds.length) put("noise_seed", seeds, at.mode ? 0 : at.seed, 0);
    if (audiences.length > 1) put("audience", audiences, at.audience, 0);
    if (mode && modes.length > 1) put(mode, modes, at.mode, 0);
    const step = (this.stage?.lead ?? this.pictures.get(MAIN)?.picture)?.chosen ?? null;
    if (step !== null) query.set("frame", String(step + 1));
    return query;
  }

  tellAddress() {
    const query = this.here;
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      try {
        history.replaceState(null, "", (query.size ? `?${query}` : location.pathname) + location.hash);
      } catch { /* a page opened as a file has no address of its own */ }
    }, TELL_MS);
  }
}
