/** Help for tests: a store in memory for each, and a clock that the test moves. */

import { App } from "./app";

/** An App in memory whose time the test moves on. */
export class TestApp extends App {
  constructor() {
    super("memory", { testClock: true });
  }

  /**
   * Moves the time of the store on by milliseconds: delayed jobs are due, and retries too.
   * Do it while no job runs: leases end as well.
   */
  async advance(ms: number): Promise<void> {
    await this.rack.call("advance", { ms });
  }
}

/** A new store in memory: `await using app = testApp()`. */
export function testApp(): TestApp {
  return new TestApp();
}
