/** What happens to jobs, as it happens. */

import type { Rack } from "./rack";
import type { JobEvent } from "./types";

/** The events of some queues: `for await (const event of …)`. Leaving the loop stops listening. */
export class EventStream implements AsyncIterableIterator<JobEvent> {
  readonly #rack: Rack;
  readonly #stream: Promise<number>;
  #batch: JobEvent[] = [];
  #at = 0;
  #isOver = false;

  constructor(rack: Rack, queues: string[], signal?: AbortSignal) {
    this.#rack = rack;
    this.#stream = rack.call("listen", { queues });
    // Whoever waits for an event gets the error.
    this.#stream.catch(() => undefined);
    if (signal?.aborted === true) void this.return();
    else signal?.addEventListener("abort", () => void this.return(), { once: true });
  }

  /** Resolves once it listens: what happens after that is heard. */
  async listening(): Promise<this> {
    await this.#stream;
    return this;
  }

  async next(): Promise<IteratorResult<JobEvent, undefined>> {
    const stream = await this.#stream;
    while (this.#at >= this.#batch.length) {
      const batch = this.#isOver ? null : await this.#rack.call("events", { stream });
      if (batch === null) return { done: true, value: undefined };
      this.#batch = batch;
      this.#at = 0;
    }
    const value = this.#batch[this.#at] as JobEvent;
    this.#at += 1;
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<JobEvent, undefined>> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#batch = [];
      await this.#stream.then(
        (stream) => this.#rack.call("unlisten", { stream }),
        () => undefined,
      );
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
