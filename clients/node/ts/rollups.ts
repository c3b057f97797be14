/** Rollups of event values: sums, counts, trends and more, by hour, day and so on. */

import type { Rack } from "./rack";

/** How long one bucket is. */
export type Interval = "seconds" | "minutes" | "hours" | "days" | "weeks" | "months" | "years";

/** What is calculated from the values of a key. */
export type Calculation =
  | "sum"
  | "count"
  | "average"
  | "standard_deviation"
  | "linear_regression"
  | "min"
  | "max"
  | "median"
  | "percentile_90"
  | "percentile_95"
  | "percentile_99"
  | "distinct_count"
  | "rate";

/**
 * A value of a key, and what is to be calculated from the values of that key. Two events of one key in the
 * same second are one value, of which the last counts, unless the project's setting `duplicates` says otherwise.
 */
export interface RollupEvent {
  /** What is measured, such as revenue. */
  dimension: string;
  /** One thing of it, such as a shop. */
  key: string;
  /** A decimal number; as text, it keeps all its digits. */
  value: number | bigint | string;
  interval: Interval | readonly Interval[];
  calculation: Calculation | readonly Calculation[];
  /** When it happened; now, by the clock of the store, by default. */
  at?: Date;
}

/** The words of an event in a call. */
export interface StoredEvent {
  dimension: string;
  key: string;
  value: string;
  created_at: string | null;
  interval: readonly string[];
  calculation: readonly string[];
}

/** A result of a key in a call. */
export interface ResultQuery {
  account: string;
  project: string;
  dimension: string;
  key: string;
  calculation: string;
  interval: string;
  points?: number;
}

/** One bucket of a series; null for one without values. */
export interface Point {
  /** The time at which it begins. */
  bucket: string;
  value: number | null;
}

/** The rollups of one project of an account. */
export class Rollups {
  readonly #rack: () => Rack;
  readonly #scope: { account: string; project: string };

  constructor(rack: () => Rack, account: string, project: string) {
    this.#rack = rack;
    this.#scope = { account, project };
  }

  /** Takes in values. If one is invalid, none is taken. Then the results are those of all values. */
  async record(...events: RollupEvent[]): Promise<void> {
    await this.#rack().call("recordEvents", { ...this.#scope, events: events.map(stored) });
  }

  /** A result: the value of each bucket, oldest first, or of each statistic. Empty if there is none. */
  async result(
    dimension: string,
    key: string,
    calculation: Calculation,
    interval: Interval,
  ): Promise<Record<string, number>> {
    const asked = { ...this.#scope, dimension, key, calculation, interval };
    const told = await this.#rack().call("readResult", asked);
    return Object.fromEntries(Object.entries(told).map(([name, value]) => [name, Number(value)]));
  }

  /** The last buckets of a result in order, those without values among them; 100 by default. */
  async series(
    dimension: string,
    key: string,
    calculation: Calculation,
    interval: Interval,
    options: { points?: number } = {},
  ): Promise<Point[]> {
    const { points = 100 } = options;
    const asked = { ...this.#scope, dimension, key, calculation, interval, points };
    const told = await this.#rack().call("readSeries", asked);
    return told.map(({ bucket, value }) => ({ bucket, value: value === null ? null : Number(value) }));
  }
}

function stored({ dimension, key, value, interval, calculation, at }: RollupEvent): StoredEvent {
  const list = (words: string | readonly string[]): readonly string[] =>
    typeof words === "string" ? [words] : words;
  const created_at = at === undefined ? null : `${at.toISOString().slice(0, 19)}Z`;
  const lists = { interval: list(interval), calculation: list(calculation) };
  return { dimension, key, value: String(value), created_at, ...lists };
}
