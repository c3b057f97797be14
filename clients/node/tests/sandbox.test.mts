/** Handlers in worker threads. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { App, JobCanceledError, JobFailedError, sandbox } from "keyrack";

import { onEveryStore, SOON } from "./support.mjs";

const MODULE = new URL("sandbox-handler.mjs", import.meta.url);

onEveryStore("a handler runs in a thread", async (app) => {
  const queue = app.task("threads", sandbox<string, unknown>(MODULE, { threads: 2 }));
  await using _worker = app.worker();
  const run = async (way: string): Promise<unknown> => (await queue.submit(way)).result(SOON);
  assert.ok((await run("thread")) as number > 0);
  assert.equal(await run("retry"), 2);
  await assert.rejects(run("fatal"), /no use/);
  const job = await queue.submit("report");
  assert.deepEqual(await job.result(SOON), [job.id, 1, "threads"]);
});

test("a handler that ends its thread fails its job only", async () => {
  await using app = new App("memory");
  const queue = app.task("threads", sandbox<string, unknown>(MODULE, { threads: 1 }), { retries: 0 });
  await using _worker = app.worker();
  const [exits, next] = await queue.submitMany(["exit", "next"]);
  await assert.rejects(exits?.result(SOON) ?? assert.fail(), (error: unknown) => {
    return error instanceof JobFailedError && /ended with code 7/.test(error.reason);
  });
  assert.equal(await next?.result(SOON), "next");
});

test("canceling reaches a handler in its thread, even one that spins", async () => {
  await using app = new App("memory");
  const handler = sandbox<string, unknown>(MODULE, { threads: 1, stopGrace: 10 });
  const queue = app.task("threads", handler, { retries: 0 });
  await using _worker = app.worker();
  for (const way of ["wait", "spin"]) {
    const events = await app.events(queue).listening();
    const handle = await queue.submit(way);
    for await (const event of events) if (event.type === "progress") break;
    await handle.cancel();
    await assert.rejects(handle.result(SOON), JobCanceledError);
  }
  assert.equal(await (await queue.submit("next")).result(SOON), "next");
});
