/** The tasks that all examples share. A worker in a process of its own: `node tasks.mjs work`. */

import { open } from "keyrack";

/** The store of KEYRACK_STORE, or the folder ./keyrack-data, which one process at a time opens. */
export const app = open();

export interface Picture {
  url: string;
  width: number;
}

export const thumbnails = app.task(
  "thumbnails",
  async ({ url, width }: Picture, job) => {
    await job.report({ percent: 50 });
    return `${url}?width=${width}`;
  },
  { retries: 3 },
);

if (process.argv[2] === "work") await app.work();
