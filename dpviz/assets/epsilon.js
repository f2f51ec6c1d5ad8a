// @ts-nocheck
// The privacy slider as a component of the app.

import { component } from "./component.js";
import { mountSlider } from "./slider.js";

class EpsilonComponent {
  constructor(parent) {
    this.parent = parent;
    this.slider = null;
    parent.addEventListener("dpviz:moved", ({ detail }) => this.setStateValue("moved", detail));
  }

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    if (this.slider) this.slider.update(data);
    else this.slider = mountSlider(this.parent, data);
  }

  destroy() {
    this.slider.destroy();
  }
}

export default component((parent) => new EpsilonComponent(parent));
