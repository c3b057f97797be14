/** Queues that get jobs by the calendar, on every store. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidError, NotFoundError } from "keyrack";
import { testApp } from "keyrack/testing";
import * as z from "zod";

import { onEveryStore, until, withResolvers } from "./support.mjs";

onEveryStore("a worker runs schedules without a server", async (app) => {
  const { promise, resolve } = withResolvers<{ to: string }>();
  const mail = app.task("mail", (input: { to: string }) => resolve(input));
  await mail.schedule("ada's mail", { to: "ada" }, { every: 1000 });
  await using _worker = app.worker();
  assert.deepEqual(await promise, { to: "ada" });
});

onEveryStore("schedules are listed, changed, paused, run and deleted", async (app) => {
  const mail = app.queue<[{ to: string }]>("mail/send", { positional: true });
  const only = async () => {
    const [schedule, ...others] = await app.schedules();
    assert.ok(schedule !== undefined && others.length === 0);
    return schedule;
  };
  const at = new Date("2099-12-24T18:00:00Z");
  await mail.schedule("mail", [{ to: "ada" }], { at });
  const first = await only();
  assert.deepEqual([first.name, first.queue, first.nextRunAt], ["mail", "mail/send", at.getTime()]);
  await mail.schedule("mail", [{ to: "bob" }], { cron: "30 6 * * MON", zone: "UTC", catchUp: 0 });
  const { definition, paused } = await only();
  assert.deepEqual(
    [definition.cron, definition.kwargs, definition.catch_up, paused],
    ["30 6 * * MON", { to: "bob" }, 0, false],
  );
  await app.pauseSchedule("mail");
  assert.ok((await only()).paused);
  await app.resumeSchedule("mail");
  assert.ok(!(await only()).paused);
  await app.runSchedule("mail");
  assert.equal((await mail.stats()).queued, 1);
  await app.unschedule("mail");
  assert.deepEqual(await app.schedules(), []);
  await assert.rejects(app.unschedule("mail"), NotFoundError);
});

onEveryStore("a schedule that could not run is refused", async (app) => {
  const mail = app.queue("mail", { input: z.object({ to: z.string() }) });
  const ada = { to: "ada" };
  await assert.rejects(mail.schedule("mail", ada, {}), /and only one/);
  await assert.rejects(mail.schedule("mail", ada, { every: 500 }), /"every" is "0.5s"/);
  await assert.rejects(mail.schedule("mail", ada, { cron: "* * * * *" }), /"zone" is missing/);
  await assert.rejects(mail.schedule("mail", { to: 1 } as never, { every: 1000 }), InvalidError);
  const words = app.queue<string>("words");
  await assert.rejects(words.schedule("words", "ada", { every: 1000 }), /is an object/);
  assert.deepEqual(await app.schedules(), []);
});

test("a clock that a test moves runs schedules", async () => {
  await using app = testApp();
  let runs = 0;
  const hourly = app.task("hourly", () => void (runs += 1));
  await using _worker = app.worker();
  await hourly.schedule("hourly", {}, { every: 3_600_000 });
  for (const n of [1, 2]) {
    await app.advance(3_600_000);
    await until(() => runs === n);
  }
});
