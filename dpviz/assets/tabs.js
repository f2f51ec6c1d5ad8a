// The browser's tabs: tells the page once how it was opened, and the reader that another tab has the app open, too.
// Tabs of one browser ask each other only whether a tab has records of its own.

import { make, setText } from "./elements.js";
import { component } from "./component.js";
import { howOpened } from "./live_address.js";

/** @import { Given, TabsData } from "./stages.d.ts" */

const CHANNEL = "dpviz:tabs";
const me = Math.random().toString(36).slice(2); // of this tab, until it is left

class Tabs {
  constructor(/** @type {Given["parentElement"]} */ parent, /** @type {Given<TabsData>} */ { data }) {
    this.data = data;
    this.asked = this.told = false; // the other tabs, and the page
    this.root = make("p", "dpviz-tabs", "", { role: "status" });
    this.root.hidden = true;
    parent.append(this.root);
    /** @type {Map<string, boolean>} */ this.others = new Map(); // whether each other tab has records of its own
    this.channel = "BroadcastChannel" in window ? new BroadcastChannel(CHANNEL) : null;
    this.leave = () => this.send("left");
    addEventListener("pagehide", this.leave);
    this.channel?.addEventListener("message", ({ data: message }) => {
      if (!message || message.from === me) return;
      if (message.kind === "left") this.others.delete(message.from);
      else this.others.set(message.from, message.own === true);
      if (message.kind === "asks") this.send("is here");
      this.draw();
    });
  }

  update(/** @type {Given<TabsData>} */ { data, setTriggerValue }) {
    const isNew = !this.asked || this.data.own !== data.own;
    this.data = data;
    this.asked = true;
    if (isNew) this.send("asks");
    this.draw();
    const kind = data.asks ? howOpened() : "";
    if (!kind || this.told) return;
    this.told = true;
    setTriggerValue("opened", kind);
  }

  send(/** @type {"asks" | "is here" | "left"} */ kind) {
    this.channel?.postMessage({ from: me, kind, own: this.data.own === true });
  }

  draw() {
    const { own, here, there } = this.data;
    const isElsewhere = [...this.others.values()].some(Boolean);
    const other = isElsewhere ? there : "";
    const words = this.others.size ? (own ? here : other) ?? "" : "";
    setText(this.root, words);
    this.root.hidden = !words;
  }

  destroy() {
    this.leave();
    removeEventListener("pagehide", this.leave);
    this.channel?.close();
  }
}

export default component((root, given) => new Tabs(root, given));
