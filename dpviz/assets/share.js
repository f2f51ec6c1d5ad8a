// @ts-nocheck
// The Share menu: the link, and the code of a frame that shows the picture in a web page; to be read, selected and copied.

const instances = new WeakMap(); // parentElement -> Share
const FRAME = { width: "100%", height: "640", loading: "lazy", style: "border: 0" }; // 640: all of it from 320 px width on

class Copied {
  constructor(parent, words, what) {
    this.what = what;
    const label = document.createElement("label");
    label.textContent = words;
    this.field = document.createElement("input");
    this.field.readOnly = true;
    this.field.addEventListener("focus", () => this.field.select());
    label.append(this.field);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Copy ${what}`;
    button.addEventListener("click", () => this.copy());
    this.said = document.createElement("p");
    this.said.setAttribute("role", "status");
    this.parts = [label, button, this.said];
    parent.append(...this.parts);
  }

  show(text) {
    for (const part of this.parts) part.hidden = text === "";
    if (this.field.value === text) return;
    this.field.value = text;
    this.said.textContent = "";
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.field.value);
      this.said.textContent = `The ${this.what} is copied.`;
    } catch { // without https, or where the reader does not allow it
      this.field.focus();
      this.field.select();
      this.said.textContent = `The browser does not let this page copy. The ${this.what} is selected: press Ctrl+C or ⌘C.`;
    }
  }
}

class Share {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "dpviz-share";
    this.link = new Copied(this.root, "Link to this picture", "link");
    const more = document.createElement("details"); // closed, so that the QR code below is on a low screen, too
    const title = document.createElement("summary");
    title.textContent = "Code for a web page";
    const inside = document.createElement("div");
    this.code = new Copied(inside, "A frame with this picture", "code");
    this.words = document.createElement("p");
    inside.append(this.words);
    more.append(title, inside);
    this.root.append(more);
    parent.append(this.root);
  }

  update({ link, address, source, words }, setStateValue) {
    const old = address !== location.search; // of another screen, or without the step, which the browser alone knows
    if (old) setStateValue("address", location.search);
    this.link.show(old ? "" : new URL(link, location.href).href);
    this.code.show(old ? "" : source && frameOf(new URL(source, location.href).href));
    this.words.textContent = words;
  }
}

/** The code of a frame that shows an address. */
function frameOf(address) {
  const frame = document.createElement("iframe");
  const title = document.title.replace(/ · dpviz$/, "");
  for (const [name, value] of Object.entries({ src: address, title, ...FRAME })) frame.setAttribute(name, value);
  return frame.outerHTML;
}

export default function ({ data, parentElement, setStateValue }) {
  if (!data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Share(parentElement));
  const share = instances.get(parentElement);
  share.update(data, setStateValue);
  return () => {
    // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
    if (parentElement.isConnected) return;
    share.root.remove();
    instances.delete(parentElement);
  };
}
