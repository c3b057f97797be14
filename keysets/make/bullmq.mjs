// Fills a Redis with what BullMQ writes: jobs in every state, repeats, a flow, events.
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';

const connection = { host: '127.0.0.1', port: Number(process.env.PORT), maxRetriesPerRequest: null };
const queue = new Queue('emails', { connection });
for (let i = 0; i < 12; i++) await queue.add('send', { to: `u${i}@example.com`, n: i });
await queue.add('later', { a: 1 }, { delay: 3_600_000 });
await queue.add('first', { a: 2 }, { priority: 3 });
await queue.add('retry', { a: 3 }, { attempts: 3, backoff: { type: 'fixed', delay: 3_600_000 } });
await queue.add('dedup', { a: 4 }, { deduplication: { id: 'once', ttl: 600_000 } });
await queue.upsertJobScheduler('nightly', { pattern: '0 3 * * *' }, { name: 'sweep', data: { b: 1 } });
await new FlowProducer({ connection }).add({
  name: 'parent', queueName: 'reports', data: {},
  children: [{ name: 'child', queueName: 'emails', data: { c: 1 } }, { name: 'child', queueName: 'emails', data: { c: 2 } }],
});
const worker = new Worker('emails', async (job) => {
  if (job.name === 'retry' || job.data.n === 3) throw new Error('no such mailbox');
  await job.log(`sent ${job.id}`);
  await job.updateProgress(50);
  return { ok: true };
}, { connection, limiter: { max: 1_000, duration: 1_000 } });
const events = new QueueEvents('emails', { connection });
await events.waitUntilReady();
await new Promise((done) => worker.on('drained', done));
await worker.close();
for (let i = 0; i < 3; i++) await queue.add('send', { n: 100 + i });
await queue.pause();
await Promise.all([events.close(), queue.close()]);
process.exit(0);
