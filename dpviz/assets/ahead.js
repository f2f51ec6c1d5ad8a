// The picture's short way: the slider says that it moves, and the picture comes ahead of the page's rerun. While it
// rests, the bands of the instrument's strip come by the same line (bands.js).

import { readHeader } from "./live_base.js";

/** @import { Band, BandAnswer, Move } from "./stages.d.ts" */

const DRAWN = "drawn"; // the server's word after the last picture
const JSON_START = "{"; // of a band, which may come between a question for pictures and its answer
// Streamlit serves this script from below the app's own address, wherever a proxy has put it.
const BASE = import.meta.url.includes("/_stcore/") ? import.meta.url.split("/_stcore/")[0] : null;

/** Hand a picture to whom it is addressed. @param {ArrayBuffer} message @param {Move} move */
function show(message, move) {
  const { header, body } = readHeader(new Uint8Array(message));
  document.dispatchEvent(new CustomEvent("dpviz:ahead", { detail: { move: move.number, key: header.picture, body } }));
}

/** Asks for one picture after the other, over a line of its own; of moves that come in meanwhile only the last is made. */
export class Ahead {
  constructor() {
    this.address = "";
    /** @type {WebSocket | null} */ this.line = null; // a question takes 5 ms less than by fetch
    /** @type {Promise<void> | null} */ this.flight = null; // the question on its way
    /** @type {{ address: string, move: Move, give: (drawn: boolean) => void } | null} */ this.next = null; // the move that waits for it
  }

  /** Open the line before it is needed, and again after it was cut. @param {string} address */
  open(address) {
    if (BASE === null || (this.line && address === this.address && this.line.readyState <= WebSocket.OPEN)) return;
    this.close();
    this.address = address;
    this.line = new WebSocket(`${BASE.replace(/^http/, "ws")}/${address}`);
    this.line.binaryType = "arraybuffer";
  }

  close() {
    this.line?.close();
    this.line = null;
  }

  /**
   * Ask for the picture of a move; the promise ends when it is drawn, or will not be, and says which.
   * @param {string} address @param {Move} move @returns {Promise<boolean>}
   */
  follow(address, move) {
    if (BASE === null) return Promise.resolve(false);
    this.next?.give(false);
    return new Promise((give) => {
      this.next = { address, move, give };
      if (this.flight === null) this.start();
    });
  }

  start() {
    if (!this.next) return;
    const { address, move, give } = this.next;
    this.next = null;
    this.open(address);
    this.flight = this.ask(move).catch(() => false).then((drawn) => {
      this.flight = null;
      give(drawn);
      this.start();
    });
  }

  /** Show the pictures as they come; says whether they all came: else the page's rerun brings them, as where the line is cut. @param {Move} move */
  ask(move) {
    return this.converse(String(move.index), false, (data, end) => {
      if (typeof data !== "string") show(data, move);
      else if (!data.startsWith(JSON_START)) end(data === DRAWN);
    });
  }

  /** Ask for the band at a value, null where the line is cut. No picture waits for it. @param {string} address @param {number} index @returns {Promise<BandAnswer | null>} */
  askBand(address, index) {
    if (BASE === null) return Promise.resolve(null);
    this.open(address);
    return this.converse(`band:${index}`, /** @type {BandAnswer | null} */ (null), (data, end) => {
      if (typeof data === "string" && data.startsWith(JSON_START)) end(JSON.parse(data));
    });
  }

  /**
   * Send a question and hear messages until one of them ends it; where the line is cut, `lost` is the answer.
   * @template Answer @param {string} question @param {Answer} lost
   * @param {(data: string | ArrayBuffer, end: (answer: Answer) => void) => void} hear @returns {Promise<Answer>}
   */
  converse(question, lost, hear) {
    const { line } = this;
    if (!line || line.readyState > WebSocket.OPEN) return Promise.resolve(lost);
    return new Promise((resolve) => {
      const heard = new AbortController();
      const { signal } = heard;
      const end = (/** @type {Answer} */ answer) => {
        heard.abort();
        resolve(answer);
      };
      line.addEventListener("message", ({ data }) => hear(data, end), { signal });
      line.addEventListener("close", () => end(lost), { signal });
      if (line.readyState === WebSocket.CONNECTING) line.addEventListener("open", () => line.send(question), { signal });
      else line.send(question);
    });
  }
}
