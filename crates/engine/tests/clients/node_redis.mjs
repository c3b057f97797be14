// node-redis against the engine: `node_redis.mjs PORT RESP`.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { createClient, defineScript, WatchError } = createRequire(import.meta.url)("redis");
const [port, RESP] = process.argv.slice(2).map(Number);

const add = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
  parseCommand(parser, key, by) {
    parser.pushKey(key);
    parser.push(by.toString());
  },
  transformReply: (reply) => reply,
});
const client = await createClient({ socket: { port }, RESP, scripts: { add } })
  .on("error", (error) => { throw error; })
  .connect();

async function commands() {
  assert.equal(await client.set("key", "ä", { expiration: { type: "EX", value: 100 } }), "OK");
  assert.equal(await client.get("key"), "ä");
  assert.equal(await client.hSet("hash", { a: "1", b: "2" }), 2);
  assert.deepEqual({ ...(await client.hGetAll("hash")) }, { a: "1", b: "2" });
  assert.equal(await client.zAdd("zset", [{ value: "a", score: 1.5 }, { value: "b", score: 2 }]), 2);
  assert.deepEqual(await client.zRangeWithScores("zset", 0, -1), [
    { value: "a", score: 1.5 },
    { value: "b", score: 2 },
  ]);
  assert.equal(await client.zScore("zset", "a"), 1.5);
  assert.deepEqual(new Set(await client.sendCommand(["KEYS", "*"])), new Set(["key", "hash", "zset"]));
  await assert.rejects(client.lPush("key", "x"), /WRONGTYPE/);
  await client.mSet(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`scan:${n}`, `${n}`])));
  const found = new Set();
  for await (const keys of client.scanIterator({ MATCH: "scan:*", COUNT: 20 })) {
    [keys].flat().forEach((key) => found.add(key));
  }
  assert.equal(found.size, 300);
}

async function transactions() {
  // Commands of one tick travel as one pipeline.
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.incr("counter")));
  assert.deepEqual(answers, Array.from({ length: 100 }, (_, n) => n + 1));
  assert.deepEqual(await client.multi().set("p", "1").incr("p").get("p").exec(), ["OK", 2, "2"]);
  const other = await client.duplicate().connect();
  await other.watch("p");
  await client.set("p", "changed");
  await assert.rejects(other.multi().set("p", "too late").exec(), WatchError);
  await other.close();
}

async function scripts() {
  assert.equal(await client.add("sum", 40), 40);
  await client.scriptFlush();
  assert.equal(await client.add("sum", 2), 42);
  assert.equal(await client.eval("return ARGV[1]", { keys: [], arguments: ["x"] }), "x");
}

async function blocking() {
  const waiter = await client.duplicate().connect();
  const popped = waiter.blPop("queue", 10);
  while (!(await client.info("clients")).includes("blocked_clients:1"));
  await client.rPush("queue", "job");
  assert.deepEqual({ ...(await popped) }, { key: "queue", element: "job" });
  assert.equal(await waiter.blPop("queue", 0.05), null);
  await waiter.close();
}

async function pubSub() {
  const listener = await client.duplicate().connect();
  const next = () => {
    let deliver;
    const message = new Promise((resolve) => (deliver = (...parts) => resolve(parts)));
    return [message, deliver];
  };
  const [message, onMessage] = next();
  const [byPattern, onPattern] = next();
  await listener.subscribe("news", onMessage);
  await listener.pSubscribe("n*", onPattern);
  assert.equal(await client.publish("news", "hello"), 2);
  assert.deepEqual(await message, ["hello", "news"]);
  assert.deepEqual(await byPattern, ["hello", "news"]);
  const [sharded, onSharded] = next();
  await listener.sSubscribe("shard", onSharded);
  assert.equal(await client.sPublish("shard", "hi"), 1);
  assert.deepEqual(await sharded, ["hi", "shard"]);
  await listener.unsubscribe("news");
  await listener.pUnsubscribe("n*");
  await listener.sUnsubscribe("shard");
  await listener.close();
}

for (const part of [commands, transactions, scripts, blocking, pubSub]) await part();
await client.close();
