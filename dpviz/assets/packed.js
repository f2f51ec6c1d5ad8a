// Runs a site's script from its packed text, which a plain file server sends in a third of the time. The script has a
// blob's address; where a host's policy refuses that, the same script is loaded as it is, from the file beside this one.

import { bytesOf } from "./dense.js";

const packed = "@PACKED@";
const length = Number("@LENGTH@"); // bytes
const own = /** @type {HTMLScriptElement} */ (document.currentScript);
const plain = new URL("dpviz.js", own.src).href;
/** @type {import("./stages.d.ts").SiteIndex[]} */
const early = []; // what the page says of itself may come before the script
window.dpvizIndex = (index) => early.push(index);

/** @param {string} src */
function run(src, failed = () => {}) {
  const script = document.createElement("script");
  script.addEventListener("load", () => {
    for (const index of early.splice(0)) window.dpvizIndex(index);
  });
  script.addEventListener("error", failed);
  script.src = src;
  document.head.append(script);
}

async function unpacked() {
  const stream = new Blob([bytesOf(packed, length)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = await new Response(stream).blob();
  return URL.createObjectURL(script.slice(0, script.size, "text/javascript"));
}

unpacked().then((address) => run(address, () => run(plain)), () => run(plain));
