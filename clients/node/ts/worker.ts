/**
 * A worker: runs handlers on the event loop.
 *
 * The native side claims jobs, renews their leases and settles them. JavaScript only gets batches of
 * arguments and gives batches of results back, in one call for both.
 */

import { closed, type ContextOptions } from "./context";
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
import type { Rack } from "./rack";
import type { LogLevel } from "./types";
import { Wake } from "./wake";

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
  /**
   * How many jobs of all queues run at once: queues that have jobs take turns by their weights. Without it, each
   * queue has its own places only.
   */
  sharedConcurrency?: number;
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
  readonly #rack: Rack;
  readonly #queues: Queue[];
  readonly #options: WorkerOptions;
  readonly #contextOptions: ContextOptions<unknown>;
  // Made where nothing else is in reach, so that it holds nothing but the worker.
  static readonly #take = (worker: Worker): void => worker.#poll();
  readonly #wake = new Wake<Worker>(this, Worker.#take);
  #native: NativeWorker | undefined;
  #context: unknown;
  readonly #running = new Map<number, Job>();
  readonly #ended: Promise<void>;
  #end: { resolve(): void; reject(error: Error): void } | undefined;
  #completed: string[] = [];
  #failed: string[] = [];
  #canceled: number[] = [];
  #isFlushing = false;
  #isOver = false;
  #isStopping = false;

  constructor(
    rack: Rack,
    queues: Queue[],
    options: WorkerOptions,
    contextOptions: ContextOptions<unknown>,
  ) {
    this.#rack = rack;
    this.#queues = queues;
    this.#options = options;
    this.#contextOptions = contextOptions;
    const open = contextOptions.context;
    // Without a context, jobs run at once, and options that are wrong are thrown here.
    if (open === undefined) this.#start();
    rack.alive.add();
    this.#ended = new Promise((resolve, reject) => (this.#end = { resolve, reject }));
    // Whoever stops the worker, or waits for its end, gets the error.
    this.#ended.catch(() => undefined);
    if (open !== undefined) void this.#open(open);
  }

  /** Opens the context, and takes jobs then. */
  async #open(open: () => unknown): Promise<void> {
    try {
      this.#context = await open();
    } catch (error) {
      return this.#settle(error);
    }
    if (this.#isStopping) return this.#close();
    try {
      this.#start();
    } catch (error) {
      await this.#close(error);
    }
  }

  /** Closes the context, and says that the worker has ended. */
  async #close(error?: unknown): Promise<void> {
    try {
      await closed(this.#contextOptions, this.#context);
      this.#settle(error);
    } catch (ofClose) {
      this.#settle(error ?? ofClose);
    }
  }

  #settle(error?: unknown): void {
    this.#isOver = true;
    this.#wake.cut();
    this.#rack.alive.remove();
    if (error === undefined) this.#end?.resolve();
    else this.#end?.reject(error as Error);
  }

  #start(): void {
    const { drain = DRAIN_MS, stopGrace = STOP_GRACE_MS, lease = null } = this.#options;
    const { concurrency, sharedConcurrency: shared = null } = this.#options;
    if (shared !== null && (!Number.isInteger(shared) || shared < 1)) {
      throw new InvalidError(`sharedConcurrency: ${shared}; give a whole number from 1 on`);
    }
    const served = encode(this.#queues.map((queue) => toServe(queue, concurrency)));
    const { wake } = this.#wake;
    const rack = this.#rack.native;
    this.#native = checked(
      () => new native.Worker(rack, served, drain, stopGrace, lease, shared, wake),
    );
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
    this.#isStopping = true;
    this.#native?.stop();
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** For jobs. */
  report(place: number, progress: string, message?: string): Promise<null> {
    const rack = this.#rack;
    return rack.start((number) =>
      this.#native?.report(rack.native, number, place, progress, message),
    );
  }

  /** For jobs. */
  log(place: number, level: LogLevel, text: string): void {
    checked(() => this.#native?.log(place, level, text));
  }

  #poll(): void {
    this.#isFlushing = false;
    if (this.#native === undefined) return;
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
      this.#context,
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
    const error = end === true ? undefined : errorOf(end);
    if (this.#contextOptions.context === undefined) this.#settle(error);
    else void this.#close(error);
  }
}

function toServe(queue: Queue, ofWorker: number | undefined): object {
  const { concurrency = ofWorker ?? CONCURRENCY, ...options } = queue.serveOptions;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new InvalidError(`concurrency: ${concurrency}; give a whole number from 1 on`);
  }
  const { timeLimit = TIME_LIMIT_MS, skipDuplicates = false, weight = 1 } = options;
  if (!Number.isInteger(weight) || weight < 1 || weight > 100) {
    throw new InvalidError(`weight: ${weight}; give a whole number from 1 to 100`);
  }
  return { queue: queue.name, concurrency, timeLimit, skipsDuplicates: skipDuplicates, weight };
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
