// @ts-nocheck
// The browser's tabs: tells the page once how it was opened, and the reader that another tab has the app open, too.
// Tabs of one browser ask each other; nothing but whether a tab has records of its own is said.

import { component } from "./component.js";
import { howOpened } from "./live_address.js";

const CHANNEL = "dpviz:tabs";
const me = Math.random().toString(36).slice(2); // of this tab, until it is left

class Tabs {
  constructor(root) {
    this.line = document.createElement("p");
    this.line.className = "dpviz-tabs";
    this.line.setAttribute("role", "status");
    this.line.hidden = true;
    root.append(this.line);
    this.others = new Map(); // tab -> whether it has records of its own
    this.channel = "BroadcastChannel" in window ? new BroadcastChannel(CHANNEL) : null;
    this.leave = () => this.say("left");
    addEventListener("pagehide", this.leave);
    if (!this.channel) return;
    this.channel.onmessage = ({ data }) => {
      if (!data || data.from === me) return;
      if (data.kind === "left") this.others.delete(data.from);
      else this.others.set(data.from, data.own === true);
      if (data.kind === "asks") this.say("is here");
      this.draw();
    };
  }

  update({ data, setTriggerValue }) {
    const isNew = !this.data || this.data.own !== data.own;
    this.data = data;
    if (isNew) this.say("asks");
    this.draw();
    const kind = data.asks ? howOpened() : "";
    if (!kind || this.told) return;
    this.told = true;
    setTriggerValue("opened", kind);
  }

  say(kind) {
    this.channel?.postMessage({ from: me, kind, own: this.data?.own === true });
  }

  draw() {
    const { own, here, there } = this.data ?? {};
    const words = !this.others.size ? "" : own ? here : [...this.others.values()].some(Boolean) ? there : "";
    if (this.line.textContent !== words) this.line.textContent = words ?? "";
    this.line.hidden = !words;
  }

  destroy() {
    this.leave();
    removeEventListener("pagehide", this.leave);
    this.channel?.close();
    this.line.remove();
  }
}

export default component((root) => new Tabs(root));
