/** Fastify: a limit, a job, and its events as a stream. */

import Fastify, { type FastifyInstance } from "fastify";

import { app, thumbnails, type Picture } from "./tasks.mjs";

export function server(): FastifyInstance {
  // Streams of events do not hold up the end of the server.
  const web = Fastify({ forceCloseConnections: true });

  web.post<{ Body: Picture }>("/thumbnails", async (request, reply) => {
    const verdict = await app.limits.take("thumbnails", request.ip, { max: 10, period: 60_000 });
    if (!verdict.allowed) {
      const seconds = Math.ceil((verdict.retryAfter ?? 60_000) / 1000);
      return reply.code(429).header("retry-after", String(seconds)).send();
    }
    const job = await thumbnails.submit(request.body);
    return reply.code(202).send({ id: job.id });
  });

  web.get("/events", async (_, reply) => {
    const gone = new AbortController();
    const events = await app.events(thumbnails, { signal: gone.signal }).listening();
    reply.hijack();
    reply.raw.writeHead(200, { "content-type": "text/event-stream" });
    reply.raw.flushHeaders();
    reply.raw.once("close", () => gone.abort());
    const send = async (): Promise<void> => {
      for await (const event of events) {
        reply.raw.write(`event: ${event.type}\ndata: ${JSON.stringify({ id: event.id })}\n\n`);
      }
    };
    send().catch((error: unknown) => reply.raw.destroy(error as Error));
  });

  // The store is closed with the server.
  web.addHook("onClose", () => app.close());
  return web;
}

if (process.argv[2] === "serve") {
  app.worker();
  await server().listen({ port: 3000 });
}
