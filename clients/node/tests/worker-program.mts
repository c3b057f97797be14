/** The worker process of `processes.test.mts`. Its store is that of KEYRACK_STORE. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { open } from "keyrack";

export const app = open();

export const slow = app.task("slow", async ([folder, n, ms]: [string, number, number]) => {
  writeFileSync(join(folder, `${n}-${process.pid}`), "");
  await pause(ms);
  return process.pid;
});

/** Does not let the event loop turn. */
export const spin = app.task("spin", (ms: number) => {
  const end = performance.now() + ms;
  let n = 0;
  while (performance.now() < end) n += 1;
  return n > 0;
});

if (process.argv[2] === "work") {
  try {
    const lease = process.argv[3];
    await app.work(lease === undefined ? {} : { lease: Number(lease) });
    await app.close();
  } catch (error) {
    console.error(`keyrack: ${String(error)}`);
    process.exit(1);
  }
}
