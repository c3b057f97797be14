/** Job queues, progress bars and rate limits, on Redis or with no Redis at all. */

export { App, open, type OpenOptions, type TaskOptions } from "./app";
export { type BatchHandler, type BatchOptions } from "./batch";
export { type ContextOptions } from "./context";
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
export {
  Entitlements,
  type Entitlement,
  type EntitlementOptions,
  type RevenueCat,
} from "./entitlements";
export { EventStream } from "./events";
export { Files, Upload, type WaitingFile } from "./files";
export { Handle } from "./handle";
export { JobStopped, type Job, type JobConsole, type StopReason } from "./job";
export { Limits } from "./limits";
export { type JobRef, type SubmitOptions, type UniqueOptions } from "./options";
export { Queue, type Handler, type QueueOptions, type QueueStats, type ServeOptions } from "./queue";
export {
  Recommendations,
  type Recommendation,
  type RecommendationOptions,
  type RecommendationPage,
} from "./recommendations";
export { Rollups, type Calculation, type Interval, type Point, type RollupEvent } from "./rollups";
export { type StandardSchema } from "./schema";
export { sandbox, type SandboxOptions } from "./sandbox";
export { type Screen, type TrackOptions } from "./track";
export type {
  HistoryEntry,
  JobEvent,
  JobEventType,
  JobProgress,
  JobStatus,
  LimitOptions,
  LogLevel,
  LogLine,
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
