/** Submitting and running jobs, on every store. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import * as keyrack from "keyrack";
import { App, Cancel, Fatal, JobStopped, Retry, Snooze, type Job } from "keyrack";
import * as z from "zod";

import { onEveryStore, results, SOON, until, withResolvers } from "./support.mjs";

onEveryStore("a job runs and its result comes back", async (app) => {
  const mail = app.queue<{ to: string; copies?: number }, number>("mail", { retries: 5 });
  mail.handle(({ to, copies = 1 }) => to.length * copies);
  const waiting = await mail.submit({ to: "a@b.c" });
  assert.equal(await waiting.status(), "queued");
  await using _worker = app.worker();
  assert.equal(await waiting.result(SOON), 5);
  assert.equal(await (await mail.submit({ to: "a@b.c", copies: 3 })).result(SOON), 15);
  const info = await waiting.info();
  assert.deepEqual(
    [info.status, info.queue, info.data, info.attempts, info.options?.["retries"]],
    ["completed", "mail", [{ to: "a@b.c" }], 1, 5],
  );
});

onEveryStore("values come back as they were", async (app) => {
  const echo = app.task("echo", (value: unknown) => value, { retries: 0 });
  const values = [
    'grüße 🎉 \u0000 \u2028 "quoted" \\',
    2n ** 53n + 1n,
    -(2n ** 64n) - 1n,
    10n ** 40n,
    9007199254740991,
    0.1,
    1e300,
    null,
    true,
    [],
    {},
    { z: [1, { ä: null }], a: "" },
    { long: [12345678901234567890n, "12345678901234567890", 1234567890123456.5] },
    ["bigint:1", '"1234567890123456789"'],
  ];
  await using _worker = app.worker();
  assert.deepEqual(await results(await echo.submitMany(values)), values);
  assert.equal(await (await echo.submit(undefined)).result(SOON), null);
});

onEveryStore("async handlers run side by side", async (app) => {
  let waiting = 0;
  let meet: () => void;
  const met = new Promise<void>((resolve) => (meet = resolve));
  const queue = app.task("meet", async (n: number) => {
    if ((waiting += 1) === 50) meet();
    await met;
    return n;
  });
  await using _worker = app.worker();
  const handles = await queue.submitMany(Array(50).keys());
  assert.deepEqual(await results(handles), [...Array(50).keys()]);
});

onEveryStore("thousands of jobs run once each", async (app) => {
  const seen: number[] = [];
  const queue = app.task("many", async (n: number) => void seen.push(n));
  await using _worker = app.worker();
  const [one, two] = await Promise.all([
    queue.submitMany(Array(1500).keys()),
    Promise.all(Array.from({ length: 500 }, (_, n) => queue.submit(1500 + n))),
  ]);
  await until(() => seen.length === 2000);
  assert.equal(new Set([...one, ...two].map(({ id }) => id)).size, 2000);
  assert.deepEqual(seen.sort((a, b) => a - b), [...Array(2000).keys()]);
});

onEveryStore("a failing job is tried again, and its reason has the stack", async (app) => {
  let attempts: number[] = [];
  const flaky = app.task(
    "flaky",
    async (_: null, job: Job) => {
      attempts.push(job.attempt);
      if (job.attempt < 3) throw new TypeError("not yet");
      return job.retries;
    },
    { retries: 3, retryDelay: 1 },
  );
  const never = app.task("never", () => {
    throw new RangeError("out of range", { cause: new Error("the cause") });
  }, { retries: 1, retryDelay: 1 });
  await using _worker = app.worker();
  assert.equal(await (await flaky.submit(null)).result(SOON), 2);
  assert.deepEqual(attempts, [1, 2, 3]);
  const failed = await (await never.submit(null)).result(SOON).catch((error: unknown) => error);
  assert.ok(failed instanceof keyrack.JobFailedError, String(failed));
  assert.equal(failed.errorClass, "failed");
  assert.match(failed.reason, /RangeError: out of range[^]*jobs\.test\.mjs[^]*caused by Error: the cause/);
});

onEveryStore("a handler says how to go on", async (app) => {
  const queue = app.task(
    "ways",
    async (way: string, job: Job) => {
      if (way === "retry" && job.attempt === 1) throw new Retry({ delay: 0, reason: "busy" });
      if (way === "fatal") throw new Fatal("no use");
      if (way === "cancel") throw new Cancel();
      if (way === "loop") {
        const loop: Record<string, unknown> = {};
        loop["loop"] = loop;
        return loop;
      }
      return job.attempt;
    },
    { retries: 5, retryDelay: 3_600_000 },
  );
  await using _worker = app.worker();
  const end = async (way: string): Promise<unknown> =>
    (await queue.submit(way)).result(SOON).catch((error: unknown) => error);
  assert.equal(await end("retry"), 2);
  assert.ok((await end("fatal")) instanceof keyrack.JobFailedError);
  assert.ok((await end("cancel")) instanceof keyrack.JobCanceledError);
  assert.match(String(await end("loop")), /cannot be written as JSON/);
});

onEveryStore("canceling aborts the signal of a running handler", async (app) => {
  const started = withResolvers<void>();
  const stopped = withResolvers<unknown>();
  const queue = app.task("wait", async (_: null, job: Job) => {
    started.resolve();
    await pause(60_000, undefined, { signal: job.signal }).catch((error: Error) =>
      stopped.resolve(error.cause),
    );
  });
  await using _worker = app.worker();
  const handle = await queue.submit(null);
  await started.promise;
  assert.deepEqual(await handle.cancel(), [handle.id]);
  const reason = await stopped.promise;
  assert.ok(reason instanceof JobStopped && reason.reason === "canceled", String(reason));
  await assert.rejects(handle.result(SOON), keyrack.JobCanceledError);
  await handle.retry();
  assert.ok(["queued", "running"].includes(await handle.status()));
  await handle.cancel();
});

onEveryStore("a job that runs for too long is stopped and fails", async (app) => {
  const queue = app.task(
    "slow",
    async (_: null, job: Job) => {
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      return job.stopReason;
    },
    { timeLimit: 50, retries: 0 },
  );
  await using _worker = app.worker();
  await assert.rejects((await queue.submit(null)).result(SOON), keyrack.JobFailedError);
});

onEveryStore("options reach the job", async (app) => {
  const order: string[] = [];
  const queue = app.task("order", (name: string) => void order.push(name), { concurrency: 1 });
  const first = await queue.submit("first", { tags: ["a", "b"], tenant: "acme" });
  const last = await queue.submit("last", { after: [first], parent: first });
  const late = await queue.submit("late", { priority: -5 });
  const next = await queue.submit("next", { priority: 10 });
  const delayed = await queue.submit("delayed", { delay: 3_600_000 });
  assert.equal(await delayed.status(), "new");
  assert.equal(await last.status(), "new");
  const info = await first.info();
  assert.deepEqual([info.tags, info.tenant], [["a", "b"], "acme"]);
  assert.equal((await last.info()).parent, first.id);
  await using _worker = app.worker();
  await results([first, last, late, next]);
  assert.equal(order[0], "next");
  assert.ok(order.indexOf("first") < order.indexOf("last"), order.join());
  assert.deepEqual(await delayed.cancel(), [delayed.id]);
});

onEveryStore("a key gives the same job, and an id is refused twice", async (app) => {
  const queue = app.queue<string>("once");
  const one = await queue.submit("a", { key: "k" });
  assert.equal((await queue.submit("a", { key: "k" })).id, one.id);
  await assert.rejects(queue.submit("b", { key: "k" }), keyrack.ConflictError);
  await queue.submit("a", { id: "mine" });
  await assert.rejects(queue.submit("a", { id: "mine" }), /there is a job "mine" already/);
  const many = await queue.submitMany(["a", "b"], { key: "m" });
  const again = await queue.submitMany(["a", "b"], { key: "m" });
  assert.deepEqual(many.map(({ id }) => id), again.map(({ id }) => id));
});

onEveryStore("duplicates end as their original does", async (app) => {
  let runs = 0;
  const queue = app.task("same", (n: number) => ((runs += 1), n), { skipDuplicates: true });
  await using _worker = app.worker();
  assert.equal(await (await queue.submit(1)).result(SOON), 1);
  const duplicate = await queue.submit(1);
  assert.equal(await duplicate.result(SOON), 1);
  assert.equal(await duplicate.status(), "duplicate");
  assert.equal(runs, 1);
});

onEveryStore("jobs with several arguments are lists", async (app) => {
  const add = app.queue<[a: number, b?: number], number>("add", { positional: true });
  add.handle(([a, b = 10]) => a + b);
  await using _worker = app.worker();
  assert.deepEqual(await results(await add.submitMany([[1, 2], [3]])), [3, 13]);
  assert.deepEqual((await (await add.submit([1, 2])).info()).data, [1, 2]);
});

onEveryStore("a validator checks inputs and results", async (app) => {
  const queue = app.queue("resize", {
    input: z.object({ width: z.number().positive(), url: z.string().default("none") }),
    output: z.string(),
    retries: 0,
  });
  // @ts-expect-error: the type is the validator's.
  await assert.rejects(queue.submit({ width: "10", url: "" }), /the input: width: /);
  queue.handle(({ width, url }) => (width > 100 ? (width as unknown as string) : `${url} ${width}`));
  await using _worker = app.worker();
  const result: string = await (await queue.submit({ width: 10, url: "u" })).result(SOON);
  assert.equal(result, "u 10");
  const wrong = await (await queue.submit({ width: 101, url: "u" })).result(SOON).catch(String);
  assert.match(wrong, /the result: /);
});

onEveryStore("events are an async iterator", async (app) => {
  const queue = app.task("events", async (n: number, job: Job) => {
    await job.report({ percent: n });
    return n;
  });
  const events = await app.events(queue).listening();
  await using _worker = app.worker();
  const handle = await queue.submit(50);
  const seen: string[] = [];
  for await (const event of events) {
    assert.deepEqual([event.id, event.queue], [handle.id, "events"]);
    if (event.type === "progress") assert.deepEqual(event.progress, { percent: 50 });
    seen.push(event.type);
    if (event.type === "completed") {
      assert.equal(event.job?.result, 50);
      break;
    }
  }
  assert.deepEqual(seen, ["new", "progress", "completed"]);
  const controller = new AbortController();
  const stopped = app.events("events", { signal: controller.signal });
  const next = (await stopped.listening()).next();
  controller.abort();
  assert.equal((await next).done, true);
});

onEveryStore("a queue can be paused, and tells what it holds", async (app) => {
  const queue = app.task("held", (n: number) => n);
  await queue.pause();
  const handle = await queue.submit(1);
  await using _worker = app.worker();
  await assert.rejects(handle.result({ timeout: 50 }), keyrack.WaitTimeoutError);
  assert.deepEqual([(await queue.stats()).paused, (await queue.stats()).queued], [true, 1]);
  assert.match(JSON.stringify(await handle.why()), /paused/);
  await queue.resume();
  assert.equal(await handle.result(SOON), 1);
});

onEveryStore("stopping lets running jobs end", async (app) => {
  const started = withResolvers<void>();
  const go = withResolvers<void>();
  const queue = app.task("end", async () => {
    started.resolve();
    await go.promise;
    return "ended";
  });
  const worker = app.worker();
  const handle = await queue.submit(null);
  await started.promise;
  const stopping = worker.stop();
  go.resolve();
  await stopping;
  assert.equal(await handle.result({ timeout: 0 }), "ended");
  await worker.stop();
});

onEveryStore("a handler that does not end in time gives its job back", async (app) => {
  let stops = 0;
  const started = withResolvers<void>();
  const queue = app.task("back", async (_: null, job: Job) => {
    job.signal.addEventListener("abort", () => (stops += 1));
    started.resolve();
    if (job.attempt === 1) await new Promise(() => undefined);
    return job.stopReason ?? "done";
  });
  const worker = app.worker({ drain: 10, stopGrace: 10 });
  const handle = await queue.submit(null);
  await started.promise;
  await worker.stop();
  assert.equal(stops, 1);
  await using _second = app.worker();
  assert.equal(await handle.result(SOON), "done");
});

test("wrong values are refused with their name", async () => {
  await using app = new App("memory");
  const queue = app.queue<number>("checked");
  const refused = (options: object, message: RegExp): Promise<void> =>
    assert.rejects(queue.submit(1, options), (error: unknown) => {
      assert.ok(error instanceof keyrack.InvalidError, String(error));
      assert.equal(error.errorClass, "invalid");
      assert.match(error.message, message);
      return true;
    });
  await refused({ priority: 11 }, /priority: 11; give at most 10/);
  await refused({ delay: -1 }, /delay: -1 ms; give 0 to/);
  await refused({ delay: Infinity }, /delay: Infinity; give a finite number/);
  await refused({ retries: 1.5 }, /options: .*1\.5/);
  await refused({ afterTags: true }, /dependenciesOnTags: the job has no tags/);
  await refused({ dealy: 1 }, /there is no option "dealy"; there are after,/);
  await assert.rejects(queue.submitMany([1], { id: "x" }), /"id" is for one job/);
  assert.throws(() => app.queue("checked"), /there is a queue "checked" already/);
  assert.throws(() => app.worker(), /no queue has a handler/);
  queue.handle((n) => n);
  assert.throws(() => queue.handle((n) => n), /has a handler already/);
  assert.throws(() => app.worker({ queues: ["other"] }), /"other" has no handler; those with one: "checked"/);
  assert.throws(() => app.worker({ concurrency: 0 }), /concurrency: 0; give a whole number/);
  await assert.rejects(app.job("gone").info(), keyrack.NotFoundError);
  assert.throws(() => new App("http://a").rack, /"http:\/\/a" is no store/);
  assert.throws(() => new App("redis://host:port").rack, keyrack.InvalidError);
});

test("a store that cannot be reached is an error of the first call, and of the worker", async () => {
  await using app = new App("redis://127.0.0.1:1");
  const queue = app.task("lost", (n: number) => n);
  for (const call of [() => app.ready(), () => queue.submit(1), () => app.worker().ended]) {
    await assert.rejects(call(), (error: unknown) => {
      assert.ok(error instanceof keyrack.UnavailableError, String(error));
      return error.isTransient && /cannot reach/.test(error.message);
    });
  }
});

test("closing ends what waits, and a closed store opens again", async () => {
  const app = new App("memory");
  const queue = app.queue<number>("closing");
  const handle = await queue.submit(1);
  const events = await app.events(queue).listening();
  const waiting = Promise.allSettled([handle.result(), events.next()]);
  await handle.info();
  await app.close();
  for (const end of await waiting) {
    assert.ok(end.status === "rejected" && end.reason instanceof keyrack.ClosedError);
  }
  await app.close();
  await assert.rejects(handle.info(), keyrack.NotFoundError);
  await app.close();
});

test("a wait ends with its signal, and the job goes on", async () => {
  await using app = new App("memory");
  const handle = await app.queue<number>("waiting").submit(1);
  await assert.rejects(handle.result({ signal: AbortSignal.timeout(10) }), { name: "TimeoutError" });
  await assert.rejects(handle.result({ signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(await handle.status(), "queued");
});

onEveryStore("a handler may return how to go on", async (app) => {
  const decide = app.task(
    "decide",
    async (word: string, job) => {
      if (job.attempt > 1) return job.attempt;
      if (word === "snooze") return new Snooze(0);
      if (word === "retry") return new Retry({ delay: 0 });
      return word === "fatal" ? new Fatal("no use") : new Cancel();
    },
    { retries: 1 },
  );
  await using _worker = app.worker();
  const ends: number[] = [
    await (await decide.submit("snooze")).result(SOON),
    await (await decide.submit("retry")).result(SOON),
  ];
  assert.deepEqual(ends, [2, 2]);
  await assert.rejects((await decide.submit("fatal")).result(SOON), /no use/);
  await assert.rejects((await decide.submit("cancel")).result(SOON), { errorClass: "canceled" });
});

onEveryStore("a batch handler gets many jobs", async (app) => {
  const sizes: number[] = [];
  const insert = app.batch(
    "insert",
    (rows: { id: number }[], jobs: Job[]) => {
      sizes.push(rows.length);
      assert.equal(jobs.length, rows.length);
      return rows.map(({ id }) => (id === 7 ? new TypeError("no row 7") : id * 2));
    },
    { size: 10, wait: 200, retries: 0 },
  );
  const handles = await insert.submitMany([...Array(25).keys()].map((id) => ({ id })));
  await using _worker = app.worker();
  const seventh = handles.splice(7, 1);
  await assert.rejects(results(seventh), /no row 7/);
  const expected = [...Array(25).keys()].filter((id) => id !== 7).map((id) => id * 2);
  assert.deepEqual(await results(handles), expected);
  assert.equal(sizes.reduce((sum, size) => sum + size), 25);
  assert.ok(sizes.length < 10 && Math.max(...sizes) <= 10, `${sizes}`);
});

onEveryStore("a batch handler that throws or forgets a result fails all its jobs", async (app) => {
  const throws = app.batch("throws", () => Promise.reject(new TypeError("no database")), { retries: 0 });
  const forgets = app.batch("forgets", (rows: number[]) => rows.slice(1), { retries: 0 });
  await using _worker = app.worker();
  await assert.rejects(results(await throws.submitMany([1, 2])), /no database/);
  const [one, two] = await forgets.submitMany([1, 2]);
  for (const handle of [one, two]) {
    assert.ok(handle !== undefined);
    await assert.rejects(handle.result(SOON), /inputs and returned/);
  }
  assert.throws(() => app.batch("none", (rows: number[]) => rows, { size: 0 }), /size: 0/);
});
