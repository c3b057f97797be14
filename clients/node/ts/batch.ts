/** Handlers that take many jobs in one call. */

import { Fatal, InvalidError, isNext, type Next } from "./errors";
import type { Job } from "./job";
import type { Handler, QueueOptions, ServeOptions } from "./queue";

/**
 * Does the work of many jobs. It returns a result for each input, in order; an error at a place fails that job,
 * and what it throws fails all of them.
 */
export type BatchHandler<Input, Output> = (
  inputs: Input[],
  jobs: Job[],
) => (Output | Next | Error)[] | Promise<(Output | Next | Error)[]>;

/** What a batch task is: the options of its queue, and how many jobs are one call. */
export interface BatchOptions<Input, Output>
  extends QueueOptions<Input, Output>,
    Omit<ServeOptions, "concurrency"> {
  /** The most jobs of one call; 100 by default. */
  size?: number;
  /** How many milliseconds the first job of a call waits for others; 10 by default. */
  wait?: number;
}

interface Waiting<Input, Output> {
  input: Input;
  job: Job;
  resolve: (result: Output | Next) => void;
  reject: (error: unknown) => void;
}

/** A handler of one job that calls `handler` with many. */
export function batched<Input, Output>(
  handler: BatchHandler<Input, Output>,
  size: number,
  wait: number,
): Handler<Input, Output> {
  if (!Number.isInteger(size) || size < 1) throw new InvalidError(`size: ${size}; give at least 1`);
  if (!(wait >= 0)) throw new InvalidError(`wait: ${wait}; give milliseconds from 0`);
  let waiting: Waiting<Input, Output>[] = [];
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = waiting;
    waiting = [];
    const batch = all.filter(({ job }) => !job.signal.aborted);
    // Who was told to stop meanwhile is not run.
    for (const { job, reject } of all) if (job.signal.aborted) reject(job.signal.reason);
    if (batch.length > 0) void run(handler, batch);
  };
  return (input, job) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, job, resolve, reject });
      if (waiting.length >= size) start();
      else timer ??= setTimeout(start, wait);
    });
}

async function run<Input, Output>(
  handler: BatchHandler<Input, Output>,
  batch: Waiting<Input, Output>[],
): Promise<void> {
  try {
    const results = await handler(
      batch.map(({ input }) => input),
      batch.map(({ job }) => job),
    );
    if (results.length !== batch.length) {
      const told = `the handler got ${batch.length} inputs and returned ${results.length} results`;
      throw new Fatal(told);
    }
    batch.forEach(({ resolve, reject }, place) => {
      const result = results[place] as Output | Next | Error;
      if (result instanceof Error && !isNext(result)) reject(result);
      else resolve(result);
    });
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
