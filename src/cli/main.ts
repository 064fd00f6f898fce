#!/usr/bin/env node
import { writeSync } from "node:fs";
import { writVersion } from "../core/values/writ-version.ts";

const [first, ...others] = process.argv.slice(2);

// The version is printed without loading the program, which takes longer than to start the process.
if (others.length === 0 && (first === "--version" || first === "-V")) printVersion();
else await (await import("./run-and-exit.ts")).runAndExit();

function printVersion(): void {
  try {
    writeSync(1, `${writVersion}\n`);
  } catch {
    // A reader of stdout may stop early, as head does. That is not an error.
  }
}
