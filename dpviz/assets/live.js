// A live picture as a component of the app: its options come with the data, what is selected goes to the page, and the
// step goes into the address where the page gives it one.

/** @import { Given, Options, Packed, Session } from "./types.d.ts" */
/** @import { Picture } from "./picture.js" */

import { Timer } from "./kit.js";
import { readHeader } from "./live_base.js";
import { mount } from "./picture.js";
import { component } from "./component.js";
import { isOthers, linkedFrame, renew, setQuery, TELL_MS } from "./live_address.js";
import { lookAfterPage } from "./live_page.js";

class LiveComponent {
  constructor(/** @type {HTMLElement | ShadowRoot} */ parent) {
    this.parent = parent;
    this.picture = /** @type {Picture | null} */ (null);
    this.options = /** @type {Options & Session} */ ({});
    /** @type {Given["setStateValue"]} */
    this.setStateValue = () => {};
    this.teller = new Timer();
    for (const state of ["selected", "picked"]) {
      parent.addEventListener(`dpviz:${state}`, (event) => this.setStateValue(state, /** @type {CustomEvent} */ (event).detail));
    }
    parent.addEventListener("dpviz:step", () => this.teller.start(() => this.tellAddress(), TELL_MS));
    lookAfterPage();
  }

  /** @param {Given<Packed>} given */
  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data);
    if (this.picture && isOthers(options, this.options)) return void renew();
    this.options = options;
    const given = { ...options, scroller: this.around("stMain"), surround: this.around("stMainBlockContainer") };
    if (this.picture) this.picture.update(body, given);
    else this.picture = mount(this.parent, body, { ...given, frame: options.query === null ? null : linkedFrame() });
    this.tellAddress();
  }

  /** What of Streamlit's page the picture stands in, by its test id. @param {string} id */
  around(id) {
    const root = this.parent.getRootNode();
    const element = root instanceof ShadowRoot ? root.host : this.parent;
    return element instanceof Element ? element.closest(`[data-testid="${id}"]`) : null;
  }

  /** Put knobs and step into the address. */
  tellAddress() {
    setQuery(this.options.query ?? null, this.picture?.chosen);
  }

  destroy() {
    this.teller.stop();
    this.picture?.destroy();
  }
}

export default component((parent) => new LiveComponent(parent));
