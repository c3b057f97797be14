/** What the package is made of. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import * as imported from "keyrack";

const require = createRequire(import.meta.url);
const repository = String(process.env["KEYRACK_REPOSITORY"]);

/** The functions and fields that an interface of a source file names. */
function members(source: string, name: string): string[] {
  const body = new RegExp(`export interface ${name} \\{\\n([^]*?)\\n\\}`).exec(source)?.[1] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map((found) => String(found[1])).sort();
}

test("the native module is what its types say", () => {
  const native = require(join(require.resolve("keyrack"), "../../keyrack.node")) as Record<string, { prototype: object }>;
  const source = readFileSync(join(repository, "clients/node/ts/native.ts"), "utf8");
  assert.deepEqual(Object.keys(native).sort(), members(source, "Native"));
  for (const [name, type] of Object.entries(native)) {
    const has = Object.getOwnPropertyNames(type.prototype).filter((each) => each !== "constructor");
    assert.deepEqual(has.sort(), members(source, `Native${name}`), name);
  }
  const calls = readFileSync(join(repository, "clients/bridge/src/call.rs"), "utf8");
  const answered = [...calls.matchAll(/^ {8}"(\w+)" =>/gm)].map((found) => String(found[1]));
  assert.deepEqual(answered.filter((call) => call !== "submit").sort(), members(source, "Calls"));
});

test("require and import give the same package", () => {
  const required = require("keyrack") as typeof imported;
  assert.equal(required.open, imported.open);
  assert.equal(required.App, imported.App);
  assert.ok(new required.InvalidError("no") instanceof imported.KeyrackError);
});
