// Has each new step of a page begin at its heading.

import { beginAtHeading } from "./elements.js";
import { component } from "./component.js";

/** @import { Given } from "./types.d.ts" */
/** @typedef {Given<{ at: unknown }>} GivenStep */

export default component((parent, /** @type {GivenStep} */ first) => {
  let { at } = first.data;
  return {
    update({ data }) {
      if (at !== data.at) beginAtHeading();
      ({ at } = data);
    },
  };
});
