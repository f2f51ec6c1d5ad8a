// The lens on one person: a glass over the picture's corner that enlarges the average of her cluster, with the places
// where it lands with the person (filled) and without (hollow). The glass has the color of an attacker's conclusion.

/** @import { Box, Rectangle, Scale, Scene, Theme } from "./types.d.ts" */

import { contextOf, fitCanvas, formatCount, line, parseColor, tell } from "./kit.js";
import { make } from "./elements.js";
import { makeButton } from "./stage_parts.js";

const PHONE_PX = 420; // a narrower box is a phone's
const SHARE = 0.27; // radius of the glass, of the box's width
const BEYOND = { laptop: [42, 18], phone: [4, 8] }; // pixels that the glass reaches beyond the box, left and below
const EDGE = 4; // pixels between the glass and its canvas
const RIM = 0.03; // of the radius, as what follows
const DOT = 0.02;
const END = 0.024; // radius of the exact averages
const APART = 0.13; // an average from its name
const TYPE = 0.094;
const LEAST_TYPE = 12; // pixels
const SPOT = 6; // least radius of the enlarged place, pixels
const UNDECIDED = 128; // a cell from which nothing follows
const SURE = 127;
const OPACITY = 0.62; // of a conclusion that is sure
const DOOR = "Click it to compare both worlds";

/** Return the size of type, CSS pixels. @param {number} radius Of the glass */
const typeOf = (radius) => Math.max(LEAST_TYPE, Math.round(TYPE * radius));

/** Return the middle of the glass over a box, its radius, CSS pixels, and whether it stands left, away from what it enlarges. @param {Box} box @param {NonNullable<Scene["lens"]>} lens */
function placeOf(box, { at: [x, y] }) {
  const radius = Math.round(SHARE * box.width);
  const [beyond, below] = box.width < PHONE_PX ? BEYOND.phone : BEYOND.laptop;
  const isLeft = x > 0.5 || y > 0.5;
  const across = radius - (isLeft ? beyond : below); // text stands left of the box
  return { middle: [box.left + (isLeft ? across : box.width - across), box.top + box.height - radius + below], radius, isLeft };
}

/** Paint the glass: with the person in one color, without in the other. @param {HTMLCanvasElement} canvas @param {NonNullable<Scene["lens"]>["arrays"]["glass"]} glass @param {Theme} theme */
function paintGlass(canvas, { data, shape: [rows, columns] }, theme) {
  [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(columns, rows);
  const [inside, outside] = [theme.released, theme.without].map((color) => parseColor(color) ?? [0, 0, 0]);
  for (let i = 0; i < data.length; i += 1) {
    const share = (data[i] - UNDECIDED) / SURE;
    const at = 4 * ((rows - 1 - Math.floor(i / columns)) * columns + (i % columns)); // row 0 is at the bottom
    image.data.set([...(share > 0 ? inside : outside), Math.abs(share) * OPACITY * 255], at);
  }
  contextOf(canvas).putImageData(image, 0, 0);
}

export class Lens {
  /** @param {HTMLElement} parent The picture @param {boolean} isDoor Whether it leads to both worlds */
  constructor(parent, isDoor) {
    this.canvas = make("canvas", "", "", { "aria-hidden": "true" });
    this.root = isDoor ? makeButton("lens", [this.canvas], () => tell(this.root, "open", "worlds"), { "aria-label": DOOR }) : make("div", "lens", [this.canvas]);
    this.glass = make("canvas");
    this.isDoor = isDoor;
    parent.append(this.root);
  }

  /** Return the rectangle that no name may cover. @param {Box} box @param {NonNullable<Scene["lens"]>} lens @returns {Rectangle} */
  bounds(box, lens) {
    const { middle: [x, y], radius } = placeOf(box, lens);
    return [x - radius, y - radius, x + radius, y + radius];
  }

  /**
   * Draw the lens of a scene over its picture, and the two lines from the place that it enlarges.
   * @param {CanvasRenderingContext2D} ctx Of the picture
   * @param {Scene} scene @param {{ scale: Scale, box: Box, theme: Theme, dpr: number }} view
   */
  draw(ctx, { lens }, { scale, box, theme, dpr }) {
    this.root.hidden = !lens;
    if (!lens) return;
    const { middle, radius, isLeft } = placeOf(box, lens);
    const around = radius + EDGE;
    this.drawWords(ctx, lens, box, radius, isLeft, scale, theme);
    this.drawSpot(ctx, [scale.x(lens.at[0]), scale.y(lens.at[1])], middle, radius, theme);
    Object.assign(this.root.style, { left: `${middle[0] - around}px`, top: `${middle[1] - around}px`, width: `${2 * around}px`, height: `${2 * around}px` });
    const own = fitCanvas(this.canvas, 2 * around, 2 * around, dpr);
    own.clearRect(0, 0, 2 * around, 2 * around);
    own.save();
    own.translate(around, around);
    this.drawGlass(own, lens, radius, theme);
    own.restore();
  }

  /** Say what is in the glass, and how much larger, beside it. @param {CanvasRenderingContext2D} ctx @param {NonNullable<Scene["lens"]>} lens @param {Box} box @param {number} radius @param {boolean} isLeft @param {Scale} scale @param {Theme} theme */
  drawWords(ctx, lens, box, radius, isLeft, scale, theme) {
    const times = radius / (lens.radius * scale.kx);
    const lines = [...lens.words.split(", ").map((part) => `${part},`), `${formatCount(Number(times.toPrecision(2)))} times larger (secret)`, ...this.isDoor ? [DOOR] : []];
    const [x, type] = [box.left + (isLeft ? box.width - 8 : 8), typeOf(radius) - 1];
    lines.forEach((text, i) => {
      this.name(ctx, text, x, box.top + box.height - 8 - (lines.length - i - 0.5) * 1.3 * type, theme.text, theme, { type, align: isLeft ? "right" : "left" });
    });
  }

  /** Mark the enlarged place, and join it to the glass. @param {CanvasRenderingContext2D} ctx @param {number[]} spot @param {number[]} middle @param {number} radius @param {Theme} theme */
  drawSpot(ctx, [x, y], [cx, cy], radius, theme) {
    ctx.save();
    ctx.strokeStyle = theme.text;
    ctx.setLineDash([]);
    ctx.beginPath();
    const across = Math.atan2(cy - y, cx - x) + Math.PI / 2;
    for (const side of [1, -1]) {
      const [dx, dy] = [side * Math.cos(across), side * Math.sin(across)];
      line(ctx, x + SPOT * dx, y + SPOT * dy, cx + radius * dx, cy + radius * dy);
    }
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.55;
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, y, SPOT, 0, 2 * Math.PI);
    ctx.lineWidth = 2;
    ctx.globalAlpha = 1;
    ctx.stroke();
    ctx.restore();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {NonNullable<Scene["lens"]>} lens @param {number} radius @param {Theme} theme */
  drawGlass(ctx, { names, arrays: { ends, glass, dots, inside } }, radius, theme) {
    const disc = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) => {
      ctx.beginPath();
      ctx.arc(x, y, r, 0, 2 * Math.PI);
    };
    disc(0, 0, radius);
    ctx.save();
    ctx.fillStyle = theme.box;
    ctx.fill();
    ctx.clip();
    paintGlass(this.glass, glass, theme);
    ctx.imageSmoothingQuality = "high";
    ctx.drawImage(this.glass, -radius, -radius, 2 * radius, 2 * radius);
    ctx.lineWidth = 1.5;
    for (let i = 0; i < inside.data.length; i += 1) {
      disc(radius * dots.data[2 * i], -radius * dots.data[2 * i + 1], DOT * radius);
      ctx.fillStyle = ctx.strokeStyle = inside.data[i] ? theme.released : theme.without;
      if (inside.data[i]) ctx.fill();
      else ctx.stroke();
    }
    const [x1, y1, x0, y0] = [0, 1, 2, 3].map((i) => (i % 2 ? -1 : 1) * radius * ends.data[i]);
    ctx.strokeStyle = ctx.fillStyle = theme.text;
    ctx.lineWidth = 2;
    ctx.beginPath();
    line(ctx, x0, y0, x1, y1);
    ctx.stroke();
    for (const [x, y] of [[x0, y0], [x1, y1]]) {
      disc(x, y, END * radius);
      ctx.fill();
    }
    const up = y1 < y0 ? -1 : 1; // names stand beyond the two ends
    this.name(ctx, names[0], x1, y1 + up * APART * radius, theme.released, theme, { type: typeOf(radius) });
    this.name(ctx, names[1], x0, y0 - up * APART * radius, theme.without, theme, { type: typeOf(radius) });
    ctx.restore();
    disc(0, 0, radius);
    ctx.lineWidth = RIM * radius;
    ctx.strokeStyle = theme.text;
    ctx.stroke();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} x @param {number} y @param {string} color @param {Theme} theme @param {{ type: number, align?: CanvasTextAlign }} style */
  name(ctx, text, x, y, color, theme, { type, align = "center" }) {
    ctx.font = `650 ${type}px ${theme.font}`;
    [ctx.textAlign, ctx.textBaseline, ctx.lineJoin] = [align, "middle", "round"];
    [ctx.strokeStyle, ctx.lineWidth, ctx.fillStyle] = [theme.box, 4, color];
    ctx.globalAlpha = 0.9;
    ctx.strokeText(text, x, y);
    ctx.globalAlpha = 1;
    ctx.fillText(text, x, y);
  }
}
