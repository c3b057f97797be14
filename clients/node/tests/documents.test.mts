/** Every TypeScript block of the guide and of the README compiles and runs, in its order. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { folder } from "./support.mjs";

const PACKAGES = fileURLToPath(new URL("..", import.meta.url));
const PAGES = ["docs/typescript.md", "README.md"];

const FLAGS = [
  "--strict",
  "--skipLibCheck",
  ...["--target", "ES2022", "--module", "ES2022", "--moduleResolution", "Bundler"],
  ...["--lib", "ES2022,ESNext.Disposable", "--types", "node"],
];

function run(program: string, args: string[], cwd: string): void {
  const { KEYRACK_STORE: _, ...env } = process.env;
  const ended = spawnSync(program, args, { cwd, env, encoding: "utf8", timeout: 60_000 });
  assert.equal(ended.status, 0, `${ended.stdout}${ended.stderr}`);
}

test("the blocks of the pages compile strictly and run", () => {
  const pages = join(PACKAGES, "pages");
  mkdirSync(pages, { recursive: true });
  const files = PAGES.map((page) => {
    const text = readFileSync(join(String(process.env["KEYRACK_REPOSITORY"]), page), "utf8");
    const blocks = [...text.matchAll(/^```ts\n([^]*?)^```/gm)].map((found) => found[1]);
    assert.ok(blocks.length > 0, page);
    const file = join(pages, `${basename(page, ".md")}.mts`);
    writeFileSync(file, blocks.join("\n"));
    return file;
  });
  run(process.execPath, [join(PACKAGES, "node_modules/typescript/bin/tsc"), ...FLAGS, ...files], pages);
  for (const file of files) run(process.execPath, [file.replace(".mts", ".mjs")], folder());
});
