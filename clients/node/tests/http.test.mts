/** `keyrack/http` against a real server. Every request and answer has to fit docs/openapi.json. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { connect, type HttpClient } from "keyrack/http";

import { serve, SOON } from "./support.mjs";
import { Specification } from "./openapi.mjs";

const path = join(String(process.env["KEYRACK_REPOSITORY"]), "docs/openapi.json");
const specification = new Specification(readFileSync(path, "utf8"));

const checkedFetch: typeof fetch = async (input, init) => {
  const url = new URL(String(input));
  const method = (init?.method ?? "GET").toLowerCase();
  specification.checkRequest(method, url, init?.body as string | undefined);
  const response = await fetch(input, init);
  if (!String(response.headers.get("content-type")).includes("event-stream")) {
    specification.checkResponse(method, url, response.status, await response.clone().text());
  }
  return response;
};

let server = "";
let client: HttpClient;

before(async () => {
  const started = await serve();
  server = started.url;
  const { token } = started;
  client = connect(`${server}/`, { token, fetch: checkedFetch });
});

/** Runs one job of a queue, as a worker that speaks HTTP does. */
async function work(queue: string, result: unknown): Promise<void> {
  const post = async (url: string, body: object): Promise<unknown> =>
    (await fetch(server + url, { method: "POST", body: JSON.stringify(body) })).json();
  const claimed = (await post(`/api/1/queues/${queue}/claim`, { worker: "w", wait_s: 20 })) as {
    worker: string;
    jobs: { jid: string; attempt: number }[];
  };
  const job = claimed.jobs[0];
  assert.ok(job !== undefined, "nothing to claim");
  const { worker } = claimed;
  await post(`/api/1/jobs/${job.jid}/complete`, { worker, attempt: job.attempt, result });
}

test("a job is submitted and waited for", async () => {
  const mail = client.queue<{ to: string; n: bigint }, string>("mail");
  const handle = await mail.submit({ to: "ädä", n: 2n ** 64n }, { retries: 1, tags: ["a"], key: "k" });
  assert.equal((await mail.submit({ to: "ädä", n: 2n ** 64n }, { retries: 1, tags: ["a"], key: "k" })).id, handle.id);
  assert.equal(await handle.status(), "queued");
  await assert.rejects(handle.result({ timeout: 10 }), { errorClass: "timeout" });
  await Promise.all([handle.result(SOON).then((end) => assert.equal(end, "sent")), work("mail", "sent")]);
  assert.deepEqual((await handle.info()).data, [{ to: "ädä", n: 2n ** 64n }]);
});

test("jobs are canceled and run again", async () => {
  const queue = client.queue<number[]>("a/b", { positional: true });
  const [one, two] = await queue.submitMany([[1, 2], [3]], { delay: 60_000 });
  assert.deepEqual((await two?.info())?.data, [3]);
  assert.deepEqual(await one?.cancel(), [one?.id]);
  await assert.rejects(one?.result() ?? assert.fail(), { errorClass: "canceled" });
  await one?.retry();
  await queue.pause();
  await queue.resume();
  await assert.rejects(client.job("gone").info(), { errorClass: "not_found" });
  await assert.rejects(client.queue("mail").submit(1, { priority: 11 }), { errorClass: "invalid" });
  await client.queue("mail").submit(1, { id: "mine" });
  await assert.rejects(client.queue("mail").submit(1, { id: "mine" }), { errorClass: "conflict" });
});

test("one job stands for many submissions, and queues have limits", async () => {
  const search = client.queue<number>("search");
  const unique = { unique: { key: "index", debounce: 60_000 } };
  const [first, last] = [await search.submit(1, unique), await search.submit(2, unique)];
  assert.deepEqual([first.outcome, last.outcome, last.id], ["created", "replaced", first.id]);
  assert.deepEqual((await last.info()).data, [2]);
  await search.setLimits({ concurrency: 2, rate: { max: 10, per_ms: 1000 } });
  const { concurrency, rate } = await search.limits();
  assert.deepEqual([concurrency, rate], [2, { max: 10, per_ms: 1000 }]);
  await assert.rejects(search.setLimits({ concurrency: 0 }), { errorClass: "invalid" });
});

test("limits are taken from", async () => {
  const take = () => client.takeLimit("search", "me", { max: 1, period: 60_000 });
  assert.deepEqual((({ allowed, remaining }) => [allowed, remaining])(await take()), [true, 0]);
  const refused = await take();
  assert.ok(!refused.allowed && refused.retryAfter !== null && refused.retryAfter > 0);
});

test("events are an async iterator", async () => {
  const queue = client.queue<number>("heard");
  const controller = new AbortController();
  const seen: string[] = [];
  const listening = (async () => {
    for await (const event of client.events("heard", { signal: controller.signal })) {
      seen.push(`${event.type} ${event.id}`);
      if (event.type === "completed") controller.abort();
    }
  })();
  // Events are not stored, so there is one after the client listens, however late that is.
  let last = "";
  while (!controller.signal.aborted) {
    last = (await queue.submit(1)).id;
    await work("heard", null);
  }
  await listening;
  assert.ok(seen.some((event) => event.startsWith("completed ")), seen.join());
  assert.ok(last.length > 0);
});

test("a server that is not there is unavailable", async () => {
  const down = connect("http://127.0.0.1:1");
  await assert.rejects(down.job("x").info(), { errorClass: "unavailable", isTransient: true });
});
