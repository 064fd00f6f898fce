#!/usr/bin/env node
import { processHost } from "./host.ts";
import { runProgram } from "./program.ts";

// Whoever reads may stop reading, as head does. That is not an error of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const exit = await runProgram(processHost());

// A config may leave connections and timers behind; they must not keep a command that has answered from ending.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exit)));
