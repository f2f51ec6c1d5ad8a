// @ts-nocheck
// A Streamlit component that draws once and is told its new data: a keyed one is not mounted again when they change.

/** Return a component's function for Streamlit; `start(parentElement)` makes what has `update(component)` and `destroy()`. */
export function component(start) {
  const instances = new WeakMap(); // parentElement -> what was started there
  return (given) => {
    const { parentElement } = given;
    if (!given.data) return undefined;
    if (!instances.has(parentElement)) instances.set(parentElement, start(parentElement));
    const instance = instances.get(parentElement);
    instance.update(given);
    return () => {
      // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
      if (parentElement.isConnected) return;
      instance.destroy();
      instances.delete(parentElement);
    };
  };
}

// On a narrow screen Streamlit's menu covers the page, and stays when a page has been chosen from it.
const NARROW = 768; // CSS pixels
const marks = document.documentElement.dataset; // this file may be there more than once
if (!marks.dpvizMenu) {
  marks.dpvizMenu = "closes";
  document.addEventListener("click", ({ target }) => {
    if (innerWidth >= NARROW || !target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
  });
}
