/** Stores for the tests: in memory, in a folder, and a redis-server of their own. */

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { App, type Handle } from "keyrack";

// Registered here, these are of the whole file: inside of a test they would be of that test.
const cleanups: (() => void)[] = [];
after(() => cleanups.forEach((clean) => clean()));

/** A job of any queue that has to end soon. */
export const SOON = { timeout: 20_000 };

/** Waits for a condition. */
export async function until(
  condition: () => unknown,
  timeout = 20_000,
  what = "the condition",
): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `${what} did not come true`);
    await pause(10);
  }
}

/** A folder that goes with the process. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "keyrack-node-"));
  cleanups.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/** A program that ends with the tests of this file. */
export function program(
  command: string,
  args: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): ChildProcess {
  const env = { ...process.env, ...options.env };
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options, env });
  cleanups.unshift(() => void child.kill("SIGKILL"));
  return child;
}

let server: Promise<string> | undefined;

/** The URL of a redis-server for this file. */
export function redisUrl(): Promise<string> {
  server ??= (async () => {
    const port = await freePort();
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder()];
    program("redis-server", args).stdout?.resume();
    await until(() => answers(port));
    return `redis://127.0.0.1:${port}`;
  })();
  return server;
}

let databases = 0;

const STORES: Record<string, () => string | Promise<string>> = {
  memory: () => "memory",
  folder: () => join(folder(), "data"),
  // A database of its own is as good as a server of its own.
  redis: async () => `${await redisUrl()}/${(databases += 1) % 16}`,
};

/** Runs a test on each kind of store, with an App that has no queues. */
export function onEveryStore(
  name: string,
  run: (app: App, t: TestContext) => Promise<void>,
): void {
  for (const [kind, url] of Object.entries(STORES)) {
    test(`${name} (${kind})`, async (t) => {
      const address = await url();
      if (kind === "redis") await flush(address);
      await using app = new App(address);
      await run(app, t);
    });
  }
}

async function flush(url: string): Promise<void> {
  const cli = program("redis-cli", ["-u", url, "FLUSHDB"]);
  cli.stdout?.resume();
  cli.stderr?.on("data", (text) => console.error(String(text)));
  const code = await new Promise((resolve) => cli.once("exit", resolve));
  assert.equal(code, 0);
}

/** The results of jobs, in order. */
export function results<T>(handles: Handle<T>[]): Promise<T[]> {
  return Promise.all(handles.map((handle) => handle.result(SOON)));
}

/** A promise with its ends, as later Nodes have it. */
export function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((ends) => (resolve = ends));
  return { promise, resolve };
}

/** A server with a store in memory: its address, that of its store, and its admin token. */
export async function serve(): Promise<{ url: string; resp: string; token: string }> {
  const args = ["serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", "embedded:memory"];
  const child = program(String(process.env["KEYRACK_PROGRAM"]), args, { cwd: folder() });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const hear = (text: Buffer): void => {
      said += String(text);
      if (said.includes("ready; ")) resolve();
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("exit", () => reject(new Error(`the server did not start:\n${said}`)));
  });
  const found = (pattern: RegExp): string => String(pattern.exec(said)?.[1]);
  return {
    url: found(/(http:\/\/127\.0\.0\.1:\d+)/),
    resp: `redis://${found(/resp +(127\.0\.0\.1:\d+)/)}`,
    token: found(/(ep_ut_\w\S*)/),
  };
}
