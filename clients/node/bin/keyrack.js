#!/usr/bin/env node
// The program `keyrack`, which comes in the package of this system.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const libc = process.platform === "linux" ? "-gnu" : "";
const name = `@keyrack/${process.platform}-${process.arch}${libc}`;

let program;
try {
  program = require.resolve(`${name}/keyrack`);
} catch {
  console.error(`error: the program is not installed: npm could not install ${name}`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends signals to both; others reach the program through here.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT") child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`error: could not run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
