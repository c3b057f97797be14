/** Rate limits that all processes on one store share. */

import type { Rack } from "./rack.js";

/** A limit, and how much of it to take. Times are in milliseconds. */
export interface LimitOptions {
  /** How much may be taken in each period. */
  max: number;
  period: number;
  /** With it, what was taken comes back evenly, and at most so much can be taken at once. */
  burst?: number;
  /** How much to take; 1 by default. */
  amount?: number;
}

/** Whether something may be done, and what is left. */
export interface Verdict {
  /** Whether it may be done. If not, nothing was taken. */
  allowed: boolean;
  /** How much more may be taken at once. */
  remaining: number;
  /** Milliseconds until the same would be allowed; null if it is more than the limit. */
  retryAfter: number | null;
  /** Milliseconds until everything may be taken again. */
  resetAfter: number;
}

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
