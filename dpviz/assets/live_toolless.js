// @ts-nocheck
// The live picture where nothing can be selected or drawn, as in a published page: what stands in for live_tools.js there.

import { make } from "./elements.js";
import { Hands } from "./live_hands.js";

export class Tools extends Hands {
  buildTools() {
    this.tool = null;
    [this.tools, this.paints, this.inspector, this.selectors] = Array.from({ length: 4 }, () => make("div", "", "", { hidden: "" }));
  }

  updateTools() {}

  toolDown() {}

  toolCancel() {}

  patch() {}

  drawTools() {}
}
