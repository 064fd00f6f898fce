import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { isReplaced } from "../../core/run/plan-in-force.ts";
import { fault } from "../../core/values/fault.ts";

/**
 * Guard 9: refuses a call that a person rejected, of a fork in the original run or of a later plan in a replaced one. A
 * rejection binds the whole lineage.
 */
export const rejectedCallGuard: Guard = {
  id: "rejected_call",
  judge({ run, step, proposal: { call } }) {
    const { name } = step.spec;
    const replaced = isReplaced(run, step) ? [] : (run.replanning?.rejected ?? []);
    const rejected = [...(run.forked?.rejected ?? []), ...replaced];
    if (call === null || rejected.length === 0) return ALLOW;
    const found = rejected.find(
      ({ tool, digest, key }) => tool === name && (digest === call.digest || (key !== null && key === call.key)),
    );
    if (found === undefined) return ALLOW;
    const again =
      found.run_id === run.id
        ? "another plan of the run cannot ask again; change the call"
        : "a fork cannot ask again; resume that run to ask again, or change the call";
    const message = `${found.by} rejected this call of ${name} in run ${found.run_id}, and ${again}`;
    return { kind: "refuse", rule: "rejected_call", fault: fault("GATE_REJECTED", message) };
  },
};
