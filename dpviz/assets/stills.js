// @ts-nocheck
// One ZIP of many drawings, each as SVG and, drawn from it here, as PNG.

import { rasterized, save, split } from "./saving.js";

const instances = new WeakMap(); // parentElement -> Stills
const DATE = 0x21; // 1 January 1980, the first day that a ZIP can name: the same drawings, the same file

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest >>> 0;
});

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Little-endian numbers, as [bytes of each, value] pairs. */
function numbers(...pairs) {
  const made = new Uint8Array(pairs.reduce((length, [size]) => length + size, 0));
  let at = 0;
  for (const [size, value] of pairs) {
    for (let byte = 0; byte < size; byte += 1) made[at + byte] = (value >>> (8 * byte)) & 255;
    at += size;
  }
  return made;
}

/** A ZIP of files that are stored as they are (APPNOTE 4.3): [name of ASCII letters, bytes] pairs. */
export function zip(files) {
  const bodies = [];
  const entries = [];
  let offset = 0;
  let listed = 0;
  for (const [title, bytes] of files) {
    const name = new TextEncoder().encode(title);
    const both = [[2, 20], [2, 0], [2, 0], [2, 0], [2, DATE], [4, crc32(bytes)], [4, bytes.length], [4, bytes.length]];
    const head = numbers([4, 0x04034b50], ...both, [2, name.length], [2, 0]);
    const more = [[2, name.length], [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]];
    const entry = numbers([4, 0x02014b50], [2, 20], ...both, ...more);
    bodies.push(head, name, bytes);
    entries.push(entry, name);
    offset += head.length + name.length + bytes.length;
    listed += entry.length + name.length;
  }
  const end = [[2, 0], [2, 0], [2, files.length], [2, files.length], [4, listed], [4, offset], [2, 0]];
  return new Blob([...bodies, ...entries, numbers([4, 0x06054b50], ...end)], { type: "application/zip" });
}

class Stills {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "dpviz-stills";
    this.button = document.createElement("button");
    this.button.type = "button";
    this.said = document.createElement("p");
    this.said.setAttribute("role", "status");
    this.button.addEventListener("click", () => this.pack());
    this.root.append(this.button, this.said);
    parent.append(this.root);
  }

  update(data) {
    const { options, body } = split(data);
    this.button.textContent = options.words;
    this.name = options.name;
    let at = 0;
    this.drawings = options.files.map(([name, length]) => {
      at += length;
      return [name, body.slice(at - length, at)];
    });
  }

  async pack() {
    this.button.disabled = true;
    this.said.textContent = "The pictures are being drawn.";
    try {
      const files = [];
      for (const [name, drawing] of this.drawings) {
        const image = await rasterized(drawing);
        files.push([`${name}.svg`, drawing], [`${name}.png`, new Uint8Array(await image.arrayBuffer())]);
      }
      save(zip(files), this.name);
      this.said.textContent = `${this.name} is saved.`;
    } catch (error) {
      this.said.textContent = `The file could not be made (${error.message}). Save single pictures with Export.`;
    }
    this.button.disabled = false;
  }
}

export default function ({ data, parentElement }) {
  if (!data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Stills(parentElement));
  const stills = instances.get(parentElement);
  stills.update(data);
  return () => {
    if (parentElement.isConnected) return;
    stills.root.remove();
    instances.delete(parentElement);
  };
}
