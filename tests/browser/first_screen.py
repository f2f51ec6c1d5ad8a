"""Words that a reader sees on the first screen: all of the page's text on it, in every shadow root."""

# A function of the stage's root for the scripts of tests: content under a phone's docked slider is not seen.
WORDS_SEEN = """const wordsSeen = (root) => {
  const dock = root.querySelector(".docked .tool");
  const words = [];
  const count = (tree) => {
    for (const element of tree.querySelectorAll("*")) {
      if (element.shadowRoot) count(element.shadowRoot);
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (element.closest("style, script, .unseen, .dpviz-said, [data-testid=stIconMaterial]")) continue;
      if (element.closest("[data-testid=stSkipToContent], .st-key-dpviz-title")) continue;
      for (const text of element.childNodes) {
        if (text.nodeType !== Node.TEXT_NODE || !text.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        const at = range.getBoundingClientRect();
        const across = at.width > 1 && at.right > 0 && at.left < innerWidth;
        const end = dock && !dock.contains(element) ? dock.getBoundingClientRect().top : innerHeight;
        const down = at.height > 1 && at.bottom > 0 && at.top < end;
        if (across && down) words.push(...text.data.trim().split(/\\s+/));
      }
    }
  };
  count(document);
  return words;
};"""
