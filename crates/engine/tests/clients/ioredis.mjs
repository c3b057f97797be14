// ioredis against the engine: `ioredis.mjs PORT`.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";

const Redis = createRequire(import.meta.url)("ioredis");
const port = Number(process.argv[2]);
const client = new Redis({ port, maxRetriesPerRequest: 1 });

async function commands() {
  assert.equal(await client.set("key", "ä", "EX", 100), "OK");
  assert.equal(await client.get("key"), "ä");
  assert.deepEqual(await client.getBuffer("key"), Buffer.from("ä"));
  assert.equal(await client.hset("hash", { a: 1, b: 2 }), 2);
  assert.deepEqual(await client.hgetall("hash"), { a: "1", b: "2" });
  assert.equal(await client.zadd("zset", 1.5, "a", 2, "b"), 2);
  assert.deepEqual(await client.zrange("zset", 0, -1, "WITHSCORES"), ["a", "1.5", "b", "2"]);
  await assert.rejects(client.lpush("key", 1), /^ReplyError: WRONGTYPE/);
  await assert.rejects(client.call("NOSUCH"), /unknown command 'NOSUCH'/);
  await client.mset(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`scan:${n}`, n])));
  const found = new Set();
  for await (const keys of client.scanStream({ match: "scan:*", count: 20 })) {
    keys.forEach((key) => found.add(key));
  }
  assert.equal(found.size, 300);
}

async function pipelines() {
  const replies = await client.pipeline().set("p", 1).incr("p").lpush("p", 1).exec();
  assert.deepEqual(replies.slice(0, 2), [[null, "OK"], [null, 2]]);
  assert.match(replies[2][0].message, /^WRONGTYPE/);
  assert.deepEqual(await client.multi().incr("p").get("p").exec(), [[null, 3], [null, "3"]]);
  await client.watch("p");
  const other = client.duplicate();
  await other.set("p", "changed");
  assert.equal(await client.multi().set("p", "too late").exec(), null);
  await other.quit();
}

async function scripts() {
  client.defineCommand("add", {
    numberOfKeys: 1,
    lua: "return {redis.call('INCRBY', KEYS[1], ARGV[1]), ARGV[1]}",
  });
  assert.deepEqual(await client.add("sum", 40), [40, "40"]);
  await client.script("FLUSH");
  assert.deepEqual(await client.add("sum", 2), [42, "2"]);
  assert.deepEqual(await client.pipeline().add("sum", 1).exec(), [[null, [43, "1"]]]);
}

async function blocking() {
  const waiter = client.duplicate();
  const popped = waiter.blpop("queue", 10);
  while (!(await client.info("clients")).includes("blocked_clients:1"));
  await client.rpush("queue", "job");
  assert.deepEqual(await popped, ["queue", "job"]);
  assert.equal(await waiter.blpop("queue", 0.05), null);
  await waiter.quit();
}

async function pubSub() {
  const listener = client.duplicate();
  assert.equal(await listener.subscribe("news"), 1);
  assert.equal(await listener.psubscribe("n*"), 2);
  const message = once(listener, "message");
  const byPattern = once(listener, "pmessage");
  assert.equal(await client.publish("news", "hello"), 2);
  assert.deepEqual(await message, ["news", "hello"]);
  assert.deepEqual(await byPattern, ["n*", "news", "hello"]);
  await listener.unsubscribe("news");
  await listener.punsubscribe("n*");
  assert.equal(await listener.get("key"), "ä");
  await listener.quit();
}

for (const part of [commands, pipelines, scripts, blocking, pubSub]) await part();
await client.quit();
