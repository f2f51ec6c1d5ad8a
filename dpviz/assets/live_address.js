// The page's address: the knobs of what is on screen, so that a link brings it back.

/** Whether a new session answers, as after a restart of the server, and knows less than the address does. */
export function isOthers({ session, query }, before) {
  return Boolean(session && before.session && session !== before.session && query && location.search !== `?${query}`);
}

/** Put the knobs into the address without a new entry in the history. */
export function setQuery(query) {
  if (!query) return;
  const frame = [...new URLSearchParams(location.search)].filter(([name]) => name.startsWith("embed")); // Streamlit's own
  const search = `?${query}${frame.map(([name, value]) => `&${name}=${encodeURIComponent(value)}`).join("")}`;
  if (location.search !== search) history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}
