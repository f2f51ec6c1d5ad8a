// Keeps the list of releases of own files in the browser: a reload or another tab begins a session that has none.
// It lists what was released and holds no record. It goes to this app's own server alone.

import { component } from "./component.js";

/** @import { Given, Release } from "./stages.d.ts" */

const KEPT = "dpviz:ledger"; // in the browser's storage, for all tabs
const MOST = 1000; // releases in a message

/** @returns {Release[]} */
function readReleases() {
  try {
    const releases = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(releases) ? releases.filter((each) => each && typeof each === "object") : [];
  } catch {
    return [];
  }
}

export default component(() => {
  /** @type {Set<string>} */
  const told = new Set(); // releases, as text, that the page knows from here: it does not get a refused one again
  /** @type {() => void} */
  let tell = () => {};
  let hasAnswered = false; // the page waits for one answer, also of a browser that keeps nothing
  const hear = (/** @type {StorageEvent} */ { key }) => { if (key === KEPT) tell(); };
  addEventListener("storage", hear); // another tab has written; this one does not answer by writing
  return {
    update(/** @type {Given<{ releases: Release[], dropped: string[], heard: boolean }>} */ { data, setTriggerValue }) {
      // Id -> rows of one person that the page counts. A release that is kept for more rows is news.
      const here = new Map(data.releases.map(({ id, rows = 1 }) => [id, rows]));
      for (const id of data.dropped) here.set(id, Infinity);
      const readNews = () => readReleases().filter(({ id, rows = 1 }) => !here.has(id) || rows > (here.get(id) ?? 0));
      tell = () => {
        const untold = readNews().filter((each) => !told.has(JSON.stringify(each))).slice(0, MOST);
        if (!untold.length && (data.heard || hasAnswered)) return;
        hasAnswered = true;
        for (const each of untold) told.add(JSON.stringify(each));
        setTriggerValue("kept", { releases: untold });
      };
      try {
        const others = readNews(), newer = new Set(others.map(({ id }) => id));
        const known = data.releases.filter(({ id }) => !newer.has(id));
        localStorage.setItem(KEPT, JSON.stringify([...others, ...known]));
      } catch { /* then a reload forgets */ }
      tell();
    },
    destroy() {
      removeEventListener("storage", hear);
      told.clear();
    },
  };
});
