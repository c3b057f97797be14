/** Errors. All errors of calls are {@link KeyrackError}. */

/** What the caller can do about an error. */
export type ErrorClass =
  | "invalid"
  | "not_found"
  | "conflict"
  | "denied"
  | "unavailable"
  | "closed"
  | "timeout"
  | "failed"
  | "canceled"
  | "internal";

/** Why something could not be done. */
export class KeyrackError extends Error {
  /** What the caller can do about it. */
  readonly errorClass: ErrorClass;
  /** Whether the same call may well succeed a little later. */
  readonly isTransient: boolean;

  constructor(errorClass: ErrorClass, message: string, isTransient = false) {
    super(message);
    this.errorClass = errorClass;
    this.isTransient = isTransient;
    this.name = new.target.name;
  }
}

/** A value makes no sense; the message says which, and what to give. */
export class InvalidError extends KeyrackError {
  constructor(message: string) {
    super("invalid", message);
  }
}

/** There is no such job, or none any more. */
export class NotFoundError extends KeyrackError {
  constructor(message: string) {
    super("not_found", message);
  }
}

/** The job is in a state in which this cannot be done, its id is taken, or a folder is in use. */
export class ConflictError extends KeyrackError {
  constructor(message: string) {
    super("conflict", message);
  }
}

/** The store refused the user, the password or the command. */
export class DeniedError extends KeyrackError {
  constructor(message: string) {
    super("denied", message);
  }
}

/** The store cannot be reached, or cannot do this now. */
export class UnavailableError extends KeyrackError {
  constructor(message: string, isTransient = true) {
    super("unavailable", message, isTransient);
  }
}

/** The store was closed. */
export class ClosedError extends KeyrackError {
  constructor(message: string) {
    super("closed", message);
  }
}

/** The job has not ended in time. */
export class WaitTimeoutError extends KeyrackError {
  constructor(message: string) {
    super("timeout", message);
  }
}

/** The job failed for good; `reason` has the stack of its last attempt. */
export class JobFailedError extends KeyrackError {
  constructor(
    readonly jobId: string,
    readonly reason: string,
  ) {
    super("failed", `the job "${jobId}" ${reason}`);
  }
}

/** The job was canceled. */
export class JobCanceledError extends KeyrackError {
  constructor(
    readonly jobId: string,
    readonly reason: string,
  ) {
    super("canceled", `the job "${jobId}" ${reason}`);
  }
}

/**
 * Thrown by a handler: try the job again, after `delay` milliseconds or its own retry delay. It counts as
 * one of the job's retries.
 */
export class Retry extends Error {
  readonly delay: number | undefined;

  constructor(options: { delay?: number; reason?: string } = {}) {
    super(options.reason ?? "the handler asked for a retry");
    this.delay = options.delay;
    this.name = "Retry";
  }
}

/**
 * Thrown by a handler: the job cannot run now; run it again in `delay` milliseconds. It is no failure, and
 * uses up no retry.
 */
export class Snooze extends Error {
  constructor(readonly delay: number) {
    super(`snoozed for ${delay} ms`);
    this.name = "Snooze";
  }
}

/** Thrown by a handler: the job has failed, and trying it again would not help. */
export class Fatal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Fatal";
  }
}

/** Thrown by a handler: cancel the job, with its children. */
export class Cancel extends Error {
  constructor() {
    super("the handler canceled the job");
    this.name = "Cancel";
  }
}

/** A failed call, as the native module tells it. */
export interface NativeFailure {
  class: ErrorClass;
  message: string;
  isTransient: boolean;
}

/** The error for a failed call. */
export function errorOf({ class: errorClass, message, isTransient }: NativeFailure): KeyrackError {
  switch (errorClass) {
    case "invalid":
      return new InvalidError(message);
    case "not_found":
      return new NotFoundError(message);
    case "conflict":
      return new ConflictError(message);
    case "denied":
      return new DeniedError(message);
    case "unavailable":
      return new UnavailableError(message, isTransient);
    case "closed":
      return new ClosedError(message);
    default:
      return new KeyrackError(errorClass, message, isTransient);
  }
}

/** Runs a call of the native module; what it throws at once is an error of ours. */
export function checked<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fromNative(error);
  }
}

function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('{"class":')) return error;
  return errorOf(JSON.parse(error.message) as NativeFailure);
}

/** What a handler returns or throws to say how its job goes on. */
export type Next = Cancel | Fatal | Retry | Snooze;

/** Whether a handler has said how to go on. */
export function isNext(result: unknown): result is Next {
  if (typeof result !== "object" || result === null) return false;
  return [Cancel, Fatal, Retry, Snooze].some((kind) => result instanceof kind);
}
