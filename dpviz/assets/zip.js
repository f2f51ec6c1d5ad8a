// ZIP files of other files, stored as they are (APPNOTE 4.3).

const DATE = 0x21; // 1 January 1980, the first day that a ZIP can name: the same drawings, the same file

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest >>> 0;
});

function crc32(/** @type {Uint8Array} */ bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Return little-endian numbers: [bytes of each, value] pairs. @param {[number, number][]} pairs */
function numbers(...pairs) {
  return Uint8Array.from(pairs.flatMap(([size, value]) => Array.from({ length: size }, (_, byte) => (value >>> (8 * byte)) & 255)));
}

/** Return a ZIP of files: [name of ASCII letters, bytes] pairs. @param {[string, Uint8Array<ArrayBuffer>][]} files */
export function zip(files) {
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const bodies = [];
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const entries = [];
  let offset = 0;
  let listed = 0;
  for (const [title, bytes] of files) {
    const name = new TextEncoder().encode(title);
    /** @type {[number, number][]} */
    const both = [[2, 20], [2, 0], [2, 0], [2, 0], [2, DATE], [4, crc32(bytes)], [4, bytes.length], [4, bytes.length], [2, name.length], [2, 0]];
    const head = numbers([4, 0x04034b50], ...both);
    const entry = numbers([4, 0x02014b50], [2, 20], ...both, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]);
    bodies.push(head, name, bytes);
    entries.push(entry, name);
    offset += head.length + name.length + bytes.length;
    listed += entry.length + name.length;
  }
  const end = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, listed], [4, offset], [2, 0]);
  return new Blob([...bodies, ...entries, end], { type: "application/zip" });
}
