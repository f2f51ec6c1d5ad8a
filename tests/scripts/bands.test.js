// Requests for bands of the strip of losses: dpviz/assets/bands.js. The test moves the clock.

import assert from "node:assert/strict";
import test, { mock } from "node:test";
import { Bands, nextIndex } from "../../dpviz/assets/bands.js";

/** @import { BandAnswer } from "../../dpviz/assets/stages.d.ts" */

const TICK_MS = 10;
const OFFER = { address: "here", slider: "epsilon", bands: "key" };
// Index of a value that has no band.
const EMPTY = 3;
/** @type {Map<number, { at: number, run: () => void }>} */ const timers = new Map();
let [now, made] = [0, 0];
mock.method(performance, "now", () => now);
mock.method(globalThis, "setTimeout", (/** @type {() => void} */ run, ms = 0) => {
  timers.set(made += 1, { at: now + ms, run });
  return made;
});
mock.method(globalThis, "clearTimeout", (/** @type {number} */ id) => timers.delete(id));
globalThis.document = /** @type {Document} */ (Object.assign(new EventTarget(), { hidden: false }));

/** @param {number} ms */
async function pass(ms) {
  for (let end = now + ms; now < end;) {
    now += TICK_MS;
    for (const [id, { at, run }] of timers) if (at <= now && timers.delete(id)) run();
    await new Promise((done) => { setImmediate(done); });
  }
}

/** @param {() => boolean} holds */
async function until(holds) {
  for (let i = 0; i < 5000 && !holds(); i += 1) await pass(TICK_MS);
  assert.ok(holds());
}

/** Run a test with a queue that answers after `takes` milliseconds.
 *  @param {string} name @param {(setting: ReturnType<typeof setUp>) => Promise<void>} body */
const check = (name, body) => test(name, async () => {
  const setting = setUp();
  await body(setting);
  setting.bands.destroy();
});

function setUp() {
  const line = {
    flight: /** @type {Promise<any> | null} */ (null), asked: /** @type {number[]} */ ([]), key: /** @type {string | null} */ ("key"), takes: 5,
    /** @param {string} _ @param {number} index @returns {Promise<BandAnswer | null>} */
    askBand(_, index) {
      this.asked.push(index);
      const { key } = this;
      /** @type {any} */ const answer = { band: index, values: index === EMPTY ? null : [index, index + 1, index + 2], key };
      return new Promise((done) => { setTimeout(() => done(key ? answer : null), this.takes); });
    },
  };
  const root = /** @type {HTMLElement} */ (new EventTarget());
  /** @type {any[]} */ const heard = [];
  root.addEventListener("dpviz:band", ({ detail }) => heard.push(detail));
  const move = (/** @type {number} */ index, slider = "epsilon") => root.dispatchEvent(new CustomEvent("dpviz:moving", { detail: { slider, index } }));
  return { line, heard, move, bands: new Bands(/** @type {any} */ (line), root) };
}

test("each value is requested once, outward from the slider and coarse before fine", () => {
  /** @type {Set<number>} */ const known = new Set();
  for (let i; (i = nextIndex(25, 10, known)) >= 0;) known.add(i);
  const order = [...known];
  assert.deepEqual(order.slice(0, 8), [10, 8, 16, 0, 24, 12, 4, 20]);
  assert.deepEqual(order.sort((a, b) => a - b), Array.from({ length: 25 }, (_, i) => i));
});

check("bands arrive after the page is idle, and a value without a band is requested once", async ({ line, heard, bands }) => {
  bands.update(/** @type {any} */ (OFFER), 6, 2);
  assert.equal(line.asked.length, 0);
  await until(() => heard.length === 5);
  await pass(300);
  assert.deepEqual(heard[0], { slider: "epsilon", index: 2, values: [2, 3, 4] });
  assert.deepEqual(heard.map(({ index }) => index), line.asked.filter((index) => index !== EMPTY));
  assert.deepEqual([...line.asked].sort(), [0, 1, 2, 3, 4, 5]);
});

check("requests stop while the slider moves and continue from its place", async ({ line, heard, move, bands }) => {
  bands.update(/** @type {any} */ (OFFER), 25, 2);
  await until(() => heard.length === 2);
  const first = line.asked.length;
  for (let i = 5; i < 20; i += 1) {
    move(i);
    await pass(100);
  }
  const during = line.asked.length - first;
  assert.ok(during <= 1, "only the request that was under way");
  await until(() => line.asked.length > first + during);
  assert.equal(line.asked.at(-1), 19);
  const start = line.asked.length;
  for (let i = 0; i < 15; i += 1) {
    move(i, "another");
    await pass(100);
  }
  assert.ok(line.asked.length > start + 3, "a different slider does not delay them");
});

check("pictures come first, and one request is under way at a time", async ({ line, bands }) => {
  line.flight = Promise.resolve();
  bands.update(/** @type {any} */ (OFFER), 25, 2);
  await pass(5000);
  assert.equal(line.asked.length, 0);
  line.flight = null;
  line.takes = 600;
  await until(() => line.asked.length === 1);
  bands.update(/** @type {any} */ (OFFER), 25, 2);
  const asked = line.asked.length;
  await pass(80);
  assert.equal(line.asked.length, asked);
});

check("known bands stay until the key changes", async ({ line, heard, move, bands }) => {
  bands.update(/** @type {any} */ (OFFER), 3, 0);
  await until(() => heard.length === 3);
  move(1);
  bands.update(/** @type {any} */ ({ ...OFFER, move: 7 }), 3, 1);
  await pass(5000);
  assert.equal(heard.length, 3);
  line.key = "other";
  bands.update(/** @type {any} */ ({ ...OFFER, bands: "other" }), 3, 1);
  await until(() => heard.length === 6);
  assert.deepEqual(heard.slice(3).map(({ index }) => index).sort(), [0, 1, 2]);
  bands.update(/** @type {any} */ ({ ...OFFER, bands: null }), 3, 1);
  await pass(5000);
  assert.equal(line.asked.length, 6);
  bands.update(null, 3, 1);
  line.key = "key";
  bands.update(/** @type {any} */ (OFFER), 3, 1);
  await until(() => heard.length === 9);
});

check("an answer for a different page is dropped, and a failed request is repeated", async ({ line, heard, move, bands }) => {
  line.key = "before";
  bands.update(/** @type {any} */ (OFFER), 3, 0);
  await until(() => line.asked.length === 1);
  await pass(300);
  assert.equal(heard.length, 0);
  line.key = null;
  await until(() => line.asked.length === 2);
  await pass(300);
  assert.equal(heard.length, 0);
  line.key = "key";
  move(0);
  await until(() => heard.length === 3);
  assert.deepEqual(heard.map(({ index }) => index).sort(), [0, 1, 2]);
});
