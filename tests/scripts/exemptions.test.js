// How many lines of the scripts the checkers must not look at.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

const FOLDER = new URL("../../dpviz/assets/", import.meta.url);
const MAX_EXEMPTIONS = 20;
const EXEMPTION = /@ts-(?:expect-error|ignore|nocheck)|eslint-disable|@(?:type|param|returns) \{[^}]*\bany\b.*/g;

/** @param {string} source */
const findExemptions = (source) => source.match(EXEMPTION) ?? [];

test("a script has few exemptions from the checks, and each has a reason", () => {
  const scripts = readdirSync(FOLDER).filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length > 30);
  const sources = scripts.map((name) => readFileSync(new URL(name, FOLDER), "utf-8"));
  const found = sources.flatMap(findExemptions);
  assert.ok(found.length <= MAX_EXEMPTIONS, found.join("\n"));
});

test("an exemption is found in each form", () => {
  for (const line of ["// @ts-ignore", "/** @type {any} */", "/** @param {Map<string, any>} x */", "// eslint-disable-next-line eqeqeq"]) {
    assert.equal(findExemptions(line).length, 1, line);
  }
  assert.equal(findExemptions("/** @param {string} many Any text */").length, 0);
});
