/** What the end of a job means to those who wait for it. */

import { JobCanceledError, JobFailedError, WaitTimeoutError } from "./errors.js";
import type { StoredJob } from "./types.js";

/** The result of a job that has ended; an error says why it has none. */
export function resultOf(id: string, job: StoredJob): unknown {
  if (job.status === "completed") return job.result;
  if (job.status === "canceled") throw new JobCanceledError(id, "was canceled");
  throw new JobFailedError(id, `${job.status}: ${reasonOf(job)}`);
}

/** Why it failed, and what its last attempt threw if the reason does not say so. */
function reasonOf({ failedReason, history }: StoredJob): string {
  const reason = failedReason ?? "no reason is stored";
  const last = history.filter(({ event }) => event === "exception").pop()?.["message"];
  return typeof last === "string" && last !== reason ? `${reason}: ${last}` : reason;
}

export function notInTime(id: string): Error {
  return new WaitTimeoutError(`the job "${id}" has not ended in time; it goes on`);
}
