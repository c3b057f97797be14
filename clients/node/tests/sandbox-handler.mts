/** The handlers of `sandbox.test.mts`, in threads. */

import { threadId } from "node:worker_threads";

import { Fatal, Retry, type Job } from "keyrack";

export default async function handle(way: string, job: Job): Promise<unknown> {
  switch (way) {
    case "thread":
      return threadId;
    case "report":
      await job.report(50);
      return [job.id, job.attempt, job.queue];
    case "log":
      job.console.warn("%d left", 2);
      await job.report(99, "nearly");
      return null;
    case "retry":
      if (job.attempt === 1) throw new Retry({ delay: 0 });
      return job.attempt;
    case "fatal":
      throw new Fatal("no use");
    case "exit":
      return process.exit(7);
    case "wait":
      await job.report("waiting");
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      return job.stopReason;
    case "spin":
      await job.report("spinning");
      for (;;);
    default:
      return way;
  }
}
