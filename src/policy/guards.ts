import type { Guard } from "../core/guard.ts";
import { deadline } from "./deadline.ts";
import { forkActs } from "./fork-acts.ts";
import { inputFits } from "./input-fits.ts";
import { modeAllows } from "./mode-allows.ts";
import { planGate } from "./plan-gate.ts";
import { preconditions } from "./preconditions.ts";
import { toolKnown } from "./tool-known.ts";

/** The guards that always stand, in the order of the road. More are put behind them, never before or instead. */
export const standingGuards: readonly Guard[] = [
  toolKnown,
  inputFits,
  preconditions,
  modeAllows,
  deadline,
  planGate,
  forkActs,
];
