/** Keeps the event loop alive for as long as somebody waits. */

// The longest time that a timer takes.
const LONG_MS = 2 ** 31 - 1;

export class KeepAlive {
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  add(): void {
    this.#waiting += 1;
    if (this.#waiting > 1) return;
    this.#timer ??= setInterval(() => undefined, LONG_MS);
    this.#timer.ref();
  }

  remove(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#timer?.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
