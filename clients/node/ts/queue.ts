/** Queues: typed by generics, or by validators that check every job. */

import type { App } from "./app";
import { InvalidError, isNext, type Next } from "./errors";
import { Handle } from "./handle";
import type { Job } from "./job";
import { encode } from "./json";
import { toStored, type SubmitOptions } from "./options";
import { validate, type StandardSchema } from "./schema";
import { toDefinition } from "./schedules";
import type { QueueLimits, ScheduleTimes, SubmitOutcome } from "./types";

/** Does the work of a job. What it returns is the job's result, unless it says how to go on. */
export type Handler<Input, Output, Context = unknown> = (
  input: Input,
  job: Job<Context>,
) => Output | Next | Promise<Output | Next>;

/** How workers serve a queue. */
export interface ServeOptions {
  /** How many of its jobs run at once in one worker; 100 by default. */
  concurrency?: number;
  /** Milliseconds that an attempt may take; 30 minutes by default. */
  timeLimit?: number;
  /** A job with the input of an earlier one, whose result is still kept, ends as its duplicate. */
  skipDuplicates?: boolean;
  /** How many of its jobs start for one of a queue of weight 1, if the queues of a worker share its places. */
  weight?: number;
}

/** A queue: validators, and the options of all jobs that are submitted to it. */
export interface QueueOptions<Input = unknown, Output = unknown> extends SubmitOptions {
  /** Checks inputs when they are submitted, and again before they reach a handler. */
  input?: StandardSchema<unknown, Input>;
  /** Checks results before they are stored, and again when somebody waits for them. */
  output?: StandardSchema<unknown, Output>;
  /**
   * The input is the whole list of arguments: for queues whose jobs have several, such as those of Python
   * functions and of the CLI. Otherwise it is the first argument.
   */
  positional?: boolean;
}

/** What a queue holds at one moment, in the words of HTTP and the CLI. Times are in milliseconds. */
export interface QueueStats {
  queue: string;
  paused: boolean;
  /** Jobs that could start now. */
  queued: number;
  /** Jobs whose time has not come. */
  delayed: number;
  /** Jobs that wait for other jobs. */
  waiting: number;
  /** Jobs that wait for the turn of their tenant. */
  parked: number;
  running: number;
  /** Jobs that have ended, the failed ones among them, and whose result is kept. */
  ended: number;
  failed: number;
  tenants: number;
  oldest_ms: number | null;
  /** When the next delayed job is due, in unix milliseconds. */
  next_due_at: number | null;
  dropped: number;
  limits: QueueLimits;
  workers: { worker: string; seen_at: number; running: number; info: unknown }[];
  minutes: Record<"at" | "submitted" | "started" | "completed" | "failed" | "dropped", number>[];
}

/** What became of a submission: the id of a new job, or of the one that stands for it. */
type Told = string | [id: string, outcome: SubmitOutcome];

/** A queue of a store. A type that leaves out the context is for queues with any. */
export class Queue<Input = unknown, Output = unknown, Context = any> {
  readonly #app: Pick<App, "rack" | "submitted">;
  readonly #options: QueueOptions<Input, Output>;
  readonly #defaults: SubmitOptions;
  readonly #defaultsJson: string;
  #handler: Handler<Input, Output, Context> | undefined;
  #serve: ServeOptions = {};

  constructor(
    app: Pick<App, "rack" | "submitted">,
    /** The queue's name. */
    readonly name: string,
    options: QueueOptions<Input, Output>,
  ) {
    const { input: _input, output: _output, positional: _positional, ...defaults } = options;
    this.#app = app;
    this.#options = options;
    this.#defaults = defaults;
    this.#defaultsJson = encode(toStored(defaults));
  }

  /** Submits a job. */
  async submit(input: Input, options?: SubmitOptions): Promise<Handle<Output>> {
    const told = await this.#submit(`[${await this.#arguments(input)}]`, options);
    return this.#handle(told[0] as Told);
  }

  /** Submits a job for each input, all with the same options. */
  async submitMany(inputs: Iterable<Input>, options?: SubmitOptions): Promise<Handle<Output>[]> {
    if (options?.id !== undefined || this.#defaults.id !== undefined) {
      throw new InvalidError('"id" is for one job; give "key" to submit many at most once');
    }
    const told = await this.#submit(await this.#argumentsOfMany([...inputs]), options);
    return told.map((one) => this.#handle(one));
  }

  /**
   * Runs jobs of this queue by the calendar, under a name of the schedule. A schedule of the name that is there
   * already gets this definition. Its jobs have the options of the queue in the store. Workers run schedules,
   * and so does `keyrack serve`.
   */
  async schedule(name: string, input: Input, times: ScheduleTimes): Promise<void> {
    const { input: schema, positional } = this.#options;
    if (schema !== undefined) await validate(schema, input, "the input");
    const isList = positional === true && Array.isArray(input) && input.length === 1;
    const argument: unknown = isList ? input[0] : input;
    await this.#app.rack.call("schedule", toDefinition(name, this.name, argument, times));
  }

  /** Says how jobs of this queue are done by the workers of this program. */
  handle(handler: Handler<Input, Output, Context>, options: ServeOptions = {}): this {
    if (this.#handler !== undefined) {
      throw new InvalidError(`the queue "${this.name}" has a handler already`);
    }
    this.#handler = handler;
    this.#serve = options;
    return this;
  }

  /** The job with this id. */
  job(id: string): Handle<Output> {
    return this.#handle(id);
  }

  /** Lets no more jobs of the queue start. Those that run go on. */
  async pause(): Promise<void> {
    await this.#app.rack.call("pause", { queue: this.name });
  }

  /** Lets jobs start again. */
  async resume(): Promise<void> {
    await this.#app.rack.call("resume", { queue: this.name });
  }

  /** How many jobs are where, and who works on them: as `keyrack jobs stats --json` prints it. */
  stats(): Promise<QueueStats> {
    return this.#app.rack.call("stats", { queue: this.name });
  }

  /** What limits the queue. */
  limits(): Promise<QueueLimits> {
    return this.#app.rack.call("limits", { queue: this.name });
  }

  /** Replaces all limits of the queue. What is left out is not limited, or has its default. */
  async setLimits(limits: QueueLimits): Promise<void> {
    await this.#app.rack.call("setLimits", { queue: this.name, limits });
  }

  /** What workers call; undefined without a handler. */
  get handler(): Handler<Input, Output, Context> | undefined {
    return this.#handler;
  }

  /** How workers serve it. */
  get serveOptions(): ServeOptions {
    return this.#serve;
  }

  /** Runs the handler on the arguments of a job. Without validators, nothing here waits. */
  run(args: unknown[], job: Job<Context>): Output | Next | Promise<Output | Next> {
    const { input, output, positional } = this.#options;
    const value = (positional === true ? args : args[0]) as Input;
    const handler = this.#handler as Handler<Input, Output, Context>;
    if (input === undefined && output === undefined) return handler(value, job);
    return this.#runChecked(handler, value, job);
  }

  async #runChecked(
    handler: Handler<Input, Output, Context>,
    value: Input,
    job: Job<Context>,
  ): Promise<Output | Next> {
    const { input, output } = this.#options;
    const checked = input === undefined ? value : await validate(input, value, "the input");
    const result = await handler(checked, job);
    if (isNext(result)) return result;
    return output === undefined ? result : validate(output, result, "the result");
  }

  /** The list of arguments of a job, as JSON. */
  async #arguments(input: Input): Promise<string> {
    const { input: schema, positional } = this.#options;
    if (schema !== undefined) await validate(schema, input, "the input");
    return positional === true ? encode(input) : encode([input]);
  }

  async #argumentsOfMany(inputs: Input[]): Promise<string> {
    if (this.#options.input === undefined) {
      return encode(this.#options.positional === true ? inputs : inputs.map((input) => [input]));
    }
    const lists: string[] = [];
    for (const input of inputs) lists.push(await this.#arguments(input));
    return `[${lists.join(",")}]`;
  }

  async #submit(jobs: string, options: SubmitOptions | undefined): Promise<Told[]> {
    const all = options === undefined ? this.#defaults : { ...this.#defaults, ...options };
    const json = options === undefined ? this.#defaultsJson : encode(toStored(all));
    const key = all.key === undefined ? "" : `,"key":${encode(all.key)}`;
    const text = `{"queue":${encode(this.name)},"jobs":${jobs},"options":${json}${key}}`;
    return this.#submitted(await this.#app.rack.callWith<Told[]>("submit", text));
  }

  #submitted(told: Told[]): Told[] | Promise<Told[]> {
    const ids = (): string[] => told.map((one) => (typeof one === "string" ? one : one[0]));
    const done = this.#app.submitted(this.name, ids);
    return done === undefined ? told : done.then(() => told);
  }

  #handle(told: Told): Handle<Output> {
    const [id, outcome] = typeof told === "string" ? [told] : told;
    return new Handle<Output>(() => this.#app.rack, id, this.#options.output, outcome);
  }
}
