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
/** CSS pixels: the middles of both bars and of the axis, a bar's height, where the promise's line begins, the room below, and radii. */
const ROWS = {
  usual: { row: 98, above: 212, base: 270, bar: 14, from: 98, below: 54, focus: 16, thumb: 11 },
  small: { row: 0, above: 16, base: 40, bar: 6, from: 4, below: 28, focus: 18, thumb: 13 },
};

/** Return the place of an ε on the axis, as a share of it. @param {number} epsilon */
export const shareOf = (epsilon) => Math.log(Math.max(epsilon, LEAST_EPSILON) / LEAST_EPSILON) / Math.log(MOST_EPSILON / LEAST_EPSILON);

/** What so many runs cannot show. @param {number} from @param {number} to @param {number} y The bar's middle @param {number} base */
function hatched(from, to, y, base) {
  return [
    makeShape("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      [makeShape("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" })]),
    makeShape("rect", { x: from, y: y - 8, width: to - from, height: 16, fill: "url(#hatch)" }),
    makeShape("line", { x1: from, x2: from, y1: y - 12, y2: base, class: "most" }),
  ];
}

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

  /** Draw the axis and return where promise and leak end; numbers are null where there is none. @param {AuditLook} look */
  draw({ epsilon, promised, leak, most, tone, said, small }) {
    const width = this.svg.clientWidth || 500;
    const { row, above, base, bar, ...rows } = small ? ROWS.small : ROWS.usual;
    const height = base + rows.below;
    const x = (/** @type {number} */ value) => MARGIN_PX + clamp(shareOf(value), 0, 1) * (width - 2 * MARGIN_PX);
    const [start, end] = [x(0), x(MOST_EPSILON)];
    /** @type {SVGElement[]} */
    const parts = [];
    const named = /** @type {SVGElement[]} */ ([]); // over all lines
    const rect = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ y, /** @type {string} */ name) =>
      parts.push(makeShape("rect", { x: from, y: y - bar / 2, width: Math.max(0, to - from), height: bar, class: name }));
    if (!small && promised !== null) rect(start, x(promised), row, "promised");
    if (most !== null && x(most) < width - MARGIN_PX) {
      parts.push(...hatched(x(most), end, above, base));
      if (!small) named.push(makeShape("text", { x: end, y: above + 26, "text-anchor": "end", class: "faint" }, said));
    }
    parts.push(makeShape("line", { x1: start, x2: end, y1: base, y2: base, class: "track" }));
    if (leak !== null) {
      const from = tone === "broken" && promised !== null ? x(promised) : start;
      rect(start, Math.min(from, x(leak)), above, `leak ${tone} within`);
      rect(from, x(leak), above, `leak ${tone}`);
    }
    if (promised !== null) parts.push(makeShape("line", { x1: x(promised), x2: x(promised), y1: rows.from, y2: base, class: "promise" }));
    for (const tick of TICKS) {
      parts.push(makeShape("line", { x1: x(tick), x2: x(tick), y1: base - 4, y2: base + 4, class: "most" }),
        makeShape("text", { x: x(tick), y: base + 27, "text-anchor": "middle", class: "faint" }, String(tick)));
    }
    parts.push(small ? makeShape("text", { x: start, y: base + 27, class: "symbol" }, "ε")
      : makeShape("text", { x: x(0.5), y: base + 48, class: "symbol" }, "ε (smaller is more private)"));
    if (!this.input.disabled) {
      const at = { cx: x(epsilon), cy: base };
      parts.push(makeShape("circle", { ...at, r: rows.focus, class: "focus" }), makeShape("circle", { ...at, r: rows.thumb, class: "thumb" }));
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.replaceChildren(...parts, ...named);
    return { width, promised: promised === null ? end : x(promised), leak: leak === null ? start : x(leak) };
  }
}
