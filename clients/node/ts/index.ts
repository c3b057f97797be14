/** Job queues, progress bars and rate limits, on Redis or with no Redis at all. */

export { App, open, type OpenOptions, type TaskOptions } from "./app";
export { type BatchHandler, type BatchOptions } from "./batch";
export {
  Cancel,
  ClosedError,
  ConflictError,
  DeniedError,
  Fatal,
  InvalidError,
  JobCanceledError,
  JobFailedError,
  KeyrackError,
  NotFoundError,
  Retry,
  Snooze,
  UnavailableError,
  WaitTimeoutError,
  type ErrorClass,
  type Next,
} from "./errors";
export { EventStream } from "./events";
export { Handle } from "./handle";
export { JobStopped, type Job, type StopReason } from "./job";
export { Limits } from "./limits";
export { type JobRef, type SubmitOptions, type UniqueOptions } from "./options";
export { Queue, type Handler, type QueueOptions, type QueueStats, type ServeOptions } from "./queue";
export { type StandardSchema } from "./schema";
export { sandbox, type SandboxOptions } from "./sandbox";
export { type Screen, type TrackOptions } from "./track";
export type {
  HistoryEntry,
  JobEvent,
  JobEventType,
  JobStatus,
  LimitOptions,
  QueueLimits,
  Schedule,
  ScheduleDefinition,
  ScheduleTimes,
  StoredJob,
  SubmitOutcome,
  Verdict,
  WaitOptions,
} from "./types";
export { Worker, type WorkerOptions } from "./worker";
