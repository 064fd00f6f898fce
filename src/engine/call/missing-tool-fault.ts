import type { Proposal } from "../../core/call/proposal.ts";
import type { Step } from "../../core/run/run.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { CallPorts } from "./call-ports.ts";

/**
 * Returns why a step must wait for its tool; null: its tool is here. A call of an agent was proposed where its tool was,
 * so its tool is away, and not missing.
 */
export function missingToolFault(toolbox: CallPorts["toolbox"], { spec: { name }, pin, cause }: Step): Fault | null {
  const found = toolbox.mismatch(name, pin);
  if (found?.code !== "TOOL_MISSING" || cause?.by !== "agent") return found;
  return fault("TOOL_AWAY", `${name}@${pin?.version} is not in this process; the call waits for a process that has it`);
}

/** Returns the proposal of a step whose tool was removed or replaced while the step was admitted. It parks the step. */
export function withoutTool({ toolbox }: CallPorts, step: Step, proposal: Proposal): Proposal {
  const gone = `${step.spec.name} was removed while the call was admitted`;
  return { ...proposal, parked: missingToolFault(toolbox, step) ?? fault("TOOL_MISSING", gone) };
}
