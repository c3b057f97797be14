/** Progress of loops, with the time that earlier runs took. */

import type { Rack } from "./rack";

/** Milliseconds between two reports to the store, and between two lines on the terminal. */
const REPORT_EVERY_MS = 100;
/** How long the end of a loop waits until its report is stored. */
const FLUSH_MS = 2000;
/** Columns of a bar on the terminal. */
const COLUMNS = 30;

/** Where lines are shown. */
export interface Screen {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** How a loop is reported. */
export interface TrackOptions {
  /** How many items there are; known by itself for arrays, sets, maps and strings. */
  total?: number;
  /** The name of the loop's step in the store; "items" by default. */
  step?: string;
  /** Whose progress it is; "node" by default. */
  user?: string;
  /** Where the bar is drawn; stderr by default. */
  screen?: Screen;
  /** Whether a bar is drawn; only on a terminal by default. */
  show?: boolean;
}

/**
 * Goes through items and reports how far it is, under a name that is the same in each run. Nothing here
 * makes the loop fail: what cannot be reported is not.
 */
export async function* track<T>(
  rack: () => Rack,
  items: Iterable<T> | AsyncIterable<T>,
  name: string,
  options: TrackOptions = {},
): AsyncGenerator<T, void, undefined> {
  const run = new Run(name, options.total ?? sizeOf(items), options);
  await run.begin(rack);
  let isDone = false;
  let nextReport = performance.now() + REPORT_EVERY_MS;
  try {
    for await (const item of items) {
      yield item;
      run.done += 1;
      const now = performance.now();
      if (now >= nextReport) {
        run.report();
        nextReport = now + REPORT_EVERY_MS;
      }
    }
    isDone = true;
  } finally {
    await run.end(isDone);
  }
}

function sizeOf(items: unknown): number | undefined {
  if (Array.isArray(items) || typeof items === "string") return items.length;
  return items instanceof Set || items instanceof Map ? items.size : undefined;
}

/** One run of a loop: what the store and the terminal get of it. */
class Run {
  done = 0;
  readonly #screen: Screen;
  readonly #shows: boolean;
  readonly #start = performance.now();
  #rack: Rack | undefined;
  #number = 0;
  #reported = 0;
  /** Seconds that the whole run takes, by what earlier runs say; 0 if nothing is known. */
  #expected = 0;

  constructor(
    readonly name: string,
    readonly total: number | undefined,
    readonly options: TrackOptions,
  ) {
    this.#screen = options.screen ?? process.stderr;
    this.#shows = options.show ?? this.#screen.isTTY === true;
  }

  async begin(rack: () => Rack): Promise<void> {
    const { step = "items", user = "node" } = this.options;
    const run = { user, name: this.name, step };
    const iterations = this.total === undefined ? {} : { iterations: Math.max(1, this.total) };
    try {
      const opened = rack();
      [this.#number, this.#expected] = await opened.call("beginRun", { ...run, ...iterations });
      this.#rack = opened;
    } catch {
      // A store that is down does not stop the loop.
    }
    this.#draw();
  }

  report(): void {
    this.#rack?.native.tick(this.#number, this.done - this.#reported);
    this.#reported = this.done;
    this.#draw();
  }

  async end(isDone: boolean): Promise<void> {
    this.report();
    if (this.#shows) this.#screen.write("\n");
    const end = { number: this.#number, isDone, timeout: FLUSH_MS };
    await this.#rack?.call("endRun", end).catch(() => undefined);
  }

  /** Seconds that are left: by earlier runs at first, by this one more and more. */
  #remaining(elapsed: number): number | undefined {
    const expected = this.#expected;
    if (!this.total) return expected === 0 ? undefined : Math.max(0, expected - elapsed);
    const fraction = Math.min(1, this.done / this.total);
    const byThis = fraction > 0 ? elapsed / fraction - elapsed : undefined;
    if (expected === 0) return byThis;
    const byEarlier = expected * (1 - fraction);
    if (byThis === undefined) return Math.max(byEarlier, expected - elapsed);
    return byThis * fraction + byEarlier * (1 - fraction);
  }

  #draw(): void {
    if (!this.#shows) return;
    const elapsed = (performance.now() - this.#start) / 1000;
    const remaining = this.#remaining(elapsed);
    const left = remaining === undefined ? "" : `, ${clock(remaining)} left`;
    this.#screen.write(`\r${this.name} ${this.#bar()} ${clock(elapsed)}${left}\x1b[K`);
  }

  #bar(): string {
    if (!this.total) return String(this.done);
    const filled = Math.min(COLUMNS, Math.floor((COLUMNS * this.done) / this.total));
    return `[${"#".repeat(filled)}${".".repeat(COLUMNS - filled)}] ${this.done}/${this.total}`;
  }
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (n: number): string => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return `${hours > 0 ? `${hours}:` : ""}${two(minutes)}:${two(whole % 60)}`;
}
