// @ts-nocheck
// The files of a published page: scripts that hand over packed bytes, and what these hold.

import { make } from "./elements.js";
import { bytesOf } from "./dense.js";

export const LATE = "late"; // the file of what the first picture did without
const KEPT = new Map(); // name -> text of a file that came with the page itself, and its bytes where it is dense
const ASKED = new Map(); // address of a script that was asked for -> {promise, take}: of what it hands over
const decoder = new TextDecoder();
for (const { dataset, textContent } of document.querySelectorAll("script[data-state]")) KEPT.set(dataset.state, [textContent]);

/** What a script at an address hands over when it has run. */
export function handed(path, base) {
  const { href } = new URL(path, base);
  if (ASKED.has(href)) return ASKED.get(href).promise;
  const asked = {};
  ASKED.set(href, asked);
  const script = make("script", "", "", { src: href });
  asked.promise = new Promise((resolve, reject) => {
    asked.take = resolve;
    script.addEventListener("error", () => reject(new Error(`${href} could not be loaded`)));
    document.head.append(script);
  }).finally(() => {
    ASKED.delete(href);
    script.remove();
  });
  return asked.promise;
}

/** Who takes what the script hands over that is running; undefined for one that stands in the page. */
export const taker = () => ASKED.get(document.currentScript?.src)?.take;

/** Rows of bytes, of which all but the first say what changes from the one before, as they are; `width` is a row's. */
function fromRows(bytes, width) {
  if (width) for (let i = width; i < bytes.length; i += 1) bytes[i] ^= bytes[i - width];
  return bytes;
}

/** Coordinates from codes of two bytes, as the bytes of so many float32: of each column the low bytes, then the high ones;
 *  `low` and `step` are each column's, 0 is nowhere. Of sorted points the first column says what changes from each to the next. */
function fromCodes(held, size, low, step, sorted) {
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

/** Files of states, each asked for once; a blob is kept for all states that name it. */
export class Files {
  constructor(base) {
    this.base = base;
    this.blobs = new Map();
    this.absent = new Map(); // key -> size of an array that comes later
    this.states = new Map(); // name -> promise of its directory
    this.ready = new Map(); // name -> its directory
  }

  load(name) {
    if (!this.states.has(name)) this.states.set(name, this.fetch(name));
    return this.states.get(name);
  }

  async fetch(name) {
    const [text, size] = KEPT.get(name) ?? await handed(`data/${name}.js`, this.base).catch((error) => {
      this.states.delete(name); // so that it can be asked for again
      throw error;
    });
    const packed = size ? bytesOf(text, size) : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const { state, blobs, coarse = {}, absent = {} } = JSON.parse(decoder.decode(bytes.subarray(4, 4 + length)));
    for (const [key, size] of Object.entries(absent)) this.absent.set(key, size);
    let at = 4 + length;
    for (const [key, size] of blobs) {
      const held = bytes.subarray(at, at + size);
      // What comes late is exact, and takes the place of what is not; it may be there first.
      if (name === LATE || !this.blobs.has(key)) this.blobs.set(key, coarse[key] ? fromCodes(held, ...coarse[key]) : fromRows(held, Number(key.split(".")[1])));
      at += size;
    }
    this.ready.set(name, state);
    return state;
  }

  text(key) {
    return decoder.decode(this.blobs.get(key));
  }

  /** An array; one that is not there yet has nothing in any of its places. */
  array(key) {
    return this.blobs.get(key) ?? new Uint8Array(this.absent.get(key)).fill(255);
  }

  /** A packed scene, as the app sends it. */
  scene({ header, arrays }) {
    const parts = [header, ...arrays].map((key) => this.array(key));
    const packed = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      packed.set(part, at);
      at += part.length;
    }
    return packed;
  }
}

window.dpvizData = (name, ...packed) => (taker() ? taker()(packed) : KEPT.set(name, packed));
