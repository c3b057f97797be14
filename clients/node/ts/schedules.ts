/** Schedules: queues that get jobs by the calendar. */

import { InvalidError } from "./errors";
import type { ScheduleDefinition, ScheduleTimes } from "./types";

/** A schedule in the words of HTTP. */
export function toDefinition(
  name: string,
  queue: string,
  input: unknown,
  times: ScheduleTimes,
): ScheduleDefinition {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw new InvalidError("the input of a schedule is an object, which is the one argument of its jobs");
  }
  const definition: ScheduleDefinition = { name, queue, kwargs: input as Record<string, unknown> };
  if (times.cron !== undefined) definition.cron = times.cron;
  if (times.zone !== undefined) definition.zone = times.zone;
  if (times.every !== undefined) definition.every = `${times.every / 1000}s`;
  if (times.start !== undefined) definition.from = toText(times.start);
  if (times.at !== undefined) definition.at = toText(times.at);
  if (times.catchUp !== undefined) definition.catch_up = times.catchUp;
  return definition;
}

function toText(moment: Date | string): string {
  return typeof moment === "string" ? moment : moment.toISOString();
}
