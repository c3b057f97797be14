// BullMQ as a contender of `cargo xtask bench jobs`; `driver.rs` describes the requests it answers.
//
// As it comes, it keeps completed jobs, and `addBulk` calls follow each other. Tuned, it has the settings that were
// quickest here: jobs are removed when they complete, several `addBulk` calls are under way at once, and the event stream
// is kept short.

import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

const NAME = 'bench';
const CONCURRENCY = 100;
const TUNED = process.argv[3] === 'tuned';
const CHUNK = TUNED ? 200 : 1000;
const CALLS_AT_ONCE = TUNED ? 4 : 1;
const PAYLOAD_BYTES = 100;
// Long enough for the worker to be back at its blocking wait.
const IDLE_MS = 5;

const port = Number(process.argv[2]);
const connect = () => new Redis({ port, maxRetriesPerRequest: null });

const queue = new Queue(NAME, {
  connection: connect(),
  ...(TUNED && {
    defaultJobOptions: { removeOnComplete: true },
    streams: { events: { maxLen: 1000 } },
  }),
});
await queue.waitUntilReady();

function job(n, levels) {
  const text = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify({ n, text: '' }).length);
  // Its most urgent priority is 1; without one, a job takes the quicker way of a plain list.
  const opts = levels > 1 ? { priority: 1 + (n % levels) } : undefined;
  return { name: 'job', data: { n, text }, opts };
}

async function submit(first, count, levels) {
  const chunks = [];
  for (let n = first; n < first + count; n += CHUNK) {
    const length = Math.min(CHUNK, first + count - n);
    chunks.push(Array.from({ length }, (_, i) => job(n + i, levels)));
  }
  const next = chunks.values();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CALLS_AT_ONCE }, async () => {
      for (const chunk of next) await queue.addBulk(chunk);
    }),
  );
  return [micros(started)];
}

async function drain(count) {
  const order = [];
  const worker = await idleWorker(async ({ data }) => {
    order.push(data.n);
  });
  let completed = 0;
  const started = performance.now();
  await new Promise((resolve, reject) => {
    worker.on('completed', () => {
      completed += 1;
      if (completed === count) resolve();
    });
    worker.on('error', reject);
    worker.run().catch(reject);
  });
  const took = micros(started);
  await worker.close();
  return [took, ...order];
}

async function left() {
  const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed');
  return [Object.values(counts).reduce((sum, n) => sum + n, 0)];
}

async function latency(count) {
  let arrived;
  const worker = await idleWorker(async () => arrived(performance.now()));
  const running = worker.run();
  const delays = [];
  for (let n = 0; n < count; n += 1) {
    await pause(IDLE_MS);
    const arrival = new Promise((resolve) => (arrived = resolve));
    const { name, data } = job(n, 1);
    const started = performance.now();
    await queue.add(name, data);
    delays.push(Math.round(((await arrival) - started) * 1000));
  }
  await worker.close();
  await running;
  return delays;
}

async function hold(count) {
  const order = [];
  await new Promise((resolve, reject) => {
    idleWorker(({ data }) => {
      order.push(data.n);
      if (order.length === count) resolve();
      return new Promise(() => {});
    }).then((worker) => worker.run().catch(reject), reject);
  });
  return order;
}

// A worker that is connected and does nothing yet.
async function idleWorker(process) {
  const worker = new Worker(NAME, process, {
    autorun: false,
    concurrency: CONCURRENCY,
    connection: connect(),
    ...(TUNED && { removeOnComplete: { count: 0 } }),
  });
  await worker.waitUntilReady();
  return worker;
}

function micros(started) {
  return Math.round((performance.now() - started) * 1000);
}

const answers = { submit, drain, left, latency, hold };

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...numbers] = line.split(' ');
  let reply;
  try {
    if (!answers[verb]) throw new Error(`unknown request "${line}"`);
    reply = (await answers[verb](...numbers.map(Number))).join(' ');
  } catch (error) {
    reply = `error ${String(error.message ?? error).replaceAll('\n', ' ')}`;
  }
  process.stdout.write(`${reply}\n`);
}
process.exit(0);
