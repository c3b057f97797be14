/** What jobs log, how far they are, limits that they name, places that queues share, and the context of handlers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { App, InvalidError, NotFoundError, open, sandbox, type Job } from "keyrack";

import { onEveryStore, results, SOON, until, withResolvers } from "./support.mjs";

onEveryStore("a job logs and others read it", async (app) => {
  const work = async (n: number, job: Job): Promise<number> => {
    job.log(`attempt ${job.attempt}`, "debug");
    if (job.attempt === 1) throw new Error("no");
    job.console.warn("%s: %d", "grüße", n, { a: [1] });
    return n;
  };
  const queue = app.task("work", work, { retries: 1, retryDelay: 0 });
  await using _worker = app.worker();
  const handle = await queue.submit(1);
  await handle.result(SOON);
  const lines = await handle.logs();
  assert.deepEqual(lines.map(({ n, attempt, level, text }) => [n, attempt, level, text]), [
    [0, 1, "debug", "attempt 1"],
    [1, 2, "debug", "attempt 2"],
    [2, 2, "warn", "grüße: 1 { a: [ 1 ] }"],
  ]);
  const followed = [];
  for await (const line of handle.followLogs()) followed.push(line);
  assert.deepEqual(followed, lines);
  await assert.rejects(app.job(`${handle.id.slice(0, -1)}_`).logs(), NotFoundError);
});

onEveryStore("logs are followed while a job runs", async (app) => {
  const { promise: isSeen, resolve: see } = withResolvers<void>();
  const queue = app.task("work", async (_: null, job) => {
    job.log("first");
    await isSeen;
    job.log("last");
  });
  await using _worker = app.worker();
  const handle = await queue.submit(null);
  const texts: string[] = [];
  for await (const line of handle.followLogs()) {
    texts.push(line.text);
    see();
  }
  assert.deepEqual(texts, ["first", "last"]);
});

onEveryStore("progress is stored with its message", async (app) => {
  const queue = app.task("work", async (_: null, job) => {
    await job.report(10, "reading");
    await job.report({ percent: 50 }, "writing");
  });
  const events = await app.events(queue).listening();
  const handle = await queue.submit(null);
  assert.equal((await handle.info()).progress, null);
  await using _worker = app.worker();
  const heard: unknown[] = [];
  for await (const { type, progress, message } of events) {
    if (type === "progress") heard.push([progress, message]);
    if (type === "completed") break;
  }
  assert.deepEqual(heard, [[10, "reading"], [{ percent: 50 }, "writing"]]);
  const { progress } = await handle.info();
  assert.deepEqual([progress?.value, progress?.message, progress?.attempt], [{ percent: 50 }, "writing", 1]);
});

onEveryStore("jobs that name a limit share it", async (app) => {
  let running = 0;
  let most = 0;
  const { promise: isOther, resolve: other } = withResolvers<void>();
  const queue = app.task("work", async (kind: string) => {
    if (kind === "other") return other();
    running += 1;
    most = Math.max(most, running);
    await isOther;
    running -= 1;
  });
  await queue.setLimits({ named: { gpu: { concurrency: 1 } } });
  assert.equal((await queue.limits()).named?.["gpu"]?.concurrency, 1);
  const handles = await queue.submitMany(["a", "b", "c"], { limits: ["gpu"] });
  handles.push(await queue.submit("other"));
  await using _worker = app.worker();
  await results(handles);
  assert.equal(most, 1);
  const eleven = Array.from({ length: 11 }, (_, n) => String(n));
  await assert.rejects(queue.submit("a", { limits: eleven }), InvalidError);
});

onEveryStore("queues share the places of a worker by weight", async (app) => {
  const order: string[] = [];
  const heavy = app.task("heavy", () => void order.push("heavy"), { weight: 3 });
  const light = app.task("light", () => void order.push("light"));
  const inputs = Array.from({ length: 20 });
  const handles = [...(await heavy.submitMany(inputs)), ...(await light.submitMany(inputs))];
  await using _worker = app.worker({ sharedConcurrency: 1 });
  await results(handles);
  const n = order.slice(0, 20).filter((name) => name === "heavy").length;
  assert.ok(n >= 11 && n <= 17, order.join());
  assert.throws(() => app.worker({ sharedConcurrency: 0 }), InvalidError);
});

test("a handler in a thread logs and reports with a message", async () => {
  await using app = new App("memory");
  const module = new URL("sandbox-handler.mjs", import.meta.url);
  const queue = app.task("threads", sandbox<string, unknown>(module, { threads: 1 }));
  await using _worker = app.worker();
  const handle = await queue.submit("log");
  await handle.result(SOON);
  assert.deepEqual((await handle.logs()).map(({ level, text }) => [level, text]), [["warn", "2 left"]]);
  const { progress } = await handle.info();
  assert.deepEqual([progress?.value, progress?.message], [99, "nearly"]);
});

class Database {
  isOpen = true;
  readonly rows: string[] = [];
  async [Symbol.asyncDispose](): Promise<void> {
    this.isOpen = false;
  }
}

onEveryStore("a worker opens a context for its handlers and closes it after the last job", async ({ url }) => {
  // The store of the test is open already, and a folder has one program at a time.
  const store = url.startsWith("embedded:") ? "memory" : url;
  const opened: Database[] = [];
  await using app = open(store, {
    context: async () => {
      const made = new Database();
      opened.push(made);
      return made;
    },
  });
  const queue = app.task("rows", (row: string, job) => {
    // The type is that of the context: without it, this line does not compile.
    assert.ok(job.context.isOpen);
    return job.context.rows.push(row);
  });
  assert.equal(opened.length, 0, "nothing is opened before a worker starts");
  const worker = app.worker();
  const handles = await queue.submitMany(["a", "b"]);
  assert.deepEqual((await results(handles)).sort(), [1, 2]);
  assert.equal(opened.length, 1);
  await worker.stop();
  assert.deepEqual(opened.map(({ isOpen, rows }) => [isOpen, rows.length]), [[false, 2]]);
  await using _second = app.worker();
  await results([await queue.submit("c")]);
  assert.equal(opened.length, 2, "each worker has its own");
});

test("a context that cannot be opened ends the worker, and no job runs", async () => {
  const context = (): never => {
    throw new Error("no database");
  };
  await using app = open("memory", { context });
  const queue = app.task("rows", () => assert.fail("it ran"));
  const handle = await queue.submit(null);
  const worker = app.worker();
  await assert.rejects(worker.ended, /no database/);
  const { status, attempts } = await handle.info();
  assert.deepEqual([status, attempts], ["queued", 0]);
});

test("a context is closed as it says, and a worker that stops at once closes it too", async () => {
  const closed: string[] = [];
  const { promise: isOpening, resolve: begin } = withResolvers<void>();
  const { promise: mayOpen, resolve: go } = withResolvers<void>();
  await using app = open("memory", {
    context: async () => {
      begin();
      await mayOpen;
      return "context";
    },
    closeContext: (context) => closed.push(context),
  });
  app.task("rows", (_: null, job) => job.context.length);
  const worker = app.worker();
  await isOpening;
  const stopped = worker.stop();
  go();
  await stopped;
  await until(() => closed.length === 1);
  assert.deepEqual(closed, ["context"]);
});
