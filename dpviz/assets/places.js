// Places of centers on Compare's maps: in pairs, in cells, and on their way from one ε to the next.

import { mix } from "./kit.js";

/** @import { Pair } from "./types.d.ts" */

/** Return pairs of numbers that follow each other. @param {number[] | null} flat @returns {Pair[] | null} */
export const pairsOf = (flat) => flat && Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

/**
 * Return the corners of the part of a rectangle that is nearer to site i than to any other; all in pixels.
 * @param {Pair[]} sites @param {number} i @param {number} width @param {number} height
 */
export function cellOf(sites, i, width, height) {
  /** @type {Pair[]} */
  let polygon = [[0, 0], [width, 0], [width, height], [0, height]];
  const [ax, ay] = sites[i];
  sites.forEach(([bx, by], j) => {
    if (j === i || (ax === bx && ay === by)) return;
    const [nx, ny] = [bx - ax, by - ay];
    const level = (bx * bx + by * by - ax * ax - ay * ay) / 2;
    /** @type {Pair[]} */
    const kept = [];
    polygon.forEach((from, k) => {
      const to = polygon[(k + 1) % polygon.length];
      const [a, b] = [nx * from[0] + ny * from[1] - level, nx * to[0] + ny * to[1] - level];
      if (a <= 0) kept.push(from);
      if (a * b < 0) kept.push([mix(from[0], to[0], a / (a - b)), mix(from[1], to[1], a / (a - b))]);
    });
    polygon = kept;
  });
  return polygon;
}

/**
 * Return `to` in an order in which each place is near the one that it glides from; null where they are not as many.
 * @param {Pair[] | null} from @param {Pair[] | null} to
 */
export function matchPlaces(from, to) {
  if (!from || !to || from.length !== to.length) return null;
  const pairs = from.flatMap(([x, y], i) => to.map((place, j) => [(place[0] - x) ** 2 + (place[1] - y) ** 2, i, j]));
  pairs.sort((a, b) => a[0] - b[0]);
  const order = new Array(from.length).fill(-1);
  const taken = new Set();
  for (const [, i, j] of pairs) {
    if (order[i] >= 0 || taken.has(j)) continue;
    order[i] = j;
    taken.add(j);
  }
  return order.map((j) => to[j]);
}

/** Return places on their way; those that come from nowhere are there. @param {Pair[] | null} from @param {Pair[]} to @param {number} t @returns {Pair[]} */
export const between = (from, to, t) => to.map(([x, y], i) => (from ? [mix(from[i][0], x, t), mix(from[i][1], y, t)] : [x, y]));
