import { writeSync } from "node:fs";
import { escapeControls } from "./escape-controls.ts";
import { runCommandLine } from "./program.ts";
import { processHost } from "./program-process.ts";

/** Runs the command line of this process, and ends the process. */
export async function runAndExit(): Promise<void> {
  // A reader of stdout may stop early, as head does. That is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });

  // A tool runs in this process and may end it, or leave an uncaught error. Neither may look like a normal answer.
  let isFinished = false;
  const debug = process.argv.includes("--debug");
  process.on("exit", (code) => {
    if (isFinished) return;
    if (code === 0) process.exitCode = 1;
    writeSync(
      2,
      "INTERNAL: a tool or the config ended the process before the command had finished; cancel the run that calls the tool\n",
    );
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      const text = error instanceof Error ? ((debug ? error.stack : error.message) ?? error.message) : String(error);
      writeSync(2, `INTERNAL: a tool or the config left an uncaught error: ${escapeControls(text)}\n`);
      process.exit(1);
    });
  }

  const exit = await runCommandLine(processHost());
  isFinished = true;

  // A config may leave connections and timers open; they must not keep a finished command from exiting.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(exit)));
}
