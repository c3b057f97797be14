// Writes or reads one key of each kind with generated code and ioredis.

import { createRequire } from "node:module";
import * as shop from "./shop.js";

const { Redis } = createRequire(process.env["NODE_CLIENTS"]!)("ioredis");
const [mode, port, given] = process.argv.slice(2) as [string, string, string];
const world = JSON.parse(given) as Record<"user" | "tenant" | "path" | "page" | "note", string>;
const client = new Redis(Number(port));
const ORDER = 18446744073709551615n;
const raw = (value: shop.Raw) => (typeof value === "string" ? value : Buffer.from(value));
const hex = (value: Uint8Array) => Buffer.from(value).toString("hex");

async function write(): Promise<void> {
  const names: [string, number][] = [];
  const named = <K>(family: { build(key: K): string; ttlSeconds: number | undefined }, key: K) => {
    names.push([family.build(key), family.ttlSeconds!]);
    return family.build(key);
  };
  const { user, tenant, note } = world;
  const basket = named(shop.basketKey, { user });
  const order: shop.Order = {
    user, total: "9.50", count: 1000, balance: -9223372036854775808n, weight: 0.1,
    at: 1763455469123n, seen: 1763455469.25, placed: "2026-11-18T08:44:29.5+01:00", paid: true, gift: false,
    status: "sent back", phone: "+49 170", place: [1.5, -3n], sizes: [1n, -2n, 3n],
    lines: [{ sku: note, count: 2 }, { sku: "b", count: 0, gift: true }],
    note, class: "first", blob: Uint8Array.of(0, 255), next: "", basket, mixed: "none",
  };
  const fields = Object.entries(shop.orderFields.write(order)).flatMap(([name, value]) => [name, raw(value)]);
  await client.hset(named(shop.orderKey, { order: ORDER }), ...fields);
  await client.sadd(basket, raw(shop.basketMember.write(ORDER)));
  const session: shop.SessionValue = { user: note, roles: ["a"], level: "high", extra: { a: 1.5, b: null }, old: [1] };
  await client.set(named(shop.sessionKey, { user, order: 7n }), raw(shop.sessionValue.write(session)));
  const recent = named(shop.recentKey, { tenant, day: "2024-02-29", kind: "2nd-hand" });
  await client.zadd(recent, shop.recentScore.write(1763455469123n), raw(shop.recentMember.write(user)));
  const [uuid, ulid] = ["b355de80-54e5-11e3-8f96-0800200c9a66", "01ARZ3NDEKTSV4RRFFQ69G5FAV"];
  await client.rpush(named(shop.logKey, { uuid, ulid, code: "ü🐝" }), raw(shop.logItem.write(note)));
  await client.hset(named(shop.flagsKey, { tenant }), raw(shop.flagsField.write(user)), raw(shop.flagsValue.write(true)));
  await client.set(named(shop.fileKey, { path: world.path }), raw(shop.fileValue.write(Uint8Array.of(254, 0))));
  await client.set(named(shop.pageKey, { page: world.page }), raw(shop.pageValue.write(note)));
  await client.pfadd(named(shop.hostKey, { host: "a:b" }), "x");
  await client.setbit(named(shop.monthKey, { month: 12 }), 7, 1);
  const event = Object.entries(shop.eventsFields.write({ order: ORDER, kind: "placed" }));
  await client.xadd(named(shop.eventsKey, {}), "*", ...event.flatMap(([name, value]) => [name, raw(value)]));
  const message: shop.PlacedMessage = { order: 5, lines: [{ sku: "s", count: 1 }], note: null };
  await client.set(named(shop.pageKey, { page: "message" }), raw(shop.placedMessage.write(message)));
  for (const [name, ttl] of names) await client.expire(name, ttl);
}

async function read(): Promise<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const name of (await client.keys("*")) as string[]) {
    const order = shop.orderKey.parse(name);
    const basket = shop.basketKey.parse(name);
    const session = shop.sessionKey.parse(name);
    const recent = shop.recentKey.parse(name);
    const log = shop.logKey.parse(name);
    const flags = shop.flagsKey.parse(name);
    const file = shop.fileKey.parse(name);
    const page = shop.pageKey.parse(name);
    const host = shop.hostKey.parse(name);
    const month = shop.monthKey.parse(name);
    if (order) {
      const found = shop.orderFields.read(await client.hgetallBuffer(name));
      out["order"] = String(order.order);
      if (found.seen === undefined || found["user-agent"] !== undefined) throw new Error("optional fields");
      out["fields"] = [
        found.user, found.total, found.count, found.balance, found.weight, found.at, found.seen, found.placed,
        found.paid, found.gift, found.status, found.phone, found.place.join("|"), found.sizes.join("|"),
        found.lines.map((line) => `${line.sku} ${line.count} ${line.gift ?? false}`).join("|"),
        found.note, found.class, hex(found.blob), found.next, found.basket, found.mixed,
      ].join("\n");
    } else if (basket) {
      out["basket"] = `${basket.user}|${shop.basketMember.read((await client.smembers(name))[0])}`;
    } else if (session) {
      const value = shop.sessionValue.read(await client.get(name));
      out["session"] = [
        session.user, session.order, value.user, value.roles![0], value.level, value.extra!["a"],
        value.extra!["b"] === null, value.old!.length,
      ].join("|");
    } else if (recent) {
      const [member, score] = await client.zrange(name, 0, -1, "WITHSCORES");
      const values = [shop.recentMember.read(member), shop.recentScore.read(score)];
      out["recent"] = [recent.tenant, recent.day, recent.kind, ...values].join("|");
    } else if (log) {
      out["log"] = [log.uuid, log.ulid, log.code, shop.logItem.read(await client.lindex(name, 0))].join("|");
    } else if (flags) {
      const [[field, value]] = Object.entries<string>(await client.hgetall(name)) as [[string, string]];
      out["flags"] = `${flags.tenant}|${shop.flagsField.read(field)}|${shop.flagsValue.read(value)}`;
    } else if (file) {
      out["file"] = `${file.path}|${hex(shop.fileValue.read(await client.getBuffer(name)))}`;
    } else if (page?.page === "message") {
      const message = shop.placedMessage.read(await client.get(name));
      out["message"] = `${message.order}|${message.lines[0]!.sku}|${(message.note ?? null) === null}`;
    } else if (page) {
      out["page"] = `${page.page}|${shop.pageValue.read(await client.get(name))}`;
    } else if (host) {
      out["host"] = `${host.host}|${await client.pfcount(name)}`;
    } else if (month) {
      out["month"] = `${month.month}|${await client.getbit(name, 7)}`;
    } else if (shop.eventsKey.parse(name)) {
      const [[, flat]] = (await client.xrange(name, "-", "+")) as [[string, string[]]];
      const fields = Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1]!]] : [])));
      const event = shop.eventsFields.read(fields);
      out["events"] = `${event.order}|${event.kind}`;
    } else {
      throw new Error(name);
    }
  }
  return out;
}

if (mode === "write") await write();
else console.log(JSON.stringify(await read()));
client.disconnect();
