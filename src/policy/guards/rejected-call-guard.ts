import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { fault } from "../../core/values/fault.ts";

/** Guard 9: refuses a call of a fork that a person rejected in the original run. A rejection binds the whole lineage. */
export const rejectedCallGuard: Guard = {
  id: "rejected_call",
  judge({ run, step, proposal: { call } }) {
    const { name } = step.spec;
    if (call === null || run.forked?.rejected === undefined) return ALLOW;
    const found = run.forked.rejected.find(
      ({ tool, digest, key }) => tool === name && (digest === call.digest || (key !== null && key === call.key)),
    );
    if (found === undefined) return ALLOW;
    const message = `${found.by} rejected this call of ${name} in run ${found.run_id}, and a fork cannot ask again; resume that run to ask again, or change the call`;
    return { kind: "refuse", rule: "rejected_call", fault: fault("GATE_REJECTED", message) };
  },
};
