// The box of three features, turned by hand: dpviz/assets/live_turn.js.

import assert from "node:assert/strict";
import test from "node:test";
import { turnedBy } from "../../dpviz/assets/live_turn.js";

test("yaw goes around, and pitch stops at the poles", () => {
  assert.deepEqual(turnedBy([170, 80], -20, 20), [-170, 90]);
  assert.deepEqual(turnedBy([-170, -80], 20, -20), [170, -90]);
  assert.deepEqual(turnedBy([10, 20], 0, 0), [10, 20]);
});
