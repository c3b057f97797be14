/** How jobs are submitted. */

import { InvalidError } from "./errors.js";

/** A job: its handle, or its id. */
export type JobRef = { readonly id: string } | string;

/**
 * Which other submissions are for the same job, and for how long. Times are in milliseconds. Equal are jobs
 * with the same arguments, or the same `key`. Give at most one of `until`, `for`, `debounce` and `throttle`.
 */
export interface UniqueOptions {
  /** What equal submissions have in common, if that is no key; the arguments by default. */
  by?: "args" | "id";
  /** A key that equal submissions have in common: 1 to 255 bytes. */
  key?: string;
  /** A job stands for equal ones until it has started, or ended (default). */
  until?: "started" | "ended";
  /** A job stands for equal ones for so long after its submission. */
  for?: number;
  /** Run when nothing equal was submitted for so long, with the input of the last one. */
  debounce?: number;
  /** The longest that this delays a job; 10 times `debounce` by default. */
  debounceMax?: number;
  /** Run the first job, and drop equal ones for so long. */
  throttle?: number;
  /** Do not drop them: run one more at the end of that time, with the input of the last one. */
  fold?: boolean;
}

/** How a job is submitted and run. Times are in milliseconds. */
export interface SubmitOptions {
  /** Wait so long before it may run. */
  delay?: number;
  /** 10 runs next, 0 (default) in order of submission, negative later. */
  priority?: number;
  /** How often it is tried again after a failure; 5 by default. */
  retries?: number;
  /** How long to wait before the next attempt; 30 s by default. */
  retryDelay?: number;
  /** Wait longer with each retry: once, twice, three times `retryDelay`. */
  progressive?: boolean;
  /** How the waits grow from retry to retry; each exponential one is twice the one before. */
  backoff?: "fixed" | "linear" | "exponential";
  /** The longest wait between retries. */
  retryDelayMax?: number;
  /** The share of each wait that is left to chance, from 0 to 1. */
  retryJitter?: number;
  /** How long an attempt may take; then it has failed. */
  timeout?: number;
  /** Within what time it has to start; then it ends as expired. */
  startWithin?: number;
  /** How long the result is kept; 30 minutes by default. */
  ttl?: number;
  /** How long the job is kept if it fails; 7 days by default. */
  failedTtl?: number;
  /** An id of one's own; a second job with it is refused. */
  id?: string;
  /** Submitting again with the same key gives the same job. */
  key?: string;
  /** Which other submissions are for the same job; `true` for those with the same input. */
  unique?: UniqueOptions | boolean;
  /** Words by which the job is found. */
  tags?: readonly string[];
  /** Run it after these jobs have ended, in whatever way. */
  after?: readonly JobRef[];
  /** Run it after all jobs that have all of its tags have ended. */
  afterTags?: boolean;
  /** The job that submits it; they are canceled together. */
  parent?: JobRef;
  /** On whose behalf it runs: the tenants of a queue take turns. */
  tenant?: string;
  /** The host whose workers hear of it first. */
  host?: string;
  /** Limits of the queue that count the job, by name: `queue.setLimits({ named: … })`. */
  limits?: readonly string[];
}

const idOf = (job: JobRef): string => (typeof job === "string" ? job : job.id);

/** The word of a stored job for each option that has another one. */
const WORDS: Record<Exclude<keyof SubmitOptions, "key">, string> = {
  delay: "delay",
  priority: "priority",
  retries: "retries",
  retryDelay: "retryDelay",
  progressive: "progressiveDelay",
  backoff: "backoff",
  retryDelayMax: "retryDelayMax",
  retryJitter: "retryJitter",
  timeout: "timeout",
  startWithin: "startWithin",
  ttl: "ttl",
  failedTtl: "failedTtl",
  id: "jid",
  unique: "unique",
  tags: "tags",
  after: "dependencies",
  afterTags: "dependenciesOnTags",
  parent: "parent",
  tenant: "tenant",
  host: "preferredHostname",
  limits: "limits",
};

/** Options in the words of a stored job, without the key. */
export function toStored(options: SubmitOptions): Record<string, unknown> {
  const stored: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options) as [keyof SubmitOptions, unknown][]) {
    if (value === undefined || name === "key") continue;
    const word = WORDS[name];
    if (word === undefined) {
      const known = [...Object.keys(WORDS), "key"].sort().join(", ");
      throw new InvalidError(`there is no option "${name as string}"; there are ${known}`);
    }
    checkNumbers(name, value);
    stored[word] = storedValue(name, value);
  }
  return stored;
}

/** JSON has no word for such numbers, and null would be the default. */
function checkNumbers(name: string, value: unknown): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new InvalidError(`${name}: ${value}; give a finite number`);
  }
  if (name === "unique" && typeof value === "object" && value !== null) {
    for (const [field, part] of Object.entries(value)) checkNumbers(`unique.${field}`, part);
  }
}

function storedValue(name: keyof SubmitOptions, value: unknown): unknown {
  switch (name) {
    case "parent":
      return idOf(value as JobRef);
    case "after":
      return (value as readonly JobRef[]).map(idOf);
    case "unique":
      // A shorthand: what is stored is an object, or nothing.
      return value === true ? {} : value === false ? undefined : value;
    default:
      return value;
  }
}
