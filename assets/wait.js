// A line that says how far long work is, asks the server again while it lasts, and when the picture has changed.

const instances = new WeakMap(); // parentElement -> Wait

/** What the line reads: done of all, or nothing when there is nothing to wait for. */
export const progressText = ({ done, all, what }) => (done < all ? `${what}: ${done} of ${all}` : "");

class Wait {
  constructor(root) {
    this.line = document.createElement("div");
    this.line.className = "dpviz-wait";
    this.line.setAttribute("role", "progressbar");
    this.text = document.createElement("span");
    this.bar = document.createElement("i");
    this.line.append(this.text, this.bar);
    root.append(this.line);
    this.onDrawn = (event) => {
      if (event.detail?.key === this.data?.follow) this.ask(this.data.quiet);
    };
    window.addEventListener("dpviz:drawn", this.onDrawn);
  }

  /** Ask the server after so many milliseconds; a later wish replaces an earlier one. */
  ask(after) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.trigger("tick", Date.now()), after);
  }

  load(data, trigger) {
    this.data = data;
    this.trigger = trigger;
    const { done, all } = data;
    const pending = done < all;
    this.line.hidden = !pending;
    this.line.setAttribute("aria-valuemax", all);
    this.line.setAttribute("aria-valuenow", done);
    this.line.setAttribute("aria-label", data.what);
    this.text.textContent = progressText(data);
    this.bar.style.setProperty("--share", all ? done / all : 1);
    if (pending) this.ask(data.every);
  }

  close() {
    clearTimeout(this.timer);
    window.removeEventListener("dpviz:drawn", this.onDrawn);
    this.line.remove();
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  let wait = instances.get(parentElement);
  if (!wait) {
    wait = new Wait(parentElement);
    instances.set(parentElement, wait);
  }
  wait.load(data, setTriggerValue);
  return () => {
    wait.close();
    instances.delete(parentElement);
  };
}
