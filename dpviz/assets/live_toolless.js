// The live picture where nothing can be selected or drawn, as in a published page: what stands in for live_tools.js there.

/** @import { PictureTools } from "./types.d.ts" */

import { make } from "./elements.js";

/** @implements {PictureTools} */
export class Tools {
  tool = null;
  isDragging = false;
  bar = make("div", "", "", { hidden: "" });
  selectors = make("div", "", "", { hidden: "" });
  inspector = make("div", "", "", { hidden: "" });
  update() {}
  show() {}
  down() {}
  move() {}
  up() {}
  cancel() {}
  key() { return false; }
  patch() {}
  undo() {}
  draw() {}
  destroy() {}
}
