// Keeps the release ledgers of own files while the browser's tab lives: a reload begins a session that has none.
// A release ledger lists what was released and holds no record. It goes to this app's own server alone.

import { component } from "./component.js";

/** @import { Given } from "./types.d.ts" */
/** @typedef {{ id: string }} Release */

const KEPT = "dpviz:ledger"; // in the tab's storage: {name of a file: its releases}

/** @returns {Record<string, Release[]>} */
function readLedgers() {
  try {
    const ledgers = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    return ledgers && typeof ledgers === "object" && !Array.isArray(ledgers) ? ledgers : {};
  } catch {
    return {};
  }
}

export default component(() => {
  /** @type {Set<string>} */
  const told = new Set(); // releases that the page knows from here: one that it refuses is not told again
  return {
    update(/** @type {Given<{ name: string, releases: Release[], dropped: string[] }>} */ { data, setTriggerValue }) {
      const { name, releases, dropped } = data;
      const ledgers = readLedgers();
      const here = new Set([...dropped, ...releases.map(({ id }) => id)]);
      const before = Array.isArray(ledgers[name]) ? ledgers[name] : [];
      const missing = before.filter((each) => each && typeof each === "object" && !here.has(each.id));
      const untold = missing.filter(({ id }) => !told.has(id));
      try {
        sessionStorage.setItem(KEPT, JSON.stringify({ ...ledgers, [name]: [...missing, ...releases] }));
      } catch { /* then a reload forgets */ }
      if (!untold.length) return;
      for (const { id } of untold) told.add(id);
      setTriggerValue("kept", { name, releases: untold });
    },
    destroy: () => told.clear(),
  };
});
