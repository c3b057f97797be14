/** Rollups, entitlements, recommendations and guarded uploads, on every store. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { App, ConflictError, InvalidError, NotFoundError, UnavailableError, type RevenueCat } from "keyrack";
import { testApp } from "keyrack/testing";

import { folder, onEveryStore } from "./support.mjs";

const NOON = new Date("2026-03-01T12:00:00Z");
const later = (minutes: number): Date => new Date(NOON.getTime() + minutes * 60_000);

onEveryStore("values are summed by the hour", async (app) => {
  const shop = app.rollups("acme", "web");
  const of = { dimension: "revenue", key: "shop", interval: "hours" } as const;
  await shop.record({ ...of, value: "19.99", calculation: ["sum", "count"], at: NOON });
  await shop.record(
    { ...of, value: 1n, calculation: "sum", at: later(5) },
    { ...of, value: 0.5, calculation: "sum", at: later(120) },
  );
  const sums = await shop.result("revenue", "shop", "sum", "hours");
  assert.deepEqual(Object.values(sums), [20.99, 0.5]);
  assert.deepEqual(Object.values(await shop.result("revenue", "shop", "count", "hours")), [2, 1]);
  const series = await shop.series("revenue", "shop", "sum", "hours");
  assert.deepEqual(series.map((point) => point.value), [20.99, null, 0.5]);
  assert.deepEqual(await app.rollups("acme", "other").result("revenue", "shop", "sum", "hours"), {});
});

onEveryStore("of events with a bad one none is taken", async (app) => {
  const shop = app.rollups("acme", "web");
  const good = { dimension: "revenue", key: "shop", value: 1, interval: "hours", calculation: "sum" } as const;
  await assert.rejects(shop.record(good, { ...good, value: Number.NaN }), (error: unknown) => {
    assert.ok(error instanceof InvalidError);
    assert.match(error.message, /event 2 of 2: value/);
    return true;
  });
  assert.deepEqual(await shop.result("revenue", "shop", "sum", "hours"), {});
});

/** Stands in for RevenueCat, which is somebody else's service. */
async function revenueCat(): Promise<{ source: RevenueCat; asked: string[]; close(): void }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    assert.equal(request.headers.authorization, "Bearer secret");
    const entitlements = request.url?.includes("ada") ? { pro: { expires_date: null } } : {};
    response.end(JSON.stringify({ subscriber: { entitlements } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { source: { key: "secret", url: `http://127.0.0.1:${port}` }, asked, close };
}

onEveryStore("an entitlement is asked for once and remembered", async (app, t) => {
  const { source, asked, close } = await revenueCat();
  t.after(close);
  app.entitlements.configure({ names: ["pro", "plus"], source });
  assert.equal(await app.entitlements.has("ada", "pro"), false);
  await assert.rejects(app.entitlements.lookup("ada", "pro"), NotFoundError);
  for (const user of ["ada", "bob"]) await app.entitlements.link(user, `of-${user}`);
  const found = await app.entitlements.lookup("ada", "pro");
  assert.deepEqual([found.isActive, found.origin, found.expiresAt], [true, "source", null]);
  assert.equal(await app.entitlements.has("ada", "pro"), true);
  assert.equal(await app.entitlements.has("ada", "plus"), false);
  assert.equal(await app.entitlements.has("bob", "pro"), false);
  assert.equal(asked.length, 2, "each user once");
  assert.equal((await app.entitlements.lookup("ada", "pro", { fresh: true })).origin, "source");
  assert.equal(asked.length, 3);
  await assert.rejects(app.entitlements.has("ada", "gold"), InvalidError);
  assert.throws(() => app.entitlements.configure({ names: ["gold"] }), ConflictError);
});

onEveryStore("without a source nobody is taken to be entitled", async (app) => {
  app.entitlements.configure({});
  for (let n = 0; n < 2; n += 1) {
    await assert.rejects(app.entitlements.has("ada", "pro"), (error: unknown) => {
      return error instanceof UnavailableError && error.message.includes("KEYRACK_REVENUE_CAT_KEY");
    });
  }
});

/** Three posts of alice in a challenge that is open to all, as the app's tables have them. */
function tables(): string {
  const to = join(folder(), "tables");
  mkdirSync(to);
  const today = new Date().toISOString().slice(0, 10);
  const challenge = `id,category,is_public,duration,created_time\n7,2,1,30,${today}\n`;
  writeFileSync(join(to, "challenge.csv"), challenge);
  const posts = [100, 101, 102].map((id) => `${id},alice,7,${today},Ran 5 km\n`).join("");
  writeFileSync(join(to, "post.csv"), `id,user_id,challenge_id,created_time,written_text\n${posts}`);
  return to;
}

onEveryStore("recommendations are listed", async (app) => {
  const posts = app.recommendations;
  assert.deepEqual((await posts.list("bob")).items, []);
  assert.equal(await posts.load(tables()), 3);
  const page = await posts.list("bob", { limit: 2 });
  const rest = await posts.list("bob", { limit: 2, cursor: String(page.cursor) });
  const ids = [...page.items, ...rest.items].map((post) => post.postId);
  assert.deepEqual(ids.sort(), [100, 101, 102]);
  assert.equal(rest.cursor, undefined);
  const [first] = page.items;
  assert.deepEqual([first?.authorId, first?.challengeId, first?.category], ["alice", 7, 2]);
  await posts.shown("bob", [100, 101]);
  assert.equal((await posts.list("bob")).items[0]?.postId, 102, "what is new comes first");
  await posts.hide("bob", [102]);
  const left = await posts.list("bob", { withoutPosts: [100] });
  assert.deepEqual(left.items.map((post) => post.postId), [101]);
  await assert.rejects(posts.list("bob", { limit: 0 }), InvalidError);
});

onEveryStore("an upload that is saved is kept and others are swept", async (app) => {
  {
    await using upload = await app.files.upload("photos", "a.jpg", { hint: "a test" });
    const [waiting] = await app.files.waiting();
    assert.deepEqual([waiting?.bucket, waiting?.key, waiting?.hint], ["photos", "a.jpg", "a test"]);
    await upload.hold();
    await upload.save();
  }
  assert.deepEqual(await app.files.waiting(), []);
  const failing = async (): Promise<void> => {
    await using _upload = await app.files.upload("photos", "b.jpg");
    throw new Error("no room");
  };
  await assert.rejects(failing(), /no room/);
  await app.files.delete("photos", "d.jpg");
  const waiting = await app.files.waiting();
  assert.deepEqual(waiting.map((file) => file.key), ["d.jpg", "b.jpg"], "what is due comes first");
  const upload = await app.files.upload("photos", "c.jpg");
  await upload.save();
  await assert.rejects(upload.hold(), ConflictError);
  await assert.rejects(app.files.upload("", "e.jpg"), InvalidError);
});

test("an upload outlives its first ten minutes when it is held", async () => {
  await using app = testApp();
  await using upload = await app.files.upload("photos", "slow.jpg");
  const at = async (): Promise<number> => (await app.files.waiting())[0]?.at.getTime() ?? 0;
  const before = await at();
  await app.advance(500_000);
  await upload.hold();
  assert.ok((await at()) - before >= 499_000);
  await upload.save();
  assert.deepEqual(await app.files.waiting(), []);
});

test("the settings of the program say who knows entitlements", async (t) => {
  const { source, close } = await revenueCat();
  t.after(close);
  const settings = {
    KEYRACK_REVENUE_CAT_URL: String(source.url),
    KEYRACK_REVENUE_CAT_KEY: source.key,
    KEYRACK_ENTITLEMENTS: "plus, pro",
  };
  Object.assign(process.env, settings);
  t.after(() => Object.keys(settings).forEach((name) => delete process.env[name]));
  await using app = new App("memory");
  await app.entitlements.link("ada", "of-ada");
  assert.equal(await app.entitlements.has("ada", "pro"), true);
  assert.equal(await app.entitlements.has("ada", "plus"), false);
});
