/** Progress bars, rate limits and test helpers, on every store. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { App, InvalidError, type Verdict } from "keyrack";
import { testApp } from "keyrack/testing";

import { onEveryStore, SOON } from "./support.mjs";

/** Goes through a loop, and returns what a terminal would show. */
async function run(app: App, n: number, name = "import"): Promise<string> {
  let shown = "";
  const screen = { write: (text: string) => (shown += text) };
  for await (const _ of app.track(Array(n).keys(), name, { total: n, screen, show: true })) {
    await pause(10); // The work.
  }
  return shown;
}

onEveryStore("a loop is shown with its time", async (app) => {
  const shown = await run(app, 20);
  assert.ok(shown.startsWith(`\rimport [${".".repeat(30)}] 0/20 00:00\x1b[K`), JSON.stringify(shown));
  assert.ok(shown.includes(`[${"#".repeat(30)}] 20/20`), JSON.stringify(shown));
});

onEveryStore("the next run knows how long it takes", async (app) => {
  for (let n = 0; n < 3; n += 1) await run(app, 100);
  const firstLine = (await run(app, 200)).split("\r")[1];
  assert.match(String(firstLine), /00:0[234] left/);
});

onEveryStore("a loop that breaks teaches nothing", async (app) => {
  const broken = (async () => {
    for await (const n of app.track(Array(100).keys(), "broken", { total: 100 })) {
      if (n === 50) throw new TypeError("the item is wrong");
    }
  })();
  await assert.rejects(broken, TypeError);
  assert.doesNotMatch(String((await run(app, 3, "broken")).split("\r")[1]), /left/);
});

test("a loop goes on without a store", async () => {
  await using down = new App("redis://127.0.0.1:1");
  const seen: string[] = [];
  for await (const letter of down.track("abc", "letters")) seen.push(letter);
  assert.deepEqual(seen, ["a", "b", "c"]);
});

onEveryStore("a limit is shared by all who take from it", async (app) => {
  const take = (subject = "10.0.0.1", amount = 1): Promise<Verdict> =>
    app.limits.take("search", subject, { max: 3, period: 60_000, amount });
  const remaining: number[] = [];
  for (let n = 0; n < 3; n += 1) remaining.push((await take()).remaining);
  assert.deepEqual(remaining, [2, 1, 0]);
  const refused = await take();
  assert.ok(!refused.allowed && refused.retryAfter !== null && refused.retryAfter <= 60_000);
  assert.ok((await take("10.0.0.2")).allowed);
  assert.equal((await take("10.0.0.3", 4)).retryAfter, null, "more than the limit");
  const steady = await app.limits.take("burst", "me", { max: 1, period: 60_000, burst: 2 });
  assert.deepEqual([steady.allowed, steady.remaining], [true, 1]);
  await assert.rejects(app.limits.take("search", "me", { max: 0, period: 60_000 }), InvalidError);
  await assert.rejects(app.limits.take("search", "me", { max: 1.5, period: 60_000 }), InvalidError);
});

test("a job runs when it is submitted", async () => {
  await using app = testApp({ inline: true, context: () => "context" });
  const runs: unknown[] = [];
  const child = app.task("child", (n: number, job) => runs.push([n, job.context]));
  const parent = app.task("parent", async (n: number, job) => {
    await child.submit(n + 1, { parent: job });
    runs.push(n);
  });
  await parent.submit(1);
  assert.deepEqual(runs, [[2, "context"], 1]);
  const failing = app.task("fails", () => assert.fail("no"), { retries: 3, retryDelay: 60_000 });
  const handle = await failing.submit(null);
  assert.deepEqual([await handle.status(), (await handle.info()).attempts], ["retried", 1], "it is tried again later");
  const later = await child.submit(5, { delay: 1000 });
  assert.equal(await later.status(), "new");
  const many = await child.submitMany([7, 8, 9]);
  assert.deepEqual(await Promise.all(many.map((each) => each.status())), Array(3).fill("completed"));
  assert.equal(await (await app.queue("nobody's").submit(1)).status(), "queued");
});

test("a test store is a server for clients of Redis", async () => {
  await using app = testApp();
  const { hostname, port } = new URL(await app.redisUrl());
  const socket = connect(Number(port), hostname);
  socket.write("PING\r\n");
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
  socket.destroy();
  assert.equal(answer, "+PONG\r\n");
  await using other = new App(await app.redisUrl());
  const submitted = await other.queue<number>("shared").submit(1);
  assert.equal(await app.job(submitted.id).status(), "queued", "both are one store");
});

test("a test moves the time of its store", async () => {
  await using app = testApp();
  const queue = app.task("later", (n: number) => n, { retries: 0 });
  await using _worker = app.worker();
  const handle = await queue.submit(1, { delay: 3_600_000 });
  assert.equal(await handle.status(), "new");
  await app.advance(3_599_000);
  assert.equal(await handle.status(), "new");
  await app.advance(1000);
  assert.equal(await handle.result(SOON), 1);
});
