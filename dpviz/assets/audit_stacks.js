// The two stacks of dots on the Audit page, a run each: full where the attacker speaks, red where that is wrong.

import { clamp, easeOutCubic, formatCount, isDark, mix, isStill } from "./kit.js";
import { fitStageCanvas, roomSize } from "./stage_parts.js";
import { make, tellBox } from "./elements.js";

/** @import { AuditResult, AuditStep, AuditView, Box, Dot, Drawn } from "./stages.d.ts" */

const MAX_DOTS = 1400; // of a stack; with more runs a dot stands for several
const GLIDE_MS = 180; // from one result's stacks to the next one's
const LEAST_SHARE = 0.3; // of the picture's height, for one of the two stacks
const ENDS_PX = 8; // of the columns, from the box
const GAP_PX = 5; // from the middle line

/** Return for how many runs a dot stands. @param {AuditResult} result */
export const runsPerDot = ({ played }) => Math.max(1, Math.ceil(played[played.length - 1].n / MAX_DOTS));

/** Return where the line between the worlds lies, as a share of the height: a high stack gets more room. @param {AuditResult} result */
export function middleOf({ played }) {
  const [above, below] = played[played.length - 1].columns.map((world) => Math.sqrt(Math.max(...world)));
  return clamp(above / (above + below || 1), LEAST_SHARE, 1 - LEAST_SHARE);
}

/**
 * Return the dots of each world and column; `before` is the step before while runs are played, whose dots are not new.
 * @param {AuditResult} result @param {Drawn} step @param {AuditStep | null} before @param {number} columns
 * @param {Box} box @param {number} words Room for words above and below
 * @returns {Dot[][][]}
 */
export function layOutDots(result, step, before, columns, { left, top, width, height }, words) {
  const perDot = runsPerDot(result);
  const wide = (width - 2 * ENDS_PX) / columns;
  const middle = top + height * step.middle;
  const rooms = [step.middle, 1 - step.middle].map((part) => part * height - words);
  const peaks = result.played[result.played.length - 1].columns.map((world) => Math.max(1, ...world) / perDot);
  const needed = Math.max(...peaks.map((peak, world) => Math.sqrt((peak * wide) / Math.max(rooms[world], 20))));
  const across = Math.max(1, Math.round(needed + 0.2));
  const pitch = wide / across;
  const rise = Math.min(pitch, ...peaks.map((peak, world) => rooms[world] / Math.ceil(peak / across)));
  const radius = Math.min(pitch, Math.max(rise, 3)) * 0.42;
  return step.columns.map((counts, world) => counts.map((count, column) => {
    const dots = count / perDot;
    return Array.from({ length: Math.ceil(dots) }, (_, i) => {
      const isNew = before !== null && i >= before.columns[world][column] / perDot;
      return {
        x: left + ENDS_PX + (column * across + (i % across) + 0.5) * pitch,
        y: middle + (world === 0 ? -1 : 1) * (GAP_PX + radius + Math.floor(i / across) * rise),
        radius: radius * Math.sqrt(Math.min(1, dots - i)) * (isNew ? 1.5 : 1), // the area says how many runs of it are there
      };
    });
  }));
}

const INKS = ["page", "box-fill", "ink", "soft", "rule", "released", "wrong"];
const FAINT = { dark: 0.45, light: 0.34 }; // dots about which the attacker says nothing

/** @param {number} n */
const times = (n) => `${formatCount(n)} ${n === 1 ? "time" : "times"}`;

/** The picture: both stacks with their words, and the mark beyond which the attacker speaks. */
export class Stacks {
  constructor() {
    // Files of the picture, and settings that bring it back, find it as they find every other one.
    this.canvas = make("canvas", "", "", { role: "img" });
    this.probe = make("i", "probe");
    this.root = make("div", "picture dpviz-live", [this.canvas, this.probe], { "data-dpviz-key": "picture" });
    /** @type {Drawn | null} */ this.drawn = null;
    /** @type {{ from: Drawn, began: number, scene: string } | null} */ this.glide = null;
    /** @type {Record<string, string>} */ this.inks = {};
    this.box = { left: 0, top: 0, width: 0, height: 0 };
  }

  /** Return the step on its way from that of another result. @param {AuditResult} result @param {AuditStep} step @param {boolean} isPlaying */
  move(result, step, isPlaying) {
    const { scene, edge } = result;
    const now = performance.now();
    if (this.drawn && this.drawn.scene !== scene && !isStill()) this.glide = { from: this.drawn, began: now, scene };
    if (this.glide && (isPlaying || this.glide.scene !== scene || now >= this.glide.began + GLIDE_MS)) this.glide = null;
    /** @type {Drawn} */
    const target = { ...step, scene, edge, middle: middleOf(result) };
    this.drawn = target;
    if (this.glide) {
      const { from, began } = this.glide;
      const t = easeOutCubic((now - began) / GLIDE_MS);
      const columns = step.columns.map((world, i) => world.map((count, j) => mix(from.columns[i][j], count, t)));
      this.drawn = { ...target, columns, edge: mix(from.edge, edge, t), middle: mix(from.middle, target.middle, t) };
    }
    return this.drawn;
  }

  paint(/** @type {AuditView} */ { box, full, worlds, columns, result, step, before, isPlaying, brief, unit }) {
    const context = fitStageCanvas(this.canvas, full.width, full.height);
    const { inks } = this;
    for (const name of INKS) {
      this.probe.style.color = `var(--${name})`;
      inks[name] = getComputedStyle(this.probe).color;
    }
    this.root.classList.toggle("dark", isDark(inks.page));
    const { left, top, width, height } = this.box = box;
    const size = brief ? 14 : Math.max(16 * unit, roomSize(this.root) - 1);
    const drawn = result && step && this.move(result, step, isPlaying);
    const middle = top + height * (drawn?.middle ?? 0.5);
    context.clearRect(0, 0, full.width, full.height);
    context.lineWidth = 1;
    context.strokeStyle = inks.rule;
    context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    const mark = result && drawn && result.edge < columns ? left + ENDS_PX + (drawn.edge / columns) * (width - 2 * ENDS_PX) : null;
    if (result && drawn) this.paintDots(context, result, layOutDots(result, drawn, before, columns, box, brief ? 58 : 62), mark);
    context.globalAlpha = 1;
    context.fillStyle = inks.soft;
    context.fillRect(left + 1, middle - 0.5, width - 2, 1);
    if (mark !== null) {
      context.strokeStyle = inks.ink;
      context.lineWidth = 1.6;
      context.beginPath();
      context.moveTo(mark, top + 1);
      context.lineTo(mark, top + height - 1);
      context.stroke();
    }
    this.write(context, worlds, mark, size);
    if (result && step && mark !== null) this.writeCounts(context, result, step, mark, size, brief);
  }

  /** @param {CanvasRenderingContext2D} context @param {AuditResult} result @param {Dot[][][]} dots @param {number | null} mark */
  paintDots(context, result, dots, mark) {
    const { inks, box: { left, top, width, height } } = this;
    context.globalAlpha = 0.045;
    context.fillStyle = inks.ink;
    if (mark !== null) context.fillRect(mark, top + 1, left + width - mark - 1, height - 2);
    const faint = isDark(inks.page) ? FAINT.dark : FAINT.light;
    dots.forEach((stack, world) => {
      const isLikely = (world === 0) === result.first_is_likely;
      stack.forEach((column, i) => {
        const isSaid = i >= result.edge;
        context.globalAlpha = isSaid ? 1 : faint;
        context.fillStyle = isSaid && !isLikely ? inks.wrong : inks.released;
        for (const { x, y, radius } of column) {
          context.beginPath();
          context.arc(x, y, radius, 0, 2 * Math.PI);
          context.fill();
        }
      });
    });
  }

  /** Write the worlds' names, beside the mark and not under it. @param {CanvasRenderingContext2D} context @param {[string, string]} worlds @param {number | null} mark @param {number} size */
  write(context, [upper, lower], mark, size) {
    const { inks, box: { left, top, height } } = this;
    Object.assign(context, { textBaseline: "middle", textAlign: "left", font: this.font(650, size + 1), fillStyle: inks.ink });
    Object.assign(context, { lineJoin: "round", lineWidth: 4, strokeStyle: inks["box-fill"] });
    for (const [text, y] of /** @type {[string, number][]} */ ([[upper, top + 22], [lower, top + height - 22]])) {
      const meets = mark !== null && mark > left + ENDS_PX && mark < left + 22 + context.measureText(text).width;
      const x = meets ? mark + 10 : left + 14;
      context.strokeText(text, x, y); // over the mark
      context.fillText(text, x, y);
    }
  }

  /** Write what the attacker says, and how often that is right and wrong. @param {CanvasRenderingContext2D} context @param {AuditResult} result @param {AuditStep} step @param {number} mark @param {number} size @param {boolean} brief */
  writeCounts(context, { says, first_is_likely: isFirst }, step, mark, size, brief) {
    const { inks, box: { left, top, width, height } } = this;
    const end = left + width - 14;
    const count = brief ? formatCount : times;
    const right = { text: `right ${count(step.right)}`, color: inks.released };
    const wrong = { text: `wrong ${count(step.wrong)}`, color: step.wrong ? inks.wrong : inks.soft };
    const words = brief ? `says “${says}”` : `here the attacker says “${says}” →`;
    Object.assign(context, { textAlign: "right", font: this.font(400, size - 1), fillStyle: inks.soft });
    const fits = context.measureText(words).width < end - mark - 8;
    context.fillText(words, fits ? end : mark - 10, top + 22);
    context.font = this.font(650, size + 1);
    const [above, below] = isFirst ? [right, wrong] : [wrong, right];
    context.fillStyle = above.color;
    context.fillText(above.text, end, top + 22 + 1.5 * size);
    context.fillStyle = below.color;
    context.fillText(below.text, end, top + height - 22);
  }

  font(/** @type {number} */ weight, /** @type {number} */ size) {
    return `${weight} ${size}px ${getComputedStyle(this.root).fontFamily}`;
  }

  tellBox() {
    if (this.box.width && this.root.isConnected) tellBox(this.root, this.canvas, this.box);
  }
}
