import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";
import { Case } from "./case.ts";

/** Guard 4: what the tool itself asks of every call. An undo takes another input. */
export const toolConditions: Guard = {
  id: "tool_conditions",
  judge(admission) {
    const { proposal, step } = admission;
    const { tool } = proposal;
    if (tool === null || tool.conditions.length === 0 || step.cause?.by === "undo") return ALLOW;
    const call = new Case(admission, tool);
    for (const { id, expression } of tool.conditions) {
      const holds = call.asks(expression);
      if (holds === true) continue;
      const why = holds === false ? "which does not hold" : `which cannot be answered: ${holds.wrong}`;
      const message = `${step.spec.step_id} was not run: ${tool.name} needs ${expression.source}, ${why}`;
      return { kind: "refuse", rule: `tool_conditions/${id}`, fault: fault("PRECONDITION_FAILED", message) };
    }
    return ALLOW;
  },
};
