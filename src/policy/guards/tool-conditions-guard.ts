import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { fault } from "../../core/values/fault.ts";
import { RuleInput } from "../rules/rule-input.ts";

/** Guard 4: checks the conditions of the tool. An undo is exempt, because it has another input. */
export const toolConditionsGuard: Guard = {
  id: "tool_conditions",
  judge(admission) {
    const { proposal, step, conditions } = admission;
    const { tool } = proposal;
    if (tool === null || conditions.length === 0 || step.cause?.by === "undo") return ALLOW;
    const call = new RuleInput(admission, tool);
    for (const { id, expression } of conditions) {
      const holds = call.evaluate(expression);
      if (holds === true) continue;
      const why = holds === false ? "which does not hold" : `which cannot be evaluated: ${holds.wrong}`;
      const message = `${step.spec.step_id} was not run: ${tool.name} needs ${expression.source}, ${why}`;
      return { kind: "refuse", rule: `tool_conditions/${id}`, fault: fault("PRECONDITION_FAILED", message) };
    }
    return ALLOW;
  },
};
