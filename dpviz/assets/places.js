// Places of centers: their cells and borders, and their partners.

import { mix } from "./kit.js";

/** @import { Pair, Point } from "./types.d.ts" */

/** Return pairs of numbers that follow each other. @param {number[] | null} flat @returns {Pair[] | null} */
export const pairsOf = (flat) => flat && Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

/** The cell of place i among `sites`: corners [x, y, the site beyond the edge from here on, -1 for a wall].
 *  @param {readonly Point[]} sites @param {number} i @param {readonly Pair[]} walls */
export function siteCell(sites, i, [[x0, x1], [y0, y1]]) {
  let cell = [[x0, y0, -1], [x1, y0, -1], [x1, y1, -1], [x0, y1, -1]];
  const [ax, ay] = sites[i];
  for (let j = 0; j < sites.length; j += 1) {
    const [dx, dy] = [sites[j][0] - ax, sites[j][1] - ay];
    const half = (dx * (sites[j][0] + ax) + dy * (sites[j][1] + ay)) / 2;
    const over = cell.map(([x, y]) => dx * x + dy * y - half); // positive: nearer to j
    if (!over.some((each) => each > 0)) continue;
    const kept = [];
    for (let v = 0; v < cell.length; v += 1) {
      const w = (v + 1) % cell.length;
      const [x, y, beyond] = cell[v];
      if (over[v] <= 0) kept.push([x, y, over[v] === 0 && over[w] > 0 ? j : beyond]);
      if (over[v] * over[w] >= 0) continue;
      const t = over[v] / (over[v] - over[w]);
      kept.push([mix(x, cell[w][0], t), mix(y, cell[w][1], t), over[v] < 0 ? j : beyond]);
    }
    cell = kept;
  }
  return cell;
}

/** Visit each border between the nearest of k centers in the unit square; of centers on the same spot, one counts.
 *  @param {(i: number, c: number) => number} at @param {number} k
 *  @param {(x0: number, y0: number, x1: number, y1: number) => void} visit */
export function eachBorder(at, k, visit) {
  const sites = /** @type {Pair[]} */ ([]);
  for (let i = 0; i < k; i += 1) {
    const [x, y] = [at(i, 0), at(i, 1)];
    if (Number.isFinite(x + y) && !sites.some((other) => other[0] === x && other[1] === y)) sites.push([x, y]);
  }
  sites.forEach((_, i) => siteCell(sites, i, [[0, 1], [0, 1]]).forEach(([x, y, beyond], v, cell) => {
    const [nextX, nextY] = cell[(v + 1) % cell.length];
    if (beyond > i) visit(x, y, nextX, nextY);
  }));
}

/** Pair `count` places with `others`, the nearest first and none twice: the partner of each, -1 for none.
 *  @param {number} count @param {number} others @param {(i: number, j: number) => number} apart @param {number} most Distance of a pair */
export function nearestPartners(count, others, apart, most = Infinity) {
  const pairs = [];
  for (let i = 0; i < count; i += 1) for (let j = 0; j < others; j += 1) if (apart(i, j) < most) pairs.push([apart(i, j), i, j]);
  const partners = new Int32Array(count).fill(-1);
  const taken = new Set();
  for (const [, i, j] of pairs.sort((a, b) => a[0] - b[0])) {
    if (partners[i] >= 0 || taken.has(j)) continue;
    partners[i] = j;
    taken.add(j);
  }
  return partners;
}
