// @ts-nocheck
// The picture's short way: the slider says that it moves, and the picture comes ahead of the page's rerun. While it
// rests, the bands of the instrument's strip come by the same line (bands.js).

import { readHeader } from "./live_base.js";

const DRAWN = "drawn"; // the server's word after the last picture
const JSON_START = "{"; // of a band, which may come between a question for pictures and its answer
// Streamlit serves this script from below the app's own address, wherever a proxy has put it.
const BASE = import.meta.url.includes("/_stcore/") ? import.meta.url.split("/_stcore/")[0] : null;

/** Hand a picture to whom it is addressed. */
function show(message, move) {
  const { header, body } = readHeader(new Uint8Array(message));
  document.dispatchEvent(new CustomEvent("dpviz:ahead", { detail: { move: move.number, key: header.picture, body } }));
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
    this.flight = this.ask(move).catch(() => false).then((drawn) => {
      this.flight = null;
      give(drawn);
      if (this.next) this.start();
    });
  }

  /** Show the pictures as they come; says whether they all came: else the page's rerun brings them, as where the line is cut. */
  ask(move) {
    return this.converse(String(move.index), false, (data, end) => {
      if (typeof data !== "string") show(data, move);
      else if (!data.startsWith(JSON_START)) end(data === DRAWN);
    });
  }

  /** Ask for the band at a value: `{band, values, key}`, null where the line is cut. No picture waits for it. */
  askBand(address, index) {
    if (BASE === null) return Promise.resolve(null);
    this.open(address);
    return this.converse(`band:${index}`, null, (data, end) => {
      if (typeof data === "string" && data.startsWith(JSON_START)) end(JSON.parse(data));
    });
  }

  /** Send a question and hear messages until one of them ends it; what it gives where the line is cut is `lost`. */
  converse(question, lost, hear) {
    const { line } = this;
    return new Promise((resolve) => {
      const heard = new AbortController();
      const on = (type, handler) => line.addEventListener(type, handler, { signal: heard.signal });
      const end = (answer) => {
        heard.abort();
        resolve(answer);
      };
      on("message", ({ data }) => hear(data, end));
      on("close", () => end(lost));
      if (line.readyState === WebSocket.CONNECTING) on("open", () => line.send(question));
      else if (line.readyState === WebSocket.OPEN) line.send(question);
      else end(lost);
    });
  }
}
