import { exec } from "node:child_process";
import { invalid } from "./invocation.ts";

/** A counter that takes longer counts something else than one tool's effects. */
const countMs = 30_000;

export interface Counting {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** Asks the user's own counter: a command line for their shell that prints one whole number. */
export async function effectCount(command: string, counting: Counting): Promise<number> {
  const { cwd, env, signal, timeoutMs = countMs } = counting;
  const text = await new Promise<string>((resolve, reject) => {
    const options = { cwd, env, signal, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    const counter = exec(command, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(invalid(`--count ${command} ${failure(error, timeoutMs, stderr)}`));
    });
    counter.stdin?.end();
  });
  const count = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  const shown = text === "" ? "nothing" : JSON.stringify(text.slice(0, 80));
  throw invalid(`--count ${command} printed ${shown}; it must print one whole number, how often the world saw the act`);
}

function failure(
  error: { readonly code?: unknown; readonly killed?: boolean },
  timeoutMs: number,
  stderr: string,
): string {
  if (error.killed === true) return `had not answered after ${timeoutMs} ms; give a counter that is quick`;
  const [said = ""] = stderr.trim().split("\n");
  const why = said === "" ? `exit code ${String(error.code)}` : said;
  return `failed (${why}); it must print a whole number even before the first effect, when what it counts is not there yet`;
}
