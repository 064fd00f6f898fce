import type { Guard } from "../../core/call/guard.ts";
import { capabilityGuard } from "./capability-guard.ts";
import { deadlineGuard } from "./deadline-guard.ts";
import { flawGuard } from "./flaw-guard.ts";
import { modeGuard } from "./mode-guard.ts";
import { planSizeGuard } from "./plan-size-guard.ts";
import { policyGuard } from "./policy-guard.ts";
import { preconditionsGuard } from "./preconditions-guard.ts";
import { projectOpenGuard } from "./project-open-guard.ts";
import { rejectedCallGuard } from "./rejected-call-guard.ts";
import { repeatedActGuard } from "./repeated-act-guard.ts";
import { requestedGateGuard } from "./requested-gate-guard.ts";
import { restoredActsGuard } from "./restored-acts-guard.ts";
import { rolesGuard } from "./roles-guard.ts";
import { toolConditionsGuard } from "./tool-conditions-guard.ts";
import { toolConfirmationGuard } from "./tool-confirmation-guard.ts";
import { toolRegisteredGuard } from "./tool-registered-guard.ts";

/**
 * The built-in guards, in the order in which they run. Custom guards run after them and cannot replace them. Windows
 * are rules of a policy; rates and budgets are checked when the start of a call charges them.
 */
export const standardGuards: readonly Guard[] = [
  projectOpenGuard,
  toolRegisteredGuard,
  capabilityGuard,
  rolesGuard,
  flawGuard,
  preconditionsGuard,
  restoredActsGuard,
  toolConditionsGuard,
  toolConfirmationGuard,
  policyGuard,
  modeGuard,
  deadlineGuard,
  planSizeGuard,
  requestedGateGuard,
  repeatedActGuard,
  rejectedCallGuard,
];
