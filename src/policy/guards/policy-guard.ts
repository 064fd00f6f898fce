import { ALLOW, type Guard } from "../../core/call/guard.ts";

/** Guard 5: applies the policies in force. */
export const policyGuard: Guard = {
  id: "policies",
  judge: (admission) => admission.policy?.judge(admission) ?? ALLOW,
};
