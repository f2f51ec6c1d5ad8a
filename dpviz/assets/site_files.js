// The files of a published page: scripts that hand over packed bytes, and what these hold.

import { make } from "./elements.js";
import { bytesOf } from "./dense.js";

export const LATE = "late"; // the file of what the first picture did without
const KEPT = new Map(); // name -> text of a file that came with the page itself, and its bytes where it is dense
const ASKED = new Map(); // address of a script that was asked for -> {promise, take}: of what it hands over
const decoder = new TextDecoder();

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

/** Wait for a script that the page itself is loading; those that are none of its own, or have run, are not waited for. */
function comingWithPage(href) {
  const script = [...document.scripts].find(({ src, defer }) => defer && src === href);
  if (!script || document.readyState === "complete") return null;
  return new Promise((done) => {
    for (const type of ["load", "error"]) script.addEventListener(type, done);
    window.addEventListener("load", done); // where it has run before
  });
}

/** Who takes what the script hands over that is running; undefined for one that stands in the page. */
export const taker = () => ASKED.get(document.currentScript?.src)?.take;

/** Rows of bytes, of which all but the first say what changes from the one before, as they are; `width` is a row's. */
function fromRows(bytes, width) {
  if (width) for (let i = width; i < bytes.length; i += 1) bytes[i] ^= bytes[i - width];
  return bytes;
}

/** Coordinates from codes of 12 bits, as the bytes of so many float32: `low` and `step` are each column's, 0 is nowhere. */
function fromCodes(held, size, low, step, ordered) {
  const values = new Float32Array(size / 4).fill(NaN); // padding, too
  const codes = ordered ? alongCurve(held) : inThrees(held);
  for (let i = 0; i < codes.length; i += 1) {
    const c = i % low.length;
    if (codes[i]) values[i] = low[c] + (codes[i] - 1) * step[c];
  }
  return new Uint8Array(values.buffer);
}

/** Two numbers of 12 bits in each three bytes. */
function inThrees(held) {
  return Uint16Array.from({ length: Math.floor(held.length / 1.5) }, (_, i) => {
    const at = (3 * i) >> 1;
    return i % 2 ? ((held[at] & 15) << 8) | held[at + 1] : (held[at] << 4) | (held[at + 1] >> 4);
  });
}

/** Places x, y, ... that are told by the way from each to the next on Morton's curve: low bytes, middle ones, high ones. */
function alongCurve(held) {
  const n = held.length / 3;
  const codes = new Uint16Array(2 * n);
  for (let i = 0, at = 0; i < n; i += 1) {
    at += held[i] | (held[n + i] << 8) | (held[2 * n + i] << 16);
    codes[2 * i] = everyOther(at);
    codes[2 * i + 1] = everyOther(at >> 1);
  }
  return codes;
}

/** Every other one of 24 bits. */
function everyOther(bits) {
  let held = bits & 0x555555;
  held = (held | (held >> 1)) & 0x333333;
  held = (held | (held >> 2)) & 0x0f0f0f;
  held = (held | (held >> 4)) & 0xff00ff;
  return (held | (held >> 8)) & 0xfff;
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
    const path = `data/${name}.js`;
    if (!KEPT.has(name)) await comingWithPage(new URL(path, this.base).href);
    const [text, size] = KEPT.get(name) ?? await handed(path, this.base).catch((error) => {
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
