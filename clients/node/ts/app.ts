/** A store, and the queues that programs use in it. */

import { join } from "node:path";

import type { ContextOptions } from "./context";
import { batched, type BatchHandler, type BatchOptions } from "./batch";
import { Entitlements } from "./entitlements";
import { InvalidError } from "./errors";
import { EventStream } from "./events";
import { Files } from "./files";
import { Handle } from "./handle";
import { Limits } from "./limits";
import { Queue, type Handler, type QueueOptions, type ServeOptions } from "./queue";
import { Rack } from "./rack";
import { Recommendations } from "./recommendations";
import { Rollups } from "./rollups";
import { track, type TrackOptions } from "./track";
import type { Schedule } from "./types";
import { Worker, type WorkerOptions } from "./worker";

const URL_START = /^(embedded|redis|rediss|redis\+unix|redis\+sentinel|redis\+cluster):/;

/** The URL of a store: as `KEYRACK_STORE` says unless given, as for the program. */
function storeUrl(store: string | undefined): string {
  // An empty variable is how shells and containers unset one.
  const name = store ?? (process.env["KEYRACK_STORE"] || "embedded:./keyrack-data");
  if (URL_START.test(name)) return name;
  if (name === "memory") return "embedded:memory";
  if (name === "" || name.includes("://") || name.includes("?")) {
    throw new InvalidError(
      `"${name}" is no store; give "memory", a folder, or a URL such as redis://HOST`,
    );
  }
  // The path would be taken for memory, or for an option, if it did not begin like a path.
  return `embedded:${name.startsWith("/") ? name : `./${join(name)}`}`;
}

/** How a store is opened. */
export interface OpenOptions<Context = undefined> extends ContextOptions<Context> {
  /** A file whose first line is the server's password; `KEYRACK_PASSWORD_FILE` by default. */
  passwordFile?: string;
}

/** What a task is: the options of its queue, and how workers serve it. */
export interface TaskOptions<Input, Output> extends QueueOptions<Input, Output>, ServeOptions {}

/**
 * A store with its queues.
 *
 * The store is opened by the first call. So a module can make an App when it is imported; whoever wants
 * to know at once whether the address is right awaits `ready()`.
 */
export class App<Context = undefined> {
  readonly #store: string | undefined;
  readonly #passwordFile: string | undefined;
  readonly #hasTestClock: boolean;
  readonly #context: ContextOptions<Context>;
  readonly #queues = new Map<string, Queue>();
  readonly #workers = new Set<Worker>();
  #rack: Rack | undefined;

  /** Rate limits that all processes on the store share. */
  readonly limits = new Limits(() => this.rack);
  /** What users have paid for. */
  readonly entitlements = new Entitlements(() => this.rack);
  /** Uploads that leave no file that nobody knows. */
  readonly files = new Files(() => this.rack);
  /** What to show to whom. */
  readonly recommendations = new Recommendations(() => this.rack);

  constructor(store?: string, options: OpenOptions<Context> & { testClock?: boolean } = {}) {
    this.#store = store;
    this.#passwordFile = options.passwordFile;
    this.#hasTestClock = options.testClock ?? false;
    this.#context = options;
  }

  /** The open store, for the other parts of the package. */
  get rack(): Rack {
    const passwordFile = this.#passwordFile ?? (process.env["KEYRACK_PASSWORD_FILE"] || undefined);
    this.#rack ??= new Rack(storeUrl(this.#store), passwordFile, this.#hasTestClock);
    return this.#rack;
  }

  /** The store's address, without its password. */
  get url(): string {
    return this.rack.native.url;
  }

  /** Opens the store now; rejects if that cannot be done. */
  async ready(): Promise<this> {
    await this.rack.call("ready", {});
    return this;
  }

  /** A queue: `app.queue<Input, Output>(name)`, or with validators that know the types. */
  queue<Input = unknown, Output = unknown>(
    name: string,
    options: QueueOptions<Input, Output> = {},
  ): Queue<Input, Output, Context> {
    if (this.#queues.has(name)) {
      throw new InvalidError(`there is a queue "${name}" already; use that one, or another name`);
    }
    const queue = new Queue<Input, Output, Context>(this, name, options);
    this.#queues.set(name, queue as unknown as Queue);
    return queue;
  }

  /** A queue with its handler, which has the types. */
  task<Input, Output>(
    name: string,
    handler: Handler<Input, Output, Context>,
    options: TaskOptions<Input, Output> = {},
  ): Queue<Input, Output, Context> {
    const { concurrency, timeLimit, skipDuplicates, weight, ...rest } = options;
    const serve: ServeOptions = {};
    if (concurrency !== undefined) serve.concurrency = concurrency;
    if (timeLimit !== undefined) serve.timeLimit = timeLimit;
    if (skipDuplicates !== undefined) serve.skipDuplicates = skipDuplicates;
    if (weight !== undefined) serve.weight = weight;
    return this.queue<Input, Output>(name, rest).handle(handler, serve);
  }

  /** A queue whose handler takes many jobs in one call. Each is submitted, retried and shown on its own. */
  batch<Input, Output>(
    name: string,
    handler: BatchHandler<Input, Output>,
    options: BatchOptions<Input, Output> = {},
  ): Queue<Input, Output, Context> {
    const { size = 100, wait = 10, ...rest } = options;
    // The next calls fill up while one is under way.
    return this.task(name, batched(handler, size, wait), { ...rest, concurrency: 4 * size });
  }

  /** The job with this id. */
  job<Output = unknown>(id: string): Handle<Output> {
    return new Handle<Output>(() => this.rack, id);
  }

  /** Starts a worker. `await using worker = app.worker()` stops it at the end of the block. */
  worker(options: WorkerOptions = {}): Worker {
    const context = this.#context as ContextOptions<unknown>;
    const worker = new Worker(this.rack, this.#served(options), options, context);
    this.#workers.add(worker);
    const forget = (): void => void this.#workers.delete(worker);
    worker.ended.then(forget, forget);
    return worker;
  }

  /**
   * Runs jobs until SIGTERM or SIGINT, then lets running ones end. A second signal ends the process at
   * once: other workers get its jobs.
   */
  async work(options: WorkerOptions = {}): Promise<void> {
    const worker = this.worker(options);
    let n = 0;
    const stop = (_: string, number: number): void => {
      n += 1;
      if (n > 1) process.exit(128 + number);
      // Whoever waits for the end gets the error.
      worker.stop().catch(() => undefined);
    };
    process.on("SIGTERM", stop).on("SIGINT", stop);
    try {
      await worker.ended;
    } finally {
      process.off("SIGTERM", stop).off("SIGINT", stop);
    }
  }

  /** What happens to the jobs of these queues from now on. Leaving the loop stops listening. */
  events(
    queues: string | { readonly name: string } | readonly (string | { readonly name: string })[],
    options: { signal?: AbortSignal } = {},
  ): EventStream {
    const list = Array.isArray(queues) ? queues : [queues as string | { readonly name: string }];
    return new EventStream(this.rack, list.map(nameOf), options.signal);
  }

  /**
   * Goes through items, shows a bar on a terminal and reports to the store how far it is. The store learns
   * from each complete run, so the next one knows at its start how long it will take.
   */
  track<T>(
    items: Iterable<T> | AsyncIterable<T>,
    name: string,
    options: TrackOptions = {},
  ): AsyncGenerator<T, void, undefined> {
    return track(() => this.rack, items, name, options);
  }

  /** The rollups of a project of an account: sums, counts, trends and more of event values. */
  rollups(account: string, project: string): Rollups {
    return new Rollups(() => this.rack, account, project);
  }

  /** All schedules of the store, by name: those of queues, and those that others have made. */
  schedules(): Promise<Schedule[]> {
    return this.rack.call("schedules", {});
  }

  /** Deletes a schedule. Jobs that it has queued stay. */
  async unschedule(name: string): Promise<void> {
    await this.rack.call("unschedule", { name });
  }

  /** Skips the runs of a schedule until it is resumed. */
  async pauseSchedule(name: string): Promise<void> {
    await this.rack.call("pauseSchedule", { name });
  }

  /** Lets a schedule run again. */
  async resumeSchedule(name: string): Promise<void> {
    await this.rack.call("resumeSchedule", { name });
  }

  /** Queues the job of a schedule now. Its times stay as they are. */
  async runSchedule(name: string): Promise<void> {
    await this.rack.call("runSchedule", { name });
  }

  /** For the other parts of the package: jobs of a queue were submitted. Tests do more here. */
  submitted(_queue: string, _ids: () => readonly string[]): void | Promise<void> {}

  /** Whether workers of this program serve a queue. */
  serves(queue: string): boolean {
    return this.#queues.get(queue)?.handler !== undefined;
  }

  /** Stops the workers and closes the store. Calls that are under way are rejected. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.stop()));
    const rack = this.#rack;
    this.#rack = undefined;
    await rack?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #served({ queues }: WorkerOptions): Queue[] {
    const withHandler = [...this.#queues.values()].filter((queue) => queue.handler !== undefined);
    if (queues === undefined) {
      if (withHandler.length > 0) return withHandler;
      throw new InvalidError("no queue has a handler; give one with app.task or queue.handle");
    }
    return queues.map((wanted) => {
      const name = nameOf(wanted);
      const found = withHandler.find((queue) => queue.name === name);
      if (found !== undefined) return found;
      const known = withHandler.map((queue) => `"${queue.name}"`).join(", ") || "none";
      throw new InvalidError(`the queue "${name}" has no handler; those with one: ${known}`);
    });
  }
}

function nameOf(queue: string | { readonly name: string }): string {
  return typeof queue === "string" ? queue : queue.name;
}

/**
 * A store: of a URL, in a folder, in `"memory"`, or as `KEYRACK_STORE` says. It is opened by the first
 * call, or by `await app.ready()`.
 */
export function open<Context = undefined>(
  store?: string,
  options: OpenOptions<Context> = {},
): App<Context> {
  return new App(store, options);
}
