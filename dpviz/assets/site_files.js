// The files of a published page: scripts that hand over packed bytes, and what these hold.

import { bytesOf } from "./dense.js";
import { make } from "./elements.js";
import { readHeader } from "./live_base.js";

/** @import { Codes, Packed, PackedText, PageState, ScenePart } from "./stages.d.ts" */

export const LATE = "late"; // the file of what the first picture did without
/** @type {Map<string, PackedText>} */
const KEPT = new Map(); // files that came with the page itself, by name
/** @type {Map<string, Promise<any>>} Any, as each script hands over something else */
const ASKED = new Map(); // scripts that were asked for, by address
/** @type {Map<string, (handed: unknown) => void>} */
const TAKERS = new Map(); // of what they hand over
const decoder = new TextDecoder();
for (const script of document.querySelectorAll("script[data-state]")) KEPT.set(script.getAttribute("data-state") ?? "", [script.textContent]);

/** What a script at an address hands over when it has run. @param {string} path @param {URL} base */
export function takeFrom(path, base) {
  const { href } = new URL(path, base);
  const known = ASKED.get(href);
  if (known) return known;
  const script = make("script", "", "", { src: href });
  const asked = new Promise((take, reject) => {
    TAKERS.set(href, take);
    script.addEventListener("error", () => reject(new Error(`${href} could not be loaded`)));
    document.head.append(script);
  }).finally(() => {
    ASKED.delete(href);
    TAKERS.delete(href);
    script.remove();
  });
  ASKED.set(href, asked);
  return asked;
}

/** Who takes what the script hands over that is running; undefined for one that stands in the page. */
export const taker = () => {
  const script = document.currentScript;
  return script instanceof HTMLScriptElement ? TAKERS.get(script.src) : undefined;
};

/** Rows of bytes, of which all but the first say what changes from the one before, as they are; `width` is a row's. @param {Packed} bytes @param {number} width */
export function fromRows(bytes, width) {
  if (width) for (let i = width; i < bytes.length; i += 1) bytes[i] ^= bytes[i - width];
  return bytes;
}

/**
 * Coordinates from codes of two bytes, as the bytes of so many float32: of each column the low bytes, then the high ones;
 * `low` and `step` are each column's, 0 is nowhere. Of sorted points the first column says what changes from each to the next.
 * @param {Packed} held @param {Codes} codes
 */
export function fromCodes(held, [size, low, step, sorted]) {
  const values = new Float32Array(size / 4).fill(NaN); // padding, too
  const n = held.length / (2 * low.length);
  for (let c = 0; c < low.length; c += 1) {
    const column = held.subarray(2 * n * c);
    for (let i = 0, code = 0; i < n; i += 1) {
      code = (sorted && !c ? code : 0) + column[i] + 256 * column[n + i];
      if (code) values[low.length * i + c] = low[c] + (code - 1) * step[c];
    }
  }
  return new Uint8Array(values.buffer);
}

/** Join arrays of bytes. @param {Packed[]} parts */
export function concatenate(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Files of states, each asked for once; a blob is kept for all states that name it. */
export class Files {
  constructor(/** @type {URL} */ base) {
    this.base = base;
    /** @type {Map<string, Packed>} */ this.blobs = new Map();
    /** @type {Map<string, number>} */ this.absent = new Map(); // sizes of arrays that come later, by key
    /** @type {Map<string, Promise<PageState>>} */ this.states = new Map(); // directories that were asked for, by name
    /** @type {Map<string, PageState>} */ this.ready = new Map(); // directories that are there
  }

  load(/** @type {string} */ name) {
    const state = this.states.get(name) ?? this.fetch(name);
    this.states.set(name, state);
    return state;
  }

  /** @param {string} name @returns {Promise<PageState>} */
  async fetch(name) {
    /** @type {PackedText} */
    const [text, length] = KEPT.get(name) ?? await takeFrom(`data/${name}.js`, this.base).catch((error) => {
      this.states.delete(name); // so that it can be asked for again
      throw error;
    });
    const packed = length ? bytesOf(text, length) : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const { header, body } = readHeader(bytes);
    /** @type {{ state: PageState, blobs: [string, number][], coarse?: Record<string, Codes>, absent?: Record<string, number> }} */
    const { state, blobs, coarse = {}, absent = {} } = header;
    let at = 0;
    for (const [key, size] of Object.entries(absent)) this.absent.set(key, size);
    for (const [key, size] of blobs) {
      const held = body.subarray(at, at + size);
      // What comes late is exact, and takes the place of what is not; it may be there first.
      if (name === LATE || !this.blobs.has(key)) this.blobs.set(key, coarse[key] ? fromCodes(held, coarse[key]) : fromRows(held, Number(key.split(".")[1])));
      at += size;
    }
    this.ready.set(name, state);
    return state;
  }

  text(/** @type {string} */ key) {
    return decoder.decode(this.blobs.get(key));
  }

  /** A packed scene, as the app sends it; an array that is not there yet has nothing in any of its places. @param {ScenePart} part */
  scene({ header, arrays }) {
    return concatenate([header, ...arrays].map((key) => this.blobs.get(key) ?? new Uint8Array(this.absent.get(key) ?? 0).fill(255)));
  }
}

window.dpvizData = (name, ...packed) => {
  const take = taker();
  if (take) take(packed);
  else KEPT.set(name, /** @type {PackedText} */ (packed));
};
