// The live picture: what is under the pointer, and its words.

/** @import { Axis, Cell, Found, Layer, Reader, Scale, Scene, Shown, View } from "./types.d.ts" */

import { clamp, mix } from "./kit.js";
import { groupReader, markCount, NO_GROUP, reader, shownLayers, STROKED, threeDigits, toData, valueText, withUnit } from "./live_base.js";
import { drawOrder, endsOf, markRadius, pointSize, strokeWidth } from "./live_draw.js";
import { placeText } from "./live_earth.js";

const HOVER_PX = 12; // how near the pointer must be to a mark
const CURVE_PX = 8; // and to a curve between its vertices
const EDGE_PX = 1; // around a mark or a curve that still counts as drawn there: its halo

// ---- Hits: what is under the pointer ---------------------------------------------------------------------------

/** @type {Partial<Record<Layer["kind"], string>>} */
const ANCHORS = { points: "xy", marks: "xy", circles: "center", arrows: "head", heat: "center", trails: "xy", segments: "ends",
  bars: "rect", lines: "xy" };
const FAINTER = new Map([["points", 4], ["heat", 2], ["trails", 2]]); // pixels that other kinds are ahead

/** Visit the places, scene coordinates, by which a layer's marks are found.
 *  @param {Layer} layer @param {number} row @param {(i: number, x: number, y: number) => void} visit */
function eachAnchor(layer, row, visit) {
  const { arrays, kind } = layer;
  const name = ANCHORS[kind];
  if (!name) return;
  const at = reader(arrays[name], row);
  const between = kind === "segments" || kind === "bars";
  for (let i = 0; i < markCount(layer); i += 1) {
    if (between) visit(i, (at(i, 0) + at(i, 2)) / 2, kind === "bars" ? at(i, 3) : (at(i, 1) + at(i, 3)) / 2);
    else for (let v = 0; v < (kind === "lines" ? arrays.xy.shape[2] : 1); v += 1) visit(i, at(i, 2 * v), at(i, 2 * v + 1));
  }
}

/** What is drawn at a pixel, the topmost of it, and `beneath` it what comes next; where nothing is, the nearest mark within
 *  reach, marks before points. For clicks also the smallest circle around it.
 *  @param {Scene} scene @param {Shown} view @param {Scale} scale @param {number} px @param {number} py @returns {Found | null} */
export function hit(scene, view, scale, px, py, { clusters = false } = {}) {
  let best = /** @type {Found | null} */ (null);
  const covering = /** @type {Found[]} */ ([]); // what is drawn there, one of each layer, from back to front
  const visible = drawOrder(shownLayers(scene, view)).filter((layer) => layer.kind !== "cursor" && (!clusters || layer.isolate));
  for (const layer of visible) {
    if (layer.kind === "lines" && !clusters) { // see nearestCurve
      const curve = nearestCurve([layer], view, scale, px, py, strokeWidth(layer, scale) / 2 + EDGE_PX);
      if (curve) covering.push(curve);
      continue;
    }
    const row = layer.rows[view.frame];
    const penalty = FAINTER.get(layer.kind) ?? 0;
    const bar = layer.kind === "bars" ? reader(layer.arrays.rect, row) : null;
    const covers = coverOf(layer, row, scale, px, py);
    let own = /** @type {Found | null} */ (null);
    eachAnchor(layer, row, (i, x, y) => {
      let distance = Math.hypot(scale.x(x) - px, scale.y(y) - py);
      if (bar && inside(bar, i, scale.left(px), scale.up(py))) distance = 0;
      const found = { layer, row, i, x, y, distance: distance + penalty };
      if (distance <= HOVER_PX && (best === null || found.distance <= best.distance)) best = found;
      if (covers(i, distance) && !(own && isAbove(own.i, i, layer, row))) own = found;
    });
    if (own) covering.push(own);
  }
  const [top, beneath] = inFront(covering);
  if (!top && !clusters) best = nearer(best, nearestCurve(visible, view, scale, px, py, HOVER_PX));
  const around = () => aroundPixel(visible, view, scale, px, py, clusters) ?? bandAround(visible, view, scale, px, py)
    ?? (clusters ? null : cellAround(visible, view, scale, px, py));
  const found = top ?? best ?? around();
  if (found) found.group = groupReader(found.layer, found.row)(found.i);
  if (found && top && beneath) found.beneath = beneath;
  return found;
}

/** The first two, in front, of what is drawn at a pixel. A ring or a cross hides nothing: the disc it lies on comes first. @param {Found[]} covering @returns {(Found | null)[]} */
function inFront(covering) {
  const seen = covering.toReversed();
  const at = seen.findIndex(({ layer }) => !(layer.kind === "marks" && STROKED.has(layer.symbol)));
  if (at > 0 && seen[at].layer.kind === "marks") seen.unshift(...seen.splice(at, 1));
  return [seen[0] ?? null, seen[1] ?? null];
}

/** Whether a mark at a distance is drawn at the pixel. @param {Layer} layer @param {number} row @param {Scale} scale @param {number} px @param {number} py @returns {(i: number, distance: number) => boolean} */
function coverOf(layer, row, scale, px, py) {
  if (layer.kind === "marks") {
    const radius = markRadius(layer, scale);
    const reach = (STROKED.has(layer.symbol) && layer.symbol !== "ring" ? radius / 2 : radius) + EDGE_PX;
    return (i, distance) => distance <= reach;
  }
  if (layer.kind === "points") {
    const reach = pointSize(layer, scale) / 2;
    return (i, distance) => distance <= reach;
  }
  if (layer.kind === "bars") return (i, distance) => distance === 0;
  if (layer.kind !== "arrows" && layer.kind !== "segments") return () => false;
  const reach = strokeWidth(layer, scale) / 2 + EDGE_PX;
  const [tail, head] = endsOf(layer, (name) => reader(layer.arrays[name], row));
  return (i) => segmentDistance(px, py, scale.x(tail(i, 0)), scale.y(tail(i, 1)), scale.x(head(i, 0)), scale.y(head(i, 1))) <= reach;
}

/** Whether mark `a` of a layer is drawn in front of mark `b`: points are drawn group by group, all else in their order. @param {number} a @param {number} b @param {Layer} layer @param {number} row */
function isAbove(a, b, layer, row) {
  if (layer.kind !== "points") return a > b;
  const group = groupReader(layer, row);
  return group(a) === group(b) ? a > b : group(a) > group(b);
}

/** @param {Reader} rect @param {number} i @param {number} x @param {number} y */
function inside(rect, i, x, y) {
  const [x0, y0, x1, y1] = [0, 1, 2, 3].map((c) => rect(i, c));
  return x >= Math.min(x0, x1) && x <= Math.max(x0, x1) && y >= Math.min(y0, y1) && y <= Math.max(y0, y1);
}

/** The circle whose edge (hover) or inside (click) holds the pixel; the smallest one wins. @param {Layer[]} layers @param {Shown} view @param {Scale} scale @param {number} px @param {number} py @param {boolean} within @returns {Found | null} */
function aroundPixel(layers, view, scale, px, py, within) {
  let [best, least] = [/** @type {Found | null} */ (null), Infinity];
  for (const layer of layers.filter(({ kind }) => kind === "circles")) {
    const row = layer.rows[view.frame];
    const center = reader(layer.arrays.center, row);
    const radius = reader(layer.arrays.radius, row);
    for (let i = 0; i < markCount(layer); i += 1) {
      const distance = Math.hypot(scale.x(center(i, 0)) - px, scale.y(center(i, 1)) - py);
      const edge = radius(i) * scale.kx;
      const held = within ? distance <= edge : Math.abs(distance - edge) <= HOVER_PX / 2;
      if (held && edge < least) [best, least] = [{ layer, row, i, x: center(i, 0), y: center(i, 1), distance: Infinity }, edge];
    }
  }
  return best;
}

/** How far a pixel is from the line between two others. @param {number} px @param {number} py @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
export function segmentDistance(px, py, x0, y0, x1, y1) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = dx === 0 && dy === 0 ? 0 : clamp(((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy), 0, 1);
  return Math.hypot(px - x0 - along * dx, py - y0 - along * dy);
}

/** A mark or a curve: the mark, unless the curve is clearly nearer. @param {Found | null} mark @param {Found | null} curve */
const nearer = (mark, curve) => (mark === null || (curve !== null && curve.distance + 4 < mark.distance) ? curve : mark);

/** The curve that passes within reach of the pixel, at its vertex nearest to the pixel. @param {Layer[]} layers @param {Shown} view @param {Scale} scale @param {number} px @param {number} py @param {number} reach @returns {Found | null} */
function nearestCurve(layers, view, scale, px, py, reach) {
  let best = /** @type {Found | null} */ (null);
  for (const layer of layers.filter(({ kind }) => kind === "lines")) {
    const row = layer.rows[view.frame];
    const xy = reader(layer.arrays.xy, row);
    const [, m, p] = layer.arrays.xy.shape;
    for (let i = 0; i < m; i += 1) {
      let [x0, y0] = [NaN, NaN];
      for (let v = 0; v < p; v += 1) {
        const [x1, y1] = [scale.x(xy(i, 2 * v)), scale.y(xy(i, 2 * v + 1))];
        const [toLast, toThis] = [Math.hypot(px - x0, py - y0), Math.hypot(px - x1, py - y1)];
        const distance = Number.isNaN(toLast) ? toThis : segmentDistance(px, py, x0, y0, x1, y1);
        if (distance <= reach && (best === null || distance <= best.distance)) {
          const at = toLast < toThis ? v - 1 : v;
          best = { layer, row, i, x: xy(i, 2 * at), y: xy(i, 2 * at + 1), distance };
        }
        [x0, y0] = [x1, y1];
      }
    }
  }
  return best;
}

/** The band that holds the pixel, the narrowest one, at its vertex nearest in x. @param {Layer[]} layers @param {Shown} view @param {Scale} scale @param {number} px @param {number} py @returns {Found | null} */
function bandAround(layers, view, scale, px, py) {
  let [best, least] = [/** @type {Found | null} */ (null), Infinity];
  const [x, y] = [scale.left(px), scale.up(py)];
  for (const layer of layers.filter(({ kind }) => kind === "bands")) {
    const row = layer.rows[view.frame];
    const edges = reader(layer.arrays.edges, row);
    const [, m, p] = layer.arrays.edges.shape;
    for (let i = 0; i < m; i += 1) {
      const held = bandAt((v, c) => edges(i, 3 * v + c), p, x);
      if (held === null || y < held.low || y > held.high || held.high - held.low >= least) continue;
      const [at, low, high] = [0, 1, 2].map((c) => edges(i, 3 * held.v + c));
      least = held.high - held.low;
      best = { layer, row, i, x: at, y: (low + high) / 2, low, high, distance: HOVER_PX };
    }
  }
  return best;
}

/** Low and high of a band at x between two of its vertices, and the vertex nearer to x; null where there is no band. @param {(v: number, c: number) => number} edge @param {number} count @param {number} x */
export function bandAt(edge, count, x) {
  for (let v = 1; v < count; v += 1) {
    const [a, b] = [edge(v - 1, 0), edge(v, 0)];
    if (!(x >= Math.min(a, b) && x <= Math.max(a, b))) continue;
    const t = a === b ? 0 : (x - a) / (b - a);
    const ends = [1, 2].map((c) => mix(edge(v - 1, c), edge(v, c), t));
    if (ends.some((end) => !Number.isFinite(end))) continue;
    return { v: t < 0.5 ? v - 1 : v, low: Math.min(...ends), high: Math.max(...ends) };
  }
  return null;
}

/** The filled cell of a grid that holds the pixel. @param {Layer[]} layers @param {Shown} view @param {Scale} scale @param {number} px @param {number} py @returns {Found | null} */
function cellAround(layers, view, scale, px, py) {
  for (const layer of layers.filter(({ kind }) => kind === "grid").reverse()) {
    const row = layer.rows[view.frame];
    const rect = reader(layer.arrays.rect, row);
    const [, , rows, columns] = layer.arrays.value.shape;
    for (let i = 0; i < markCount(layer); i += 1) {
      const across = Math.floor(((scale.left(px) - rect(i, 0)) / (rect(i, 2) - rect(i, 0))) * columns);
      const up = Math.floor(((scale.up(py) - rect(i, 1)) / (rect(i, 3) - rect(i, 1))) * rows);
      if (!(across >= 0 && across < columns && up >= 0 && up < rows)) continue;
      const cell = cellOf(layer, row, i, up * columns + across);
      if (cell.value > 0) return { layer, row, i, x: (cell.x0 + cell.x1) / 2, y: (cell.y0 + cell.y1) / 2, distance: Infinity, cell };
    }
  }
  return null;
}

/** Cell number `at` of grid i, counted along x from low y: its rectangle and value. @param {Layer} layer @param {number} row @param {number} i @param {number} at @returns {Cell} */
export function cellOf(layer, row, i, at) {
  const rect = reader(layer.arrays.rect, row);
  const [, , rows, columns] = layer.arrays.value.shape;
  const [across, up] = [at % columns, Math.floor(at / columns)];
  const x = (/** @type {number} */ c) => mix(rect(i, 0), rect(i, 2), c / columns);
  const y = (/** @type {number} */ r) => mix(rect(i, 1), rect(i, 3), r / rows);
  const groups = layer.arrays.group;
  const [, , groupRows, groupColumns] = groups?.shape ?? [];
  const inGroups = Math.floor((up * groupRows) / rows) * groupColumns + Math.floor((across * groupColumns) / columns);
  const group = groups ? reader(groups, row)(i, inGroups) : null;
  const value = group === NO_GROUP ? 0 : reader(layer.arrays.value, layer.arrays.value.shape[0] === 1 ? 0 : row)(i, at);
  return { x0: x(across), x1: x(across + 1), y0: y(up), y1: y(up + 1), value, group };
}

/** The share of a full cell, percent. @param {number} value */
export const share = (value) => threeDigits((100 * value) / 255);
const PICKED_KINDS = new Set(["lines", "bands", "marks", "bars", "points"]);

/** What a click would report: the nearest mark or curve of a layer that can be picked, then a point, a bar, a band. @param {Scene} scene @param {Shown} view @param {Scale} scale @param {number} px @param {number} py */
export function pickAt(scene, view, scale, px, py) {
  const layers = shownLayers(scene, view).filter(({ kind, pick }) => pick && PICKED_KINDS.has(kind));
  if (layers.length === 0) return null;
  const only = (/** @type {Layer["kind"]} */ kind) => hit({ ...scene, layers: layers.filter((layer) => layer.kind === kind) }, view, scale, px, py);
  return nearer(only("marks"), nearestCurve(layers, view, scale, px, py, CURVE_PX)) ?? only("points") ?? only("bars") ?? only("bands");
}

/** @param {Pick<Scene, "group_names">} scene @param {number} group */
export const groupName = (scene, group) => (group === NO_GROUP ? "no cluster" : scene.group_names[group] ?? `Cluster ${group + 1}`);

/** A mark's own name, or its cluster's; "": it has none. @param {Scene} scene @param {Layer} layer @param {number} row @param {number} i */
export function markName(scene, layer, row, i) {
  if (layer.names[i]) return layer.names[i];
  if (layer.kind === "points" || (layer.arrays.group && layer.kind !== "grid")) return layer.role === "cluster" || layer.isolate ? groupName(scene, groupReader(layer, row)(i)) : "";
  return layer.isolate && scene.group_names.length ? groupName(scene, i) : "";
}

/** The lines of a tooltip. @param {Scene} scene @param {Found} found */
export function tooltipLines(scene, found) {
  const { layer, row, i, x, y } = found;
  const lines = [layer.name];
  const name = markName(scene, layer, row, i);
  if (found.beneath) lines.push(`beneath: ${found.beneath.layer.name}`);
  if (name && name !== layer.name) lines.push(name);
  const { low, high, cell } = found;
  /** @param {Axis} axis @param {number} from @param {number} [to] */
  const along = (axis, from, to) => withUnit(axis, to === undefined || from === to
    ? valueText(axis, from) : `${valueText(axis, from)} to ${valueText(axis, to)}`);
  const [across, up] = cell ? [[cell.x0, cell.x1], [cell.y0, cell.y1]] : [[x], low === undefined ? [y] : [low, high ?? low]];
  if (scene.x.ticks) lines.push(`${scene.x.label || "x"} ${along(scene.x, across[0], across[1])}`);
  if (scene.y.ticks) lines.push(`${scene.y.label || "y"} ${along(scene.y, up[0], up[1])}`);
  if (cell) lines.push(cell.group === null ? `filled ${share(cell.value)} %` : groupName(scene, cell.group));
  else if (scene.place && low === undefined) lines.push(placeText(scene.place, toData(scene.x, x), toData(scene.y, y)));
  return lines;
}
