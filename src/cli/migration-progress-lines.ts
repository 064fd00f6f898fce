import type { MigrationProgress } from "../store/sqlite/migrate-file.ts";
import { line, type SafeLine } from "./safe-line.ts";

/** How often the time that is left is printed. */
const noteMs = 5000;

/** Makes a function that returns the line to print after a piece of a migration, or null for none. */
export function migrationProgressLines(stopwatch: () => number): (progress: MigrationProgress) => SafeLine | null {
  const started = stopwatch();
  let next = started;
  return ({ moved, total }) => {
    const now = stopwatch();
    if (moved === 0 || moved >= total || now < next) return null;
    next = now + noteMs;
    const seconds = Math.ceil((((now - started) / moved) * (total - moved)) / 1000);
    return line`moved ${String(moved)} of about ${String(total)} events; this takes about ${String(seconds)} s more`;
  };
}
