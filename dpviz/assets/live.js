// The live picture as a component of the app: its options come with the data, its states go to the page, its knobs and
// step into the address; and it comes ahead of the page's rerun.

import { readHeader } from "./live_base.js";
import { mount } from "./picture.js";
import { Ahead } from "./ahead.js";
import { component } from "./component.js";
import { isOthers, linkedFrame, setQuery } from "./live_address.js";
import { lookAfterPage } from "./live_page.js";

const TELL_MS = 400; // until a step is in the address: browsers refuse many changes in a row
const STATES = { selected: "selected", picked: "picked", region: "region", sketched: "drawn", turned: "turned" };

class LiveComponent {
  constructor(parent) {
    this.parent = parent;
    this.picture = null;
    this.options = {};
    this.ahead = new Ahead();
    this.aheadSlider = null; // the slider that has moved it, and
    this.aheadMove = 0; // number of the slider's move that this picture shows ahead of the page
    this.awaited = 0; // number of the last move: until the page has followed it, files of the picture wait
    this.listen();
    lookAfterPage();
  }

  listen() {
    this.stopped = new AbortController();
    const on = (target, type, handler) => target.addEventListener(`dpviz:${type}`, handler, { signal: this.stopped.signal });
    for (const [event, state] of Object.entries(STATES)) {
      on(this.parent, event, ({ detail }) => this.setStateValue(state, detail));
    }
    on(this.parent, "step", () => {
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.tellAddress(), TELL_MS);
    });
    on(window, "moving", ({ detail }) => {
      const { ahead } = this.options;
      if (!ahead || detail.slider !== ahead.slider) return;
      this.awaited = detail.number;
      this.picture.root.dataset.dpvizAhead = "";
      detail.wait(this.ahead.follow(ahead.address, detail));
    });
    on(document, "ahead", ({ detail }) => this.updateAhead(detail));
  }

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data.byteOffset % 8 === 0 ? data : data.slice());
    const before = this.options;
    if (this.picture && isOthers(options, before)) { location.reload(); return; }
    this.options = options;
    if (options.ahead) this.ahead.open(options.ahead.address);
    this.show(options, body);
    if ((options.ahead?.move ?? Infinity) >= this.awaited) delete this.picture.root.dataset.dpvizAhead;
    this.tellAddress();
  }

  show(options, body) {
    const given = { ...options, scroller: this.around("stMain"), surround: this.around("stMainBlockContainer") };
    if (!this.picture) {
      this.picture = mount(this.parent, body, { ...given, frame: options.query ? linkedFrame() : null });
      return;
    }
    // Another method has another slider: its moves say nothing of this one's.
    const overtaken = options.ahead?.slider === this.aheadSlider && (options.ahead?.move ?? 0) < this.aheadMove;
    this.picture.update(overtaken ? null : body, given);
  }

  /** What of Streamlit's page the picture stands in, by its test id. */
  around(id) {
    const root = this.parent.getRootNode();
    return (root.host ?? this.parent).closest(`[data-testid="${id}"]`);
  }

  /** Put knobs and step into the address. */
  tellAddress() {
    setQuery(this.options.query, this.picture.chosen);
  }

  /** Draw what came ahead of the page, unless it came later than that. */
  updateAhead({ move, key, body }) {
    if (key !== this.options.key || !this.picture || move < this.aheadMove) return;
    this.aheadMove = move;
    this.aheadSlider = this.options.ahead?.slider;
    this.picture.update(body);
  }

  destroy() {
    this.stopped.abort();
    this.ahead.close();
    clearTimeout(this.telling);
    this.picture.destroy();
  }
}

export default component((parent) => new LiveComponent(parent));
