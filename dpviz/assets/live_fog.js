// The live picture: uncertainty, as a cloud of dots, as fog, and in the colours of records that may belong elsewhere.

import {
  clamp, clusterColour, colourOf, GROUP_SYMBOLS, groupSymbolOf, mix, NO_GROUP, parseColour, reader,
} from "./live_base.js";
import { placed } from "./live_glide.js";

export const DRAIN_SHADES = 4; // from a record's full colour, 0, to grey; as in dpviz/plots/scene.py
const DOT_ALPHA = 0.3;
const LINES = { least: 0.005, most: 0.03, share: 0.8, across: 2.5 }; // widths of fog's lines: box widths, and of a spread
const FINE = { least: 110, most: 330, width: 3 }; // pixels of a fog that is scaled up, and of one of its lines
const THIN = 0.55; // of a haze's opacity, where it fills the box

/** Whether the reader asks for less: then there is nothing of all this. */
const spares = () => matchMedia("(prefers-reduced-data: reduce)").matches || navigator.connection?.saveData === true;

/** (draw, c) -> component c of what a layer has of each draw, on its way from the scene before. */
function drawsOf(layer, name, look) {
  const array = layer.arrays[name];
  const [, draws, count, size] = array.shape;
  return { draws, count, read: placed(reader(array, look.row), look.starts?.[name], count * size, look.glided) };
}

/** How far apart the draws of one place are, scene units: the median distance from the middle, averaged over places. */
export function spreadOf(layer, row) {
  const { ends, xy } = layer.arrays;
  const [array, size] = ends ? [ends, 4] : [xy, 2];
  const [, draws, count] = array.shape;
  const read = reader(array, row);
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  let [sum, known] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    const places = [];
    for (let draw = 0; draw < draws; draw += 1) {
      const [x, y] = [0, 1].map((c) => (size === 2 ? read(draw, 2 * i + c) : (read(draw, 4 * i + c) + read(draw, 4 * i + c + 2)) / 2));
      if (Number.isFinite(x + y)) places.push([x, y]);
    }
    if (!places.length) continue;
    const [x, y] = [0, 1].map((c) => median(places.map((place) => place[c])));
    sum += median(places.map((place) => Math.hypot(place[0] - x, place[1] - y)));
    known += 1;
  }
  return known ? sum / known : 0;
}

export function drawEnsemble(ctx, layer, look) {
  if (spares()) return;
  if (layer.fill > 0) drawFog(ctx, layer, look);
  else drawCloud(ctx, layer, look);
}

function drawCloud(ctx, layer, look) {
  const { draws, count, read } = drawsOf(layer, "xy", look);
  const radius = (layer.size / 2) * (look.scale.grow ?? 1);
  ctx.fillStyle = colourOf(look.theme, layer, 0);
  ctx.globalAlpha = DOT_ALPHA * look.faint;
  for (let draw = 0; draw < draws; draw += 1) {
    for (let i = 0; i < count; i += 1) {
      const [x, y] = [look.scale.x(read(draw, 2 * i)), look.scale.y(read(draw, 2 * i + 1))];
      if (!Number.isFinite(x + y)) continue;
      ctx.beginPath();
      ctx.arc(x, y, radius, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
}

/** Fog is drawn small, once for a scene, and scaled up: so many lines become one haze. */
function drawFog(ctx, layer, look) {
  const colour = colourOf(look.theme, layer, 0);
  const still = !look.starts;
  const key = `${colour}|${look.row}`;
  look.cache.mists ??= new Map();
  if (!look.cache.mists.has(layer.name)) look.cache.mists.set(layer.name, { canvas: document.createElement("canvas") });
  const mist = look.cache.mists.get(layer.name);
  if (!still || mist.layer !== layer || mist.key !== key) {
    paintFog(mist.canvas, layer, look, colour);
    [mist.layer, mist.key] = [still ? layer : null, key];
  }
  const { x, y, kx, ky } = look.scale;
  ctx.globalAlpha = look.faint;
  ctx.imageSmoothingEnabled = true;
  ctx.imageSmoothingQuality = "medium";
  ctx.drawImage(mist.canvas, x(0), y(1), kx, ky);
}

/** How wide and how opaque the lines of a haze are, box widths: the farther apart they run, the wider and the fainter. */
export function hazeOf(spread, draws, opacity) {
  const width = clamp(LINES.share * spread, LINES.least, LINES.most);
  const over = Math.max(1, (draws * width) / (width + LINES.across * spread)); // lines that lie over each other
  const most = opacity * mix(1, THIN, clamp(spread / 0.1, 0, 1));
  return { width, alpha: 1 - (1 - most) ** (1 / over) };
}

function paintFog(canvas, layer, look, colour) {
  const { ends } = layer.arrays;
  const { draws, count, read } = drawsOf(layer, ends ? "ends" : "xy", look);
  const { width, alpha } = hazeOf(spreadOf(layer, look.row), draws, layer.fill);
  const side = Math.round(clamp(FINE.width / width, FINE.least, FINE.most));
  if (canvas.width !== side) canvas.width = canvas.height = side;
  const ctx = canvas.getContext("2d");
  ctx.clearRect(0, 0, side, side);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width * side;
  ctx.lineCap = ends ? "butt" : "round";
  ctx.globalAlpha = alpha;
  const line = (x0, y0, x1, y1) => {
    ctx.moveTo(x0 * side, (1 - y0) * side);
    ctx.lineTo(x1 * side, (1 - y1) * side);
  };
  for (let draw = 0; draw < draws; draw += 1) {
    ctx.beginPath(); // one for each draw: what lies over each other is opaquer
    if (ends) for (let i = 0; i < count; i += 1) line(...[0, 1, 2, 3].map((c) => read(draw, 4 * i + c)));
    else eachBorder((i, c) => read(draw, 2 * i + c), count, line);
    ctx.stroke();
  }
}

/** Call visit(x0, y0, x1, y1) for each border between the nearest of k centers in the unit square. */
export function eachBorder(at, k, visit) {
  const centers = [];
  for (let i = 0; i < k; i += 1) {
    const [x, y] = [at(i, 0), at(i, 1)];
    if (Number.isFinite(x + y) && !centers.some((other) => other[0] === x && other[1] === y)) centers.push([x, y]);
  }
  for (let i = 0; i < centers.length; i += 1) {
    for (let j = i + 1; j < centers.length; j += 1) {
      const [[ax, ay], [bx, by]] = [centers[i], centers[j]];
      const [x, y, dx, dy] = [(ax + bx) / 2, (ay + by) / 2, ay - by, bx - ax]; // places x + s dx, y + s dy
      let [low, high] = [-Infinity, Infinity];
      const cut = (rate, room) => { // s rate <= room
        if (rate > 0) high = Math.min(high, room / rate);
        else if (rate < 0) low = Math.max(low, room / rate);
        else if (room < 0) high = -Infinity;
      };
      cut(dx, 1 - x);
      cut(-dx, x);
      cut(dy, 1 - y);
      cut(-dy, y);
      for (let other = 0; other < centers.length && low < high; other += 1) {
        if (other === i || other === j) continue;
        const [cx, cy] = centers[other];
        const [ex, ey] = [2 * (cx - ax), 2 * (cy - ay)];
        cut(ex * dx + ey * dy, cx * cx + cy * cy - ax * ax - ay * ay - ex * x - ey * y);
      }
      if (low < high) visit(x + low * dx, y + low * dy, x + high * dx, y + high * dy);
    }
  }
}

// ---- Records ---------------------------------------------------------------------------------------------------

/**
 * A layer and how it looks; of records that an ensemble drains, each cluster's colour in shades, as groups of their own:
 * so images, symbols and the order of points stay those of groups.
 */
export function drained(scene, layer, look) {
  if (layer.kind !== "points") return [layer, look];
  const ensemble = scene.layers.find(({ kind, name, rows, arrays }) => kind === "ensemble" && arrays.drain
    && rows[look.frame] >= 0 && !look.hidden.has(name) && arrays.drain.shape[1] === layer.arrays.xy.shape[1]);
  if (!ensemble || spares()) return [layer, look];
  look.cache.drained ??= new WeakMap();
  let made = look.cache.drained.get(layer);
  if (made?.ensemble !== ensemble || made.row !== look.row) {
    made = { ensemble, row: look.row, ...shadedGroups(layer, ensemble.arrays.drain.data, look.row) };
    look.cache.drained.set(layer, made);
  }
  if (!made.levels) return [layer, look];
  const { stride, levels } = made;
  const alpha = (group) => look.alpha(group === NO_GROUP ? group : group % stride);
  return [made.layer, { ...look, alpha, theme: shadedTheme(look, layer.hue ?? 0, stride, levels) }];
}

/** The layer with groups that are a cluster and a shade; `levels` 0 where there are too many clusters for that. */
function shadedGroups(layer, drain, row) {
  const array = layer.arrays.group;
  const n = drain.length;
  const start = array.shape[0] === 1 ? 0 : row * n;
  const group = array.data.subarray(start, start + n);
  const stride = 1 + group.reduce((largest, own) => (own === NO_GROUP ? largest : Math.max(largest, own)), 0);
  const levels = Math.min(DRAIN_SHADES, Math.floor(NO_GROUP / stride) - 1);
  if (levels < 1) return { levels: 0 };
  const data = group.map((own, i) => (own === NO_GROUP ? own : own + stride * Math.round((drain[i] / DRAIN_SHADES) * levels)));
  return { stride, levels, layer: { ...layer, hue: 0, arrays: { ...layer.arrays, group: { data, shape: [1, n] } } } };
}

/** A theme whose slots are those of the shades: of each its own colour, and its cluster's symbol. */
function shadedTheme({ theme, cache }, hue, stride, levels) {
  const key = [theme.name, theme.slots, hue, stride, levels].join();
  if (cache.shades?.key === key) return cache.shades.theme;
  const grey = parseColour(theme.drained);
  const [clusters, slots] = [[], []];
  for (let level = 0; level <= levels; level += 1) {
    for (let own = 0; own < stride; own += 1) {
      const symbols = GROUP_SYMBOLS.length;
      const slot = symbols * slots.length + GROUP_SYMBOLS.indexOf(groupSymbolOf(theme, own));
      const colour = parseColour(clusterColour(theme, own + hue));
      const mixed = colour.map((from, c) => Math.round(mix(from, grey[c], level / levels)).toString(16).padStart(2, "0"));
      clusters[slot] = `#${mixed.join("")}`;
      slots.push(slot);
    }
  }
  clusters.length = GROUP_SYMBOLS.length * slots.length;
  cache.shades = { key, theme: { ...theme, clusters, slots } };
  return cache.shades.theme;
}
