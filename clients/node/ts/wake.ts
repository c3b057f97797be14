/** What native code calls when there is something to take. */

/**
 * A function for native code, and what lets go of its target. Native code holds the function for as long as JavaScript
 * holds the native object, and that lies in the target: without the cut, neither would ever be collected.
 */
export class Wake<Target extends object> {
  readonly wake: () => void;
  readonly cut: () => void;

  constructor(target: Target | undefined, take: (target: Target) => void) {
    this.wake = () => {
      if (target !== undefined) take(target);
    };
    this.cut = () => {
      target = undefined;
    };
  }
}
