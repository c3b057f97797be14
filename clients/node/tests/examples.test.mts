/** The examples as real servers. */

import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";

import type { App, Worker } from "keyrack";

interface Tasks {
  app: App;
}
interface WithExpress {
  server(): { listen(port: number, then: () => void): Server };
}
interface WithFastify {
  server(): { listen(options: { port: number }): Promise<string>; close(): Promise<void> };
}
interface Route {
  POST(request: Request): Promise<Response>;
  GET(request: Request): Promise<Response>;
}

async function example<T>(name: string): Promise<T> {
  return (await import(new URL(`../examples/${name}.mjs`, import.meta.url).href)) as T;
}

const body = { method: "POST", headers: { "content-type": "application/json" } };
const picture = JSON.stringify({ url: "/a.png", width: 64 });

let app: App;
let worker: Worker;

before(async () => {
  process.env["KEYRACK_STORE"] = "embedded:memory";
  ({ app } = await example<Tasks>("tasks"));
  worker = app.worker();
});

after(async () => {
  await worker.stop();
  await app.close();
});

test("express submits a job and gives its result", async () => {
  const { server } = await example<WithExpress>("express");
  const listening = await new Promise<Server>((resolve) => {
    const made = server().listen(0, () => resolve(made));
  });
  const base = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const submitted = await fetch(`${base}/thumbnails`, { ...body, body: picture });
  assert.equal(submitted.status, 202);
  const again = await fetch(`${base}/thumbnails`, { ...body, body: picture });
  const { id } = (await submitted.json()) as { id: string };
  assert.deepEqual(await again.json(), { id });
  const result = await fetch(base + String(submitted.headers.get("location")));
  assert.deepEqual(await result.json(), { result: "/a.png?width=64" });
  assert.equal((await fetch(`${base}/thumbnails/nobody`)).status, 404);
  await new Promise((resolve) => listening.close(resolve));
});

test("a route of next submits a job and gives its result", async () => {
  const { GET, POST } = await example<Route>("next-route");
  const url = "http://next.test/api/thumbnails";
  const submitted = await POST(new Request(url, { ...body, body: picture }));
  const { id } = (await submitted.json()) as { id: string };
  const result = await GET(new Request(`${url}?id=${id}`));
  assert.deepEqual(await result.json(), { result: "/a.png?width=64" });
});

test("fastify limits, and streams what happens", async () => {
  const { server } = await example<WithFastify>("fastify");
  const web = server();
  const base = await web.listen({ port: 0 });
  const gone = new AbortController();
  const events = await fetch(`${base}/events`, { signal: gone.signal });
  const heard = events.body?.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  for (let n = 0; n < 10; n += 1) {
    assert.equal((await fetch(`${base}/thumbnails`, { ...body, body: picture })).status, 202);
  }
  while (!said.includes("event: completed")) said += (await heard?.read())?.value ?? assert.fail(said);
  const refused = await fetch(`${base}/thumbnails`, { ...body, body: picture });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  gone.abort();
  await worker.stop();
  await web.close();
});
