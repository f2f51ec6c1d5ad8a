// The live picture: a box of three features, turned by hand. The page sends depth; the browser does the rest.

import { clamp } from "./kit.js";
import { rowOf } from "./live_base.js";

/** @import { Pair, Scene } from "./types.d.ts" */

const LIMIT = 90; // degrees of tilt
const DEPTH = "_depth";
const MIDDLE = "_middle";
const radians = (/** @type {number} */ degrees) => (degrees * Math.PI) / 180;

/** Rows: right, up and towards the reader, in the three features; the same as in dpviz/stories/view.py. @param {Pair} angles */
function axesOf([yaw, pitch]) {
  const [sy, cy, sp, cp] = [Math.sin(radians(yaw)), Math.cos(radians(yaw)), Math.sin(radians(pitch)), Math.cos(radians(pitch))];
  return [[cy, sy, 0], [-sy * sp, cy * sp, cp], [sy * cp, -cy * cp, sp]];
}

/** The rotation from a picture at angles `from` to one at angles `to`, in its own coordinates. @param {Pair} from @param {Pair} to */
function rotation(from, to) {
  const [a, b] = [axesOf(from), axesOf(to)];
  return b.map((row) => a.map((column) => row[0] * column[0] + row[1] * column[1] + row[2] * column[2]));
}

/** Angles after a drag: yaw goes round, pitch has ends. @param {Pair} angles @param {number} dx @param {number} dy @returns {Pair} */
export function turnedBy([yaw, pitch], dx, dy) {
  const round = ((((yaw - dx) + 180) % 360) + 360) % 360 - 180;
  return [round, clamp(pitch + dy, -LIMIT, LIMIT)];
}

/** One frame of a solid scene, seen from other angles; what has no depth is left out until the page draws it again.
 *  @param {Scene} scene @param {number} frame @param {Pair} angles @returns {Scene} */
export function turned(scene, frame, angles) {
  const m = rotation(scene.solid ?? angles, angles);
  const layers = scene.layers.map((layer) => {
    const row = layer.rows[frame];
    if (row < 0) return layer;
    const arrays = { ...layer.arrays };
    const deep = Object.keys(arrays).filter((name) => name.endsWith(DEPTH));
    const held = Object.keys(arrays).filter((name) => name.endsWith(MIDDLE));
    if (deep.length + held.length === 0) return { ...layer, rows: layer.rows.map(() => -1) };
    for (const [name, array] of Object.entries(layer.arrays)) {
      if (array.shape[0] > 1) arrays[name] = { data: rowOf(array, row), shape: [1, ...array.shape.slice(1)] };
    }
    for (const name of deep) {
      const flat = name.slice(0, -DEPTH.length);
      const [xy, z] = [arrays[flat].data, arrays[name].data];
      const [places, depths] = [new Float32Array(xy.length), new Float32Array(z.length)];
      for (let i = 0; i < z.length; i += 1) {
        const [x, y, t] = [xy[2 * i] - 0.5, xy[2 * i + 1] - 0.5, z[i] - 0.5];
        places[2 * i] = 0.5 + m[0][0] * x + m[0][1] * y + m[0][2] * t;
        places[2 * i + 1] = 0.5 + m[1][0] * x + m[1][1] * y + m[1][2] * t;
        depths[i] = 0.5 + m[2][0] * x + m[2][1] * y + m[2][2] * t;
      }
      arrays[flat] = { data: places, shape: arrays[flat].shape };
      arrays[name] = { data: depths, shape: arrays[name].shape };
    }
    for (const name of held) { // outlines that face the reader: each is carried along by its middle
      const flat = name.slice(0, -MIDDLE.length);
      const [xy, middle] = [arrays[flat].data, arrays[name].data];
      const [places, each] = [new Float32Array(xy.length), (3 * xy.length) / middle.length];
      for (let i = 0; 3 * i < middle.length; i += 1) {
        const from = [0, 1, 2].map((axis) => middle[3 * i + axis] - 0.5);
        const [dx, dy] = [0, 1].map((axis) => m[axis].reduce((sum, value, j) => sum + value * from[j], -from[axis]));
        for (let j = i * each; j < (i + 1) * each; j += 2) [places[j], places[j + 1]] = [xy[j] + dx, xy[j + 1] + dy];
      }
      arrays[flat] = { data: places, shape: arrays[flat].shape };
    }
    return { ...layer, arrays, rows: layer.rows.map((at) => (at < 0 ? -1 : 0)) };
  });
  return { ...scene, layers };
}
