/** Rate limits that all processes on one store share. */

import type { Rack } from "./rack";
import type { LimitOptions, Verdict } from "./types";

/** The rate limits of a store. */
export class Limits {
  readonly #rack: () => Rack;

  constructor(rack: () => Rack) {
    this.#rack = rack;
  }

  /** Takes of a limit on behalf of a subject, such as a user or an address. */
  async take(name: string, subject: string, options: LimitOptions): Promise<Verdict> {
    const { amount = 1, ...limit } = options;
    return this.#rack().call("takeLimit", { name, subject, amount, ...limit });
  }
}
