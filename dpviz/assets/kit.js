// The drawing kit: numbers, easings, and helpers for SVG and canvas that all drawings share.

/** @import { Events, Parts, Point } from "./types.d.ts" */

// ---- Numbers ---------------------------------------------------------------------------------------------------

/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
/** @param {number} from @param {number} to @param {number} t */
export const mix = (from, to, t) => from + (to - from) * t;
/** A whole number with a comma between thousands. @param {number} count */
export const formatCount = (count) => count.toLocaleString("en");

/** The value of a key, which is made when it is asked for first.
 *  @template Key, Value
 *  @param {{ get(key: Key): Value | undefined, set(key: Key, value: Value): unknown }} map @param {Key} key @param {() => Value} create */
export function remember(map, key, create) {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = create());
  return value;
}

/** The place of the number that is nearest to a wanted one. @param {readonly number[]} numbers @param {number} wanted */
export function nearestIndex(numbers, wanted) {
  const far = numbers.map((each) => Math.abs(each - wanted));
  return far.indexOf(Math.min(...far));
}

/** The places of values on a logarithmic axis, as shares of it. @param {readonly number[]} values */
export function logPlaces(values) {
  const [first, last] = [Math.log(values[0]), Math.log(values[values.length - 1])];
  return values.map((value) => (last > first ? (Math.log(value) - first) / (last - first) : 0.5));
}

// ---- Motion ----------------------------------------------------------------------------------------------------

export const easeInOut = (/** @type {number} */ t) => (t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) * (1 - t));
/** Fast at first, so that it answers at once. @param {number} t */
export const easeOutCubic = (t) => 1 - (1 - t) ** 3;
/** Whether the reader wants no motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// ---- Time and events -------------------------------------------------------------------------------------------

/** What runs a function in the next frame, however often it is asked to until then. @param {(now: number) => void} run */
export function onNextFrame(run) {
  let request = 0;
  const ask = () => {
    request ||= requestAnimationFrame((now) => {
      request = 0;
      run(now);
    });
  };
  ask.cancel = () => cancelAnimationFrame(request);
  return ask;
}

/** A clock that runs one thing at a time. */
export class Timer {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #id;

  /** Run something later, instead of what was to run. @param {() => void} run @param {number} ms */
  start(run, ms) {
    this.stop();
    this.#id = setTimeout(run, ms);
  }

  stop() {
    clearTimeout(this.#id);
  }
}

/** Tell an event that bubbles and passes out of a shadow root. @param {EventTarget} root @param {string} name @param {unknown} detail */
export function tell(root, name, detail) {
  root.dispatchEvent(new CustomEvent(`dpviz:${name}`, { detail, bubbles: true, composed: true }));
}

/** What listens to events until a signal ends it. @param {AbortSignal} signal */
export const listenUntil = (signal) =>
  /** @template {keyof Events} Type
   *  @param {EventTarget} target @param {Type} type @param {(event: Events[Type]) => void} handler @param {AddEventListenerOptions} [options] */
  (target, type, handler, options) =>
    target.addEventListener(type, /** @type {EventListener} */ (handler), { signal, ...options });

// ---- SVG -------------------------------------------------------------------------------------------------------

/** An element of a drawing with attributes, and text or parts; text is only ever text.
 *  @template {keyof SVGElementTagNameMap} Tag
 *  @param {Tag} tag @param {Record<string, string | number>} [attributes] @param {Parts} [parts] */
export function makeShape(tag, attributes = {}, parts = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") element.style.cssText = String(value); // a published page's policy refuses the attribute
    else element.setAttribute(name, String(value));
  }
  if (parts) element.append(...[parts].flat());
  return element;
}

/** The path through some points, as an attribute. @param {readonly Point[]} points */
export const pathThrough = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// ---- Canvas ----------------------------------------------------------------------------------------------------

/** The middle of a pixel: a hairline there is sharp. @param {number} px */
export const crisp = (px) => Math.round(px) + 0.5;

/** Add a line to the path. @param {CanvasPath} path @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
export function line(path, x0, y0, x1, y1) {
  path.moveTo(x0, y0);
  path.lineTo(x1, y1);
}

/** Write a text in one line. @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} x @param {number} y @param {CanvasTextAlign} align @param {CanvasTextBaseline} baseline */
export function write(ctx, text, x, y, align = "left", baseline = "top") {
  [ctx.textAlign, ctx.textBaseline] = [align, baseline];
  ctx.fillText(text, x, y);
}

/** The context of a canvas that takes any drawing. @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** Give a canvas its size in the device's pixels, and return its context with a unit of one CSS pixel. An equal size
 *  keeps what is drawn.
 *  @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function fitCanvas(canvas, width, height, ratio) {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const ctx = contextOf(canvas);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

// ---- Colors ----------------------------------------------------------------------------------------------------

/** Red, green, blue of #rgb, #rrggbb or rgb(...), else null. @param {string} text */
export function parseColor(text) {
  const trimmed = text.trim();
  const hex = /^#([0-9a-f]{3,8})$/i.exec(trimmed)?.[1];
  if (hex) {
    const long = hex.length < 6 ? [...hex].map((digit) => digit + digit).join("") : hex;
    return [0, 2, 4].map((at) => parseInt(long.slice(at, at + 2), 16));
  }
  const numbers = /^rgba?\(([^)]+)\)/.exec(trimmed)?.[1].split(/[\s,/]+/).map(Number);
  return numbers && numbers.length >= 3 ? numbers.slice(0, 3) : null;
}

/** Whether a color is dark; what is no color counts as white. @param {string} text */
export function isDark(text) {
  const [red, green, blue] = parseColor(text) ?? [255, 255, 255];
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
