// One ZIP of many drawings, each as SVG and, drawn from it here, as PNG.

import { make, setText } from "./elements.js";
import { messageOf, rasterize, save } from "./saving.js";
import { component } from "./component.js";
import { readHeader } from "./live_base.js";
import { makeButton } from "./stage_parts.js";
import { zip } from "./zip.js";

/** @import { Given, Packed, StillsData } from "./stages.d.ts" */

class Stills {
  constructor(/** @type {Given["parentElement"]} */ parent) {
    this.name = "";
    /** @type {[string, Packed][]} */ this.drawings = [];
    this.button = makeButton("", "", () => this.pack());
    this.said = make("p", "", "", { role: "status" });
    this.root = make("div", "dpviz-stills", [this.button, this.said]);
    parent.append(this.root);
  }

  update(/** @type {Given<Packed>} */ { data }) {
    const { header: { files, name, words }, body } = /** @type {{ header: StillsData, body: Packed }} */ (readHeader(data));
    setText(this.button, words);
    this.name = name;
    let at = 0;
    this.drawings = files.map(([title, length]) => {
      at += length;
      return [title, body.slice(at - length, at)];
    });
  }

  async pack() {
    this.button.disabled = true;
    setText(this.said, "The pictures are being drawn.");
    try {
      /** @type {[string, Packed][]} */
      const files = [];
      for (const [title, drawing] of this.drawings) {
        const image = await rasterize(drawing);
        files.push([`${title}.svg`, drawing], [`${title}.png`, new Uint8Array(await image.arrayBuffer())]);
      }
      save(zip(files), this.name);
      setText(this.said, `${this.name} is saved.`);
    } catch (error) {
      setText(this.said, `The file could not be made (${messageOf(error)}). Save single pictures with Export.`);
    }
    this.button.disabled = false;
  }
}

export default component((parent) => new Stills(parent));
