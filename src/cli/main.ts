#!/usr/bin/env node
import { writeSync } from "node:fs";
import { processHost } from "./host.ts";
import { neutral } from "./neutral-text.ts";
import { runProgram } from "./program.ts";

// Whoever reads may stop reading, as head does. That is not an error of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// A tool runs in this process and may end it, or leave an error behind that nobody catches. Neither may pass for an answer.
let answered = false;
const debug = process.argv.includes("--debug");
process.on("exit", (code) => {
  if (answered) return;
  if (code === 0) process.exitCode = 1;
  writeSync(
    2,
    "INTERNAL: a tool or the config ended the process before the command had answered; cancel the run that does so\n",
  );
});
for (const stray of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(stray, (error: unknown) => {
    const text = error instanceof Error ? ((debug ? error.stack : error.message) ?? error.message) : String(error);
    writeSync(2, `INTERNAL: a tool or the config left an error that nobody caught: ${neutral(text)}\n`);
    process.exit(1);
  });
}

const exit = await runProgram(processHost());
answered = true;

// A config may leave connections and timers behind; they must not keep a command that has answered from ending.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exit)));
