// The Node package as a contender of `cargo xtask bench clients`; `driver.rs` describes the requests it answers.

import { createInterface } from 'node:readline';
import { open } from 'keyrack';

const CONCURRENCY = 100;
const CHUNK = 2000;
const CALLS_AT_ONCE = 4;
const PAYLOAD_BYTES = 100;

const app = open(process.argv[2]);
await app.ready();

let order = [];
let onDone;
let wanted = 0;
const queue = app.task(
  'bench',
  async ({ n }) => {
    order.push(n);
    if (order.length === wanted) onDone();
  },
  { concurrency: CONCURRENCY },
);

function input(n) {
  const text = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify({ n, text: '' }).length);
  return { n, text };
}

async function submit(first, count) {
  const chunks = [];
  for (let n = first; n < first + count; n += CHUNK) {
    const length = Math.min(CHUNK, first + count - n);
    chunks.push(Array.from({ length }, (_, i) => input(n + i)));
  }
  const next = chunks.values();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CALLS_AT_ONCE }, async () => {
      for (const chunk of next) await queue.submitMany(chunk);
    }),
  );
  return [micros(started)];
}

async function drain(count) {
  order = [];
  wanted = count;
  const done = new Promise((resolve) => (onDone = resolve));
  const started = performance.now();
  const worker = app.worker();
  await done;
  // Stopping waits until the store has the last results.
  await worker.stop();
  return [micros(started), ...order];
}

async function left() {
  const { queued, delayed, waiting, parked, running, failed } = await queue.stats();
  return [queued + delayed + waiting + parked + running + failed];
}

function micros(started) {
  return Math.round((performance.now() - started) * 1000);
}

const answers = { submit, drain, left };

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
