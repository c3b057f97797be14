/**
 * Handlers in worker threads: for work that computes for long, or that must not take the process down.
 *
 * The job stays with the worker of the main thread; a thread only gets the input. A thread that ends, such
 * as by a crash or `process.exit`, fails the job that it runs, and the next job has a new one.
 */

import { cpus } from "node:os";
import { Worker as Thread } from "node:worker_threads";

import { Fatal, Retry, Cancel, Snooze } from "./errors";
import type { Job, StopReason } from "./job";
import type { Handler } from "./queue";
import type { LogLevel } from "./types";

/** How handlers run in threads. */
export interface SandboxOptions {
  /** The most threads; one for each processor by default. */
  threads?: number;
  /** How long a handler whose signal was aborted may go on before its thread is ended; 5 s by default. */
  stopGrace?: number;
}

/** What a thread gets. */
export interface ThreadRequest {
  input?: unknown;
  job?: Pick<Job, "id" | "queue" | "attempt" | "retries" | "args" | "tags" | "tenant" | "parent">;
  stop?: StopReason;
}

/** What a thread says. */
export interface ThreadReply {
  result?: unknown;
  progress?: unknown;
  message?: string;
  log?: [level: LogLevel, text: string];
  error?: { kind: "error" | "fatal" | "retry" | "snooze" | "cancel"; message: string; stack?: string; delay?: number };
}

const STOP_GRACE_MS = 5000;

/**
 * A handler that runs the default export of a module in a thread: `(input, job) => result`, as other
 * handlers. Inputs and results are copied. A thread has no `job.context`: it opens what it needs itself.
 */
export function sandbox<Input, Output>(
  module: string | URL,
  options: SandboxOptions = {},
): Handler<Input, Output> {
  const pool = new Pool(String(module), options);
  return (input, job) => pool.run(input, job) as Promise<Output>;
}

class Pool {
  readonly #module: string;
  readonly #max: number;
  readonly #stopGrace: number;
  readonly #idle: Thread[] = [];
  readonly #waiting: ((thread: Thread) => void)[] = [];
  #threads = 0;

  constructor(module: string, options: SandboxOptions) {
    this.#module = module;
    this.#max = options.threads ?? cpus().length;
    this.#stopGrace = options.stopGrace ?? STOP_GRACE_MS;
  }

  async run(input: unknown, job: Job): Promise<unknown> {
    const thread = await this.#take();
    // It may have been canceled while it waited for a thread.
    if (job.stopReason !== undefined) {
      this.#give(thread);
      throw job.signal.reason;
    }
    return this.#runIn(thread, input, job);
  }

  #runIn(thread: Thread, input: unknown, job: Job): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let reported: Promise<unknown> = Promise.resolve();
      const stop = (): void => {
        const { stopReason } = job;
        if (stopReason !== undefined) thread.postMessage({ stop: stopReason } satisfies ThreadRequest);
        timer = setTimeout(() => void thread.terminate(), this.#stopGrace);
      };
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        job.signal.removeEventListener("abort", stop);
        thread.off("message", hear).off("error", crash).off("exit", exit);
        act();
      };
      const hear = (reply: ThreadReply): void => {
        if (reply.log !== undefined) {
          const [level, text] = reply.log;
          return job.log(text, level);
        }
        if ("progress" in reply) {
          reported = job.report(reply.progress, reply.message).catch(() => undefined);
          return;
        }
        const { error, result } = reply;
        // Only a job that runs still can store its progress.
        const end = (): void => (error === undefined ? resolve(result) : reject(errorOf(error)));
        settle(() => void reported.then(end));
        this.#give(thread);
      };
      let cause: Error | undefined;
      // The exit of the thread follows.
      const crash = (error: Error): void => void (cause = error);
      const exit = (code: number): void => {
        this.#lose();
        settle(() => reject(cause ?? new Error(`the handler's thread ended with code ${code}`)));
      };
      thread.on("message", hear).on("error", crash).on("exit", exit);
      job.signal.addEventListener("abort", stop, { once: true });
      const { id, queue, attempt, retries, args, tags, tenant, parent } = job;
      const told = { id, queue, attempt, retries, args, tags, tenant, parent };
      thread.postMessage({ input, job: told } satisfies ThreadRequest);
    });
  }

  #take(): Promise<Thread> {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      idle.ref();
      return Promise.resolve(idle);
    }
    if (this.#threads < this.#max) return Promise.resolve(this.#start());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #start(): Thread {
    this.#threads += 1;
    return new Thread(require.resolve("./thread"), { workerData: this.#module });
  }

  #give(thread: Thread): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next(thread);
    // A thread that waits does not keep the program alive.
    thread.unref();
    this.#idle.push(thread);
    thread.once("exit", () => {
      const at = this.#idle.indexOf(thread);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      this.#threads -= 1;
    });
  }

  #lose(): void {
    this.#threads -= 1;
    const next = this.#waiting.shift();
    if (next !== undefined) next(this.#start());
  }
}

function errorOf({ kind, message, stack, delay }: NonNullable<ThreadReply["error"]>): Error {
  const error =
    kind === "cancel"
      ? new Cancel()
      : kind === "fatal"
        ? new Fatal(message)
        : kind === "retry"
          ? new Retry({ reason: message, ...(delay === undefined ? {} : { delay }) })
          : kind === "snooze"
            ? new Snooze(delay ?? 0)
            : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
