// Files that the browser makes and saves.

import { contextOf } from "./kit.js";
import { make } from "./elements.js";

const SCALE = 2; // pixels of a PNG for each of the SVG's
const HELD_MS = 10000; // until an address is given back, by when the browser has its file

/** Let the browser save a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = make("a", "", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), HELD_MS);
}

/** Return the pixels of an SVG file as a PNG. @param {Uint8Array<ArrayBuffer>} body @returns {Promise<Blob>} */
export async function rasterize(body) {
  const address = URL.createObjectURL(new Blob([body], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = make("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth * SCALE, image.naturalHeight * SCALE];
    contextOf(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((made, failed) => {
      canvas.toBlob((blob) => (blob ? made(blob) : failed(new Error("the image is too large"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Return the words of an error. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
