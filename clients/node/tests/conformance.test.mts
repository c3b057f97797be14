/** The cases of clients/conformance, on every store and over HTTP. */

import { before, test } from "node:test";

import { App } from "keyrack";
import { connect, type HttpClient } from "keyrack/http";

import { CASES, Runner } from "./conformance.mjs";
import { onEveryStore, serve } from "./support.mjs";

for (const { name, steps } of CASES) {
  onEveryStore(name, async (app) => {
    const runner = new Runner(app, "cases");
    for (const step of steps) await runner.run(step);
  });
}

let client: HttpClient;
let resp = "";

before(async () => {
  const server = await serve();
  // Limits are a caller's own, so they need a token even from this machine.
  client = connect(server.url, { token: server.token });
  resp = server.resp;
});

for (const [n, { name, steps }] of CASES.entries()) {
  test(`${name} (keyrack/http)`, async () => {
    await using app = new App(resp);
    const runner = new Runner(app, `case-${n}`, client);
    for (const step of steps) await runner.run(step);
  });
}
