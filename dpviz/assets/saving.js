// @ts-nocheck
// Files that the browser makes and saves.

const SCALE = 2; // pixels of a PNG for each of the SVG's

/** What the server sends as one piece: options, and the bytes of files. */
export function split(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  return { options: JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))), body: bytes.slice(4 + length) };
}

/** Let the browser save a file. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The pixels of an SVG file. */
export async function rasterized(body) {
  const address = URL.createObjectURL(new Blob([body], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth * SCALE, image.naturalHeight * SCALE];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((made, failed) => {
      canvas.toBlob((blob) => (blob ? made(blob) : failed(new Error("the image is too large"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}
