// The picture's short way: the slider says that it moves, and the picture is fetched ahead of the page's rerun.

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

/** Fetches one picture after the other; of moves that come in meanwhile only the last is made. */
export class Ahead {
  constructor() {
    this.flight = null; // the fetch on its way
    this.next = null; // the move that waits for it
  }

  /** Fetch the picture of a move; the promise ends when it is drawn, or will not be, and says which. */
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
    this.flight = this.fetch(address, move).catch(() => false).then((drawn) => {
      this.flight = null;
      give(drawn);
      if (this.next) this.start();
    });
  }

  async fetch(address, move) {
    const response = await fetch(`${BASE}/${address}/${move.index}`, { cache: "no-store" });
    if (response.status !== 200) return false; // the page's rerun brings it
    const scenes = unbundle(await response.arrayBuffer());
    document.dispatchEvent(new CustomEvent("dpviz:ahead", { detail: { move: move.number, scenes } }));
    return true;
  }
}
