// Bytes in scripts: 15 bits in each letter, in files of two bytes a letter, so that they are 7 % larger than the bytes.

const FIRST_LETTER = 0x3000; // dpviz/ui/export/states.py writes them
const LETTER_BITS = 15;

/** The bytes that a dense text stands for, so many of them. */
export function bytesOf(text, length) {
  const bytes = new Uint8Array(length);
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let i = 0; i < text.length; i += 1) {
    bits = (bits << LETTER_BITS) | (text.charCodeAt(i) - FIRST_LETTER);
    held += LETTER_BITS;
    while (held >= 8 && at < length) {
      held -= 8;
      bytes[at] = bits >> held;
      at += 1;
      bits &= (1 << held) - 1;
    }
  }
  return bytes;
}
