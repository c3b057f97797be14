/** Express: one request submits a job, another waits for its result. */

import express, { type Express } from "express";
import { JobFailedError, NotFoundError, WaitTimeoutError } from "keyrack";

import { app, thumbnails, type Picture } from "./tasks.mjs";

export function server(): Express {
  const web = express().use(express.json());

  web.post("/thumbnails", async (request, response) => {
    const { url, width } = request.body as Picture;
    // The same picture in the same width is one job, however often it is asked for.
    const job = await thumbnails.submit({ url, width }, { key: `${width} ${url}` });
    response.status(202).location(`/thumbnails/${job.id}`).json({ id: job.id });
  });

  web.get("/thumbnails/:id", async (request, response) => {
    try {
      response.json({ result: await app.job(request.params.id).result({ timeout: 5000 }) });
    } catch (error) {
      if (error instanceof NotFoundError) response.status(404).end();
      else if (error instanceof WaitTimeoutError) response.status(202).end();
      else if (error instanceof JobFailedError) response.status(500).json({ reason: error.message });
      else throw error;
    }
  });
  return web;
}

if (process.argv[2] === "serve") {
  // Jobs may also run in the server's own process.
  app.worker();
  server().listen(3000);
}
