// A Streamlit component that draws once and is told its new data: a keyed one is not mounted again when they change.

/** @import { Given } from "./types.d.ts" */

import { make } from "./elements.js";
import { remember } from "./kit.js";

/** A component's function for Streamlit; `start` makes what is drawn below its element: its `root` goes when it is left.
 *  @template Data
 *  @param {(parent: Given["parentElement"], given: Given<Data>) => {update(given: Given<Data>): void, destroy?(): void, root?: Element}} start */
export function component(start) {
  const instances = /** @type {WeakMap<Given["parentElement"], ReturnType<typeof start>>} */ (new WeakMap());
  return (/** @type {Given<Data>} */ given) => {
    const { parentElement } = given;
    if (!given.data) return undefined;
    const instance = remember(instances, parentElement, () => start(parentElement, given));
    instance.update(given);
    return () => {
      // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
      if (parentElement.isConnected) return;
      instance.destroy?.();
      instance.root?.remove();
      instances.delete(parentElement);
    };
  };
}

// On a narrow screen Streamlit's menu covers the page, and stays when a page has been chosen from it.
const NARROW = 768; // CSS pixels
const SAID_MS = 10000; // a browser does not report when it has a file
const marks = document.documentElement.dataset; // this file may be there more than once
if (!marks.dpvizMenu) {
  marks.dpvizMenu = "closes";
  // Streamlit and the browser say nothing until they have a file, which a busy server sends late.
  document.addEventListener("click", ({ target }) => {
    const place = target instanceof Element && target.closest('[data-testid="stDownloadButton"]');
    if (!place || !target.closest("button:enabled")) return;
    const said = place.querySelector(".dpviz-saving") ?? make("p", "dpviz-saving", "", { role: "status" });
    place.append(said);
    said.textContent = "The file is on its way.";
    setTimeout(() => said.remove(), SAID_MS);
  }, { capture: true });
  document.addEventListener("click", ({ target }) => {
    if (innerWidth >= NARROW || !(target instanceof Element && target.closest('[data-testid="stSidebarNavLink"]'))) return;
    /** @type {HTMLElement?} */ (document.querySelector('[data-testid="stSidebarCollapseButton"] button'))?.click();
  });
}
