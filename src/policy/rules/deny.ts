import type { Clause } from "../rule.ts";

/** What it is for must not be. */
export function deny(reason: string | null): Clause {
  return ({ tool }) => ({ says: "refuse", reason: reason ?? `${tool.name} is denied` });
}
