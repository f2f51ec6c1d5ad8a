// @ts-nocheck
// A published page: the app's own words and pictures, state by state, from scripts beside it; no server, no request
// outside, and the same from a file. `dpvizIndex` says what there is, `dpvizData` hands over one file of it.

import { mount, housed } from "./picture.js";
import { mountSlider } from "./slider.js";
import { make } from "./elements.js";
import { Stage } from "./stage_view.js";
import { Files, handed, LATE } from "./site_files.js";

const AUDIENCES = ["curator", "public"]; // in the order of the switch's words
const WHY = "dpviz-why"; // the id of the card that a stage opens
const PACE = 1200; // ms from one step of a control that plays to the next, as in the app
const PREFETCHED = 6; // files that are asked for at a time, when nothing else is
export const MAIN = "picture"; // key of the picture that a page is about, where it has more than one
const SHORT = { view: "audience", step: "frame", seed: "noise_seed" }; // names in an address, and what links call them

/** An address' query with the names that links have: `eps` is the slider's value, `mode` the choice among modes. What is
 *  there under a link's own name stays: some links use a short one for something else. */
function longNames(query, { knob, mode }) {
  const names = { ...SHORT, eps: knob, mode };
  const long = (name) => (names[name] && !query.has(names[name]) ? names[name] : name);
  return new URLSearchParams([...query].map(([name, value]) => [long(name), value]));
}

/** The place of the value that is nearest to a wanted one, null where none is wanted. */
function nearest(values, wanted) {
  const far = values.map((value) => Math.abs(Math.log(value / wanted)));
  return wanted > 0 ? far.indexOf(Math.min(...far)) : null;
}

export class Site {
  /** Open a page in `main`; `marked` is told which state is shown, `base` is the address of the page's folder. */
  constructor(index, { main, marked, query, base }) {
    this.index = index;
    this.main = main;
    this.marked = marked;
    this.files = new Files(base);
    this.pictures = new Map(); // key -> {host, picture}
    this.shown = { frame: null };
    this.filled = []; // keys of the words that stand in the frame
    this.query = longNames(query, index);
    this.at = this.opening();
    this.slider = make("div", "slider");
    this.control = null;
    this.stage = null;
    this.tool = null;
    this.move = null; // number of the last move that was asked for
    this.main.addEventListener("dpviz:moving", ({ detail }) => {
      if (this.tool) {
        this.tool.index = detail.index;
        return void this.tellAddress();
      }
      this.move = detail.number;
      this.go({ stop: detail.index });
    });
    this.main.addEventListener("dpviz:moved", ({ detail: [stop, move] }) => this.follow(stop, move));
    this.main.addEventListener("dpviz:audience", ({ detail }) => this.go({ audience: this.index.audiences.indexOf(detail) }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { picture } of [...this.pictures.values(), ...this.stage?.pictures.values() ?? []]) picture.update(null);
    });
    this.main.addEventListener("dpviz:step", () => this.tellAddress());
    this.came = this.comes(); // with the words and controls of what it opens with
    if (this.came) this.offer();
    this.go({});
  }

  /** What the address asks for, else what the page opens with. */
  opening() {
    const { slider, control, stops, question, seeds, audiences, modes, knob, mode } = this.index;
    const found = (list, name, kept = 0) => {
      const i = list.map(String).indexOf(this.query.get(name));
      return i < 0 ? kept : i;
    };
    const stop = slider ? nearest(slider.values, Number(this.query.get(knob))) ?? slider.index
      : control ? found(stops, knob, control.index) : 0;
    return { mode: found(modes, mode), seed: found(seeds, "noise_seed"), audience: found(audiences, "audience"), stop, asked: question !== null && !this.query.has(knob) };
  }

  name({ mode, seed, audience, stop, asked } = this.at) {
    return asked ? "asked" : `${mode}.${mode ? 0 : seed}.${audience}.${stop}`;
  }

  /** Files that a state needs: what many states share, what all audiences see of this one, and its own. The one that the
   *  page opens with is drawn from its own alone, until the rest is there. */
  parts(name) {
    const [mode, seed, audience, stop] = name.split(".");
    const all = this.index.audiences.length > 1 ? [`${mode}.${seed}.all.${stop}`] : [];
    const { first } = this.index; // with what other states share with it
    if (name === first) return [first];
    return [...(first ? [first, LATE] : []), `shared.${audience ?? 0}`, ...all, name];
  }

  /** Show the state at another place; of places that are asked for meanwhile the last one counts. */
  async go(change) {
    this.at = { ...this.at, ...change };
    const name = this.name();
    const parts = this.parts(name);
    if (parts.every((each) => this.files.ready.has(each))) return void this.show(name);
    try {
      await Promise.all(parts.map((each) => this.files.load(each)));
      this.problem?.remove();
      if (name === this.name()) this.show(name);
    } catch {
      this.fail();
    }
  }

  fail() {
    this.problem?.remove();
    this.problem = make("p", "problem", "This state could not be loaded. Move ε again, or reload the page.", { role: "alert" });
    this.main.prepend(this.problem);
  }

  show(name) {
    const state = this.files.ready.get(name);
    const fresh = state.frame !== this.shown.frame;
    if (fresh) {
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

  /** Bring words and charts after the picture, once that is on the screen: they take as long as it does. */
  accompany(state, main, name) {
    if (this.isBehind) this.setStage(state);
    if (this.index.why) this.dress();
    this.fill(state);
    this.pictures.get(main?.key)?.picture.resize(); // the words may leave it other room
    for (const told of state.pictures) if (told !== main && !told.stage) this.draw(told);
    this.marked.dataset.dpvizState = name;
    this.tellAddress();
    this.prefetch();
  }

  /** Ask for the sheet of the words, once; a page to keep has it. */
  dress() {
    const [frame, words] = ["site.css", "words.css"].map((name) => document.querySelector(`link[href$="/${name}"]`));
    if (frame && !words) document.head.append(make("link", "", "", { rel: "stylesheet", href: frame.href.replace(/site\.css$/, "words.css") }));
  }

  /** Whether the page came with the frame and the words of the state that is wanted. */
  comes() {
    return this.name() === this.index.first && this.main.childElementCount > 0;
  }

  /** Put the page's frame up, and into it what lives longer than a frame. */
  build(state) {
    this.filled = this.came ? state.leaves.map((key, i) => (this.leaf(i).hasChildNodes() ? key : null)) : [];
    if (!this.came) {
      this.main.innerHTML = this.files.text(state.frame);
      this.offer();
    }
    this.came = false;
    const places = new Set([...this.main.querySelectorAll("[data-picture]")].map((place) => place.dataset.picture));
    for (const [key, { picture }] of this.pictures) {
      if (places.has(key)) continue;
      picture.destroy();
      this.pictures.delete(key);
    }
  }

  /** Put slider, switches and buttons into the frame. */
  offer() {
    this.offerSlider();
    for (const place of this.main.querySelectorAll("[data-switch]")) this.choose(place, place.dataset.switch);
    for (const button of this.main.querySelectorAll("[data-again]")) this.offerNoise(button);
    for (const button of this.main.querySelectorAll("[data-guess]")) {
      button.addEventListener("click", () => this.answer(button.dataset.guess));
    }
    const range = this.main.querySelector("[data-range]");
    if (range && this.index.control) this.offerRange(range);
  }

  /** Put the state's words into the frame, as far as they are there. */
  fill(state) {
    state.leaves.forEach((key, i) => {
      if (key === this.filled[i] || !this.files.blobs.has(key)) return;
      const [place, text] = [this.leaf(i), this.files.text(key)];
      if ("tool" in place.dataset) this.useTool(place, JSON.parse(text)).catch(() => this.fail());
      else place.innerHTML = text;
      this.filled[i] = key;
    });
    if (!this.at.asked && this.verdict) this.main.querySelector("h1").after(this.verdict);
  }

  leaf(i) {
    return this.main.querySelector(`[data-leaf="${i}"]`);
  }

  /** Show the stage of a tool: all that it shows at any ε has come with its words. */
  async useTool(place, data) {
    const values = data.epsilons ?? data.values;
    this.tool ??= { values, index: nearest(values, Number(this.query.get(this.index.knob))) ?? data.index, opens: data.index };
    this.tool.host ??= place;
    if (place !== this.tool.host) { // of another frame: ε and the method that is looked at live on
      this.tool.host.dataset.leaf = place.dataset.leaf;
      place.replaceWith(this.tool.host);
    }
    const [start, sheet] = await (this.tool.script ??= handed("data/stage.js", this.files.base));
    this.tool.root ??= housed(this.tool.host, sheet);
    this.tool.end = start({ data: { ...data, index: this.tool.index }, parentElement: this.tool.root, setStateValue: () => {} });
  }

  draw({ key, height, fits, named, follow, whole = false, ...told }) {
    const place = this.main.querySelector(`[data-picture="${CSS.escape(key)}"]`);
    const known = this.pictures.get(key);
    const coarse = this.name() === this.index.first && !this.files.ready.has(LATE);
    const options = { key, height, fits, named, follow, whole, coarse, frame: key === MAIN ? this.linkedFrame() : null };
    if (known) {
      if (place !== known.host) place.replaceWith(known.host);
      known.picture.update(this.files.scene(told), options);
      return;
    }
    this.pictures.set(key, { host: place, picture: mount(housed(place, SHEETS.picture), this.files.scene(told), options) });
  }

  /** Draw the stage: its words come with its picture, on one frame. Where ε alone has moved, all else waits. */
  drawStage(state) {
    const { mode, seed, audience, stop } = this.at;
    const pictures = state.pictures.filter(({ stage }) => stage);
    const rest = [mode, seed, audience, ...pictures.map(({ key }) => key)].join();
    this.isBehind = this.stageHost?.isConnected && rest === this.rest;
    this.rest = rest;
    if (!this.isBehind) return void this.setStage(state);
    for (const told of pictures) this.stage.show(told.key, this.files.scene(told), stop);
  }

  /** Put the whole stage up. */
  setStage(state) {
    const place = this.main.querySelector("[data-stage]");
    if (!this.stage) {
      this.stageHost = place;
      this.stage = new Stage(housed(place, SHEETS.stage + SHEETS.picture));
    } else if (place !== this.stageHost) place.replaceWith(this.stageHost); // step and zoom live on
    const { index, at } = this;
    const coarse = this.name() === index.first && !this.files.ready.has(LATE);
    const words = index.switches.audience?.words ?? [];
    this.stage.update({
      instrument: index.slider && { ...index.slider, index: at.stop, move: this.move, bands: this.bands, bandKey: `${at.mode}.${at.audience}` },
      audience: index.audiences.length > 1
        ? { value: index.audiences[at.audience], choices: index.audiences.map((name) => [name, words[AUDIENCES.indexOf(name)] ?? name]) } : null,
      why: index.why ? WHY : null,
      home: index.home,
      linked: true,
      ...this.staging,
      pictures: state.pictures.filter(({ stage }) => stage).map(({ key, follow, ...told }) => ({
        key, follow, coarse, packed: this.files.scene(told), frame: key === MAIN ? this.linkedFrame() : null })),
    });
  }

  /** What runs with other noise lose, at each stop: the curator's. */
  get bands() {
    const { audiences, bands } = this.index;
    return audiences[this.at.audience] === "public" ? [] : bands[this.at.mode] ?? [];
  }

  /** What else a stage is told here. */
  get staging() {
    return {};
  }

  /** Put in what the first picture did without, while its state is shown. */
  refine() {
    if (this.shown !== this.files.ready.get(this.index.first)) return;
    this.fill(this.shown);
    for (const told of this.shown.pictures) {
      (this.stage?.pictures.get(told.key) ?? this.pictures.get(told.key))?.picture.refine(this.files.scene(told));
    }
  }

  linkedFrame() {
    const text = this.query.get("frame") ?? this.index.frame ?? "";
    return /^[1-9]\d{0,5}$/.test(text) ? Number(text) - 1 : null;
  }

  // -- Controls --

  choose(place, knob) {
    const { mode, modes, modeWords, switches } = this.index;
    if (knob !== mode || modes.length < 2) return;
    const select = make("select", "", "", { "aria-label": switches[knob].label });
    modeWords.forEach((text, i) => select.append(make("option", "", text, { value: String(i) })));
    select.value = String(this.at.mode);
    select.addEventListener("change", () => this.go({ mode: Number(select.value) }));
    place.append(select);
  }

  /** The reader has guessed, or would rather be told. */
  answer(guess) {
    const { right, verdicts } = this.index.question;
    const kind = guess === "-1" ? "" : Number(guess) === right ? "right" : "wrong";
    this.verdict = make("p", `verdict ${kind}`, verdicts[guess], { role: "status" });
    this.go({ asked: false });
  }

  offerSlider() {
    this.main.querySelector("[data-slider]")?.replaceWith(this.slider);
    this.slider.hidden = !this.index.slider || this.index.staged; // one stop is no choice
    if (this.index.slider && !this.index.staged) this.control ??= mountSlider(housed(this.slider, SHEETS.slider), { ...this.index.slider, index: this.at.stop });
  }

  offerRange(place) {
    const { label, words, plays } = this.index.control;
    const last = words.length - 1;
    const input = make("input", "", "", { type: "range", min: "0", max: String(last), "aria-label": label });
    const said = make("output", "", "");
    const tell = () => {
      said.textContent = words[this.at.stop];
      input.setAttribute("aria-valuetext", words[this.at.stop]);
    };
    const go = (stop) => {
      this.go({ stop });
      input.value = String(stop);
      tell();
    };
    input.value = String(this.at.stop);
    tell();
    input.addEventListener("input", () => go(Number(input.value)));
    place.append(make("span", "label", label), input, said);
    if (plays) place.prepend(this.player(go, last));
  }

  /** A button that takes the control's steps one after the other, from the first again after the last. */
  player(go, last) {
    const button = make("button", "button", "Play", { type: "button" });
    let clock = 0;
    const pause = () => {
      clearInterval(clock);
      clock = 0;
      button.textContent = "Play";
    };
    button.addEventListener("click", () => {
      if (clock) return void pause();
      button.textContent = "Pause";
      if (this.at.stop >= last) go(0);
      clock = setInterval(() => {
        if (button.isConnected) go(this.at.stop + 1);
        if (!button.isConnected || this.at.stop >= last) pause();
      }, PACE);
    });
    return button;
  }

  offerNoise(button) {
    button.textContent = "New noise";
    button.hidden = this.index.seeds.length < 2 || this.at.mode > 0;
    button.addEventListener("click", () => this.go({ seed: (this.at.seed + 1) % this.index.seeds.length }));
  }

  /** The page has followed the slider. */
  follow(stop, move) {
    (this.control ?? this.stage?.instrument)?.update({ ...this.index.slider, index: stop, move });
  }

  // -- Ahead of the reader --

  /** Ask for the nearest states that are not there yet, when there is nothing else to do. */
  prefetch() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      if (this.index.first && !this.files.ready.has(LATE)) {
        await this.files.load(LATE).then(() => this.refine(), () => null);
      }
      const { stop } = this.at;
      const count = (this.index.slider?.values ?? this.index.control?.words ?? [0]).length;
      const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => Math.abs(a - stop) - Math.abs(b - stop));
      const next = order.map((i) => this.name({ ...this.at, stop: i, asked: false })).filter((name) => !this.files.states.has(name)).slice(0, PREFETCHED);
      if (!next.length) {
        this.marked.dataset.dpvizAll = this.name({ ...this.at, asked: false }).replace(/\d+$/, "");
        return;
      }
      await Promise.all(next.flatMap((name) => this.parts(name)).map((name) => this.files.load(name).catch(() => null)));
      this.prefetch();
    }, 60);
  }

  /** The query of the state on screen: what differs from the state that the page opens with. */
  get here() {
    const { knob, slider, control, stops, question, seeds, audiences, mode, modes } = this.index;
    const query = new URLSearchParams();
    const put = (name, choices, at, opens) => at !== opens && query.set(name, choices[at]);
    // A page that asks first opens with its question; the value of its control says that it was answered.
    if (slider) put(knob, slider.values, this.at.stop, question ? null : slider.index);
    else if (this.tool) put(knob, this.tool.values, this.tool.index, this.tool.opens);
    else if (control) put(knob, stops, this.at.stop, question ? null : control.index);
    if (this.at.asked) query.delete(knob);
    if (seeds.length) put("noise_seed", seeds, this.at.mode ? 0 : this.at.seed, 0);
    if (audiences.length > 1) put("audience", audiences, this.at.audience, 0);
    if (mode && modes.length > 1) put(mode, modes, this.at.mode, 0);
    const step = (this.stage?.lead ?? this.pictures.get(MAIN)?.picture)?.chosen ?? null;
    if (step !== null) query.set("frame", step + 1);
    return query;
  }

  tellAddress() {
    const query = this.here;
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      try {
        history.replaceState(null, "", (query.size ? `?${query}` : location.pathname) + location.hash);
      } catch { /* a page opened as a file has no address of its own */ }
    }, 400); // browsers refuse many changes in a row
  }
}
