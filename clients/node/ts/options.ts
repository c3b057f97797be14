/** How jobs are submitted. */

import { InvalidError } from "./errors.js";

/** A job: its handle, or its id. */
export type JobRef = { readonly id: string } | string;

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
  /** How long the result is kept; 30 minutes by default. */
  ttl?: number;
  /** How long the job is kept if it fails; 7 days by default. */
  failedTtl?: number;
  /** An id of one's own; a second job with it is refused. */
  id?: string;
  /** Submitting again with the same key gives the same job. */
  key?: string;
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
}

const idOf = (job: JobRef): string => (typeof job === "string" ? job : job.id);

/** The word of a stored job for each option that has another one. */
const WORDS: Record<Exclude<keyof SubmitOptions, "key">, string> = {
  delay: "delay",
  priority: "priority",
  retries: "retries",
  retryDelay: "retryDelay",
  progressive: "progressiveDelay",
  ttl: "ttl",
  failedTtl: "failedTtl",
  id: "jid",
  tags: "tags",
  after: "dependencies",
  afterTags: "dependenciesOnTags",
  parent: "parent",
  tenant: "tenant",
  host: "preferredHostname",
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
    // JSON has no word for such numbers, and null would be the default.
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new InvalidError(`${name}: ${value}; give a finite number`);
    }
    stored[word] =
      name === "parent"
        ? idOf(value as JobRef)
        : name === "after"
          ? (value as readonly JobRef[]).map(idOf)
          : value;
  }
  return stored;
}
