/** Calls of the native module as promises. */

import { KeepAlive } from "./alive";
import { ClosedError, checked, errorOf, type NativeFailure } from "./errors";
import { decode, encode } from "./json";
import { native, type Calls, type NativeRack } from "./native";
import { Wake } from "./wake";

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Ended = [number: number, value: unknown, failure?: NativeFailure];

/** Racks that are open: their folders are closed properly however the process ends. */
const OPEN = new Set<Rack>();

export class Rack {
  readonly native: NativeRack;
  readonly alive = new KeepAlive();
  // Made where nothing else is in reach, so that it holds nothing but the store.
  static readonly #takeOf = (rack: Rack): void => rack.#take();
  readonly #wake = new Wake<Rack>(this, Rack.#takeOf);
  #waiting = new Map<number, Waiting>();
  #last = 0;
  #isClosed = false;

  constructor(url: string, passwordFile: string | undefined, hasTestClock: boolean) {
    this.native = checked(
      () => new native.Rack(url, passwordFile, hasTestClock, this.#wake.wake),
    );
    OPEN.add(this);
  }

  /** Makes a call. Any number may be under way. */
  call<Name extends keyof Calls>(name: Name, args: Calls[Name][0]): Promise<Calls[Name][1]> {
    return this.callWith(name, encode(args));
  }

  /** Makes a call whose arguments are JSON already. */
  callWith<T>(name: string, text: string): Promise<T> {
    return this.start<T>((number) => this.native.call(number, name, text));
  }

  /** Starts something whose answer comes under a number. */
  start<T>(call: (number: number) => void): Promise<T> {
    if (this.#isClosed) return Promise.reject(new ClosedError("the store is closed; open it again"));
    // Numbers come back as JSON; four billion calls are not under way at once.
    const number = (this.#last = (this.#last + 1) >>> 0);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(number, { resolve: resolve as (value: unknown) => void, reject });
      this.alive.add();
      call(number);
    });
  }

  /** Closes the store; calls that are under way are rejected. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    const closing = this.start<null>((number) => this.native.close(number));
    this.#isClosed = true;
    OPEN.delete(this);
    await closing;
    this.#wake.cut();
    this.alive.end();
  }

  /** Closes the store before it returns. */
  closeNow(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    OPEN.delete(this);
    this.native.close();
    this.#take();
    this.#wake.cut();
    this.alive.end();
  }

  #take(): void {
    for (const [number, value, failure] of decode(this.native.take()) as Ended[]) {
      const waiting = this.#waiting.get(number);
      if (waiting === undefined) continue;
      this.#waiting.delete(number);
      this.alive.remove();
      if (failure === undefined) waiting.resolve(value);
      else waiting.reject(errorOf(failure));
    }
  }
}

process.once("exit", () => {
  for (const rack of OPEN) rack.closeNow();
});
