import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import { fault } from "../../core/values/fault.ts";

/**
 * Guard 2: the principal must have one of the roles of the tool. An undo is exempt: a person requested it, not the run.
 */
export const rolesGuard: Guard = {
  id: "roles",
  judge({ run, step, proposal }) {
    const required = proposal.tool?.roles ?? [];
    const { id, roles = [] } = stepPrincipal(run, step);
    if (required.length === 0 || step.cause?.by === "undo" || required.some((role) => roles.includes(role)))
      return ALLOW;
    const message = `${id} has none of the roles that may call ${step.spec.name}: ${required.join(", ")}`;
    return { kind: "refuse", rule: "roles", fault: fault("AUTH_FORBIDDEN", message) };
  },
};
