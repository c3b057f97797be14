/** Help for tests: a store in memory for each, a clock that the test moves, jobs that run inline, a port for Redis clients. */

import { App, type OpenOptions } from "./app";

/** How a test has its App. */
export interface TestOptions<Context = undefined> extends Omit<OpenOptions<Context>, "passwordFile"> {
  /**
   * Runs each job once when it is submitted, before `submit` resolves, if its queue has a handler. Jobs with a delay,
   * or that wait for others, stay where they are.
   */
  inline?: boolean;
}

/** An App in memory whose time the test moves on. */
export class TestApp<Context = undefined> extends App<Context> {
  readonly #isInline: boolean;

  constructor(options: TestOptions<Context> = {}) {
    const { inline = false, ...others } = options;
    super("memory", { ...others, testClock: true });
    this.#isInline = inline;
  }

  /**
   * Moves the time of the store on by milliseconds: delayed jobs are due, and retries too.
   * Do it while no job runs: leases end as well.
   */
  async advance(ms: number): Promise<void> {
    await this.rack.call("advance", { ms });
  }

  /** The address at which the store is a server for clients of Redis, until it is closed. */
  async redisUrl(): Promise<string> {
    return `redis://${await this.rack.call("listenRedis", {})}`;
  }

  override async submitted(queue: string, ids: () => readonly string[]): Promise<void> {
    if (!this.#isInline || !this.serves(queue)) return;
    const left = new Set<string>();
    for (const id of ids()) if ((await this.job(id).status()) === "queued") left.add(id);
    if (left.size === 0) return;
    const events = await this.events(queue).listening();
    await using _worker = this.worker({ queues: [queue], concurrency: left.size });
    for await (const { type, id } of events) {
      if (type !== "new" && type !== "progress" && id !== undefined) left.delete(id);
      if (left.size === 0) break;
    }
  }
}

/** A new store in memory: `await using app = testApp()`. */
export function testApp<Context = undefined>(options: TestOptions<Context> = {}): TestApp<Context> {
  return new TestApp(options);
}
