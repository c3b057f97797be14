/**
 * Next: `app/api/thumbnails/route.ts`, a route handler of the Node runtime. A route of the edge runtime
 * uses `keyrack/http` in the same way. `serverExternalPackages: ["keyrack"]` in next.config keeps the
 * native module out of the bundle; the worker is a process of its own.
 */

import { InvalidError } from "keyrack";

import { app, thumbnails, type Picture } from "./tasks.mjs";

export const runtime = "nodejs";

export async function POST(request: Request): Promise<Response> {
  try {
    const job = await thumbnails.submit((await request.json()) as Picture);
    return Response.json({ id: job.id }, { status: 202 });
  } catch (error) {
    if (error instanceof InvalidError) return Response.json({ reason: error.message }, { status: 422 });
    throw error;
  }
}

export async function GET(request: Request): Promise<Response> {
  const id = new URL(request.url).searchParams.get("id") ?? "";
  return Response.json({ result: await app.job(id).result({ timeout: 5000 }) });
}
