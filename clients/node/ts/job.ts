/** The job that runs, as its handler sees it. */

import { format } from "node:util";

import { encode } from "./json";
import type { LogLevel } from "./types";

/** Why a handler should stop: `lost` is to another worker. */
export type StopReason = "canceled" | "lost" | "shutdown" | "timeout";

/** The reason of an aborted signal. */
export class JobStopped extends Error {
  constructor(
    readonly jobId: string,
    readonly reason: StopReason,
  ) {
    super(`the job "${jobId}" should stop: ${reason}`);
    this.name = "JobStopped";
  }
}

/** What the worker does for a job. */
export interface JobHost {
  report(place: number, progress: string, message?: string): Promise<null>;
  log(place: number, level: LogLevel, text: string): void;
}

/** Writes to the log of a job in the manner of `console`: values are formatted as there. */
export type JobConsole = Record<"log" | LogLevel, (...values: unknown[]) => void>;

/** A running job. */
export class Job<Context = unknown> {
  readonly #host: JobHost;
  readonly #place: number;
  #controller: AbortController | undefined;
  #stopReason: StopReason | undefined;

  constructor(
    host: JobHost,
    place: number,
    readonly id: string,
    readonly queue: string,
    /** Which attempt this is, from 1. */
    readonly attempt: number,
    /** How often it was tried again after a failure. */
    readonly retries: number,
    /** All arguments. */
    readonly args: unknown[],
    readonly tags: readonly string[],
    /** On whose behalf it runs. */
    readonly tenant: string | undefined,
    /** The job that has submitted it. */
    readonly parent: string | undefined,
    /** What the worker has opened for its handlers: the `context` of `open`. */
    readonly context: Context,
  ) {
    this.#host = host;
    this.#place = place;
  }

  /**
   * Aborted when the handler should stop: the job was canceled, is not this worker's any more or has run
   * for too long, or the worker stops. Made for `fetch`, timers and streams.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopReason !== undefined) this.#abort(this.#stopReason);
    }
    return this.#controller.signal;
  }

  /** Why the handler should stop, if it should. */
  get stopReason(): StopReason | undefined {
    return this.#stopReason;
  }

  /** Tells how far the job is: any JSON, usually a number up to 100. The last one is stored. */
  async report(progress: unknown, message?: string): Promise<void> {
    await this.#host.report(this.#place, encode(progress), message);
  }

  /** Adds a line to the job's log, without waiting. The newest 1,000 lines are kept as long as the job. */
  log(text: string, level: LogLevel = "info"): void {
    this.#host.log(this.#place, level, text);
  }

  /** Writes to the log of the job in the manner of `console`: `job.console.warn("only %d left", n)`. */
  get console(): JobConsole {
    const write =
      (level: LogLevel) =>
      (...values: unknown[]): void =>
        this.log(format(...values), level);
    return {
      log: write("info"),
      trace: write("trace"),
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
    };
  }

  /** For the worker. The first reason stays. */
  stop(reason: StopReason): void {
    if (this.#stopReason !== undefined) return;
    this.#stopReason = reason;
    if (this.#controller !== undefined) this.#abort(reason);
  }

  #abort(reason: StopReason): void {
    this.#controller?.abort(new JobStopped(this.id, reason));
  }
}
