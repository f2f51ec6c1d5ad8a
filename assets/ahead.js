// The picture's short way: the slider says that it moves, and the picture comes ahead of the page's rerun.

import { readHeader } from "./live_base.js";

const ALIGNMENT = 8;
// Streamlit serves this script from below the app's own address, wherever a proxy has put it.
const BASE = import.meta.url.includes("/_stcore/") ? import.meta.url.split("/_stcore/")[0] : null;

/** The scenes of one answer by their pictures' keys. */
export function unbundle(buffer) {
  const { header, body } = readHeader(new Uint8Array(buffer));
  const scenes = new Map();
  let at = 0;
  for (const [key, size] of header.pictures) {
    scenes.set(key, body.subarray(at, at + size));
    at += size + ((ALIGNMENT - (size % ALIGNMENT)) % ALIGNMENT);
  }
  return scenes;
}

/** Hand an answer to the pictures; says whether there is one: else the page's rerun brings it. */
function show(answer, move) {
  if (answer.byteLength === 0) return false;
  const scenes = unbundle(answer);
  document.dispatchEvent(new CustomEvent("dpviz:ahead", { detail: { move: move.number, scenes } }));
  return true;
}

/** Asks for one picture after the other, over a line of its own; of moves that come in meanwhile only the last is made. */
export class Ahead {
  constructor() {
    this.address = null;
    this.line = null; // WebSocket: a question takes 5 ms less than by fetch
    this.flight = null; // the question on its way
    this.next = null; // the move that waits for it
  }

  /** Open the line before it is needed, and again after it was cut. */
  open(address) {
    if (BASE === null || (address === this.address && this.line.readyState <= WebSocket.OPEN)) return;
    this.close();
    this.address = address;
    this.line = new WebSocket(`${BASE.replace(/^http/, "ws")}/${address}`);
    this.line.binaryType = "arraybuffer";
  }

  close() {
    this.line?.close();
    this.address = this.line = null;
  }

  /** Ask for the picture of a move; the promise ends when it is drawn, or will not be, and says which. */
  follow(address, move) {
    if (BASE === null) return Promise.resolve(false);
    this.next?.give(false);
    const waiting = new Promise((resolve) => { this.next = { address, move, give: resolve }; });
    if (this.flight === null) this.start();
    return waiting;
  }

  start() {
    const { address, move, give } = this.next;
    this.next = null;
    this.open(address);
    this.flight = this.ask(String(move.index)).then((answer) => show(answer, move)).catch(() => false).then((drawn) => {
      this.flight = null;
      give(drawn);
      if (this.next) this.start();
    });
  }

  /** The server's answer; nothing where the line is cut. */
  ask(question) {
    const { line } = this;
    return new Promise((resolve) => {
      const heard = new AbortController();
      const on = (type, handler) => line.addEventListener(type, handler, { signal: heard.signal });
      const end = (answer) => {
        heard.abort();
        resolve(answer);
      };
      on("message", ({ data }) => end(data));
      on("close", () => end(new ArrayBuffer(0)));
      if (line.readyState === WebSocket.CONNECTING) on("open", () => line.send(question));
      else if (line.readyState === WebSocket.OPEN) line.send(question);
      else end(new ArrayBuffer(0));
    });
  }
}
