/** A submitted job, as its submitter sees it. */

import { notInTime, resultOf } from "./ended";
import type { Rack } from "./rack";
import type { JobStatus, LogLine, StoredJob, SubmitOutcome, WaitOptions } from "./types";
import { validate, type StandardSchema } from "./schema";

const FOREVER_MS = 1e12;

/** A job that was submitted. Cheap: it is an id and the store that knows it. */
export class Handle<Output = unknown> {
  readonly #rack: () => Rack;
  readonly #output: StandardSchema<unknown, Output> | undefined;

  constructor(
    rack: () => Rack,
    /** The job's id. */
    readonly id: string,
    output?: StandardSchema<unknown, Output>,
    /** What became of the submission. */
    readonly outcome: SubmitOutcome = "created",
  ) {
    this.#rack = rack;
    this.#output = output;
  }

  /**
   * Waits until the job has ended, and returns its result. Rejects with `JobFailedError`,
   * `JobCanceledError`, or after the timeout `WaitTimeoutError`.
   */
  async result(options: WaitOptions = {}): Promise<Output> {
    const { timeout = FOREVER_MS, signal } = options;
    const outcome = this.#rack().call("outcome", { id: this.id, timeout: Math.max(0, timeout) });
    const job = await (signal === undefined ? outcome : unlessAborted(outcome, signal));
    if (job === null) throw notInTime(this.id);
    const result = resultOf(this.id, job);
    return this.#output === undefined
      ? (result as Output)
      : validate(this.#output, result, "the result");
  }

  /** Where in its life the job is. */
  async status(): Promise<JobStatus> {
    return (await this.info()).status;
  }

  /** Everything that is stored of the job. */
  info(): Promise<StoredJob> {
    return this.#rack().call("job", { id: this.id });
  }

  /**
   * Cancels the job and the jobs it has submitted; returns their ids, the job's own last. The signal of a
   * handler that runs is aborted. A completed job is a `ConflictError`.
   */
  cancel(): Promise<string[]> {
    return this.#rack().call("cancel", { id: this.id });
  }

  /** Lets a job that failed or was canceled run again from the start. */
  async retry(): Promise<void> {
    await this.#rack().call("retry", { id: this.id });
  }

  /** What the job has logged, oldest line first: the newest 1,000 lines. */
  async logs(): Promise<LogLine[]> {
    return (await this.#rack().call("logs", { id: this.id, from: 0 })).lines;
  }

  /** What the job has logged and logs from now on, until it has ended. */
  async *followLogs(): AsyncGenerator<LogLine, void, undefined> {
    let from = 0;
    for (;;) {
      const page = await this.#rack().call("followLogs", { id: this.id, from });
      if (page === null) return;
      from = page.next;
      yield* page.lines;
    }
  }

  /** Why the job does not run, as `keyrack jobs why` has it. */
  why(): Promise<unknown> {
    return this.#rack().call("why", { id: this.id });
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
