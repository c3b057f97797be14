/** The native module: keyrack's Rust crates. A test compares this with what the module has. */

import { join } from "node:path";

import type { EntitlementQuery, LinkQuery, StoredEntitlement } from "./entitlements";
import type { NativeFailure } from "./errors";
import type { WaitingFile } from "./files";
import type { QueueStats } from "./queue";
import type { RecommendationOptions, StoredPage } from "./recommendations";
import type { ResultQuery, StoredEvent } from "./rollups";
import type { JobEvent, LogPage, QueueLimits, Schedule, ScheduleDefinition, StoredJob, Verdict } from "./types";

/** The calls of a store: arguments and answer of each. */
export interface Calls {
  ready: [Record<string, never>, null];
  job: [{ id: string }, StoredJob];
  outcome: [{ id: string; timeout: number }, StoredJob | null];
  outcomes: [{ ids: string[]; timeout: number }, [StoredJob | null, NativeFailure?][]];
  cancel: [{ id: string }, string[]];
  retry: [{ id: string }, null];
  why: [{ id: string }, unknown];
  logs: [{ id: string; from: number }, LogPage];
  followLogs: [{ id: string; from: number }, LogPage | null];
  pause: [{ queue: string }, null];
  resume: [{ queue: string }, null];
  stats: [{ queue: string }, QueueStats];
  limits: [{ queue: string }, QueueLimits];
  setLimits: [{ queue: string; limits: QueueLimits }, null];
  schedule: [ScheduleDefinition, null];
  schedules: [Record<string, never>, Schedule[]];
  unschedule: [{ name: string }, null];
  pauseSchedule: [{ name: string }, null];
  resumeSchedule: [{ name: string }, null];
  runSchedule: [{ name: string }, null];
  listen: [{ queues: string[] }, number];
  events: [{ stream: number; timeout?: number }, JobEvent[] | null];
  unlisten: [{ stream: number }, null];
  takeLimit: [
    { name: string; subject: string; max: number; period: number; burst?: number; amount: number },
    Verdict,
  ];
  beginRun: [{ user: string; name: string; step: string; iterations?: number }, [number, number]];
  endRun: [{ number: number; isDone: boolean; timeout: number }, null];
  recordEvents: [{ account: string; project: string; events: readonly StoredEvent[] }, null];
  readResult: [ResultQuery, Record<string, string>];
  readSeries: [ResultQuery, { bucket: string; value: string | null }[]];
  entitlement: [EntitlementQuery, StoredEntitlement];
  linkCustomer: [LinkQuery, null];
  recommend: [{ user: string } & RecommendationOptions, StoredPage];
  postsShown: [{ user: string; posts: readonly number[] }, null];
  hidePosts: [{ user: string; posts: readonly number[] }, null];
  loadRecommendations: [{ folder: string }, number];
  beginUpload: [{ bucket: string; key: string; hint?: string }, number];
  holdUpload: [{ upload: number }, null];
  saveUpload: [{ upload: number }, null];
  abandonUpload: [{ upload: number }, null];
  deleteFile: [{ bucket: string; key: string; hint?: string }, null];
  waitingFiles: [{ max: number }, (Omit<WaitingFile, "at"> & { at: number })[]];
  /** The address on which an embedded store speaks Redis' protocol. */
  listenRedis: [Record<string, never>, string];
  advance: [{ ms: number }, null];
}

/** A store. */
export interface NativeRack {
  readonly url: string;
  /** Makes a call with its arguments as JSON. Its answer comes under its number. */
  call(number: number, name: string, text: string): void;
  /** Takes the calls that have ended, as JSON: number and value, or number, null and failure. */
  take(): string;
  /** So many more iterations of a run are done. */
  tick(number: number, n: number): void;
  /** Closes the store. Without a number the caller waits. */
  close(number?: number): void;
}

/** A worker. */
export interface NativeWorker {
  /** Hands back what became of jobs, as JSON, and takes the next. */
  poll(ended: string): string;
  /** Adds a line to the log of a job. */
  log(place: number, level: string, text: string): void;
  /** Tells how far a job is, with a message or without. The answer comes under the number. */
  report(rack: NativeRack, number: number, place: number, progress: string, message?: string): void;
  /** Finishes running jobs and takes no more. */
  stop(): void;
}

/** What the module exports. */
export interface Native {
  Rack: new (
    url: string,
    passwordFile: string | undefined,
    hasTestClock: boolean,
    wake: () => void,
  ) => NativeRack;
  Worker: new (
    rack: NativeRack,
    queues: string,
    drain: number,
    stopGrace: number,
    lease: number | null,
    sharedConcurrency: number | null,
    wake: () => void,
  ) => NativeWorker;
}

/** The package that has the module and the program for this system. */
export function platformPackage(): string {
  const libc = process.platform === "linux" ? "-gnu" : "";
  return `@keyrack/${process.platform}-${process.arch}${libc}`;
}

function load(): Native {
  // eslint-disable-next-line -- a native module has no other way in
  const attempt = (path: string): Native => require(path) as Native;
  const beside = join(__dirname, "..", "keyrack.node");
  try {
    return attempt(beside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
  }
  const name = platformPackage();
  try {
    return attempt(`${name}/keyrack.node`);
  } catch (error) {
    throw new Error(
      `keyrack has no native module for this system: the package ${name} is not installed. ` +
        `Install without --no-optional, or use keyrack/http.`,
      { cause: error },
    );
  }
}

export const native: Native = load();
