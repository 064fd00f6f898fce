import { line, type SafeLine } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";

const goodStates = /^(completed|succeeded|compensated|approved|consumed)$/;
const badStates = /^(failed|failed_final|rejected|compensation_failed|cancelled|skipped|expired|poison)$/;

/** Returns a state in its colour: green for done, red for failed, yellow for open. */
export function colouredState(state: string, { green, red, yellow }: TextStyle): SafeLine {
  return line`${state}`.painted(goodStates.test(state) ? green : badStates.test(state) ? red : yellow);
}
