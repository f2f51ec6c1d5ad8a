// Keeps the list of releases of own files in the browser: a reload or another tab begins a session that has none.
// It lists what was released and holds no record. It goes to this app's own server alone.

import { component } from "./component.js";

/** @import { Given } from "./types.d.ts" */
/** @typedef {{ id: string }} Release */

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
  const told = new Set(); // releases that the page knows from here: one that it refuses is not told again
  /** @type {() => void} */
  let tell = () => {};
  const hear = (/** @type {StorageEvent} */ { key }) => { if (key === KEPT) tell(); };
  addEventListener("storage", hear); // another tab has written; this one does not answer by writing
  return {
    update(/** @type {Given<{ releases: Release[], dropped: string[] }>} */ { data, setTriggerValue }) {
      const here = new Set([...data.dropped, ...data.releases.map(({ id }) => id)]);
      tell = () => {
        const untold = readReleases().filter(({ id }) => !here.has(id) && !told.has(id)).slice(0, MOST);
        if (!untold.length) return;
        for (const { id } of untold) told.add(id);
        setTriggerValue("kept", { releases: untold });
      };
      try {
        const others = readReleases().filter(({ id }) => !here.has(id));
        localStorage.setItem(KEPT, JSON.stringify([...others, ...data.releases]));
      } catch { /* then a reload forgets */ }
      tell();
    },
    destroy() {
      removeEventListener("storage", hear);
      told.clear();
    },
  };
});
