// Brings the tabs that a link names onto the screen, once: they stand below the picture, which is still being drawn.

import { component } from "./component.js";

const SETTLED_MS = 1500; // without a change above them
const HEADER = 64; // CSS pixels at the top that the navigation covers
const LEAVING = ["wheel", "touchstart", "pointerdown", "keydown"]; // a reader who does so is not held
let hasArrived = false; // a link leads to one place

export default component((parent) => {
  const left = new AbortController();
  const destroy = () => left.abort();
  const scroller = document.querySelector('[data-testid="stMain"]');
  if (!hasArrived && scroller) {
    hasArrived = true;
    const place = parent instanceof ShadowRoot ? parent.host : parent;
    let timer = 0;
    const scroll = () => {
      scroller.scrollTop += place.getBoundingClientRect().top - HEADER;
      clearTimeout(timer);
      timer = setTimeout(destroy, SETTLED_MS);
    };
    const observer = new ResizeObserver(scroll);
    for (const part of scroller.children) observer.observe(part);
    for (const type of LEAVING) addEventListener(type, destroy, { capture: true, passive: true, signal: left.signal });
    left.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      observer.disconnect();
    });
    scroll();
  }
  return { update() {}, destroy };
});
