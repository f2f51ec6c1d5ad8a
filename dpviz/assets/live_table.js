// The live picture: tables, the same numbers for those who do not see the picture.

/** @import { Layer, Scene, Table } from "./types.d.ts" */

import { MAP } from "./live_axes.js";
import { axisTitle, markCount, NO_GROUP, reader, shownLayers, threeDigits, valueText } from "./live_base.js";
import { endsOf } from "./live_draw.js";
import { cellOf, groupName, markName, share } from "./live_hit.js";

const TABLE_ROWS = 200;

/** The visible layers' rows as tables. @param {Scene} scene @param {number} frame @param {Set<string>} hidden */
export function tablesOf(scene, frame, hidden) {
  return shownLayers(scene, { frame, hidden }).filter(({ kind, name }) => kind !== "ensemble" && name !== MAP)
    .map((layer) => tableOf(scene, layer, layer.rows[frame]));
}

/** The title of a radius, and what writes one: in the axes' unit where both have the same. @param {Scene} scene */
function radiusColumn({ x, y }) {
  const [across, up] = [x, y].map(({ values }) => Math.abs(values[1] - values[0]));
  const sameUnit = across === up && !x.log && !y.log;
  const title = sameUnit ? axisTitle({ label: "radius", unit: x.unit }) : "radius (share of the box)";
  return { title, write: (/** @type {number} */ radius) => threeDigits(sameUnit ? radius * across : radius) };
}

/** @param {Scene} scene @param {Layer} layer @param {number} row @returns {Table} */
function tableOf(scene, layer, row) {
  const { arrays, kind } = layer;
  const titles = [axisTitle(scene.x) || "x", axisTitle(scene.y) || "y"];
  const fromTo = ["mark", ...["from", "to"].flatMap((word) => titles.map((axis) => `${word} ${axis}`))];
  const count = markCount(layer);
  /** @param {number} x @param {...number} ys */
  const place = (x, ...ys) => [valueText(scene.x, x), ...ys.map((y) => valueText(scene.y, y))];
  const name = (/** @type {number} */ i) => markName(scene, layer, row, i) || String(i + 1);
  const at = (/** @type {string} */ key, step = row) => reader(arrays[key], step);
  /** @param {string[]} head @param {string[][]} rows */
  const table = (head, rows, total = rows.length) => ({ caption: layer.name, head, rows: rows.slice(0, TABLE_ROWS), total });
  /** @param {string[]} head @param {(i: number) => string[]} columns */
  const each = (head, columns) => table(head, Array.from({ length: Math.min(count, TABLE_ROWS) }, (_, i) => columns(i)), count);
  /** A row for each vertex: its x and what lies there. @param {string} key @param {string[]} head */
  const vertices = (key, head) => {
    const [, , p, width] = arrays[key].shape;
    const read = at(key);
    const rows = Array.from({ length: count * p }, (_, k) => [Math.floor(k / p), k % p]).flatMap(([i, v]) => {
      const [x, ...ys] = Array.from({ length: width }, (_, c) => read(i, width * v + c));
      return ys.concat(x).every(Number.isFinite) ? [[name(i), ...place(x, ...ys)]] : [];
    });
    return table(head, rows);
  };
  switch (kind) {
    case "points": {
      const [xy, group] = [at("xy"), at("group")];
      return each(["point", "group", ...titles], (i) =>
        [layer.names[i] ?? String(i + 1), groupName(scene, group(i)), ...place(xy(i, 0), xy(i, 1))]);
    }
    case "circles": case "heat": {
      const [center, radius, column] = [at("center"), at("radius"), radiusColumn(scene)];
      return each(["mark", ...titles.map((axis) => `center: ${axis}`), column.title], (i) =>
        [name(i), ...place(center(i, 0), center(i, 1)), column.write(radius(i))]);
    }
    case "arrows": case "segments": case "bars": {
      const [from, to] = endsOf(layer, at);
      return each(fromTo, (i) => [name(i), ...place(from(i, 0), from(i, 1)), ...place(to(i, 0), to(i, 1))]);
    }
    case "trails": {
      const rows = Array.from({ length: row + 1 }, (_, step) => step).flatMap((step) => {
        const xy = at("xy", step);
        return Array.from({ length: count }, (_, i) => [String(step + 1), name(i), ...place(xy(i, 0), xy(i, 1))]);
      });
      return table(["step", "mark", ...titles], rows);
    }
    case "lines": return vertices("xy", ["curve", ...titles]);
    case "bands": return vertices("edges", ["band", titles[0], `low: ${titles[1]}`, `high: ${titles[1]}`]);
    case "grid": {
      const cells = fullestCells(layer, row);
      const rows = cells.slice(0, TABLE_ROWS).map(({ i, at: number }) => {
        const { x0, y0, x1, y1, value, group } = cellOf(layer, row, i, number);
        return [group === null ? name(i) : groupName(scene, group), ...place(x0, y0), ...place(x1, y1), share(value)];
      });
      return { ...table([...fromTo, "filled (%)"], rows, cells.length), which: "fullest" };
    }
    case "cursor": return table([titles[0]], [place(arrays.x.data[row])]);
    default: {
      const xy = at("xy");
      const drawn = Array.from({ length: count }, (_, i) => i).filter((i) => Number.isFinite(xy(i, 0) + xy(i, 1)));
      const rows = drawn.slice(0, TABLE_ROWS).map((i) => [name(i), ...place(xy(i, 0), xy(i, 1))]);
      return table(["mark", ...titles], rows, drawn.length);
    }
  }
}

/** The cells of a grid layer that are not empty, the fullest first. @param {Layer} layer @param {number} row */
function fullestCells(layer, row) {
  const value = reader(layer.arrays.value, row);
  const group = layer.arrays.group ? reader(layer.arrays.group, row) : () => 0;
  const [, m, rows, columns] = layer.arrays.value.shape;
  const cells = [];
  for (let i = 0; i < m; i += 1) {
    for (let at = 0; at < rows * columns; at += 1) {
      if (value(i, at) > 0 && group(i, at) !== NO_GROUP) cells.push({ i, at, value: value(i, at) });
    }
  }
  return cells.sort((a, b) => b.value - a.value);
}
