import type { ToolPin } from "../../core/event/tool-pin.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { CallPorts } from "./call-ports.ts";

/** Returns the pins of the tools that the steps of a plan call. */
export function toolPins({ toolbox }: Pick<CallPorts, "toolbox">, plan: Plan): Readonly<Record<string, ToolPin>> {
  const pins: Record<string, ToolPin> = {};
  for (const step of plan.steps) {
    const pin = stepKinds[step.kind].callsTool ? toolbox.pin(step.name) : null;
    if (pin !== null) pins[step.name] = pin;
  }
  return pins;
}
