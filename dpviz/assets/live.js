// @ts-nocheck
// A live picture as a component of the app: its options come with the data, what is selected goes to the page, and the
// step goes into the address where the page gives it one.

import { readHeader } from "./live_base.js";
import { mount } from "./picture.js";
import { component } from "./component.js";
import { isOthers, linkedFrame, renew, setQuery, TELL_MS } from "./live_address.js";
import { lookAfterPage } from "./live_page.js";

class LiveComponent {
  constructor(parent) {
    this.parent = parent;
    this.picture = null;
    this.options = {};
    this.listen();
    lookAfterPage();
  }

  listen() {
    const on = (type, handler) => this.parent.addEventListener(`dpviz:${type}`, handler);
    for (const state of ["selected", "picked"]) on(state, ({ detail }) => this.setStateValue(state, detail));
    on("step", () => {
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.tellAddress(), TELL_MS);
    });
  }

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data.byteOffset % 8 === 0 ? data : data.slice());
    if (this.picture && isOthers(options, this.options)) { renew(); return; }
    this.options = options;
    const given = { ...options, scroller: this.around("stMain"), surround: this.around("stMainBlockContainer") };
    if (this.picture) this.picture.update(body, given);
    else this.picture = mount(this.parent, body, { ...given, frame: options.query === null ? null : linkedFrame() });
    this.tellAddress();
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

  destroy() {
    clearTimeout(this.telling);
    this.picture.destroy();
  }
}

export default component((parent) => new LiveComponent(parent));
