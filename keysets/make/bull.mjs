// Fills a Redis with what Bull writes.
import Bull from 'bull';

const queue = new Bull('video', { redis: { host: '127.0.0.1', port: Number(process.env.PORT) } });
for (let i = 0; i < 12; i++) await queue.add({ file: `f${i}.mp4`, n: i });
await queue.add('later', { a: 1 }, { delay: 3_600_000 });
await queue.add('first', { a: 2 }, { priority: 3 });
await queue.add('nightly', { b: 1 }, { repeat: { cron: '0 3 * * *' } });
let done = 0;
await new Promise((end) => {
  const count = () => { if (++done === 12) end(); };
  queue.process(async (job) => {
    if (job.data.n === 3) throw new Error('broken file');
    await job.log('cut');
    await job.progress(50);
    return { ok: true };
  });
  queue.process('first', async () => 1);
  queue.process('nightly', async () => 1);
  queue.process('later', async () => 1);
  queue.on('completed', count);
  queue.on('failed', count);
});
await queue.pause();
await queue.add({ file: 'last.mp4', n: 99 });
await queue.close();
process.exit(0);
