// The live picture: how marks glide from one scene's places to the next one's, each to its own.

/** @import { Glide, Layer, Leaving, NumberArray, Numbers, Pair, Passage, Reader, Scene, Way } from "./types.d.ts" */

import { clamp, easeOutCubic, mix } from "./kit.js";
import { countOf, groupCount, groupReader, markCount, NO_GROUP, reader, rowOf } from "./live_base.js";
import { nearestPartners } from "./places.js";

export const GLIDE_MS = 200;
const HEAD_START_MS = 25; // so that the first frame already shows the move
const NEAR = 0.2; // scene units: a mark found by its place is no farther away
const MOST_POINTS = 6000; // more of them would cost a frame
// Arrays of places by kind. A center is the i-th one before and after; curves, segments and points have nothing by
// themselves that says which is which, and glide where the layer names them. What does not glide fades.
/** @type {Record<string, string[] | undefined>} */
const PLACES = { marks: ["xy"], circles: ["center", "radius"], arrows: ["tail", "head"], heat: ["center", "radius"],
  ensemble: ["xy"], light: ["xy"] };
/** @type {typeof PLACES} */
const NAMED_PLACES = { points: ["xy"], segments: ["ends"], lines: ["xy"] };
const AT_ONCE = new Set(["points", "bars", "cursor"]); // change without fading: a record stays where it is
/** @param {Layer} layer @returns {string[]} */
const places = (layer) => {
  if (layer.arrays.sites) return ["sites"];
  const named = (layer.ids || layer.glides) && !(layer.kind === "points" && markCount(layer) > MOST_POINTS);
  return PLACES[layer.kind] ?? (named ? NAMED_PLACES[layer.kind] : undefined) ?? [];
};
/** How many things of a layer glide: borders follow the places that they lie between. @param {Layer} layer */
const movers = (layer) => (layer.arrays.sites ? layer.arrays.sites.shape[1] : markCount(layer));

/** A name that stays when the numbers in it change, and which one of them it is. @param {Layer[]} layers @returns {Map<string, Layer>} */
function keyed(layers) {
  const counts = new Map();
  return new Map(layers.map((layer) => {
    const words = [layer.kind, layer.role, layer.audience, layer.name.replace(/[\d.,]+/g, "#")].join("|");
    counts.set(words, (counts.get(words) ?? 0) + 1);
    return [`${words}|${counts.get(words)}`, layer];
  }));
}

/** Whether both scenes show the same records on the same axes, so that a place means the same in both. @param {Scene} old @param {Scene} scene */
function comparable(old, scene) {
  if (old.solid || scene.solid || old.title !== scene.title) return false;
  /** @param {Scene} scene */
  const axes = ({ x, y, equal: units }) => JSON.stringify([x.label, x.values, x.view, y.label, y.values, y.view, units]);
  if (axes(old) !== axes(scene)) return false;
  /** @param {Scene} scene */
  const records = ({ layers }) => layers.find(({ kind, audience }) => kind === "points" && audience === "curator")?.arrays.xy.data;
  const [before, now] = [records(old), records(scene)];
  return before === undefined || now === undefined || (before.length === now.length && equal(before, 0, now, 0, now.length));
}

/** Whether `count` numbers of two arrays are the same; a plain loop, as there may be ten thousand.
 *  @param {Numbers} a @param {number} from @param {Numbers} b @param {number} to @param {number} count */
function equal(a, from, b, to, count) {
  for (let i = 0; i < count; i += 1) {
    const one = a[from + i];
    const other = b[to + i];
    if (one !== other && !(Number.isNaN(one) && Number.isNaN(other))) return false;
  }
  return true;
}

/** Whether both layers look the same in these rows, mark by mark. @param {Layer} old @param {Layer} layer @param {number} oldRow @param {number} row */
function alike(old, layer, oldRow, row) {
  if (layer.ids && !layer.ids.every((id, i) => id === old.ids?.[i])) return false;
  return Object.entries(layer.arrays).every(([name, { data, shape }]) => {
    const before = old.arrays[name];
    if (before?.shape.slice(1).join() !== shape.slice(1).join()) return false;
    const size = data.length / shape[0];
    const [from, to] = [before.shape[0] === 1 ? 0 : oldRow * size, shape[0] === 1 ? 0 : row * size];
    return equal(before.data, from, data, to, size);
  });
}

/** For each mark of the new layer the mark of the old one that it was, -1 for none. @param {Layer} old @param {Layer} layer @param {number} oldRow @param {number} row */
function partners(old, layer, oldRow, row) {
  if (layer.ids) {
    const at = new Map((old.ids ?? []).map((id, i) => [id, i]));
    return Int32Array.from(layer.ids, (id) => at.get(id) ?? -1);
  }
  const count = movers(layer);
  if (layer.glides === "place") {
    const [from, to] = [reader(old.arrays.xy, oldRow), reader(layer.arrays.xy, row)];
    return nearestPartners(count, markCount(old), (i, j) => Math.hypot(to(i, 0) - from(j, 0), to(i, 1) - from(j, 1)), NEAR);
  }
  return new Int32Array(count).map((_, i) => (count === movers(old) ? i : -1));
}

/** The numbers of one row of an array, where they are now if they are on their way from `starts`. Always doubles: loops over
 *  arrays of one kind are ten times as fast as over several.
 *  @param {NumberArray} array @param {number} row @param {Float64Array | null} [starts] */
function numbersOf(array, row, starts = null, t = 1) {
  const numbers = new Float64Array(rowOf(array, row));
  if (starts && t < 1) for (let i = 0; i < numbers.length; i += 1) numbers[i] = mix(starts[i], numbers[i], t);
  return numbers;
}

/** Where the marks of one layer start, and which old ones are no more; null where it cannot glide.
 *  @param {Layer} old @param {Layer} layer @param {number} oldRow @param {number} row
 *  @param {{starts: Record<string, Float64Array>, t: number} | null} glide @returns {Way | null} */
function startsOf(old, layer, oldRow, row, glide) {
  const names = places(layer);
  if (!names.length) return null;
  const width = (/** @type {NumberArray} */ array) => countOf(array.shape.slice(2));
  if (names.some((name) => !old.arrays[name] || width(old.arrays[name]) !== width(layer.arrays[name]))) return null;
  const was = partners(old, layer, oldRow, row);
  if (layer.arrays.sites && was.includes(-1)) return null; // borders around more or fewer places fade
  const starts = /** @type {Record<string, Float64Array>} */ ({});
  for (const name of names) {
    const array = layer.arrays[name];
    const size = width(array);
    const before = numbersOf(old.arrays[name], oldRow, glide?.starts[name] ?? null, glide?.t);
    const now = numbersOf(array, row);
    starts[name] = now.slice();
    for (let i = 0; i < was.length; i += 1) {
      const [from, to] = [was[i] * size, i * size];
      for (let c = 0; c < size && was[i] >= 0; c += 1) {
        const a = before[from + c];
        const b = now[to + c];
        if (Number.isNaN(a) === Number.isNaN(b)) starts[name][to + c] = a;
        else was[i] = -1; // not drawn in one
      }
    }
  }
  const kept = new Set(was);
  const left = Array.from({ length: movers(old) }, (_, j) => j).filter((j) => !kept.has(j));
  return { starts, was, left: new Set(left) };
}

/** Component c of mark i on its way from `starts` to where `read` has it.
 *  @param {Reader} read @param {Float64Array | null | undefined} starts @param {number} size @param {number} t @returns {Reader} */
export function placed(read, starts, size, t) {
  if (!starts || t >= 1) return read;
  return (i, c = 0) => mix(starts[i * size + c], read(i, c), t);
}

/** The way from what is on screen to a new scene; null where nothing can glide.
 *  @param {Scene} scene @param {number} frame
 *  @param {{scene: Scene | null, frame: number, glide: Glide | null, now: number}} shown @returns {Glide | null} */
export function glideTo(scene, frame, shown) {
  if (!shown.scene || !comparable(shown.scene, scene)) return null;
  const before = keyed(shown.scene.layers);
  const t = shown.glide ? progress(shown.glide, shown.now) : 1;
  const ways = /** @type {Glide["ways"]} */ (new Map()); // new layer -> its starts; null where it swaps at once
  const leaving = /** @type {Leaving[]} */ ([]); // old layers, and which of their marks fade out
  /** @param {Layer} old @param {Layer} layer @param {number} oldRow @param {number} row */
  const follow = (old, layer, oldRow, row) => {
    if (AT_ONCE.has(layer.kind) && !places(layer).length) return;
    const own = shown.glide?.ways.get(old);
    const stays = alike(old, layer, oldRow, row);
    if (!own && stays) return;
    const way = startsOf(old, layer, oldRow, row, own && own !== "new" ? { ...own, t } : null);
    if (!way && (stays || AT_ONCE.has(layer.kind))) return;
    ways.set(layer, way ?? "new");
    if (way?.left.size !== 0) leaving.push({ layer: old, row: oldRow, marks: way?.left ?? null });
  };
  for (const [key, layer] of keyed(scene.layers)) {
    const old = before.get(key);
    const [oldRow, row] = [old?.rows[shown.frame] ?? -1, layer.rows[frame]];
    if (row < 0) continue;
    if (!old || oldRow < 0) ways.set(layer, "new");
    else {
      before.delete(key);
      follow(old, layer, oldRow, row);
    }
  }
  for (const layer of before.values()) {
    const row = layer.rows[shown.frame];
    if (row >= 0 && !AT_ONCE.has(layer.kind)) leaving.push({ layer, row, marks: null });
  }
  /** @param {Layer} layer */
  const isCurators = ({ audience }) => audience === "curator";
  const sees = scene.layers.some(isCurators); // everyone sees none of it
  return { ways, leaving: leaving.filter(({ layer }) => sees || !isCurators(layer)), start: shown.now - HEAD_START_MS };
}

/** How far a glide has come, from 0 to 1. @param {Glide} glide @param {number} now */
export function progress(glide, now) {
  return easeOutCubic(clamp((now - glide.start) / GLIDE_MS, 0, 1));
}

/** @type {Passage} */
const STILL = { starts: null, there: () => 1, fade: 1 };

/** How a layer is drawn when a glide has come to `t`. @param {Layer} layer @param {Glide | null} glide @param {number} t @returns {Passage} */
export function onTheWay(layer, glide, t) {
  const way = t < 1 ? glide?.ways.get(layer) : undefined;
  if (!way) return STILL;
  if (way === "new") return { ...STILL, fade: t };
  return { ...STILL, starts: way.starts, there: (i) => (way.was[i] >= 0 ? 1 : t) };
}

/** How what leaves is drawn: its marks, or all of them, fade where they were. @param {Leaving} leaving @param {number} t @returns {Passage} */
export function onTheWayOut({ marks }, t) {
  return { starts: null, there: marks ? (i) => Number(marks.has(i)) : () => 1, fade: 1 - t };
}

// ---- Clusters: which of the picture before each one is -----------------------------------------------------------

/** The released centers of the frame that a picture opens with. @param {Scene} scene */
const centersOf = ({ layers, start_frame: frame }) => layers.findLast(({ kind, role, audience, isolate, rows }) => kind === "marks"
  && isolate && role === "released" && audience === "released" && rows[frame] >= 0);

/** Where each cluster's release stands: cluster -> [x, y]; empty where a picture has no released centers. @param {Scene} scene @returns {Map<number, Pair>} */
function clusterPlaces(scene) {
  const layer = centersOf(scene);
  const sums = /** @type {Map<number, [number, number, number]>} */ (new Map());
  if (!layer) return new Map();
  const row = layer.rows[scene.start_frame];
  const [at, group] = [reader(layer.arrays.xy, row), groupReader(layer, row)];
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y, count] = sums.get(group(i)) ?? [0, 0, 0];
    if (group(i) !== NO_GROUP && Number.isFinite(at(i, 0) + at(i, 1))) sums.set(group(i), [x + at(i, 0), y + at(i, 1), count + 1]);
  }
  return new Map([...sums].sort((a, b) => a[0] - b[0]).map(([each, [x, y, count]]) => [each, [x / count, y / count]]));
}

/** Whether the colors of a picture's clusters go by its own released centers. @param {Scene} scene */
export const hasCenters = (scene) => clusterPlaces(scene).size > 0;

const MOST_MATCHED = 100; // clusters: more keep their numbers

/** For each cluster of a new picture the one of the old that stood nearest to its place, cluster -> cluster, the nearest pairs
 *  first. Null where places mean something else, or where there is nothing to go by.
 *  @param {Scene | null} old @param {Scene} scene @returns {Map<number, number> | null} */
export function sameClusters(old, scene) {
  if (!old || !comparable(old, scene)) return null;
  const [before, now] = [old, scene].map((each) => [...clusterPlaces(each)]);
  if (!before.length || !now.length || Math.max(before.length, now.length) > MOST_MATCHED) return null;
  const nearest = nearestPartners(now.length, before.length, (i, j) => {
    const [[, [x, y]], [, [p, q]]] = [now[i], before[j]];
    return Math.hypot(x - p, y - q);
  });
  const matched = now.map(([cluster], i) => /** @type {const} */ ([cluster, before[nearest[i]]?.[0]]));
  return new Map(matched.flatMap(([cluster, was]) => (was === undefined ? [] : [[cluster, was]])));
}

/** The slots, of colors and symbols, of a new picture's clusters: those they had before, and free ones for new clusters.
 *  @param {Scene} scene @param {Map<number, number>} same @param {number[] | null} slots */
export function slotsOf(scene, same, slots) {
  const centers = centersOf(scene);
  const count = Math.max(scene.group_names.length, centers ? groupCount({ group_names: [], layers: [centers] }) : 0); // of all frames
  const next = Array.from({ length: count }, (_, each) => {
    const was = same.get(each);
    return was === undefined ? -1 : slots?.[was] ?? was;
  });
  const taken = new Set(next);
  let free = 0;
  return next.map((slot) => {
    if (slot >= 0) return slot;
    while (taken.has(free)) free += 1;
    taken.add(free);
    return free;
  });
}
