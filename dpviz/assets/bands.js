// Fills the instrument's strip of losses while the page is idle: one value of the slider after the other, outward from
// where it stands, coarse before fine. It pauses while the slider moves.
//
// Each band is an event `dpviz:band` of the root, which moves of the slider bubble to, with `detail` {slider, index,
// values: [low, middle, high]}. What is known stays known while ε moves; with another key all is asked anew, and with
// none nothing is.

/** @import { Ahead } from "./ahead.js" */
/** @import { AheadOffer, BandAnswer } from "./stages.d.ts" */

const STILL_MS = 2500; // without a move until the next question: runs share the processor with what a reader does
const STRIDES = [8, 4, 2, 1]; // of values, coarse before fine
const GAP_MS = 100; // at least, between two questions
const IDLE_MS = 2000; // at most, until a page counts as idle
const RETRY_MS = 1000; // after a question without an answer; then twice as long, and so on
const LONGEST_RETRY_MS = 60000;

/** @param {() => void} run */
const whenIdle = (run) => ("requestIdleCallback" in globalThis ? requestIdleCallback(run, { timeout: IDLE_MS }) : setTimeout(run));

/** Which of `count` values to ask for from `here`, where `known` has some; -1 when it has all. @param {number} count @param {number} here @param {Set<number>} known */
export function nextIndex(count, here, known) {
  if (here < count && !known.has(here)) return here;
  const unknown = Array.from({ length: count }, (_, i) => i).filter((i) => !known.has(i)).sort((a, b) => Math.abs(a - here) - Math.abs(b - here));
  for (const stride of STRIDES) {
    const nearest = unknown.find((i) => i % stride === 0 || i === count - 1);
    if (nearest !== undefined) return nearest;
  }
  return -1;
}

export class Bands {
  /** @param {Pick<Ahead, "flight" | "askBand">} line Its pictures come first @param {HTMLElement} root */
  constructor(line, root) {
    this.line = line;
    this.root = root;
    /** @type {Partial<AheadOffer>} */ this.offer = {};
    this.count = this.here = this.retry = this.quietFrom = 0;
    /** @type {Set<number>} */ this.known = new Set(); // indexes
    this.asking = false;
    this.pause();
    this.stopped = new AbortController();
    const { signal } = this.stopped;
    root.addEventListener("dpviz:moving", ({ detail: { slider, index } }) => {
      if (slider !== this.offer.slider) return;
      this.here = index;
      this.pause();
      this.soon();
    }, { signal });
    document.addEventListener("visibilitychange", () => this.soon(), { signal });
  }

  /** Follow the page: its offer, the number of the slider's values, and the index of the one it stands at. @param {AheadOffer | null | undefined} offer @param {number} count @param {number} index */
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
    if (this.asking || !address || !key || this.stopped.signal.aborted) return;
    if (performance.now() < this.quietFrom || this.line.flight) {
      this.soon();
      return;
    }
    const index = nextIndex(this.count, this.here, this.known);
    if (index < 0) return;
    this.asking = true;
    const answer = await this.line.askBand(address, index);
    this.asking = false;
    this.take(answer);
    this.soon();
  }

  /** An answer with another key is of a page that is not here any more, or not yet. @param {BandAnswer | null} answer */
  take(answer) {
    if (!answer || answer.key !== this.offer.bands) {
      this.quietFrom = performance.now() + this.retry;
      this.retry = Math.min(2 * this.retry, LONGEST_RETRY_MS);
      return;
    }
    this.retry = RETRY_MS;
    const { band: index, values } = answer;
    this.known.add(index);
    if (values) this.root.dispatchEvent(new CustomEvent("dpviz:band", { detail: { slider: this.offer.slider, index, values } }));
  }

  destroy() {
    this.stopped.abort();
    clearTimeout(this.timer);
  }
}
