/** What jobs, events and limits look like, natively and over HTTP. */

/** Where in its life a job is. */
export type JobStatus =
  | "new"
  | "queued"
  | "running"
  | "completed"
  | "duplicate"
  | "retried"
  | "failed"
  | "canceled"
  | "expired";

/** Something that happened to a job. */
export interface HistoryEntry {
  event: string;
  /** Unix milliseconds. */
  timestamp: number;
  hive: string;
  [more: string]: unknown;
}

/** What the handler of a job reported. */
export interface JobProgress {
  /** Any JSON, usually a number up to 100. */
  value: unknown;
  message: string | null;
  /** Unix milliseconds. */
  at: number;
  /** In which attempt. */
  attempt: number;
}

/** How important a line is. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** A line of a job's log. */
export interface LogLine {
  /** Its number: 0 for the first line of the job. */
  n: number;
  /** Unix milliseconds. */
  at: number;
  level: LogLevel;
  /** The attempt that wrote it. */
  attempt: number;
  text: string;
}

/** Some lines of a job's log. */
export interface LogPage {
  lines: LogLine[];
  /** The number of the line after these. */
  next: number;
  more: boolean;
  /** How many lines were dropped. */
  dropped: number;
}

/** A job as it is stored, in the words that HTTP and the CLI use too. */
export interface StoredJob {
  jid: string;
  queue: string;
  status: JobStatus;
  data: unknown[];
  options: Record<string, unknown> | null;
  worker: string | null;
  submitted: number;
  retries: number;
  attempts: number;
  deaths: number;
  tags: string[];
  tenant: string | null;
  parent: string | null;
  /** Which other submissions the job stands for, as its own said, with all defaults; times in milliseconds. */
  unique: {
    key?: string;
    by?: "id" | "args";
    until?: "started" | "ended";
    for?: number;
    debounce?: number;
    debounceMax?: number;
    throttle?: number;
    fold?: boolean;
  } | null;
  hash: string | null;
  duplicate: string | null;
  result: unknown;
  failedReason: string | null;
  /** The group of failures that its last failure belongs to. */
  errorGroup: string | null;
  /** What its handler reported last. */
  progress: JobProgress | null;
  dependants: string[];
  history: HistoryEntry[];
}

/**
 * What became of a submission: a new job, or an existing one stands for it, which with `replaced` has its
 * input.
 */
export type SubmitOutcome = "created" | "existing" | "replaced";

/** What to wait for, and for how long. */
export interface WaitOptions {
  /** Milliseconds; without it, as long as it takes. */
  timeout?: number;
  /** Ends the wait. The job goes on. */
  signal?: AbortSignal;
}

/** What kind of thing happened. */
export type JobEventType =
  | "new"
  | "duplicate"
  | "completed"
  | "failed"
  | "canceled"
  | "progress"
  | "delayed"
  | "resumed"
  | "other"
  | "gap";

/** Something that happened to a job, or a gap: then events may have been missed. */
export interface JobEvent {
  type: JobEventType;
  /** The job. */
  id?: string;
  queue?: string;
  /** The job as it was then, if the event has it. */
  job?: StoredJob;
  /** What its handler told with `job.report`. */
  progress?: unknown;
  /** What it said about that. */
  message?: string;
}

/** A limit, and how much of it to take. Times are in milliseconds. */
export interface LimitOptions {
  /** How much may be taken in each period. */
  max: number;
  period: number;
  /** With it, what was taken comes back evenly, and at most so much can be taken at once. */
  burst?: number;
  /** How much to take; 1 by default. */
  amount?: number;
}

/** When a schedule runs: one of `cron`, `every` and `at`. */
export interface ScheduleTimes {
  /** A cron expression of five fields, or six with seconds in front. It needs a `zone`. */
  cron?: string;
  /** The time zone, such as `Europe/Berlin`. */
  zone?: string;
  /** Milliseconds between two runs, in whole seconds. */
  every?: number;
  /** The first run of `every`; otherwise one period after the definition. */
  start?: Date | string;
  /** The one time at which it runs. */
  at?: Date | string;
  /** Missed runs that are made up for: 0 skips them, 1 (default) makes one run of all. */
  catchUp?: number;
}

/** A schedule in the words of HTTP. */
export interface ScheduleDefinition {
  name: string;
  queue?: string;
  /** The one argument of its jobs. */
  kwargs?: Record<string, unknown>;
  cron?: string;
  zone?: string;
  every?: string;
  from?: string;
  at?: string;
  catch_up?: number;
  [filter: string]: unknown;
}

/** A schedule as it is stored. */
export interface Schedule {
  name: string;
  /** The queue that its jobs are put into; null for the hot queue. */
  queue: string | null;
  /** When it runs, in words. */
  times: string;
  /** Unix milliseconds. */
  nextRunAt: number | null;
  paused: boolean;
  definition: ScheduleDefinition;
}

/** Whether something may be done, and what is left. */
export interface Verdict {
  /** Whether it may be done. If not, nothing was taken. */
  allowed: boolean;
  /** How much more may be taken at once. */
  remaining: number;
  /** Milliseconds until the same would be allowed; null if it is more than the limit. */
  retryAfter: number | null;
  /** Milliseconds until everything may be taken again. */
  resetAfter: number;
}

/**
 * What limits a queue in all workers, and what its jobs do that do not say so themselves. The words are those
 * of HTTP, and times are in milliseconds. What is left out is not limited, or has its default.
 */
export interface QueueLimits {
  /** The most jobs that may run at once. */
  concurrency?: number | null;
  /** How many jobs may start in some time. */
  rate?: { max: number; per_ms: number } | null;
  /** The most jobs that may run at once for one tenant. */
  tenant_concurrency?: number | null;
  /** The same for tenants who have a limit of their own, by name. */
  tenants?: Record<string, number>;
  /** How many jobs of one tenant may start in some time; for some, by name, another rate. */
  tenant_rate?: { max: number; per_ms: number } | null;
  tenant_rates?: Record<string, { max: number; per_ms: number }>;
  /** How many turns a tenant has for one of others, by name; 1 by default, 100 at most. */
  tenant_weights?: Record<string, number>;
  /** Tenants of whom no more jobs start. */
  paused_tenants?: string[];
  /** Limits that jobs name, by name. They count the jobs that name them, besides the limits above. */
  named?: Record<string, { concurrency?: number | null; rate?: { max: number; per_ms: number } | null }>;
  /** How many completed and failed jobs are kept; 100,000 by default. */
  completed_max?: number | null;
  failed_max?: number | null;
  /** How long failed jobs are kept; 7 days by default. */
  failed_ttl_ms?: number | null;
  /** How often jobs are tried again; 5 by default. */
  retries?: number | null;
  backoff?: {
    kind: "fixed" | "linear" | "exponential";
    delay_ms: number;
    max_ms?: number | null;
    jitter?: number | null;
  } | null;
  /** How long an attempt may take. */
  timeout_ms?: number | null;
  /** The time within which 95 % of the jobs should start; 60,000 by default. */
  wait_target_ms?: number | null;
}
