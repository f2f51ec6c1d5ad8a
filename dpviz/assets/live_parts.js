// The live picture: buttons, legend symbols and tables as elements.

/** @import { Layer, Table, Theme } from "./types.d.ts" */

import { clamp, makeShape } from "./kit.js";
import { clusterColor, colorOf, disc, groupSymbolOf, NO_GROUP, STROKED, symbolPath } from "./live_base.js";
import { isDashed, strokeWidth } from "./live_draw.js";
import { make } from "./elements.js";
import { makeButton } from "./stage_parts.js";

// ---- DOM -------------------------------------------------------------------------------------------------------

/** A drawing of paths. @param {number} size @param {Record<string, string | number>[]} paths @param {Record<string, string | number>} [attributes] */
const svg = (size, paths, attributes = {}) => makeShape("svg",
  { width: size, height: size, viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true", ...attributes },
  paths.map((path) => makeShape("path", path)));

const ICONS = {
  first: "M4 3h1.6v10H4zM13 3v10L6.4 8z",
  back: "M11.5 3v10L4.5 8z",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4.5 3v10l7-5z",
  last: "M10.4 3H12v10h-1.6zM3 3v10l6.6-5z",
  plus: "M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2z",
  minus: "M3 7.2h10v1.6H3z",
  box: "M2.5 2.5h3v1.4H3.9v1.6H2.5zM10.5 2.5h3v3h-1.4V3.9h-1.6zM2.5 10.5h1.4v1.6h1.6v1.4h-3zM12.1 10.5h1.4v3h-3v-1.4h1.6z"
    + "M7 3.2h2v1H7zM7 11.8h2v1H7zM3.2 7h1v2h-1zM11.8 7h1v2h-1z",
  lasso: "M8 2a6 4 0 1 0 .1 0ZM8 3.4a4.6 2.6 0 1 0 .1 0ZM4.4 9.4l1.3.5c-.5 1.3-.1 2.4 1.2 3.2l-.7 1.2C4.3 13.1 3.7 11.4 4.4 9.4Z",
  pen: "M11.2 2l2.8 2.8-8 8L2.5 13.5l.7-3.5zM4.3 10.7l-.3 1.3 1.3-.3z",
  spray: "M5 6h4v8H5zM6 3.5h2V5H6zM10 3h1.2v1.2H10zM12 1.8h1.2V3H12zM12 4.3h1.2v1.2H12zM14 3h1.2v1.2H14z",
  erase: "M9.5 2.5l4 4-6.5 6.5H4.8L2.5 10.7zM8.8 5.1L5 8.9l2.1 2.1 3.8-3.8z",
  undo: "M6.5 3v2.7H9.5a3.9 3.9 0 0 1 0 7.8H5v-1.5h4.5a2.4 2.4 0 0 0 0-4.8h-3V10L2.5 6.5z",
  reset: "M3 3h4v1.5H4.5V7H3zM9 3h4v4h-1.5V4.5H9zM3 9h1.5v2.5H7V13H3zM11.5 9H13v4H9v-1.5h2.5z",
};
export const icon = (/** @type {keyof typeof ICONS} */ name) => svg(16, [{ d: ICONS[name], fill: "currentColor", "fill-rule": "evenodd" }]);
export const lockIcon = () => svg(16, [{ d: symbolPath("lock", 5), transform: "translate(8 8)", fill: "currentColor" }],
  { class: "lock", width: 12, height: 12 });

/** @param {keyof typeof ICONS} name @param {string} label @param {() => void} onClick */
export function iconButton(name, label, onClick) {
  return makeButton(`icon ${name}`, [icon(name)], onClick, { "aria-label": label, title: label });
}

/** A layer's symbol for the legend. @param {Layer} layer @param {Theme} theme */
export function legendSymbol(layer, theme) {
  const color = colorOf(theme, layer, 0);
  /** @type {Record<string, string>} */
  const dashed = isDashed(layer) ? { "stroke-dasharray": "3 2.2" } : {};
  const stroke = { fill: "none", stroke: color, "stroke-width": 1.8, ...dashed };
  switch (layer.kind) {
    case "points": {
      const grouped = layer.role === "cluster" && layer.arrays.group.data.some((group) => group !== NO_GROUP);
      return svg(18, [[5, 5.5, 0], [13, 7, 1], [7.5, 13, 2]].map(([x, y, g]) => ({
        d: symbolPath(grouped ? groupSymbolOf(theme, g) : layer.symbol, 2.6), transform: `translate(${x} ${y})`,
        ...(layer.role === "exact" ? { fill: "none", stroke: color }
          : { fill: colorOf(theme, layer, grouped ? g : NO_GROUP) }) })));
    }
    case "marks": {
      const hollow = STROKED.has(layer.symbol) || (layer.role === "exact" && layer.symbol !== "lock");
      return svg(18, [{ d: symbolPath(layer.symbol, 5), transform: "translate(9 9)",
        ...(hollow ? { fill: "none", stroke: color, "stroke-width": 2 } : { fill: color }) }]);
    }
    case "circles": return svg(18, [{ ...stroke, d: disc(7), transform: "translate(9 9)", fill: color,
      "fill-opacity": layer.fill }]);
    case "heat": return svg(18, [8, 5.5, 3].map((r) => ({ d: disc(r), transform: "translate(9 9)", fill: color,
      "fill-opacity": 0.3 })));
    case "arrows": return svg(18, [{ ...stroke, d: "M2 15L12 6" }, { d: "M16 2L13.5 9L8.6 4.4Z", fill: color }]);
    case "bars": return svg(18, [{ ...stroke, d: "M3 16V8H8V16ZM10 16V3H15V16Z", fill: color,
      "fill-opacity": layer.fill, "stroke-width": 1.2 }]);
    case "light": return svg(18, [["unlit", 9], ["lit", 5]].map(([tone, r]) => ({
      d: disc(Number(r)), transform: "translate(9 9)", fill: String(theme[/** @type {"lit"} */ (tone)]) })));
    case "bands": return svg(18, [{ d: "M1 7Q6 2 17 3V12Q8 11 1 16Z", fill: color,
      "fill-opacity": Math.max(0.25, layer.fill) }]);
    case "grid": return svg(18, [[2, 2, 0.75], [9, 2, 0.3], [2, 9, 0.15], [9, 9, 0.5]].map(([x, y, opacity]) => ({
      d: `M${x} ${y}h6.5v6.5h-6.5z`, fill: color, "fill-opacity": opacity })));
    case "trails": return svg(18, [{ ...stroke, d: "M2 14L7 8L11 11L16 3", "stroke-opacity": 0.75 }]);
    case "ensemble": return svg(18, [[4, 6], [7, 11], [9, 4], [10, 9], [14, 12], [13, 6], [8, 14]].map(([x, y]) => ({
      d: disc(1.4), transform: `translate(${x} ${y})`, fill: color, "fill-opacity": 0.6 })));
    case "cursor": return svg(18, [{ ...stroke, d: "M9 1V17" }]);
    default: return svg(18, [{ ...stroke, d: "M1 9H17", "stroke-width": clamp(strokeWidth(layer), 1.5, 4),
      "stroke-opacity": layer.role === "reference" ? 0.8 : 1 }]);
  }
}

/** @param {number} group @param {Theme} theme @param {boolean} colored */
export const groupSymbol = (group, theme, colored) => svg(14, [{
  d: symbolPath(colored ? groupSymbolOf(theme, group) : "circle", 4), transform: "translate(7 7)",
  ...(colored && !STROKED.has(groupSymbolOf(theme, group))
    ? { fill: clusterColor(theme, group) }
    : { fill: "none", stroke: colored ? clusterColor(theme, group) : theme.text, "stroke-width": 2 }),
}]);

/** @param {Table} table */
export function tableElement({ caption, head, rows, total, which = "first" }) {
  const said = total <= rows.length ? caption : `${caption} (${which} ${rows.length} of ${total} rows)`;
  const table = make("table", "", [
    make("caption", "", said),
    make("thead", "", [make("tr", "", head.map((title) => make("th", "", title, { scope: "col" })))]),
    make("tbody", "", rows.map((row) => make("tr", "", row.map((cell) => make("td", "", cell)))))]);
  return make("div", "scroll", [table], { tabindex: "0", role: "region", "aria-label": said });
}
