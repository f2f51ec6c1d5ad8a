// @ts-nocheck
// The live picture: tables, the same numbers for those who do not see the picture.

import { MAP } from "./live_axes.js";
import { axisTitle, markCount, NO_GROUP, reader, threeDigits, valueText } from "./live_base.js";
import { cellOf, groupName, markName, share } from "./live_hit.js";

const TABLE_ROWS = 200;

// ---- Tables: the same numbers for those who do not see the picture ---------------------------------------------

/** The visible layers' rows as {caption, head, rows, total}. */
export function tablesOf(scene, frame, hidden) {
  return scene.layers
    .filter((layer) => layer.kind !== "ensemble" && layer.name !== MAP && layer.rows[frame] >= 0 && !hidden.has(layer.name))
    .map((layer) => tableOf(scene, layer, layer.rows[frame]));
}

/** The titles of what goes from one place to another. */
const fromTo = (x, y) => ["mark", ...["from", "to"].flatMap((word) => [x, y].map((axis) => `${word} ${axis}`))];

function tableOf(scene, layer, row) {
  const [xTitle, yTitle] = [axisTitle(scene.x) || "x", axisTitle(scene.y) || "y"];
  const X = (at) => valueText(scene.x, at);
  const Y = (at) => valueText(scene.y, at);
  const spans = [scene.x, scene.y].map((axis) => Math.abs(axis.values[1] - axis.values[0]));
  const sameUnit = spans[0] === spans[1] && !scene.x.log && !scene.y.log;
  const R = (radius) => threeDigits(sameUnit ? radius * spans[0] : radius);
  const radiusTitle = sameUnit ? axisTitle({ label: "radius", unit: scene.x.unit }) : "radius (share of the box)";
  const name = (i) => markName(scene, layer, row, i) || String(i + 1);
  const { arrays } = layer;
  const at = (key) => reader(arrays[key], row);
  const count = markCount(layer);
  const each = (make) => Array.from({ length: Math.min(count, TABLE_ROWS) }, (_, i) => make(i));
  const table = (head, rows, total = count) => ({ caption: layer.name, head, rows, total });
  switch (layer.kind) {
    case "points": {
      const [xy, group] = [at("xy"), at("group")];
      return table(["point", "group", xTitle, yTitle],
        each((i) => [layer.names[i] ?? String(i + 1), groupName(scene, group(i)), X(xy(i, 0)), Y(xy(i, 1))]));
    }
    case "circles": case "heat": {
      const [center, radius] = [at("center"), at("radius")];
      return table(["mark", `center: ${xTitle}`, `center: ${yTitle}`, radiusTitle],
        each((i) => [name(i), X(center(i, 0)), Y(center(i, 1)), R(radius(i))]));
    }
    case "arrows": {
      const [tail, head] = [at("tail"), at("head")];
      return table(fromTo(xTitle, yTitle),
        each((i) => [name(i), X(tail(i, 0)), Y(tail(i, 1)), X(head(i, 0)), Y(head(i, 1))]));
    }
    case "segments": case "bars": {
      const ends = at(layer.kind === "bars" ? "rect" : "ends");
      return table(fromTo(xTitle, yTitle),
        each((i) => [name(i), X(ends(i, 0)), Y(ends(i, 1)), X(ends(i, 2)), Y(ends(i, 3))]));
    }
    case "trails": {
      const rows = [];
      for (let step = 0; step <= row; step += 1) {
        const xy = reader(arrays.xy, step);
        for (let i = 0; i < count; i += 1) rows.push([String(step + 1), name(i), X(xy(i, 0)), Y(xy(i, 1))]);
      }
      return table(["step", "mark", xTitle, yTitle], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "lines": {
      const xy = at("xy");
      const rows = [];
      for (let i = 0; i < count; i += 1) {
        for (let v = 0; v < arrays.xy.shape[2]; v += 1) {
          const [x, y] = [xy(i, 2 * v), xy(i, 2 * v + 1)];
          if (Number.isFinite(x + y)) rows.push([name(i), X(x), Y(y)]);
        }
      }
      return table(["curve", xTitle, yTitle], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "bands": {
      const edges = at("edges");
      const rows = [];
      for (let i = 0; i < count; i += 1) {
        for (let v = 0; v < arrays.edges.shape[2]; v += 1) {
          const [x, low, high] = [0, 1, 2].map((c) => edges(i, 3 * v + c));
          if (Number.isFinite(x + low + high)) rows.push([name(i), X(x), Y(low), Y(high)]);
        }
      }
      return table(["band", xTitle, `low: ${yTitle}`, `high: ${yTitle}`], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "grid": {
      const cells = fullestCells(layer, row);
      const head = [...fromTo(xTitle, yTitle), "filled (%)"];
      const rows = cells.slice(0, TABLE_ROWS).map(({ i, at: place }) => {
        const { x0, y0, x1, y1, value, group } = cellOf(layer, row, i, place);
        return [group === null ? name(i) : groupName(scene, group), X(x0), Y(y0), X(x1), Y(y1), share(value)];
      });
      return { ...table(head, rows, cells.length), which: "fullest" };
    }
    case "cursor":
      return table([xTitle], [[X(arrays.x.data[row])]], 1);
    default: {
      const xy = at("xy");
      const drawn = Array.from({ length: count }, (_, i) => i).filter((i) => Number.isFinite(xy(i, 0) + xy(i, 1)));
      const rows = drawn.slice(0, TABLE_ROWS).map((i) => [name(i), X(xy(i, 0)), Y(xy(i, 1))]);
      return table(["mark", xTitle, yTitle], rows, drawn.length);
    }
  }
}

/** The cells of a grid layer that are not empty, the fullest first. */
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
