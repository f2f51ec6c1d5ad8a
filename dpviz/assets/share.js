// The Share menu: the link, and the code of a frame that shows the picture in a web page; to be read, selected and copied.

import { make, setText } from "./elements.js";
import { component } from "./component.js";
import { makeButton } from "./stage_parts.js";

/** @import { Given, Shared } from "./stages.d.ts" */

const FRAME = { width: "100%", height: "640", loading: "lazy", style: "border: 0" }; // 640: all of it from 320 px width on

/** Words that can be copied. */
class Copied {
  constructor(/** @type {Element} */ parent, /** @type {string} */ words, /** @type {string} */ what) {
    this.what = what;
    this.field = make("input", "", "", { readonly: "" });
    this.field.addEventListener("focus", () => this.field.select());
    this.said = make("p", "", "", { role: "status" });
    this.parts = [make("label", "", [words, this.field]), makeButton("", `Copy ${what}`, () => this.copy()), this.said];
    parent.append(...this.parts);
  }

  show(/** @type {string} */ text) {
    for (const part of this.parts) part.hidden = text === "";
    if (this.field.value === text) return;
    this.field.value = text;
    setText(this.said, "");
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.field.value);
      setText(this.said, `The ${this.what} is copied.`);
    } catch { // without https, or where the reader does not allow it
      this.field.focus();
      this.field.select();
      setText(this.said, `The browser does not let this page copy. The ${this.what} is selected: press Ctrl+C or ⌘C.`);
    }
  }
}

export default component((parent) => {
  const root = make("div", "dpviz-share");
  const link = new Copied(root, "Link to this picture", "link");
  const inside = make("div");
  const code = new Copied(inside, "A frame with this picture", "code");
  const words = make("p");
  inside.append(words);
  root.append(make("details", "", [make("summary", "", "Code for a web page"), inside])); // closed, so that the QR code below is on a low screen, too
  parent.append(root);
  return {
    update(/** @type {Given<Shared>} */ { data, setStateValue }) {
      const isOld = data.address !== location.search; // of another screen, or without the step, which the browser alone knows
      if (isOld) setStateValue("address", location.search);
      link.show(isOld ? "" : new URL(data.link, location.href).href);
      const src = new URL(data.source, location.href).href;
      const frame = make("iframe", "", "", { src, title: document.title.replace(/ · dpviz$/, ""), ...FRAME });
      code.show(isOld || !data.source ? "" : frame.outerHTML);
      setText(words, data.words);
    },
    root,
  };
});
