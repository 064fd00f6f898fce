import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 3: what was found wrong while the call was put together refuses it here, on the record. */
export const inputFits: Guard = {
  id: "input_fits",
  judge: ({ proposal }) =>
    proposal.flaw === null ? ALLOW : { kind: "refuse", rule: "input_fits", fault: proposal.flaw },
};
