// Puts a page's knobs into the address where no picture does.

import { isOthers, renew, setQuery } from "./live_address.js";
import { component } from "./component.js";

/** @import { Given, Session } from "./types.d.ts" */

export default component((parent, /** @type {Given<Session>} */ first) => {
  let told = first.data;
  return {
    update({ data }) {
      if (isOthers(data, told)) renew();
      else setQuery(data.query ?? null);
      told = data;
    },
  };
});
