import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { askedText } from "../../core/tool/asked-data.ts";

/**
 * Guard 3: refuses a call whose proposal has a fault, so that the refusal is recorded, and holds one that lacks values
 * for which a person is asked.
 */
export const flawGuard: Guard = {
  id: "input_fits",
  judge({ proposal: { flaw, asks, tool } }) {
    if (flaw !== null) return { kind: "refuse", rule: "input_fits", fault: flaw };
    if (asks === undefined) return ALLOW;
    return {
      kind: "hold",
      rule: "input_complete",
      reason: `${tool?.name} needs ${askedText(asks)}`,
      demand: { role: null, self: true },
      asks,
    };
  },
};
