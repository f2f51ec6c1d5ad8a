// @ts-nocheck
// Puts a page's knobs into the address where no picture does.

import { isOthers, renew, setQuery } from "./live_address.js";

const before = new WeakMap(); // parentElement -> what it was told last

export default function ({ data, parentElement }) {
  if (!data) return;
  const told = before.get(parentElement);
  before.set(parentElement, data);
  if (told && isOthers(data, told)) renew();
  else setQuery(data.query);
}
