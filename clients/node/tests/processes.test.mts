/** Workers in processes of their own: signals, kill -9, blocked event loops, exits, restarts. */

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { App, open, type Queue } from "keyrack";

import { folder, program, redisUrl, until } from "./support.mjs";

/** What 500 restarts may leave behind: of memory, which allocators keep for a while, and of objects. */
const GROWN_MAX_MB = 2;
const HEAP_GROWN_MAX_MB = 0.3;

const WORKER = fileURLToPath(new URL("worker-program.mjs", import.meta.url));

let url = "";
let slow: Queue<[string, number, number], number>;
let spin: Queue<number, boolean>;

before(async () => {
  url = await redisUrl();
  const app = open(url);
  slow = app.queue("slow");
  spin = app.queue("spin");
});

function worker(store = url, ...options: string[]): ChildProcess {
  return program(process.execPath, [WORKER, "work", ...options], { env: { KEYRACK_STORE: store } });
}

function node(code: string): ChildProcess {
  const args = ["--input-type=module", "--expose-gc", "-e", code];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  return program(process.execPath, args, { env: { KEYRACK_STORE: url }, cwd });
}

/** The exit code of a process, and what it has said. */
async function ended(child: ChildProcess): Promise<[number | null, string]> {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += String(text)));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return [code, said];
}

test("jobs of a killed worker run again within 15 s, and none is settled twice", async () => {
  const first = worker();
  const marks = folder();
  const inputs = Array.from({ length: 100 }, (_, n): [string, number, number] => [marks, n, 500]);
  const handles = await slow.submitMany(inputs);
  await until(() => readdirSync(marks).length >= 50);
  first.kill("SIGKILL");
  const killed = performance.now();
  const second = worker();
  const runners = await Promise.all(handles.map((handle) => handle.result({ timeout: 30_000 })));
  assert.ok(performance.now() - killed < 15_000, `it took ${performance.now() - killed} ms`);
  assert.ok(runners.includes(second.pid as number));
  for (const handle of handles) {
    const { history } = await handle.info();
    assert.equal(history.filter(({ event }) => event === "completed").length, 1, "settled twice");
  }
  second.kill("SIGKILL");
});

test("a handler that blocks the event loop keeps its job", async () => {
  const workers = [worker(url, "1000"), worker(url, "1000")];
  // Longer than a lease, and than the time between two looks at silent workers (2 s).
  const blocked = Number(process.env["KEYRACK_BLOCKED_S"] ?? 5) * 1000;
  const handle = await spin.submit(blocked);
  assert.equal(await handle.result({ timeout: blocked + 35_000 }), true);
  assert.equal((await handle.info()).attempts, 1);
  for (const each of workers) each.kill("SIGKILL");
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} lets running jobs end`, async () => {
    const child = worker();
    const marks = folder();
    const handle = await slow.submit([marks, 1, 500]);
    await until(() => readdirSync(marks).length > 0);
    child.kill(signal);
    const [code, said] = await ended(child);
    assert.equal(code, 0, said);
    assert.equal(await handle.result({ timeout: 0 }), child.pid);
  });
}

test("a worker without a store says so", async () => {
  const [code, said] = await ended(worker("redis://127.0.0.1:1"));
  assert.equal(code, 1);
  assert.match(said, /UnavailableError: cannot reach/);
});

test("a program ends when nothing is left to do, and not before", async () => {
  const code = `
    import { open } from "keyrack";
    const app = open();
    const queue = app.task("ends", (n) => n);
    const worker = app.worker();
    queue.submit(7).then((job) => job.result()).then((n) => { console.log(n); return worker.stop(); });
  `;
  // The store is left open: it alone keeps no program alive.
  assert.deepEqual(await ended(node(code)), [0, "7\n"]);
});

test("a program may exit while its worker runs, and a folder is closed", async () => {
  const code = `
    import { open } from "keyrack";
    const app = open(${JSON.stringify(`${folder()}/data`)});
    const queue = app.task("exits", () => process.exit(3));
    app.worker();
    await queue.submit(1);
  `;
  assert.deepEqual(await ended(node(code)), [3, ""]);
});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("restarted workers and stores leave nothing behind", async () => {
  const resources = (): [number, number] => [
    readdirSync("/proc/self/fd").length,
    readdirSync("/proc/self/task").length,
  ];
  const resident = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
  const turn = async (): Promise<void> => {
    const app = new App("memory");
    const queue = app.task("note", async (n: number) => n);
    app.worker();
    assert.equal(await (await queue.submit(1)).result({ timeout: 20_000 }), 1);
    await app.close();
  };
  for (let done = 0; done < 50; done += 1) await turn();
  const before = resources();
  const n = Number(process.env["KEYRACK_RESTARTS"] ?? 100);
  const samples: [resident: number, heap: number][] = [];
  for (let done = 1; done <= n; done += 1) {
    await turn();
    if (done % Math.max(1, Math.floor(n / 20)) > 0) continue;
    // What the collector has not got to is not lost. Native objects go a turn of the loop after it.
    for (let pass = 0; pass < 2; pass += 1) {
      collect();
      await pause(1);
    }
    samples.push([resident(), process.memoryUsage().heapUsed / 2 ** 20]);
  }
  await until(() => resources().every((now, at) => now <= (before[at] as number) + 1));
  // In the first half, allocators and caches get to their size. What grows in the second half is lost.
  const quarter = Math.floor(samples.length / 4);
  const median = (part: number[]): number => part.sort((a, b) => a - b)[Math.floor(part.length / 2)] as number;
  const grown = [0, 1].map((which) => {
    const all = samples.map((sample) => sample[which] as number);
    const shown = all.map((sample) => sample.toFixed(1)).join(" ");
    return [median(all.slice(-quarter)) - median(all.slice(-2 * quarter, -quarter)), shown] as const;
  });
  if (process.env["KEYRACK_RESTARTS"] !== undefined) {
    console.log(`fds and threads ${before} -> ${resources()}, MB resident: ${grown[0]?.[1]}`);
  }
  for (const [n, max] of [GROWN_MAX_MB, HEAP_GROWN_MAX_MB].entries()) {
    const [more, shown] = grown[n] as readonly [number, string];
    assert.ok(more < max, `${["resident", "heap"][n]}: ${more.toFixed(1)} MB more: ${shown}`);
  }
});
