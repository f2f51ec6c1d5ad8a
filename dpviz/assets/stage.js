// @ts-nocheck
// The stage as a component of the app: its options come with the data, what the reader does goes to the page, knobs and
// step go into the address, pictures come ahead of the page's rerun, with their words, and bands while it is idle.

import { readHeader } from "./live_base.js";
import { Ahead } from "./ahead.js";
import { Bands } from "./bands.js";
import { component } from "./component.js";
import { isOthers, linkedFrame, renew, setQuery, TELL_MS } from "./live_address.js";
import { lookAfterPage } from "./live_page.js";
import { Stage } from "./stage_view.js";

const STATES = { selected: "selected", picked: "picked", region: "region", sketched: "drawn", turned: "turned",
  moved: "moved", audience: "audience", count: "count", open: "open" };
const CLICKS = new Set(["audience", "count", "open"]); // told with a number, so that each counts once

class StageComponent {
  constructor(parent) {
    this.parent = parent;
    this.stage = null;
    this.options = {};
    this.ahead = new Ahead();
    this.bands = null;
    this.aheadSlider = null; // the slider that has moved it, and
    this.aheadMove = 0; // number of the slider's move that the picture shows ahead of the page
    this.came = new Map(); // key -> picture that came with the latest move
    this.comingMove = 0; // its number
    this.awaited = 0; // number of the last move: until the page has followed it, files of the picture wait
    this.listen();
    lookAfterPage();
  }

  listen() {
    this.stopped = new AbortController();
    const on = (target, type, handler) => target.addEventListener(`dpviz:${type}`, handler, { signal: this.stopped.signal });
    for (const [event, state] of Object.entries(STATES)) {
      on(this.parent, event, ({ detail }) => this.setStateValue(state, CLICKS.has(event) ? [detail, Date.now()] : detail));
    }
    on(this.parent, "step", () => {
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.tellAddress(), TELL_MS);
    });
    on(this.parent, "moving", ({ detail }) => this.follow(detail));
    on(document, "ahead", ({ detail }) => this.updateAhead(detail));
  }

  /** Ask for the picture of a move; without a short way the page brings it, and until then the old one fades. */
  follow(move) {
    this.awaited = move.number;
    const { ahead } = this.options;
    this.stage.root.dataset.dpvizAhead = "";
    if (ahead) move.wait(this.ahead.follow(ahead.address, move));
    else for (const { picture } of this.stage.pictures.values()) picture.waiting?.(true);
  }

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data.byteOffset % 8 === 0 ? data : data.slice());
    const before = this.options;
    if (this.stage && isOthers(options, before)) { renew(); return; }
    this.options = options;
    if (options.ahead) this.ahead.open(options.ahead.address);
    this.show(options, body);
    if ((options.ahead?.move ?? Infinity) >= this.awaited) delete this.stage.root.dataset.dpvizAhead;
    this.tellAddress();
  }

  show(options, body) {
    // Another method has another slider: its moves say nothing of this one's.
    const key = options.instrument?.key;
    const overtaken = this.stage && key === this.aheadSlider && (options.instrument?.move ?? 0) < this.aheadMove;
    const frame = this.stage || options.query === null ? null : linkedFrame();
    let at = 0;
    const pictures = options.pictures.map(({ length, ...picture }) => {
      const packed = body.subarray(at, at + length);
      at += length;
      return { ...picture, packed: overtaken ? null : packed, frame };
    });
    this.stage ??= new Stage(this.parent);
    this.bands ??= new Bands(this.ahead, this.stage.root);
    const instrument = options.instrument && { ...options.instrument, bandKey: options.ahead?.bands, bands: options.ahead?.known, unaccompanied: !options.ahead };
    this.stage.update({ ...options, instrument, pictures, scroller: this.around("stMain"),
      shown: overtaken ? this.stage.index : null });
    this.bands.update(options.ahead, instrument?.values.length ?? 0, this.stage.instrument?.index ?? 0);
  }

  /** What of Streamlit's page the stage stands in, by its test id. */
  around(id) {
    const root = this.parent.getRootNode();
    return (root.host ?? this.parent).closest(`[data-testid="${id}"]`);
  }

  /** Put knobs and step into the address. */
  tellAddress() {
    setQuery(this.options.query, this.stage.lead?.chosen ?? null);
  }

  /** Draw what came ahead of the page, unless it came later than that; two beside each other on one frame. */
  updateAhead({ move, key, body }) {
    if (!this.stage || move < this.aheadMove) return;
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
    this.bands?.destroy();
    this.ahead.close();
    clearTimeout(this.telling);
    this.stage.destroy();
  }
}

export default component((parent) => new StageComponent(parent));
