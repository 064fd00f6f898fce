import type { JsonObject } from "../src/core/json/json.ts";
import { Rng } from "./rng.ts";

/** Whose yes a call of some tools takes, as the people of a scene would say it. */
export interface Asking {
  readonly role: string;
  readonly people: number;
  /** Who else may say it after so long; null: nobody. */
  readonly later: { readonly role: string; readonly ms: number } | null;
}

/** What a scene's tenants are under beside their modes. The same for each of them. */
export interface Rules {
  readonly asking: ReadonlyMap<string, Asking>;
  /** After so many calls that were approved and ended well, a tool of these acts by itself. */
  readonly earning: { readonly tools: readonly string[]; readonly after: number };
  /** The tools whose words matter. */
  readonly worded: readonly string[];
  /** How often somebody stops something. */
  readonly halts: number;
  /** How often a yes is one to something else. */
  readonly edits: number;
  readonly policies: readonly JsonObject[];
}

/** What no call may say. No plan does, but people who change a call may. */
export const FORBIDDEN = "in words that nobody may use";

/** Another chance than the rest of a seed has, so that those without rules play as they always did. */
export function drawRules(seed: number, worded: readonly string[], others: readonly string[]): Rules | null {
  const rng = new Rng(seed ^ 52_361);
  if (!rng.chance(0.2)) return null;
  // What works on state is asked about more often, so that there is something to show.
  const tools = [...worded, ...others];
  const asked = tools.filter((tool) => rng.chance(tool === "keep" ? 0.8 : 0.3));
  const asking = new Map(asked.map((tool) => [tool, drawAsking(rng)] as const));
  const earning = { tools: tools.filter(() => rng.chance(0.8)), after: rng.pick([1, 1, 2]) };
  const policies = [documentOf(asking, earning, worded)];
  return { asking, earning, worded, halts: rng.pick([0, 0.2, 0.6]), edits: rng.pick([0, 0.1, 0.4]), policies };
}

function drawAsking(rng: Rng): Asking {
  const later = rng.chance(0.5) ? { role: "boss", ms: rng.pick([1000, 8000, 60_000]) } : null;
  return { role: "lead", people: rng.between(1, 2), later };
}

/** The same for the engine: written down here, so that nothing of how it is read is taken for granted. */
function documentOf(
  asking: Rules["asking"],
  { tools, after }: Rules["earning"],
  worded: readonly string[],
): JsonObject {
  const approvals = Array.from(asking, ([tool, { role, people, later }]) => ({
    id: `ask-${tool}`,
    kind: "approval",
    on: { tools: [tool] },
    role,
    people,
    ...(later !== null && { escalate: { after_ms: later.ms, role: later.role } }),
  }));
  const what = { path: "/text", must_not: { equals: FORBIDDEN } };
  const words = { id: "words", kind: "parameter", on: { tools: [...worded] }, ...what };
  const trust = tools.length === 0 ? [] : [{ tools: [...tools], after, risk: "high" }];
  return { schema_version: "1.0", name: "house", trust, rules: [...approvals, words] };
}

/** Those who decide where it matters who does. */
export const board: readonly { readonly id: string; readonly roles: readonly string[] }[] = [
  { id: "ana", roles: [] },
  { id: "lea", roles: ["lead"] },
  { id: "lou", roles: ["lead", "clerk"] },
  { id: "lim", roles: ["lead"] },
  { id: "bob", roles: ["boss"] },
  { id: "bea", roles: ["boss", "lead"] },
];
