import { fault } from "../core/fault.ts";
import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 2: a tool that names roles is called only by who has one of them. An undo was asked for by a person, not by the run. */
export const roleFits: Guard = {
  id: "roles",
  judge({ run, step, proposal }) {
    const wanted = proposal.tool?.roles ?? [];
    const { id, roles = [] } = run.principal;
    if (wanted.length === 0 || step.cause?.by === "undo" || wanted.some((role) => roles.includes(role))) return ALLOW;
    const message = `${id} has none of the roles that may call ${step.spec.name}: ${wanted.join(", ")}`;
    return { kind: "refuse", rule: "roles", fault: fault("AUTH_FORBIDDEN", message) };
  },
};
