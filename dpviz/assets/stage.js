// The stage as a component of the app: its options come with the data, what the reader does goes to the page, knobs and
// step go into the address, pictures come ahead of the page's rerun, with their words, and bands while it is idle.

import { isOthers, linkedFrame, renew, setQuery, TELL_MS } from "./live_address.js";
import { Ahead } from "./ahead.js";
import { Bands } from "./bands.js";
import { component } from "./component.js";
import { lookAfterPage } from "./live_page.js";
import { readHeader } from "./live_base.js";
import { scrollerOf } from "./stage_parts.js";
import { Stage } from "./stage_view.js";
import { Lens } from "./lens.js";
import { Picture } from "./picture.js";

/** @import { Given, Move, Packed, SentStage } from "./stages.d.ts" */
/** @typedef {Given<Packed>} GivenBytes */

Picture.Lens = Lens; // a published page has no lens, and need not carry it

const STATES = { selected: "selected", picked: "picked", region: "region", sketched: "drawn", turned: "turned",
  moved: "moved", audience: "audience", count: "count", open: "open" };
const CLICKS = new Set(["audience", "count", "open"]); // told with a number, so that each counts once

class StageComponent {
  constructor(/** @type {GivenBytes["parentElement"]} */ parent, /** @type {GivenBytes} */ { data, setStateValue }) {
    this.setStateValue = setStateValue;
    /** @type {SentStage} */ this.options = readHeader(data).header;
    this.stage = new Stage(parent);
    this.ahead = new Ahead();
    this.bands = new Bands(this.ahead, this.stage.root);
    this.hasPictures = false; // whether any has been drawn
    /** @type {string | undefined} */ this.aheadSlider = undefined; // the slider that has moved the picture ahead of the page, and
    this.aheadMove = 0; // number of its move
    /** @type {Map<string, Packed>} */ this.came = new Map(); // pictures that came with the latest move, by key
    this.comingMove = 0; // its number
    this.awaited = 0; // number of the last move: until the page has followed it, files of the picture wait
    this.stopped = new AbortController();
    this.listen(parent);
    lookAfterPage();
  }

  listen(/** @type {EventTarget} */ parent) {
    /** @param {EventTarget} target @param {string} type @param {(event: any) => void} handler An event of any detail */
    const on = (target, type, handler) => target.addEventListener(`dpviz:${type}`, handler, { signal: this.stopped.signal });
    for (const [event, state] of Object.entries(STATES)) {
      on(parent, event, ({ detail }) => this.setStateValue(state, CLICKS.has(event) ? [detail, Date.now()] : detail));
    }
    on(parent, "step", () => {
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.tellAddress(), TELL_MS);
    });
    on(parent, "moving", ({ detail }) => this.follow(detail));
    on(document, "ahead", ({ detail }) => this.updateAhead(detail));
  }

  /** Ask for the picture of a move; without a short way the page brings it, and until then the old one fades. @param {Move} move */
  follow(move) {
    this.awaited = move.number;
    const { ahead } = this.options;
    this.stage.root.dataset.dpvizAhead = "";
    if (ahead) move.wait(this.ahead.follow(ahead.address, move));
    else for (const { picture } of this.stage.pictures.values()) picture.waiting(true);
  }

  update(/** @type {GivenBytes} */ { data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data);
    if (isOthers(options, this.options)) {
      renew();
      return;
    }
    this.options = options;
    if (options.ahead) this.ahead.open(options.ahead.address);
    this.show(options, body);
    if ((options.ahead?.move ?? Infinity) >= this.awaited) delete this.stage.root.dataset.dpvizAhead;
    this.tellAddress();
  }

  show(/** @type {SentStage} */ options, /** @type {Packed} */ body) {
    const { ahead, instrument } = options;
    // Another method has another slider: its moves say nothing of this one's.
    const isOvertaken = this.hasPictures && instrument?.key === this.aheadSlider && (instrument?.move ?? 0) < this.aheadMove;
    const frame = this.hasPictures || options.query === null ? null : linkedFrame();
    this.hasPictures = true;
    let at = 0;
    const pictures = options.pictures.map(({ length, ...picture }) => {
      at += length;
      return { ...picture, packed: isOvertaken ? null : body.subarray(at - length, at), frame };
    });
    this.stage.update({ ...options, pictures, scroller: scrollerOf(this.stage.root), shown: isOvertaken ? this.stage.index : null,
      instrument: instrument && { ...instrument, bandKey: ahead?.bands, bands: ahead?.known, unaccompanied: !ahead } });
    this.bands.update(ahead, instrument?.values.length ?? 0, this.stage.instrument?.index ?? 0);
  }

  /** Put knobs and step into the address. */
  tellAddress() {
    setQuery(this.options.query, this.stage.lead?.chosen ?? null);
  }

  /** Draw what came ahead of the page, unless it came later than that; two beside each other on one frame. @param {{ move: number, key: string, body: Packed }} came */
  updateAhead({ move, key, body }) {
    if (!this.stage.instrument || move < this.aheadMove) return;
    if (move !== this.comingMove) this.came.clear();
    this.comingMove = move;
    this.came.set(key, body);
    if (this.came.size < this.stage.pictures.size) return;
    this.aheadMove = move;
    this.aheadSlider = this.options.instrument?.key;
    const index = this.stage.instrument.indexOf(move);
    for (const [each, packed] of this.came) this.stage.show(each, packed, index);
  }

  destroy() {
    this.stopped.abort();
    this.bands.destroy();
    this.ahead.close();
    clearTimeout(this.telling);
    this.stage.destroy();
  }
}

export default component((parent, given) => new StageComponent(parent, given));
