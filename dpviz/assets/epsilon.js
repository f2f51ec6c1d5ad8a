// The privacy slider as a component of the app.

import { component } from "./component.js";
import { Slider } from "./slider.js";

/** @import { Given, SliderData } from "./stages.d.ts" */

export default component((parent, /** @type {Given<SliderData>} */ first) => {
  let { setStateValue } = first;
  const slider = new Slider(parent, first.data);
  slider.root.addEventListener("dpviz:moved", ({ detail }) => setStateValue("moved", detail));
  return {
    update(given) {
      ({ setStateValue } = given);
      slider.update(given.data);
    },
    destroy: () => slider.destroy(),
  };
});
