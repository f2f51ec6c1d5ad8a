// Bytes in scripts: two in each letter of a file of two bytes a letter; what is no letter is another one after a mark.

const MARK = 0x100; // `dense` in dpviz/ui/export/kept_page.py writes them
const AWAY = 0x8000;

/** The bytes that a dense text stands for, so many of them. @param {string} text @param {number} length */
export function bytesOf(text, length) {
  const bytes = new Uint8Array(length + 1); // the last letter may be half empty
  for (let i = 0, at = 0; i < text.length; i += 1, at += 2) {
    let letter = text.charCodeAt(i);
    if (letter === MARK) {
      i += 1;
      letter = text.charCodeAt(i) ^ AWAY;
    }
    bytes[at] = letter >> 8;
    bytes[at + 1] = letter;
  }
  return bytes.subarray(0, length);
}
