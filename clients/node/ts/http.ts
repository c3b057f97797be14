/**
 * A client of `keyrack serve` that needs nothing but `fetch`: for browsers, edge runtimes and serverless
 * functions. It submits, waits, cancels, takes of limits and listens; workers need the native module.
 */

import { notInTime, resultOf } from "./ended.js";
import { errorOf, UnavailableError, type ErrorClass } from "./errors.js";
import { decode, encode } from "./json.js";
import { toStored, type SubmitOptions } from "./options.js";
import type {
  JobEvent,
  JobStatus,
  LimitOptions,
  LogLine,
  LogPage,
  QueueLimits,
  StoredJob,
  SubmitOutcome,
  Verdict,
  WaitOptions,
} from "./types.js";

/** The longest that the server waits for the end of a job in one request. */
const WAIT_S_MAX = 60;

/** How a server is called. */
export interface ConnectOptions {
  /** A token. From the server's own machine only limits need one. */
  token?: string;
  /** What makes requests; the runtime's own `fetch` by default. */
  fetch?: typeof fetch;
}

interface Request {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Statuses beyond 2xx that are answers. */
  answers?: number[];
}

/** A server. */
export class HttpClient {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(server: string, options: ConnectOptions = {}) {
    this.#base = server.replace(/\/+$/, "");
    this.#token = options.token;
    // Browsers refuse to call it as a method of anything else.
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** A queue, typed by generics. With `positional`, an input is the whole list of arguments. */
  queue<Input = unknown, Output = unknown>(
    name: string,
    options: { positional?: boolean } = {},
  ): HttpQueue<Input, Output> {
    return new HttpQueue<Input, Output>(this, name, options.positional ?? false);
  }

  /** The job with this id. */
  job<Output = unknown>(id: string): HttpHandle<Output> {
    return new HttpHandle<Output>(this, id);
  }

  /** Takes of a limit on behalf of a subject, such as a user or an address. */
  async takeLimit(name: string, subject: string, options: LimitOptions): Promise<Verdict> {
    const { max, period, burst, amount } = options;
    const taken = (await this.request("POST", `/api/1/limits/${encodeURIComponent(name)}/take`, {
      body: { subject, max, period_seconds: period / 1000, burst, amount },
      answers: [429],
    })) as Record<string, number | null> & { allowed: boolean; remaining: number };
    const ms = (seconds: number | null | undefined): number | null =>
      seconds === null || seconds === undefined ? null : seconds * 1000;
    return {
      allowed: taken.allowed,
      remaining: taken.remaining,
      retryAfter: taken.allowed ? 0 : ms(taken["retry_after_seconds"]),
      resetAfter: ms(taken["reset_after_seconds"]) ?? 0,
    };
  }

  /** What happens to the jobs of these queues, or of all, from now on. Leaving the loop stops listening. */
  async *events(
    queues: string | readonly string[] = [],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<JobEvent, void, undefined> {
    const query = new URLSearchParams();
    for (const queue of [queues].flat()) query.append("queue", queue);
    const { signal } = options;
    const response = await this.send("GET", `/api/1/jobs/events?${query}`, { signal });
    try {
      for await (const { event, data } of serverSentEvents(response)) {
        const { jid, ...rest } = (data === "" ? {} : decode(data)) as JobEvent & { jid?: string };
        if (event === "gap") yield { type: "gap" };
        else yield { ...rest, ...(jid === undefined ? {} : { id: jid }) };
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  }

  /** For the other classes: makes a request and reads its answer. */
  async request(method: string, path: string, request: Request = {}): Promise<unknown> {
    const response = await this.send(method, path, request);
    const text = await response.text();
    return text === "" ? null : decode(text);
  }

  /** Makes a request; what is no answer is an error. */
  async send(method: string, path: string, request: Request): Promise<Response> {
    const { body, signal, answers = [] } = request;
    const headers: Record<string, string> = { ...request.headers };
    if (this.#token !== undefined) headers["authorization"] = `bearer ${this.#token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const init: RequestInit = { method, headers, signal: signal ?? null };
    if (body !== undefined) init.body = encode(body);
    let response: Response;
    try {
      response = await this.#fetch(this.#base + path, init);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new UnavailableError(`cannot reach ${this.#base}: ${String(error)}`);
    }
    const isProblem = response.headers.get("content-type")?.includes("problem") === true;
    if (response.ok || (answers.includes(response.status) && !isProblem)) return response;
    throw await problem(response);
  }
}

/** What a server says of a submission; `outcome` is there if another job could have stood for it. */
interface Submitted {
  jid: string;
  created: boolean;
  outcome?: SubmitOutcome | null;
}

/** A queue of a server. */
export class HttpQueue<Input, Output> {
  readonly #client: HttpClient;
  readonly #path: string;
  readonly #isPositional: boolean;

  constructor(
    client: HttpClient,
    readonly name: string,
    isPositional: boolean,
  ) {
    this.#client = client;
    this.#path = `/api/1/queues/${encodeURIComponent(name)}`;
    this.#isPositional = isPositional;
  }

  /** Submits a job. */
  async submit(input: Input, options: SubmitOptions = {}): Promise<HttpHandle<Output>> {
    const submitted = (await this.#client.request("POST", `${this.#path}/jobs`, {
      body: this.#body(input, toStored(options)),
      headers: options.key === undefined ? {} : { "idempotency-key": options.key },
    })) as Submitted;
    return this.#handle(submitted);
  }

  /** Submits a job for each input, all with the same options. */
  async submitMany(
    inputs: Iterable<Input>,
    options: Omit<SubmitOptions, "id" | "key"> = {},
  ): Promise<HttpHandle<Output>[]> {
    const stored = toStored(options);
    const body = Array.from(inputs, (input) => this.#body(input, stored));
    const submitted = (await this.#client.request("POST", `${this.#path}/jobs`, { body })) as {
      jobs: Submitted[];
    };
    return submitted.jobs.map((job) => this.#handle(job));
  }

  /** Lets no more jobs of the queue start. */
  async pause(): Promise<void> {
    await this.#client.request("POST", `${this.#path}/pause`);
  }

  /** Lets jobs start again. */
  async resume(): Promise<void> {
    await this.#client.request("POST", `${this.#path}/resume`);
  }

  /** What limits the queue. */
  limits(): Promise<QueueLimits> {
    return this.#client.request("GET", `${this.#path}/limits`) as Promise<QueueLimits>;
  }

  /** Replaces all limits of the queue. What is left out is not limited, or has its default. */
  async setLimits(limits: QueueLimits): Promise<void> {
    await this.#client.request("PUT", `${this.#path}/limits?create=true`, { body: limits });
  }

  #handle({ jid, created, outcome }: Submitted): HttpHandle<Output> {
    return new HttpHandle<Output>(this.#client, jid, outcome ?? (created ? "created" : "existing"));
  }

  #body(input: Input, stored: Record<string, unknown>): object {
    return { data: this.#isPositional ? input : [input], ...stored };
  }
}

/** A job of a server. */
export class HttpHandle<Output = unknown> {
  readonly #client: HttpClient;
  readonly #path: string;

  constructor(
    client: HttpClient,
    /** The job's id. */
    readonly id: string,
    /** What became of the submission. */
    readonly outcome: SubmitOutcome = "created",
  ) {
    this.#client = client;
    this.#path = `/api/1/jobs/${encodeURIComponent(id)}`;
  }

  /** Waits until the job has ended, and returns its result; rejects as `Handle.result` does. */
  async result(options: WaitOptions = {}): Promise<Output> {
    const { timeout = Infinity, signal } = options;
    const deadline = performance.now() + timeout;
    for (;;) {
      const left = Math.max(0, (deadline - performance.now()) / 1000);
      const path = `${this.#path}/outcome?wait_s=${Math.min(WAIT_S_MAX, left)}`;
      const outcome = (await this.#client.request("GET", path, { signal })) as {
        ended: boolean;
        job: StoredJob;
      };
      if (outcome.ended) return resultOf(this.id, outcome.job) as Output;
      if (left <= WAIT_S_MAX) throw notInTime(this.id);
    }
  }

  /** Everything that is stored of the job. */
  info(): Promise<StoredJob> {
    return this.#client.request("GET", this.#path) as Promise<StoredJob>;
  }

  /** Where in its life the job is. */
  async status(): Promise<JobStatus> {
    return (await this.info()).status;
  }

  /** What the job has logged, oldest line first: the newest 1,000 lines. */
  async logs(): Promise<LogLine[]> {
    return ((await this.#client.request("GET", `${this.#path}/logs`)) as LogPage).lines;
  }

  /** Cancels the job and the jobs it has submitted; returns their ids, the job's own last. */
  async cancel(): Promise<string[]> {
    const canceled = (await this.#client.request("DELETE", this.#path)) as { canceled: string[] };
    return canceled.canceled;
  }

  /** Lets a job that failed or was canceled run again from the start. */
  async retry(): Promise<void> {
    await this.#client.request("POST", `${this.#path}/retry`);
  }
}

/** A server such as `http://127.0.0.1:7700`. */
export function connect(server: string, options: ConnectOptions = {}): HttpClient {
  return new HttpClient(server, options);
}

const CLASSES: Record<number, ErrorClass> = {
  400: "invalid",
  401: "denied",
  403: "denied",
  404: "not_found",
  409: "conflict",
  413: "invalid",
  422: "invalid",
  429: "unavailable",
  503: "unavailable",
};

async function problem(response: Response): Promise<Error> {
  let errorClass = CLASSES[response.status] ?? "internal";
  const text = await response.text();
  let message = `the server answered ${response.status}`;
  try {
    const told = JSON.parse(text) as { message: string; field?: string | null; type?: string };
    message = told.field ? `${told.field}: ${told.message}` : told.message;
    // As of a store that is open in this process.
    if (told.type === "idempotency_key_reused") errorClass = "conflict";
  } catch {
    // Something between us and the server has answered.
  }
  return errorOf({ class: errorClass, message, isTransient: response.status >= 429 });
}

/** The events of a stream, without its comments. */
async function* serverSentEvents(
  response: Response,
): AsyncGenerator<{ event: string; data: string }> {
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const read = readEvent(block);
        if (read !== undefined) yield read;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function readEvent(block: string): { event: string; data: string } | undefined {
  const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line));
  const all = (name: string): string[] =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ""] : []));
  const data = all("data");
  const event = all("event")[0] ?? "message";
  return data.length === 0 && event !== "gap" ? undefined : { event, data: data.join("\n") };
}
