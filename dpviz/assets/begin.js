// @ts-nocheck
// Has each new step of a page begin at its heading.

import { component } from "./component.js";
import { beginAtHeading } from "./elements.js";

class Begin {
  update({ data }) {
    if (this.at !== undefined && this.at !== data.at) beginAtHeading();
    this.at = data.at;
  }

  destroy() {}
}

export default component(() => new Begin());
