// The ε axis of the Audit page: a native range input over the audited values, drawn as one line with the promise, the leak
// and the most that the runs can show.

import { clamp, nearestIndex, makeShape } from "./kit.js";
import { make } from "./elements.js";
import { Moves } from "./moves.js";

/** @import { AuditData, AuditLook } from "./stages.d.ts" */

const LEAST_EPSILON = 0.05; // at the axis' ends
const MOST_EPSILON = 20;
const TICKS = [0.1, 1, 10];
const MARGIN_PX = 14;

/** Return the place of an ε on the axis, as a share of it. @param {number} epsilon */
export const shareOf = (epsilon) => Math.log(Math.max(epsilon, LEAST_EPSILON) / LEAST_EPSILON) / Math.log(MOST_EPSILON / LEAST_EPSILON);

export class PromiseAxis {
  constructor(/** @type {Element} */ parent, /** @type {() => void} */ show) {
    /** @type {number[]} */ this.shares = []; // places of the values
    this.svg = makeShape("svg", { "aria-hidden": "true" });
    this.input = make("input", "", "", { type: "range", min: "0", step: "1" });
    this.root = make("div", "tool dpviz-epsilon", [this.svg, this.input]);
    parent.append(this.root);
    this.moves = new Moves(this.root, this.input, show);
    this.moves.grasp(this.root, (x) => this.indexAt(x));
  }

  get index() {
    return this.moves.index;
  }

  update(/** @type {AuditData} */ data) {
    this.shares = data.values.map(shareOf);
    this.input.setAttribute("aria-label", data.label);
    this.input.max = String(data.values.length - 1);
    this.input.disabled = !data.moves;
    this.root.classList.toggle("fixed", !data.moves);
    this.moves.follow(data);
  }

  indexAt(/** @type {number} */ clientX) {
    const { left, width } = this.svg.getBoundingClientRect();
    return nearestIndex(this.shares, (clientX - left - MARGIN_PX) / (width - 2 * MARGIN_PX));
  }

  /** Draw the axis; numbers are null where there is none. @param {AuditLook} look */
  draw({ epsilon, promised, leak, most, tone, said, small }) {
    const width = this.svg.clientWidth || 500;
    const base = small ? 40 : 62;
    const height = base + (small ? 28 : 54);
    const above = base - (small ? 24 : 30);
    const x = (/** @type {number} */ value) => MARGIN_PX + clamp(shareOf(value), 0, 1) * (width - 2 * MARGIN_PX);
    const [start, end] = [x(0), x(MOST_EPSILON)];
    /** @type {SVGElement[]} */
    const parts = [];
    if (most !== null && x(most) < width - MARGIN_PX) {
      const from = x(most);
      parts.push(
        makeShape("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
          [makeShape("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" })]),
        makeShape("rect", { x: from, y: above - 8, width: end - from, height: 16, fill: "url(#hatch)" }),
        makeShape("line", { x1: from, x2: from, y1: above - 12, y2: base, class: "most" }));
      if (!small) parts.push(makeShape("text", { x: end, y: above - 16, "text-anchor": "end", class: "faint" }, said));
    }
    parts.push(makeShape("line", { x1: start, x2: end, y1: base, y2: base, class: "track" }));
    if (leak !== null) {
      const from = tone === "broken" && promised !== null ? x(promised) : start;
      parts.push(makeShape("line", { x1: from, x2: x(leak), y1: above, y2: above, class: `leak ${tone}` }),
        makeShape("circle", { cx: x(leak), cy: above, r: 7, class: `end ${tone}` }));
    }
    if (promised !== null) parts.push(makeShape("line", { x1: x(promised), x2: x(promised), y1: above - 12, y2: base, class: "promise" }));
    for (const tick of TICKS) {
      parts.push(makeShape("line", { x1: x(tick), x2: x(tick), y1: base - 4, y2: base + 4, class: "most" }),
        makeShape("text", { x: x(tick), y: base + 27, "text-anchor": "middle", class: "faint" }, String(tick)));
    }
    parts.push(small ? makeShape("text", { x: start, y: base + 27, class: "symbol" }, "ε")
      : makeShape("text", { x: x(0.5), y: base + 48, class: "symbol" }, "ε: the smaller, the more private"));
    if (!this.input.disabled) {
      const at = { cx: x(epsilon), cy: base };
      parts.push(makeShape("circle", { ...at, r: small ? 18 : 16, class: "focus" }), makeShape("circle", { ...at, r: small ? 13 : 11, class: "thumb" }));
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.replaceChildren(...parts);
  }
}
