/** Runs the cases of clients/conformance, natively or over HTTP. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Cancel, Fatal, Retry, Snooze, type App, type Job, type LogLevel, type Queue, type SubmitOptions } from "keyrack";
import type { HttpClient } from "keyrack/http";

import { until } from "./support.mjs";

interface Instruction {
  do: string;
  value?: unknown;
  values?: unknown[];
  messages?: string[];
  lines?: [LogLevel, string][];
  times?: number;
  message?: string;
  delay?: number;
}

type Step = Record<string, unknown> & { as?: string | string[]; error?: string; message?: string };

const require = createRequire(import.meta.url);
// Numbers beyond 2^53 are in the cases too.
const { decode } = require(join(require.resolve("keyrack"), "../json.js")) as {
  decode(text: string): unknown;
};

const path = join(String(process.env["KEYRACK_REPOSITORY"]), "clients/conformance/cases.json");
export const CASES = decode(readFileSync(path, "utf8")) as { name: string; steps: Step[] }[];

/** Our names of options that have another word in a stored job. */
const NAMES: Record<string, keyof SubmitOptions> = {
  jid: "id",
  progressiveDelay: "progressive",
  dependencies: "after",
  dependenciesOnTags: "afterTags",
  preferredHostname: "host",
};

/** Runs the steps of a case: its jobs are submitted by one client, and worked off by an App. */
export class Runner {
  readonly #app: App;
  readonly #client: App | HttpClient;
  readonly #ids = new Map<string, string>();
  readonly #started: string[] = [];
  readonly #progress = new Map<string, unknown[]>();
  readonly #queue: Queue<unknown[]>;
  readonly #submitting: Pick<Queue<unknown[]>, "name" | "submit" | "submitMany" | "limits" | "setLimits">;

  constructor(app: App, name: string, server?: HttpClient) {
    this.#app = app;
    this.#client = server ?? app;
    this.#queue = app.queue(name, { positional: true });
    this.#queue.handle(([instruction], job) => this.#handle(instruction as Instruction, job));
    // The handles of both have the same methods.
    const remote = server?.queue<unknown[]>(name, { positional: true });
    this.#submitting = (remote as unknown as Queue<unknown[]> | undefined) ?? this.#queue;
  }

  async run(step: Step): Promise<void> {
    const act = this.#act(step);
    if (step.error === undefined) return act;
    await assert.rejects(act, (error: unknown) => {
      // The two packages have a class of their own.
      const { errorClass, message } = error as { errorClass?: string; message: string };
      assert.equal(errorClass, step.error, message);
      assert.ok(message.includes(step.message ?? ""), message);
      return true;
    });
  }

  async #act(step: Step): Promise<void> {
    if ("submit" in step) await this.#submit(step);
    else if ("submitMany" in step) {
      const handles = await this.#submitting.submitMany(step["submitMany"] as unknown[][]);
      handles.forEach(({ id }, n) => this.#ids.set((step.as as string[])[n] as string, id));
    } else if ("work" in step) await this.#work(step["work"] as { concurrency?: number });
    else if ("expect" in step) await this.#expect(step);
    else if ("order" in step) {
      const names = new Map([...this.#ids].map(([name, id]) => [id, name]));
      assert.deepEqual(this.#started.map((id) => names.get(id)), step["order"]);
    } else if ("cancel" in step) {
      const canceled = await this.#client.job(this.#id(step["cancel"])).cancel();
      assert.deepEqual(canceled, (step["canceled"] as string[]).map((name) => this.#id(name)));
    } else if ("retry" in step) await this.#client.job(this.#id(step["retry"])).retry();
    else if ("wait" in step) {
      await this.#client.job(this.#id(step["wait"])).result({ timeout: step["timeout"] as number });
    } else if ("limits" in step) {
      const limits = step["limits"] as Record<string, unknown>;
      await this.#submitting.setLimits(limits);
      const stored = (await this.#submitting.limits()) as Record<string, unknown>;
      for (const [name, wanted] of Object.entries(limits)) assert.deepEqual(stored[name], wanted);
    } else if ("take" in step) {
      const { name, subject, ...limit } = step["take"] as { name: string; subject: string; max: number; period: number };
      const taken = "takeLimit" in this.#client
        ? this.#client.takeLimit(name, subject, limit)
        : this.#client.limits.take(name, subject, limit);
      const { allowed, remaining } = await taken;
      assert.deepEqual([allowed, remaining], [step["allowed"], step["remaining"]]);
    } else if ("logs" in step) {
      const lines = await this.#client.job(this.#id(step["logs"])).logs();
      assert.deepEqual(lines.map(({ level, text, attempt }) => [level, text, attempt]), step["lines"]);
    } else if ("progress" in step) {
      const seen = (): unknown[] | undefined => this.#progress.get(this.#id(step["progress"]));
      await until(() => seen()?.length === (step["values"] as unknown[]).length);
      assert.deepEqual(seen(), step["values"]);
    } else assert.fail(`no such step: ${JSON.stringify(step)}`);
  }

  #id(name: unknown): string {
    return this.#ids.get(String(name).replace(/^\$/, "")) ?? String(name);
  }

  async #submit(step: Step): Promise<void> {
    const { data, options = {} } = step["submit"] as { data: unknown[]; options?: Record<string, unknown> };
    const ours = Object.entries(options).map(([word, value]): [string, unknown] => {
      const reference = (item: unknown): unknown =>
        typeof item === "string" && item.startsWith("$") ? this.#id(item) : item;
      return [NAMES[word] ?? word, Array.isArray(value) ? value.map(reference) : reference(value)];
    });
    const { id, outcome } = await this.#submitting.submit(data, Object.fromEntries(ours) as SubmitOptions);
    if (step["same"] !== undefined) assert.equal(id, this.#id(step["same"]));
    if (step["outcome"] !== undefined) assert.equal(outcome, step["outcome"]);
    this.#ids.set(step.as as string, id);
  }

  async #work(options: { concurrency?: number; skipDuplicates?: boolean; except?: string[] }): Promise<void> {
    const events = await this.#app.events(this.#queue).listening();
    const listening = (async () => {
      for await (const { type, id, progress } of events) {
        if (type === "progress" && id !== undefined) {
          this.#progress.set(id, [...(this.#progress.get(id) ?? []), progress]);
        }
      }
    })();
    Object.assign(this.#queue.serveOptions, { skipDuplicates: options.skipDuplicates ?? false });
    const { concurrency = 100 } = options;
    const worker = this.#app.worker({ concurrency });
    const except = (options.except ?? []).map((name) => this.#id(name));
    const ids = [...this.#ids.values()].filter((id) => !except.includes(id));
    await Promise.allSettled(ids.map((id) => this.#client.job(id).result({ timeout: 20_000 })));
    await worker.stop();
    await events.return();
    await listening;
  }

  async #expect(step: Step): Promise<void> {
    const info = await this.#client.job(this.#id(step["expect"])).info();
    const told: Record<string, unknown> = { ...info, reason: info.failedReason };
    for (const [name, wanted] of Object.entries(step)) {
      if (name === "expect") continue;
      if (name === "reported") {
        const { at: _, ...reported } = info.progress ?? { at: 0 };
        assert.deepEqual(info.progress === null ? null : reported, wanted);
      } else if (name === "reason") assert.ok(String(told[name]).includes(String(wanted)), String(told[name]));
      else if (name === "parent" || name === "duplicate") assert.equal(told[name], this.#id(wanted));
      else assert.deepEqual(told[name], wanted, name);
    }
  }

  async #handle(instruction: Instruction, job: Job): Promise<unknown> {
    if (job.attempt === 1) this.#started.push(job.id);
    switch (instruction.do) {
      case "return":
        return instruction.value;
      case "log":
        for (const [level, text] of instruction.lines ?? []) job.log(text, level);
        if (job.attempt <= (instruction.times ?? 0)) throw new Error(instruction.message);
        return job.attempt;
      case "fail":
        if (job.attempt <= (instruction.times ?? 0)) throw new Error(instruction.message);
        return job.attempt;
      case "fatal":
        throw new Fatal(String(instruction.message));
      case "retry":
        if (job.attempt === 1) throw new Retry({ delay: instruction.delay ?? 0 });
        return job.attempt;
      case "snooze":
        if (job.attempt === 1) throw new Snooze(instruction.delay ?? 0);
        return job.attempt;
      case "cancel":
        throw new Cancel();
      case "report":
        for (const [n, value] of (instruction.values ?? []).entries()) {
          await job.report(value, instruction.messages?.[n]);
        }
        return null;
      default:
        throw new Fatal(`no such instruction: ${instruction.do}`);
    }
  }
}
