import { ALLOW, type Guard } from "../core/guard.ts";

/** Guard 5: the rules of every layer, as they are in force now. */
export const policies: Guard = {
  id: "policies",
  judge: (admission) => admission.policy?.judge(admission) ?? ALLOW,
};
