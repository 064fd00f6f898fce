import type { Guard } from "../core/guard.ts";
import { capable } from "./capable.ts";
import { deadline } from "./deadline.ts";
import { forkActs } from "./fork-acts.ts";
import { inputFits } from "./input-fits.ts";
import { modeAllows } from "./mode-allows.ts";
import { planGate } from "./plan-gate.ts";
import { planSize } from "./plan-size.ts";
import { policies } from "./policies.ts";
import { preconditions } from "./preconditions.ts";
import { projectOpen } from "./project-open.ts";
import { roleFits } from "./role-fits.ts";
import { toolConditions } from "./tool-conditions.ts";
import { toolKnown } from "./tool-known.ts";

/**
 * The guards that always stand, in the order of the road. More are put behind them, never before or instead. Windows are
 * rules of a policy; rates and budgets are judged with the start itself, where they are charged.
 */
export const standingGuards: readonly Guard[] = [
  projectOpen,
  toolKnown,
  capable,
  roleFits,
  inputFits,
  preconditions,
  toolConditions,
  policies,
  modeAllows,
  deadline,
  planSize,
  planGate,
  forkActs,
];
