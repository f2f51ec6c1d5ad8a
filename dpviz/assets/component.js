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
