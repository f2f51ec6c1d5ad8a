// The Share menu: the link, to be read, selected and copied.


const instances = new WeakMap(); // parentElement -> Share

class Share {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "dpviz-share";
    const label = document.createElement("label");
    label.textContent = "Link to this picture";
    this.field = document.createElement("input");
    this.field.readOnly = true;
    this.field.addEventListener("focus", () => this.field.select());
    label.append(this.field);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy link";
    button.addEventListener("click", () => this.copy());
    this.said = document.createElement("p");
    this.said.setAttribute("role", "status");
    this.root.append(label, button, this.said);
    parent.append(this.root);
  }

  update({ link, frame }, setStateValue) {
    const here = new URLSearchParams(location.search).get("frame"); // the scrubber's step, which the browser alone knows
    if (here !== frame) setStateValue("frame", here);
    const whole = new URL(link, location.href).href;
    if (this.field.value === whole) return;
    this.field.value = whole;
    this.said.textContent = "";
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.field.value);
      this.said.textContent = "The link is copied.";
    } catch { // without https, or where the reader does not allow it
      this.field.focus();
      this.field.select();
      this.said.textContent = "The browser does not let this page copy. The link is selected: press Ctrl+C or ⌘C.";
    }
  }
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
