// @ts-nocheck
// Brings the tabs that a link names onto the screen, once: they stand below the picture, which is still being drawn.

import { component } from "./component.js";

const SETTLED_MS = 1500; // without a change above them
const HEADER = 64; // CSS pixels at the top that the navigation covers
const LEAVING = ["wheel", "touchstart", "pointerdown", "keydown"]; // a reader who does so is not held
let arrived = false; // a link leads to one place

class Arrival {
  constructor(root) {
    this.root = root;
    this.leave = () => this.destroy();
    this.scroller = document.querySelector('[data-testid="stMain"]');
    if (arrived || !this.scroller) return;
    arrived = true;
    for (const type of LEAVING) addEventListener(type, this.leave, { capture: true, passive: true });
    this.observer = new ResizeObserver(() => this.scroll());
    for (const part of this.scroller.children) this.observer.observe(part);
    this.scroll();
  }

  scroll() {
    this.scroller.scrollTop += this.root.getBoundingClientRect().top - HEADER;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.leave, SETTLED_MS);
  }

  update() {}

  destroy() {
    clearTimeout(this.timer);
    this.observer?.disconnect();
    for (const type of LEAVING) removeEventListener(type, this.leave, { capture: true });
  }
}

export default component((root) => new Arrival(root.host ?? root));
