/** What a worker opens for its handlers, such as a pool of connections. */

/** How the context of the handlers is opened and closed. */
export interface ContextOptions<Context> {
  /** Opens what handlers get as `job.context`; each worker does it once, before its first job. */
  context?: () => Context | Promise<Context>;
  /**
   * Closes it after the last job. Without it, a context that has `Symbol.asyncDispose` or `Symbol.dispose` is
   * disposed of by that.
   */
  closeContext?: (context: Context) => unknown;
}

/** Closes a context. */
export async function closed<Context>(
  { closeContext }: ContextOptions<Context>,
  context: Context,
): Promise<void> {
  if (closeContext !== undefined) return void (await closeContext(context));
  if (typeof context !== "object" || context === null) return;
  const dispose =
    (context as Partial<AsyncDisposable>)[Symbol.asyncDispose] ??
    (context as Partial<Disposable>)[Symbol.dispose];
  await dispose?.call(context);
}
