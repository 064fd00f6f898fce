import type { Clause } from "../rule.ts";

/** A person has to say yes, one with a role where it names one. */
export function approval(role: string | null, reason: string | null): Clause {
  return ({ tool }) => {
    const who = role === null ? "a person" : `a ${role}`;
    return { says: "hold", role, reason: reason ?? `${tool.name} needs the yes of ${who}` };
  };
}
