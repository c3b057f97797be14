/**
 * A worker: runs handlers on the event loop.
 *
 * The native side claims jobs, renews their leases and settles them. JavaScript only gets batches of
 * arguments and gives batches of results back, in one call for both.
 */

import type { App } from "./app";
import {
  Cancel,
  checked,
  errorOf,
  Fatal,
  InvalidError,
  isNext,
  Retry,
  Snooze,
  type NativeFailure,
} from "./errors";
import { Job, type JobHost, type StopReason } from "./job";
import { decode, encode } from "./json";
import { native, type NativeWorker } from "./native";
import type { Queue } from "./queue";

/** Jobs of a queue that run at once, unless the queue or the worker says otherwise. */
const CONCURRENCY = 100;
const TIME_LIMIT_MS = 30 * 60_000;
const DRAIN_MS = 15_000;
const STOP_GRACE_MS = 10_000;

/** How a worker runs. Times are in milliseconds. */
export interface WorkerOptions {
  /** The queues to serve, or their names; all that have a handler by default. */
  queues?: readonly (Queue<never, never> | { readonly name: string } | string)[];
  /** How many jobs of each queue run at once, unless its handler says otherwise; 100 by default. */
  concurrency?: number;
  /** How long running jobs may go on after `stop`; 15 s by default. Then their signals are aborted. */
  drain?: number;
  /** How long they may go on after that, before other workers get them; 10 s by default. */
  stopGrace?: number;
  /** How long a worker may be silent before others get its jobs; 10 s by default. All workers of a queue should agree. */
  lease?: number;
}

type Given = [
  queue: number,
  place: number,
  id: string,
  attempt: number,
  retries: number,
  args: unknown[],
  tags?: string[],
  tenant?: string | null,
  parent?: string | null,
];
type Polled = [jobs: Given[], stops: [number, StopReason][], end: true | NativeFailure | null];

/** Runs the jobs of some queues from when it is made until `stop`. */
export class Worker implements JobHost {
  readonly #app: App;
  readonly #queues: Queue[];
  readonly #native: NativeWorker;
  readonly #running = new Map<number, Job>();
  readonly #ended: Promise<void>;
  #end: { resolve(): void; reject(error: Error): void } | undefined;
  #completed: string[] = [];
  #failed: string[] = [];
  #canceled: number[] = [];
  #isFlushing = false;
  #isOver = false;

  constructor(app: App, queues: Queue[], options: WorkerOptions) {
    this.#app = app;
    this.#queues = queues;
    const served = queues.map((queue) => toServe(queue, options.concurrency));
    const { drain = DRAIN_MS, stopGrace = STOP_GRACE_MS, lease = null } = options;
    const wake = (): void => this.#poll();
    this.#native = checked(
      () => new native.Worker(app.rack.native, encode(served), drain, stopGrace, lease, wake),
    );
    app.rack.alive.add();
    this.#ended = new Promise((resolve, reject) => (this.#end = { resolve, reject }));
    // Whoever stops the worker, or waits for its end, gets the error.
    this.#ended.catch(() => undefined);
  }

  /** The names of the queues that it serves. */
  get queues(): string[] {
    return this.#queues.map((queue) => queue.name);
  }

  /** Resolves when the worker has ended; rejects if it could not go on. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Takes no more jobs, and resolves when the running ones have ended. */
  stop(): Promise<void> {
    this.#native.stop();
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** For jobs. */
  report(place: number, progress: string): Promise<null> {
    const rack = this.#app.rack;
    return rack.start((number) => this.#native.report(rack.native, number, place, progress));
  }

  #poll(): void {
    this.#isFlushing = false;
    const [jobs, stops, end] = decode(this.#native.poll(this.#takeEnded())) as Polled;
    for (const job of jobs) this.#run(job);
    for (const [place, reason] of stops) this.#running.get(place)?.stop(reason);
    if (end !== null) this.#finish(end);
  }

  #takeEnded(): string {
    if (this.#completed.length + this.#failed.length + this.#canceled.length === 0) return "";
    const completed = this.#completed.join(",");
    const failed = this.#failed.join(",");
    const text = `{"completed":[${completed}],"failed":[${failed}],"canceled":[${this.#canceled.join(",")}]}`;
    this.#completed = [];
    this.#failed = [];
    this.#canceled = [];
    return text;
  }

  #run([at, place, id, attempt, retries, args, tags = [], tenant, parent]: Given): void {
    const queue = this.#queues[at] as Queue;
    const job = new Job(
      this,
      place,
      id,
      queue.name,
      attempt,
      retries,
      args,
      tags,
      tenant ?? undefined,
      parent ?? undefined,
    );
    this.#running.set(place, job);
    try {
      const result = queue.run(args, job);
      if (result instanceof Promise) {
        result.then(
          (value: unknown) => this.#complete(place, value),
          (error: unknown) => this.#fail(place, error),
        );
      } else this.#complete(place, result);
    } catch (error) {
      this.#fail(place, error);
    }
  }

  #complete(place: number, value: unknown): void {
    // What says how to go on may be returned as well as thrown.
    if (isNext(value)) return this.#fail(place, value);
    let text: string;
    try {
      text = value === undefined ? "null" : encode(value);
    } catch (error) {
      this.#fail(place, new Fatal("the result cannot be written as JSON", { cause: error }));
      return;
    }
    this.#completed.push(`[${place},${text}]`);
    this.#flush(place);
  }

  #fail(place: number, error: unknown): void {
    if (error instanceof Cancel) this.#canceled.push(place);
    else if (error instanceof Retry) {
      this.#failed.push(encode([place, error.message, "retry", error.delay ?? null]));
    } else if (error instanceof Snooze) {
      this.#failed.push(encode([place, error.message, "snooze", error.delay]));
    } else {
      const next = error instanceof Fatal ? "fatal" : "retry";
      this.#failed.push(encode([place, reason(error), next, null]));
    }
    this.#flush(place);
  }

  #flush(place: number): void {
    this.#running.delete(place);
    if (this.#isFlushing || this.#isOver) return;
    this.#isFlushing = true;
    // Whatever else ends in this turn of the loop goes with it.
    setImmediate(() => this.#poll());
  }

  #finish(end: true | NativeFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#app.rack.alive.remove();
    if (end === true) this.#end?.resolve();
    else this.#end?.reject(errorOf(end));
  }
}

function toServe(queue: Queue, ofWorker: number | undefined): object {
  const { concurrency = ofWorker ?? CONCURRENCY, ...options } = queue.serveOptions;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new InvalidError(`concurrency: ${concurrency}; give a whole number from 1 on`);
  }
  const { timeLimit = TIME_LIMIT_MS, skipDuplicates = false } = options;
  return { queue: queue.name, concurrency, timeLimit, skipsDuplicates: skipDuplicates };
}

/** The error in one line, then its stack and the stacks of its causes. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return `thrown: ${String(error)}`;
  const stacks: string[] = [];
  for (let cause: unknown = error; cause instanceof Error && stacks.length < 8; cause = cause.cause) {
    stacks.push(cause.stack ?? String(cause));
  }
  return `${String(error)}\n\n${stacks.join("\ncaused by ")}`;
}
