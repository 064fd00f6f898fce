import { ALLOW, type Guard, type ToolCondition } from "../../core/call/guard.ts";
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
    for (const condition of conditions) {
      const { id, expression } = condition;
      const holds = evaluateCondition(call, condition);
      if (holds === true) continue;
      const why = holds === false ? "which is false" : `which cannot be evaluated: ${holds.wrong}`;
      const message = `${step.spec.step_id} was not run: ${tool.name} needs ${expression.source}, ${why}`;
      return { kind: "refuse", rule: `tool_conditions/${id}`, fault: fault("PRECONDITION_FAILED", message) };
    }
    return ALLOW;
  },
};

function evaluateCondition(
  call: RuleInput,
  { expression, pointers }: ToolCondition,
): boolean | { readonly wrong: string } {
  if (pointers === null) return call.evaluate(expression);
  const collected = call.collectState(pointers);
  return "wrong" in collected ? collected : call.evaluate(expression, collected.state);
}
