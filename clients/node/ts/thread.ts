/** What runs in a thread of a sandbox: one job after the other. */

import { parentPort, workerData } from "node:worker_threads";

import { Cancel, Fatal, isNext, Retry, Snooze } from "./errors";
import { Job, type StopReason } from "./job";
import { decode } from "./json";
import type { Handler } from "./queue";
import type { LogLevel } from "./types";
import type { ThreadReply, ThreadRequest } from "./sandbox";

const port = parentPort;
if (port === null) throw new Error("this module is for threads");

const reply = (message: ThreadReply): void => port.postMessage(message);

/** TypeScript would make a `require` of a plain `import()`, and that takes no ES modules. */
const load = new Function("module", "return import(module)") as (
  module: string,
) => Promise<{ default: unknown }>;

const handler = load(workerData as string).then(({ default: exported }) => {
  // A CommonJS module that was compiled from TypeScript has its default one level deeper.
  const nested = (exported as { default?: unknown } | undefined)?.default;
  const found = typeof exported === "function" ? exported : nested;
  if (typeof found === "function") return found as Handler<unknown, unknown>;
  throw new Fatal(`${String(workerData)} has no function as its default export`);
});
// Each job gets the error.
handler.catch(() => undefined);

let running: Job | undefined;

port.on("message", ({ input, job, stop }: ThreadRequest) => {
  if (stop !== undefined) running?.stop(stop as StopReason);
  if (job === undefined) return;
  const host = {
    report: (_: number, progress: string, message?: string): Promise<null> => {
      reply({ progress: decode(progress), ...(message === undefined ? {} : { message }) });
      return Promise.resolve(null);
    },
    log: (_: number, level: LogLevel, text: string): void => reply({ log: [level, text] }),
  };
  const { id, queue, attempt, retries, args, tags, tenant, parent } = job;
  running = new Job(host, 0, id, queue, attempt, retries, args, tags, tenant, parent, undefined);
  void run(input, running);
});

async function run(input: unknown, job: Job): Promise<void> {
  try {
    const result = await (await handler)(input, job);
    reply(isNext(result) ? { error: described(result) } : { result });
  } catch (error) {
    reply({ error: described(error) });
  }
}

function described(error: unknown): NonNullable<ThreadReply["error"]> {
  if (error instanceof Cancel) return { kind: "cancel", message: error.message };
  if (!(error instanceof Error)) return { kind: "error", message: `thrown: ${String(error)}` };
  const text = { message: error.message, ...(error.stack === undefined ? {} : { stack: error.stack }) };
  if (error instanceof Snooze) return { kind: "snooze", ...text, delay: error.delay };
  if (error instanceof Retry) {
    return { kind: "retry", ...text, ...(error.delay === undefined ? {} : { delay: error.delay }) };
  }
  return { kind: error instanceof Fatal ? "fatal" : "error", ...text };
}
