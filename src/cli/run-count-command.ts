import { exec } from "node:child_process";
import { invalidInput } from "./invocation.ts";

/** The time limit of a counter. */
const countMs = 30_000;

export interface CountOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** Runs the user's counter, a shell command that prints one whole number, and returns the number. */
export async function runCountCommand(command: string, counting: CountOptions): Promise<number> {
  const { cwd, env, signal, timeoutMs = countMs } = counting;
  const text = await new Promise<string>((resolve, reject) => {
    const options = { cwd, env, signal, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    const counter = exec(command, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(invalidInput(`--count ${command} ${counterFailureText(error, timeoutMs, stderr)}`));
    });
    counter.stdin?.end();
  });
  const count = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  const shown = text === "" ? "nothing" : JSON.stringify(text.slice(0, 80));
  throw invalidInput(
    `--count ${command} printed ${shown}; it must print one whole number, the number of effects in the outside world`,
  );
}

function counterFailureText(
  error: { readonly code?: unknown; readonly killed?: boolean },
  timeoutMs: number,
  stderr: string,
): string {
  if (error.killed === true) return `did not end within ${timeoutMs} ms; give a faster counter`;
  const [firstLine = ""] = stderr.trim().split("\n");
  const why = firstLine === "" ? `exit code ${String(error.code)}` : firstLine;
  return `failed (${why}); it must print a whole number even before the first effect, for instance 0 if the counted file does not exist yet`;
}
