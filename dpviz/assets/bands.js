// @ts-nocheck
// Fills the instrument's strip of losses while the page is idle: one value of the slider after the other, outward from
// where it stands, coarse before fine. It pauses while the slider moves.
//
//   import { Bands } from "./bands.js";
//   const bands = new Bands(new Ahead(), stage.root);
//   bands.update({ address, slider, bands: key, known }, count, index); // the page's offer, how many values, where it stands
//
// Each band is an event `dpviz:band` of the root, which moves of the slider bubble to, with `detail` {slider, index,
// values: [low, middle, high]}. What is known stays known while ε moves; with another key all is asked anew, and with
// none nothing is.

const STILL_MS = 2500; // without a move until the next question: runs share the processor with what a reader does
const STRIDES = [8, 4, 2, 1]; // of values, coarse before fine
const GAP_MS = 100; // at least, between two questions
const IDLE_MS = 2000; // at most, until a page counts as idle
const RETRY_MS = 1000; // after a question without an answer; then twice as long, and so on
const LONGEST_RETRY_MS = 60000;

const whenIdle = (run) => (globalThis.requestIdleCallback
  ? requestIdleCallback(run, { timeout: IDLE_MS }) : setTimeout(run));

/** Which of `count` values to ask for from `here`, where `known` has some; -1 when it has all. */
export function nextIndex(count, here, known) {
  if (here < count && !known.has(here)) return here;
  for (const stride of STRIDES) {
    let nearest = -1;
    for (let i = 0; i < count; i += 1) {
      const offered = i % stride === 0 || i === count - 1;
      if (offered && !known.has(i) && (nearest < 0 || Math.abs(i - here) < Math.abs(nearest - here))) nearest = i;
    }
    if (nearest >= 0) return nearest;
  }
  return -1;
}

export class Bands {
  /** `line` is an `Ahead`: its pictures come first. */
  constructor(line, root) {
    this.line = line;
    this.root = root;
    this.offer = {};
    this.count = this.here = 0;
    this.known = new Set(); // indexes
    this.asking = false;
    this.pause();
    this.stopped = new AbortController();
    const { signal } = this.stopped;
    root.addEventListener("dpviz:moving", ({ detail }) => this.onMoving(detail), { signal });
    document.addEventListener("visibilitychange", () => this.soon(), { signal });
  }

  /** Follow the page: its offer, the number of the slider's values, and the index of the one it stands at. */
  update(offer, count, index) {
    if (offer?.bands !== this.offer.bands) {
      this.known.clear();
      this.pause();
    }
    this.offer = offer ?? {};
    offer?.known?.forEach((band, i) => { if (band) this.known.add(i); });
    this.count = count;
    this.here = index;
    this.soon();
  }

  onMoving({ slider, index }) {
    if (slider !== this.offer.slider) return;
    this.here = index;
    this.pause();
    this.soon();
  }

  /** Ask nothing for a while. */
  pause() {
    this.retry = RETRY_MS;
    this.quietFrom = performance.now() + STILL_MS;
  }

  /** Ask when the slider has rested and the page is idle. */
  soon() {
    clearTimeout(this.timer);
    if (this.offer.bands && !this.asking && !document.hidden && !this.stopped.signal.aborted) {
      this.timer = setTimeout(() => whenIdle(() => this.ask()), Math.max(GAP_MS, this.quietFrom - performance.now()));
    }
  }

  async ask() {
    const { address, bands: key } = this.offer;
    if (this.asking || !key || this.stopped.signal.aborted) return;
    if (performance.now() < this.quietFrom || this.line.flight) return void this.soon();
    const index = nextIndex(this.count, this.here, this.known);
    if (index < 0) return;
    this.asking = true;
    const answer = await this.line.askBand(address, index);
    this.asking = false;
    this.take(answer);
    this.soon();
  }

  /** An answer with another key is of a page that is not here any more, or not yet. */
  take(answer) {
    if (!answer || answer.key !== this.offer.bands) {
      this.quietFrom = performance.now() + this.retry;
      this.retry = Math.min(2 * this.retry, LONGEST_RETRY_MS);
      return;
    }
    this.retry = RETRY_MS;
    const { band: index, values } = answer;
    this.known.add(index);
    if (!values) return;
    const detail = { slider: this.offer.slider, index, values };
    this.root.dispatchEvent(new CustomEvent("dpviz:band", { detail }));
  }

  destroy() {
    this.stopped.abort();
    clearTimeout(this.timer);
  }
}
