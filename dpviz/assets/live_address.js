// The page's address: the knobs of what is on screen and the step, so that a link brings it back.

/** @import { Session } from "./types.d.ts" */

export const TELL_MS = 400; // until a step is in the address: browsers refuse many changes in a row
const PARAM_MS = 100; // until a second move of a slider is in the address
const FRAME = "frame"; // of the scrubber, counted from 1
// Whether the page on screen has an address of its own, and the write that waits.
const state = { hasQuery: false, wrote: -Infinity, timer: 0 };

/** Whether a new session answers, as after a restart of the server, and knows less than the address does. @param {Session} now @param {Session} before */
export function isOthers({ session, query }, before) {
  return Boolean(session && before.session && session !== before.session && query !== null && own() !== query);
}

const RENEWED = "dpviz:renewed"; // in the tab's storage: the app itself has loaded the page again

/** Load the page again for a new session. */
export function renew() {
  try {
    sessionStorage.setItem(RENEWED, "1");
  } catch { /* then it counts as the reader's own reload */ }
  location.reload();
}

/** How this page was opened: "reloaded" by the reader, "renewed" by the app, "" by a link or an address. */
export function howOpened() {
  try {
    if (sessionStorage.getItem(RENEWED)) {
      sessionStorage.removeItem(RENEWED);
      return "renewed";
    }
  } catch { /* no storage */ }
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  return entry?.type === "reload" ? "reloaded" : "";
}

/** The address's query without what the server does not write. */
function own() {
  const pairs = location.search.slice(1).split("&");
  return pairs.filter((pair) => !pair.startsWith("embed") && !pair.startsWith(`${FRAME}=`)).join("&");
}

/** The step, counted from 0, that the address was opened with; null where it names none. */
export function linkedFrame() {
  const text = new URLSearchParams(location.search).get(FRAME) ?? "";
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) - 1 : null;
}

/** Put the knobs into the address without a new entry in the history, and the step if it is not the usual one; null leaves
 *  the address as it is.
 *  @param {string | null} query @param {number | null} step */
export function setQuery(query, step = null) {
  state.hasQuery = query !== null;
  if (query === null) return;
  // Streamlit writes `embed` itself.
  const kept = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith("embed"));
  if (step !== null) kept.unshift([FRAME, String(step + 1)]);
  const pairs = [query, ...kept.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)].filter(Boolean);
  setSearch(pairs.length ? `?${pairs.join("&")}` : "");
}

/** @param {string} search */
function setSearch(search) {
  if (location.search !== search) history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}

/** Put one moved knob into the address before the page answers: a reader who leaves at once finds the move there.
 *  @param {string} name @param {string} text */
export function setParamSoon(name, text) {
  cancelParam();
  state.timer = setTimeout(() => {
    if (!state.hasQuery) return;
    const params = new URLSearchParams(location.search);
    params.set(name, text);
    state.wrote = performance.now();
    setSearch(`?${params}`);
  }, PARAM_MS - (performance.now() - state.wrote));
}

/** Drop the write that waits: the address is that of a different page from now on. */
export function cancelParam() {
  clearTimeout(state.timer);
}
