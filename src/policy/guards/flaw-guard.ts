import { ALLOW, type Guard } from "../../core/call/guard.ts";

/** Guard 3: refuses a call whose proposal has a fault, so that the refusal is recorded. */
export const flawGuard: Guard = {
  id: "input_fits",
  judge: ({ proposal }) =>
    proposal.flaw === null ? ALLOW : { kind: "refuse", rule: "input_fits", fault: proposal.flaw },
};
