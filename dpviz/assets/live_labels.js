// The live picture on a stage: each kind of mark is named once, where it stands; and what lies outside of the box.

/** @import { Anchor, Box, Label, Layer, Look, Pin, Rectangle, Scale, Scene, Seen, Side, Sight, Size, Spot, Tag, Theme, View } from "./types.d.ts" */

import { clamp, contextOf, formatCount, mix, remember } from "./kit.js";
import { colorOf, groupReader, markCount, NO_GROUP, reader, shownLayers } from "./live_base.js";
import { isMap } from "./live_axes.js";
import { nameCloud } from "./live_fog.js";
import { alphaOf, boundsOf, endsOf, isPinned, markRadius, placesOf, pointSize, wayOf } from "./live_draw.js";

const MOST_LABELS = 6;
const MOST_ON_A_PHONE = 4;
const EXAMPLES = 24; // marks of a layer that are tried
const MOST_ASKED = 400; // marks of a layer whose opacity is looked at
const GAP = 7; // pixels between a mark and its name
const SLACK = 4; // pixels that a name may lie on a mark before it leaves where it stood
const SEEN = 0.3; // the opacity from which on a mark can stand for all
const RING = 4; // pixels from the one point that is named to the ring around it
const DASH = 16; // pixels: half of the longest line whose name stands beside it
const ON_A_LINE = 6; // how much worse a place is on somebody else's line
const APART = 5; // pixels between two names
const EDGE = 5; // between a name and the box's edge
const LEAST_THREAD = 46; // pixels: a shorter thread of noise has no name
const MOST_COUNTED = 2000; // points of a layer that are counted
/** @type {Side[]} */
const SIDES = ["right", "left", "above", "below"];
const PREFERRED = { right: 0, left: 1, above: 2, below: 2 }; // less is better
const RANK = { released: 0, violation: 1, exact: 2, cluster: 2, noise: 3, public: 4, reference: 5 };
const FOREMOST = new Set(["marks", "points"]); // what people look at first: paths and borders are named after
const UNNAMED = /^(cluster \d|scale: |cell$|noise of \d)/i; // what has its words elsewhere, or needs none
/** @type {Partial<Record<Layer["kind"], string>>} */
const ANCHORS = { marks: "xy", points: "xy", trails: "xy", circles: "center", heat: "center" };
const MOST_TAGS = 80; // images of names that are kept

// ---- What is named, and how ------------------------------------------------------------------------------------

const PERSON = "person"; // what a record is called
/** @param {Layer} layer */
const isStraight = ({ kind, arrays }) => kind === "segments" || (kind === "lines" && arrays.xy.shape[2] === 2);
/** @param {Layer} layer */
const isThread = ({ kind, role }) => kind === "arrows" || (kind === "segments" && role === "noise");

/** A layer's name as it stands at one of its marks. Noise is secret, too, and its color says so. @param {Layer} layer */
function labelOf(layer) {
  const words = layer.label || (layer.name === PERSON ? `a ${PERSON}` : "") || layer.name.charAt(0).toLowerCase() + layer.name.slice(1);
  const secret = "(secret)";
  return layer.audience === "curator" && layer.role !== "noise" && !words.endsWith(secret) ? `${words} ${secret}` : words;
}

/** The layers that are named at a frame, foremost first: those that are new in a step, then by what their colors mean. Of
 *  layers with the same name it stands at the one with the fewest marks.
 *  @param {Scene} scene @param {View} view @param {Layer | undefined} bounds @returns {[string, Layer][]} */
function namedLayers(scene, view, bounds) {
  const found = /** @type {Map<string, Layer>} */ (new Map());
  for (const layer of shownLayers(scene, view)) {
    const words = labelOf(layer);
    if (layer.legend === false || layer === bounds || UNNAMED.test(layer.name)) continue;
    const other = found.get(words);
    if (other && markCount(other) <= markCount(layer)) continue;
    if (ANCHORS[layer.kind] || ["arrows", "segments", "lines"].includes(layer.kind)) found.set(words, layer);
  }
  const passing = view.frame > 0 && view.frame < scene.frames.length - 1;
  const rank = (/** @type {Layer} */ layer) => (passing && layer.rows[view.frame - 1] < 0 ? 0 : 20) + (FOREMOST.has(layer.kind) || isThread(layer) ? 0 : 10)
    + (layer.audience === "curator" && layer.role !== "noise" ? 2 : RANK[layer.role]);
  return [...found].sort(([, a], [, b]) => rank(a) - rank(b));
}

/** Where mark i is named; null where it is not drawn. @param {Layer} layer @param {Seen} look @returns {(i: number) => Anchor | null} */
function anchorsOf(layer, look) {
  const { scale } = look;
  /** @param {number} x @param {number} y @param {number} reach */
  const at = (x, y, reach) => (Number.isFinite(x + y) ? { x: scale.x(x), y: scale.y(y), reach } : null);
  if (layer.kind === "arrows" || isStraight(layer)) {
    const [tail, head] = endsOf(layer, (name) => placesOf(layer, name, look));
    return (i) => { // a name stands beside a dash, and on a long line
      const [x0, y0, x1, y1] = [tail(i, 0), tail(i, 1), head(i, 0), head(i, 1)];
      const half = Math.hypot((x1 - x0) * scale.kx, (y1 - y0) * scale.ky) / 2;
      const reach = half > DASH ? 2 : half;
      return at((x0 + x1) / 2, (y0 + y1) / 2, layer.kind === "arrows" ? 3 : reach);
    };
  }
  if (layer.kind === "lines") {
    const xy = placesOf(layer, "xy", look);
    const vertices = Array.from({ length: layer.arrays.xy.shape[2] }, (_, v) => v);
    return (i) => { // halfway along what is drawn of it
      const drawn = vertices.filter((v) => Number.isFinite(xy(i, 2 * v) + xy(i, 2 * v + 1)));
      const middle = drawn[Math.floor(drawn.length / 2)] ?? 0;
      return at(xy(i, 2 * middle), xy(i, 2 * middle + 1), 2);
    };
  }
  const xy = placesOf(layer, ANCHORS[layer.kind] ?? "xy", look);
  if (layer.kind === "circles" || layer.kind === "heat") {
    const radius = placesOf(layer, "radius", look);
    return (i) => at(xy(i, 0), xy(i, 1) + radius(i), 2); // at its top
  }
  const small = layer.kind === "points" ? pointSize(layer, scale) / 2 + RING : 3;
  const reach = layer.kind === "marks" ? markRadius(layer, scale) : small;
  return (i) => at(xy(i, 0), xy(i, 1), reach);
}

/** The numbers of the marks that are tried: evenly spread over all that are well seen. @param {Layer} layer @param {number} row */
function examplesOf(layer, row) {
  const { alpha } = layer.arrays;
  const opacity = alpha ? reader(alpha, row) : () => 1;
  const step = Math.max(1, markCount(layer) / (alpha ? MOST_ASKED : EXAMPLES));
  const seen = [];
  for (let at = 0; at < markCount(layer) && seen.length < EXAMPLES; at += step) {
    if (opacity(Math.floor(at)) >= SEEN) seen.push(Math.floor(at));
  }
  return seen;
}

/** The rectangle of a name beside its mark. @param {Anchor} anchor @param {Side} side @param {Size} size @returns {Rectangle} */
function rectOf({ x, y, reach }, side, { width, height }) {
  const off = reach + GAP;
  const [left, top] = {
    right: [x + off, y - height / 2], left: [x - off - width, y - height / 2],
    above: [x - width / 2, y - off - height], below: [x - width / 2, y + off],
  }[side];
  return [left, top, left + width, top + height];
}

/** Whether two rectangles overlap by more than some pixels. @param {Rectangle} a @param {Rectangle} b */
const meet = (a, b, slack = 0) => a[0] < b[2] - slack && b[0] < a[2] - slack && a[1] < b[3] - slack && b[1] < a[3] - slack;

/** Rectangles of what a name must not cover: marks, and threads piece by piece. @param {Scene} scene @param {View} view @param {Seen} look */
function obstaclesOf(scene, view, look) {
  const found = /** @type {Rectangle[]} */ ([]);
  for (const layer of shownLayers(scene, view)) {
    const count = markCount(layer);
    const row = layer.rows[view.frame];
    if (layer.kind === "marks" && count <= 400) {
      const anchor = anchorsOf(layer, { ...look, row });
      for (let i = 0; i < count; i += 1) {
        const at = anchor(i);
        if (at) found.push([at.x - at.reach, at.y - at.reach, at.x + at.reach, at.y + at.reach]);
      }
    } else if (isThread(layer) && count <= 60) {
      const [tail, head] = endsOf(layer, (name) => reader(layer.arrays[name], row));
      for (let k = 0; k < 4 * count; k += 1) {
        const [i, t] = [Math.floor(k / 4), 0.125 + 0.25 * (k % 4)];
        const x = look.scale.x(tail(i, 0) + t * (head(i, 0) - tail(i, 0)));
        const y = look.scale.y(tail(i, 1) + t * (head(i, 1) - tail(i, 1)));
        if (Number.isFinite(x + y)) found.push([x - 2, y - 2, x + 2, y + 2]);
      }
    }
  }
  return found;
}

/** Straight lines, each as the rectangle around it, with their layer: a name had better not stand on another's. @param {Scene} scene @param {View} view @param {Seen} look */
function linesOf(scene, view, look) {
  const found = /** @type {{layer: Layer, rect: Rectangle}[]} */ ([]);
  for (const layer of shownLayers(scene, view)) {
    if (!isStraight(layer) || isThread(layer) || markCount(layer) > 60) continue;
    const [from, to] = endsOf(layer, (name) => placesOf(layer, name, { ...look, row: layer.rows[view.frame] }));
    for (let i = 0; i < markCount(layer); i += 1) {
      const [x0, y0, x1, y1] = [look.scale.x(from(i, 0)), look.scale.y(from(i, 1)), look.scale.x(to(i, 0)), look.scale.y(to(i, 1))];
      const flat = Math.min(Math.abs(x1 - x0), Math.abs(y1 - y0)) < 4; // of a slanted one the rectangle would be wide
      if (flat) found.push({ layer, rect: [Math.min(x0, x1) - 2, Math.min(y0, y1) - 2, Math.max(x0, x1) + 2, Math.max(y0, y1) + 2] });
    }
  }
  return found;
}

/** How many points lie in a rectangle of pixels; of many, every so many-th counts for all. @param {Scene} scene @param {View} view @param {Seen} look @returns {(rect: Rectangle) => number} */
function crowdOf(scene, view, look) {
  const places = /** @type {[x: number, y: number, many: number][]} */ ([]);
  for (const layer of shownLayers(scene, view).filter(({ kind }) => kind === "points")) {
    const xy = reader(layer.arrays.xy, layer.rows[view.frame]);
    const step = Math.max(1, Math.ceil(markCount(layer) / MOST_COUNTED));
    for (let i = 0; i < markCount(layer); i += step) places.push([look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1)), step]);
  }
  return ([left, top, right, bottom]) => {
    let count = 0;
    for (const [x, y, many] of places) if (x >= left && x < right && y >= top && y < bottom) count += many;
    return count;
  };
}

// ---- Where names stand -----------------------------------------------------------------------------------------

/** Choose example and side for each name: where it meets no mark, no other name and no edge. What stood in the picture
 *  before stays with its mark as long as it fits at one of its sides, so that names do not jump while ε moves, and comes
 *  back to it after a picture that had no room for it. Names that have their places are placed first.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view @param {Seen} look @param {Box} box
 *  @param {Layer | undefined} bounds @param {Rectangle[]} taken */
function placeLabels(ctx, scene, view, look, box, bounds, taken) {
  const before = view.cache.spots ??= new Map(); // words -> the mark and the side where they stood last
  const crowd = crowdOf(scene, view, look);
  const obstacles = obstaclesOf(scene, view, look);
  const lines = linesOf(scene, view, look);
  const placed = /** @type {Label[]} */ ([]);
  const rects = [...taken];
  const most = look.margins?.bottom ? MOST_LABELS : MOST_ON_A_PHONE;
  let leader = -1; // the mark that the first name is at: the others tell of the same one where they can
  const named = namedLayers(scene, view, bounds);
  const stood = named.slice(0, most).filter(([words]) => before.has(words));
  for (const [words, layer] of new Map([...stood, ...named])) {
    if (placed.length === most) break;
    const own = { ...look, row: layer.rows[view.frame] };
    const size = { width: ctx.measureText(words).width, height: look.type };
    const anchor = anchorsOf(layer, own);
    const standing = (/** @type {number} */ i) => {
      const at = anchor(i);
      const isIn = at && at.x >= box.left && at.x <= box.left + box.width && at.y >= box.top && at.y <= box.top + box.height;
      return isIn && !(isThread(layer) && lengthOf(layer, i, own) < LEAST_THREAD) ? at : null;
    };
    /** @param {Anchor} at @param {Side} side @returns {Rectangle | null} */
    const fitting = (at, side, slack = 0) => {
      const rect = rectOf(at, side, size);
      const isIn = rect[0] >= box.left + EDGE && rect[2] <= box.left + box.width - EDGE
        && rect[1] >= box.top + EDGE && rect[3] <= box.top + box.height - EDGE;
      const meets = rects.some((other) => meet(rect, other, -APART)) || obstacles.some((other) => meet(rect, other, slack));
      return isIn && !meets ? rect : null;
    };
    /** Where it stood, or at another side of the same mark. @param {Spot} was @returns {Spot | null} */
    const stay = (was) => {
      const i = nowOf(view, layer, was.i);
      before.set(words, { ...was, i });
      const at = i < markCount(layer) ? standing(i) : null;
      for (const side of at ? [was.side, ...SIDES] : []) {
        const rect = at && fitting(at, side, SLACK);
        if (rect) return { i, side, rect };
      }
      return null;
    };
    /** The best of all places. @returns {Spot | null} */
    const search = () => {
      let [best, least] = [/** @type {Spot | null} */ (null), Infinity];
      for (const i of examplesOf(layer, own.row)) {
        const at = standing(i);
        for (const side of at ? SIDES : []) {
          const rect = at && fitting(at, side);
          if (!rect) continue;
          const crossed = lines.some((line) => line.layer !== layer && meet(rect, line.rect));
          const worse = (crossed ? ON_A_LINE : 0) + PREFERRED[side] + crowd(rect) / 3 - (i === leader ? 8 : 0)
            + (layer.kind === "points" ? 0 : middling(rect, box));
          if (worse < least) [best, least] = [{ i, side, rect }, worse];
        }
      }
      return best;
    };
    const was = before.get(words);
    const spot = (was && stay(was)) ?? search();
    if (!spot) continue;
    if (leader < 0 && layer.kind === "marks") leader = spot.i;
    rects.push(spot.rect);
    before.set(words, spot);
    placed.push({ words, layer, ...spot });
  }
  return placed;
}

/** How far a rectangle is from the middle of the box, in a few steps: names stand where people look first. @param {Rectangle} rect @param {Box} box */
const middling = ([left, top, right, bottom], box) => 3 * Math.hypot(
  ((left + right) / 2 - box.left) / box.width - 0.5, ((top + bottom) / 2 - box.top) / box.height - 0.5);

/** The number that a mark has now, by the way it glides. @param {View} view @param {Layer} layer @param {number} i */
function nowOf(view, layer, i) {
  const way = view.glide?.ways.get(layer);
  return way && way !== "new" ? Math.max(0, way.was.indexOf(i)) : i;
}

/** @param {Layer} layer @param {number} i @param {Seen} look */
function lengthOf(layer, i, { row, scale }) {
  const [tail, head] = endsOf(layer, (name) => reader(layer.arrays[name], row));
  return Math.hypot((head(i, 0) - tail(i, 0)) * scale.kx, (head(i, 1) - tail(i, 1)) * scale.ky);
}

/** The color of a name: its layer's; of people, whose color is their cluster's, that of what is secret. @param {Layer} layer @param {Theme} theme */
const inkOf = (layer, theme) => colorOf(theme, layer, layer.role === "cluster" ? NO_GROUP : 0);

/** Draw the names over a scene that `drawScene` has drawn, each at its mark, on its way too, and none over what is `taken`.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view @param {{scale: Scale, box: Box, taken: Rectangle[]}} drawn */
export function drawLabels(ctx, scene, view, { scale, box, taken: others }) {
  const small = view.phone ? 13 : 14;
  const type = Math.round(view.large * Math.max(view.large > 1 ? 16 : small, Math.round(Math.min(box.width, box.height) / 44)));
  ctx.font = `600 ${type}px ${view.theme.font}`;
  const own = { ...view, scale, type };
  const taken = [...others, ...drawOutside(ctx, scene, view, own, box), ...nameCloud(ctx, scene, view, own, box)];
  const key = JSON.stringify([scene.hash, view.frame, view.zoom, [...view.hidden], view.width, view.height]);
  if (view.cache.labels?.key !== key) {
    const still = { ...own, row: 0, from: -1, t: 1, starts: null, glided: 1 };
    view.cache.labels = { key, placed: placeLabels(ctx, scene, view, still, box, boundsOf(scene), taken) };
  }
  drawLeaving(ctx, scene, view, own, box);
  for (const { words, layer, i, side } of view.cache.labels.placed) {
    const way = wayOf(layer, view);
    const at = anchorsOf(layer, { ...own, ...way })(i);
    if (!at) continue;
    const tag = tagOf(words, inkOf(layer, view.theme), type, view);
    const [left, top] = rectOf(at, side, { width: tag.wide, height: type });
    const group = groupReader(layer, layer.rows[view.frame])(i);
    ctx.globalAlpha = way.faint * way.there(i) * (alphaOf(layer, group, view) < 1 ? 0.4 : 1);
    if (layer.kind === "points") { // a ring around the one point of many that is named
      ctx.beginPath();
      ctx.arc(at.x, at.y, at.reach, 0, 2 * Math.PI);
      for (const [ink, width] of /** @type {const} */ ([[view.theme.background, 4], [inkOf(layer, view.theme), 1.5]])) {
        [ctx.strokeStyle, ctx.lineWidth] = [ink, width];
        ctx.stroke();
      }
    }
    drawTag(ctx, tag, left, top, view);
  }
  ctx.globalAlpha = 1;
}

/** @param {number} px @param {View} view */
const snapped = (px, { dpr }) => Math.round(px * dpr) / dpr;

/** A name as an image, with a halo in the box's color: drawn once, and copied while it moves. @param {string} words @param {string} color @param {number} type @param {View} view @returns {Tag} */
function tagOf(words, color, type, view) {
  const { theme, dpr, cache } = view;
  const tags = cache.tags ??= new Map();
  if (tags.size > MOST_TAGS) tags.clear();
  return remember(tags, [words, color, type, theme.background, theme.font, dpr].join("|"), () => {
    const image = document.createElement("canvas");
    const ctx = contextOf(image);
    const font = `600 ${type}px ${theme.font}`;
    ctx.font = font;
    const [pad, wide] = [4, ctx.measureText(words).width];
    const [width, height] = [Math.ceil(wide + 2 * pad), Math.ceil(1.3 * type + 2 * pad)];
    [image.width, image.height] = [Math.ceil(width * dpr), Math.ceil(height * dpr)]; // which forgets all that was set
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.font = font;
    ctx.textBaseline = "middle";
    ctx.lineJoin = "round";
    [ctx.strokeStyle, ctx.lineWidth, ctx.globalAlpha] = [theme.background, 5, 0.92];
    ctx.strokeText(words, pad, pad + type / 2);
    [ctx.fillStyle, ctx.globalAlpha] = [color, 1];
    ctx.fillText(words, pad, pad + type / 2);
    return { image, pad, wide, width: image.width / dpr, height: image.height / dpr };
  });
}

/** Draw a name with its words at a place. @param {CanvasRenderingContext2D} ctx @param {Tag} tag @param {number} left @param {number} top @param {View} view */
const drawTag = (ctx, tag, left, top, view) =>
  ctx.drawImage(tag.image, snapped(left - tag.pad, view), snapped(top - tag.pad, view), tag.width, tag.height);

// ---- What lies outside of the box ------------------------------------------------------------------------------

const FOLLOWED = 0.25; // the opacity from which on a thread is one of those that can be followed
const HEAD = 11; // pixels of an arrowhead
const MOST_PINS = 400; // of a layer, evenly taken; the count says how many there are
const LEAST_OUT = 1e-6; // of the box: a mark on the wall is inside

/** Where a mark outside of [0, 1]^2 meets the box's edge on its way to the middle, and at which side; null inside. @param {number} x @param {number} y @returns {Pin | null} */
export function pinned(x, y) {
  const [dx, dy] = [x - 0.5, y - 0.5];
  const far = 2 * Math.max(Math.abs(dx), Math.abs(dy));
  if (!(far > 1 + LEAST_OUT)) return null;
  const [across, up] = [dx > 0 ? "right" : "left", dy > 0 ? "top" : "bottom"];
  return { x: 0.5 + dx / far, y: 0.5 + dy / far, side: /** @type {Pin["side"]} */ (Math.abs(dx) > Math.abs(dy) ? across : up) };
}

/** Pin released marks that lie outside to the edge as half discs, with a count at each side; return the counts' places. @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view @param {Sight} look @param {Box} box */
function drawOutside(ctx, scene, view, look, box) {
  if (view.zoom.k > 1 || scene.solid) return [];
  const counts = /** @type {Map<Pin["side"], [number, string]>} */ (new Map()); // side -> how many, color
  for (const layer of shownLayers(scene, view).filter(isPinned)) {
    const pins = pinsOf(layer, layer.rows[view.frame], scene, view.cache);
    const color = colorOf(view.theme, layer, NO_GROUP);
    const reach = layer.kind === "marks" ? markRadius(layer, look.scale) : Math.max(2.5, pointSize(layer, look.scale) / 2);
    ctx.fillStyle = color;
    ctx.globalAlpha = layer.kind === "marks" ? 1 : 0.75;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    ctx.beginPath();
    const step = Math.max(1, Math.ceil(pins.length / MOST_PINS));
    pins.forEach(({ x, y, side }, i) => {
      const [many] = counts.get(side) ?? [0];
      counts.set(side, [many + 1, color]);
      if (i % step) return;
      const [px, py] = [box.left + x * box.width, box.top + (1 - y) * box.height];
      ctx.moveTo(px + reach, py);
      ctx.arc(px, py, reach, 0, 2 * Math.PI);
    });
    ctx.fill();
    ctx.restore();
  }
  return [...counts].map(([side, [many, color]]) => drawCount(ctx, `${formatCount(many)} ${isMap(scene) ? "off the map" : "outside"}`, side, color, view, look, box));
}

/** A layer's marks outside of the box, in shares of it. They are looked for once. @param {Layer} layer @param {number} row @param {Scene} scene @param {View["cache"]} cache */
function pinsOf(layer, row, scene, cache) {
  cache.pins ??= new WeakMap();
  const known = cache.pins.get(layer);
  if (known?.row === row) return known.pins;
  const xy = reader(layer.arrays.xy, row);
  const [[x0, x1], [y0, y1]] = [scene.x.view, scene.y.view];
  const pins = /** @type {Pin[]} */ ([]);
  for (let i = 0; i < markCount(layer); i += 1) {
    const pin = pinned((xy(i, 0) - x0) / (x1 - x0), (xy(i, 1) - y0) / (y1 - y0));
    if (pin) pins.push(pin);
  }
  cache.pins.set(layer, { row, pins });
  return pins;
}

/** An arrowhead where a thread of noise leaves the box: what it leads to is farther away. @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view @param {Sight} look @param {Box} box */
function drawLeaving(ctx, scene, view, look, box) {
  if (view.zoom.k > 1 || scene.solid) return;
  const [right, bottom] = [box.left + box.width, box.top + box.height];
  /** The share of a way at which it leaves the box along one axis. @param {number} from @param {number} to @param {number} low @param {number} high */
  const leaves = (from, to, low, high) => (clamp(to, low, high) === to ? 1 : (clamp(to, low, high) - from) / (to - from));
  for (const layer of shownLayers(scene, view).filter(isThread)) {
    const own = { ...look, ...wayOf(layer, view) };
    const opacity = layer.arrays.alpha ? reader(layer.arrays.alpha, own.row) : () => 1;
    const [tail, head] = endsOf(layer, (name) => placesOf(layer, name, own));
    ctx.fillStyle = colorOf(view.theme, layer, NO_GROUP);
    ctx.globalAlpha = 0.9;
    for (let i = 0; i < markCount(layer); i += 1) {
      if (opacity(i) < FOLLOWED) continue;
      const [[x0, y0], [x1, y1]] = [tail, head].map((end) => [look.scale.x(end(i, 0)), look.scale.y(end(i, 1))]);
      const near = 0.5; // pixels: what lies outside is pinned to the edge
      const isOut = x1 > right - near || x1 < box.left + near || y1 > bottom - near || y1 < box.top + near;
      const share = Math.min(leaves(x0, x1, box.left, right), leaves(y0, y1, box.top, bottom));
      if (!isOut || !(share > 0)) continue;
      const angle = Math.atan2(y1 - y0, x1 - x0);
      const [x, y] = [mix(x0, x1, share), mix(y0, y1, share)];
      ctx.beginPath();
      ctx.moveTo(x, y);
      for (const turn of [-0.4, 0.4]) ctx.lineTo(x - HEAD * Math.cos(angle + turn), y - HEAD * Math.sin(angle + turn));
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ctx @param {string} words @param {Pin["side"]} side @param {string} color @param {View} view @param {Sight} look @param {Box} box @returns {Rectangle} */
function drawCount(ctx, words, side, color, view, look, box) {
  const tag = tagOf(words, color, look.type, view);
  const [across, up] = [box.left + (box.width - tag.wide) / 2, box.top + (box.height - look.type) / 2];
  const inset = 12;
  const [left, top] = {
    left: [box.left + inset, up], right: [box.left + box.width - inset - tag.wide, up],
    top: [across, box.top + inset], bottom: [across, box.top + box.height - inset - look.type],
  }[side];
  ctx.globalAlpha = 1;
  drawTag(ctx, tag, left, top, view);
  return [left, top, left + tag.wide, top + look.type];
}
