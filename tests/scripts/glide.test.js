// How marks glide from the places of one scene to those of the next: dpviz/assets/live_glide.js.

import assert from "node:assert/strict";
import test from "node:test";
import { markCount, reader } from "../../dpviz/assets/live_base.js";
import { glideTo, GLIDE_MS, onTheWay, onTheWayOut, placed, progress, sameClusters } from "../../dpviz/assets/live_glide.js";
import { axis, lines, marks, points, scene } from "./scenes.js";

/** @import { Glide, Layer, Pair, Scene } from "../../dpviz/assets/types.d.ts" */

/** @param {number[]} xs @param {Partial<Layer>} [more] */
const row = (xs, more) => marks("Centers", xs.map((x) => /** @type {Pair} */ ([x, 0])), { rows: [0], ...more });
/** @param {Scene} old @param {Scene} next @param {number} [now] @param {Glide | null} [glide] */
const way = (old, next, now = 0, glide = null) => glideTo(next, 0, { scene: old, frame: 0, glide, now });
/** @param {Layer[]} old @param {Layer[]} next */
function between(old, next) {
  const glide = way(scene(old), scene(next));
  assert.ok(glide);
  return glide;
}

/** How the marks of a layer are drawn after a share of the way: [place, how visible] each. @param {Layer} layer @param {Glide} glide @param {number} t */
function drawn(layer, glide, t) {
  const look = onTheWay(layer, glide, t);
  const at = placed(reader(layer.arrays.xy, 0), look.starts?.xy, 2, t);
  return Array.from({ length: markCount(layer) }, (_, i) => [at(i, 0), look.there(i) * look.fade]);
}

/** @param {Glide} glide @param {number} t */
const leaving = (glide, t) => glide.leaving.map((gone) => {
  const { there, fade } = onTheWayOut(gone, t);
  return Array.from({ length: markCount(gone.layer) }, (_, i) => there(i) * fade);
});

test("a mark glides from its place before", () => {
  const [old, next] = [row([0, 0.5]), row([0.25, 1])];
  const glide = between([old], [next]);
  assert.deepEqual([0, 0.5, 1].map((t) => drawn(next, glide, t)), [[[0, 1], [0.5, 1]], [[0.125, 1], [0.75, 1]], [[0.25, 1], [1, 1]]]);
});

test("ids tell which mark is which, and a new or lost mark fades", () => {
  const [old, next] = [row([0, 0.5, 1], { ids: ["a", "b", "c"] }), row([0.75, 0.25], { ids: ["c", "d"] })];
  const glide = between([old], [next]);
  assert.deepEqual(drawn(next, glide, 0.5), [[0.875, 1], [0.25, 0.5]]); // by index, the first would start at 0
  assert.deepEqual(leaving(glide, 0.25), [[0.75, 0.75, 0]]);
});

test("nothing of the curator's is left to fade in the public picture", () => {
  /** @param {string} name */
  const secret = (name) => row([0.5], { audience: "curator", name });
  const old = [row([0]), row([0.25], { name: "Cuts" }), secret("Averages")];
  /** @param {Layer[]} next */
  const names = (next) => between(old, next).leaving.map(({ layer: { name } }) => name);
  assert.deepEqual(names([row([1])]), ["Cuts"]);
  assert.deepEqual(names([row([1]), secret("Noise")]), ["Cuts", "Averages"]);
});

test("without ids a different number of marks has no partners", () => {
  const [old, next] = [row([0, 0.5]), row([0.25, 0.75, 1])];
  const glide = between([old], [next]);
  assert.deepEqual(drawn(next, glide, 0.5), [[0.25, 0.5], [0.75, 0.5], [1, 0.5]]);
  assert.deepEqual(leaving(glide, 0.5), [[0.5, 0.5]]);
});

test("marks without names are found by their places, nearest first", () => {
  /** @type {Partial<Layer>} */
  const place = { glides: "place" };
  const [old, next] = [row([0, 0.5, 1], place), row([0.875, 0.125, 0.25], place)];
  const glide = between([old], [next]);
  assert.deepEqual(drawn(next, glide, 0), [[1, 1], [0, 1], [0.25, 0]]); // the last is too far from 0.5, and 0 is taken
  assert.deepEqual(leaving(glide, 0), [[0, 1, 0]]);
});

test("nothing glides if a place has a different meaning", () => {
  const [old, next] = [row([0]), row([1])];
  const record = points("Records", [[0.5, 0]], { rows: [0], audience: "curator" });
  assert.notEqual(way(scene([old, record]), scene([next, record])), null);
  const other = { ...record, arrays: points("", [[0.75, 0]]).arrays };
  const changes = { "another title": scene([next], { title: "other" }), "other bounds": scene([next], { x: axis({ view: [0, 2] }) }),
    "a solid picture": scene([next], { solid: [30, 20] }), "other records": scene([next, other]),
    "fewer records": scene([next, { ...record, arrays: points("", []).arrays }]) };
  for (const [name, change] of Object.entries(changes)) assert.equal(way(scene([old, record]), change), null, name);
});

test("an interrupted glide goes on from its place", () => {
  const [first, second, third] = [row([0]), row([1]), row([0])];
  const glide = between([first], [second]);
  const again = way(scene([second]), scene([third]), 60, glide);
  assert.ok(again);
  const share = progress(glide, 60);
  const [shown, start] = [drawn(second, glide, share)[0][0], drawn(third, again, 0)[0][0]];
  assert.ok(share > 0.5 && share < 1);
  assert.ok(Math.abs(shown - share) < 1e-9 && Math.abs(start - share) < 1e-9, `${shown}, ${start}`);
  const atOnce = progress(again, 60);
  assert.ok(atOnce > 0 && atOnce < share); // the first frame moves already
  assert.equal(progress(again, 60 + GLIDE_MS), 1);
});

test("records never move, and curves only if they are named", () => {
  /** @param {number} x @param {Partial<Layer>} [more] */
  const curve = (x, more) => lines("Curve", [[0, 0], [x, 1]], { rows: [0], ...more });
  /** @param {Layer} before @param {Layer} after */
  const kinds = (before, after) => {
    const glide = between([before], [after]);
    const found = glide.ways.get(after);
    return [typeof found === "object" ? "glides" : found ?? "at once", glide.leaving.length];
  };
  const sent = (/** @type {number} */ x) => points("Sent", [[x, 0]], { rows: [0] });
  assert.deepEqual(kinds(sent(0), sent(1)), ["at once", 0]);
  assert.deepEqual(kinds(curve(0), curve(1)), ["new", 1]);
  assert.deepEqual(kinds(curve(0), curve(0)), ["at once", 0]);
  assert.deepEqual(kinds(curve(0, { ids: ["a"] }), curve(1, { ids: ["a"] })), ["glides", 0]);
});

test("a place that is not drawn in one scene is no start", () => {
  const [old, next] = [row([NaN, 0]), row([0.5, 1])];
  assert.deepEqual(drawn(next, between([old], [next]), 0.5), [[0.5, 0.5], [0.5, 1]]);
});

test("a cluster is the one that stood nearest, once, and others are new", () => {
  /** @param {number[]} xs */
  const centers = (...xs) => scene([row(xs, { audience: "released" })]);
  const old = centers(0, 0.5, 1);
  assert.deepEqual([...sameClusters(old, centers(0.9, 0.1, 0.5)) ?? []], [[0, 2], [1, 0], [2, 1]]);
  assert.deepEqual([...sameClusters(old, centers(0.45, 0.4, 0.05, 0.5)) ?? []], [[0, 2], [2, 0], [3, 1]]); // 1 finds no one left
  assert.deepEqual([...sameClusters(old, centers(0.55)) ?? []], [[0, 1]]);
  assert.equal(sameClusters(old, scene([])), null);
});
