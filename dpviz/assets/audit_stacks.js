// The two stacks of dots on the Audit page, a run each: red where the attacker is right more often than the promise allows.

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

const INKS = ["page", "box-fill", "ink", "soft", "rule", "released", "wrong", "without"];
const FAINT = { dark: 0.45, light: 0.34 }; // dots about which the attacker says nothing

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
    if (result && drawn && step) this.paintDots(context, result, step, layOutDots(result, drawn, before, columns, box, brief ? 78 : 92), mark, middle);
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

  /** Paint the dots: full with the person, hollow without; red are those that are right more often than is allowed.
   *  @param {CanvasRenderingContext2D} context @param {AuditResult} result @param {AuditStep} step @param {Dot[][][]} dots @param {number | null} mark @param {number} middle */
  paintDots(context, result, step, dots, mark, middle) {
    const { inks, box: { left, top, width, height } } = this;
    context.globalAlpha = 0.045;
    context.fillStyle = inks.ink;
    if (mark !== null) context.fillRect(mark, top + 1, left + width - mark - 1, height - 2);
    const faint = isDark(inks.page) ? FAINT.dark : FAINT.light;
    const right = dots[result.first_is_likely ? 0 : 1].slice(result.edge).flat();
    right.sort((a, b) => Math.abs(a.y - middle) - Math.abs(b.y - middle));
    const tooMany = right.slice(Math.ceil((step.allowed / step.right) * right.length));
    const red = new Set(tooMany);
    dots.forEach((stack, world) => stack.forEach((column, i) => {
      context.globalAlpha = i >= result.edge ? 1 : faint;
      for (const dot of column) {
        const { x, y, radius } = dot;
        context.fillStyle = context.strokeStyle = red.has(dot) ? inks.wrong : [inks.released, inks.without][world];
        context.lineWidth = 0.36 * radius;
        context.beginPath();
        context.arc(x, y, world ? 0.84 * radius : radius, 0, 2 * Math.PI);
        if (world) context.stroke();
        else context.fill();
      }
    }));
    if (mark !== null && red.size) this.paintLimit(context, tooMany[0], mark, middle);
  }

  /** Paint the line up to which right words are allowed. @param {CanvasRenderingContext2D} context @param {Dot} first The lowest dot above it @param {number} mark @param {number} middle */
  paintLimit(context, { x, y, radius }, mark, middle) {
    const { inks, box: { left, width } } = this;
    const [down, step] = [Math.sign(middle - y) * radius * 1.2, Math.max(mark, x - 1.2 * radius)];
    context.globalAlpha = 1;
    context.strokeStyle = inks.ink;
    context.lineWidth = 1.6;
    context.setLineDash([6, 3]);
    context.beginPath();
    context.moveTo(mark, y - down);
    context.lineTo(step, y - down); // over the allowed dots of the same row
    context.lineTo(step, y + down);
    context.lineTo(left + width - 1, y + down);
    context.stroke();
    context.setLineDash([]);
  }

  /** Write the worlds' names, beside the mark and not under it. @param {CanvasRenderingContext2D} context @param {[string, string]} worlds @param {number | null} mark @param {number} size */
  write(context, [upper, lower], mark, size) {
    const { inks, box: { left, top, height } } = this;
    Object.assign(context, { textBaseline: "middle", textAlign: "left", font: this.font(650, size + 1), fillStyle: inks.ink });
    Object.assign(context, { lineJoin: "round", lineWidth: 4, strokeStyle: inks["box-fill"] });
    for (const [text, y, ink] of /** @type {[string, number, string][]} */ ([[upper, top + 22, inks.released], [lower, top + height - 22, inks.without]])) {
      context.fillStyle = ink;
      const meets = mark !== null && mark > left + ENDS_PX && mark < left + 22 + context.measureText(text).width;
      const x = meets ? mark + 10 : left + 14;
      context.strokeText(text, x, y); // over the mark
      context.fillText(text, x, y);
    }
  }

  /** Write what the attacker says, how often that is right and wrong, and how often the promise allows it to be right.
   *  @param {CanvasRenderingContext2D} context @param {AuditResult} result @param {AuditStep} step @param {number} mark @param {number} size @param {boolean} brief */
  writeCounts(context, result, step, mark, size, brief) {
    const { inks, box: { left, top, width, height } } = this;
    const { says, first_is_likely: isFirst, promised, promised_text: promise } = result;
    const end = left + width - 14;
    const tooMany = step.right - step.allowed;
    const color = tooMany > 0 ? inks.wrong : inks.released;
    const limit = step.allowed < step.n ? `ε = ${promise} allows ${formatCount(step.allowed)}` : `even ${formatCount(step.n)} ${brief ? "keep" : "would not break"} ε = ${promise}`;
    /** @type {[string, number, number, string][]} text, weight, size, color */
    const right = [[`${formatCount(step.right)} right`, 650, 1.35 * size, color]];
    if (promised !== null) right.push([limit, 400, size - 1, inks.ink]);
    if (tooMany > 0) right.push([`${formatCount(tooMany)} too many`, 650, size - 1, inks.wrong]);
    const wrong = /** @type {typeof right} */ ([[`${formatCount(step.wrong)} wrong`, 650, 1.35 * size, step.wrong ? inks.ink : inks.soft]]);
    Object.assign(context, { textAlign: "right", font: this.font(400, size - 1), fillStyle: inks.soft });
    const words = brief ? `says “${says}”` : `here the attacker says “${says}” →`;
    const fits = context.measureText(words).width < end - mark - 8;
    context.fillText(words, fits ? end : mark - 10, top + (isFirst ? height - 22 : 22));
    const write = (/** @type {typeof right} */ lines, /** @type {number} */ y) => {
      lines.forEach(([text, weight, type, ink], i) => {
        Object.assign(context, { font: this.font(weight, type), fillStyle: ink });
        context.fillText(text, end, y + 1.4 * size * i);
      });
    };
    write(isFirst ? right : wrong, top + 22);
    const below = isFirst ? wrong : right;
    write(below, top + height - 22 - (isFirst ? 1.5 : 0) * size - (below.length - 1) * 1.4 * size);
  }

  font(/** @type {number} */ weight, /** @type {number} */ size) {
    return `${weight} ${size}px ${getComputedStyle(this.root).fontFamily}`;
  }

  tellBox() {
    if (this.box.width && this.root.isConnected) tellBox(this.root, this.canvas, this.box);
  }
}
