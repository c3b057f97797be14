// Calls with the types that openapi-typescript has generated: node client.js URL JWT.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[] };

const [url, jwt] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: url });
const user = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${jwt}` } });

function must<T>(value: T | undefined, error: unknown): T {
  if (value === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return value;
}

const queue = { path: { queue: "q" } };
const one = await client.POST("/api/1/queues/{queue}/jobs", { params: queue, body: { data: [1] } });
const submitted = must(one.data, one.error);
if (!("jid" in submitted)) throw new Error("a job and not a list");
const many = await client.POST("/api/1/queues/{queue}/jobs", { params: queue, body: [{ data: [2] }, { data: [3] }] });
const list = must(many.data, many.error);
if (!("jobs" in list) || list.jobs.length !== 2) throw new Error("a list of two jobs");
const job = await client.GET("/api/1/jobs/{jid}", { params: { path: { jid: submitted.jid } } });
if (must(job.data, job.error).queue !== "q") throw new Error("the job's queue");
const missing = await client.GET("/api/1/jobs/{jid}", { params: { path: { jid: "nothing" } } });
if (missing.error?.type !== "job_not_found") throw new Error("a problem that says why");
const token = await user.POST("/api/1/users/tokens/", { body: { name: "laptop" } });
if (must(token.data, token.error).name !== "laptop") throw new Error("the token's name");
const bar = await user.POST("/api/1/progress_bars/", { body: { name: "import" } });
if (must(bar.data, bar.error).name !== "import") throw new Error("the bar's name");
console.log("done");
