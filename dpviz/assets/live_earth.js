// The live picture: from meters on a map's plane back to latitude and longitude (dpviz/data/geography.py has the source).

import { clamp } from "./kit.js";

/** @import { Pair } from "./types.d.ts" */

const MAJOR = 6378137; // m, WGS 84
const E2 = 0.006694379990141316;
const ECCENTRIC = Math.sqrt(E2);
const RADIAN = Math.PI / 180;

const snyderQ = (/** @type {number} */ sine) =>
  (1 - E2) * (sine / (1 - E2 * sine * sine) - Math.log((1 - ECCENTRIC * sine) / (1 + ECCENTRIC * sine)) / (2 * ECCENTRIC));
const Q_POLE = snyderQ(1);
const AUTHALIC = MAJOR * Math.sqrt(Q_POLE / 2); // m, radius of the sphere of the same area

/** Latitude and longitude, degrees, of meters east and north of a middle [latitude, longitude]. @param {Pair} middle @param {number} east @param {number} north */
function degreesAt([latitude, longitude], east, north) {
  const sine = snyderQ(Math.sin(latitude * RADIAN)) / Q_POLE;
  const cosine = Math.sqrt(1 - sine * sine);
  const across = Math.cos(latitude * RADIAN) / Math.sqrt(1 - E2 * Math.sin(latitude * RADIAN) ** 2);
  const stretch = (MAJOR * across) / (AUTHALIC * cosine);
  const [x, y] = [east / stretch, north * stretch];
  const far = Math.hypot(x, y);
  const angle = 2 * Math.asin(Math.min(far / (2 * AUTHALIC), 1));
  const share = far > 0 ? Math.sin(angle) / far : 1 / AUTHALIC;
  const b = Math.asin(clamp(Math.cos(angle) * sine + y * share * cosine, -1, 1));
  const turned = Math.atan2(x * share, cosine * Math.cos(angle) - y * sine * share);
  const up = b + (E2 / 3 + (31 * E2 ** 2) / 180 + (517 * E2 ** 3) / 5040) * Math.sin(2 * b)
    + ((23 * E2 ** 2) / 360 + (251 * E2 ** 3) / 3780) * Math.sin(4 * b) + ((761 * E2 ** 3) / 45360) * Math.sin(6 * b);
  return [up / RADIAN, longitude + turned / RADIAN];
}

/** The words of a place: to the fourth decimal of a degree, some ten meters. @param {Pair} middle @param {number} east @param {number} north */
export function placeText(middle, east, north) {
  const [latitude, longitude] = degreesAt(middle, east, north);
  const around = longitude - 360 * Math.round(longitude / 360);
  /** @param {number} value @param {string} plus @param {string} minus */
  const said = (value, plus, minus) => `${Math.abs(value).toFixed(4)}° ${value < 0 ? minus : plus}`;
  return `${said(latitude, "N", "S")}, ${said(around, "E", "W")}`;
}
