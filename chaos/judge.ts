import type { StepResult } from "../src/core/result.ts";
import type { RunNow } from "../src/engine/api.ts";
import type { Job } from "./plans.ts";
import type { Deed } from "./witness.ts";

/** What must not be. */
export interface Finding {
  readonly kind: "duplicate" | "lost" | "stuck";
  readonly what: string;
}

/** Holds what the record says of a job against what the world saw. */
export function judge(
  { deeds, name }: Job,
  { steps }: Pick<RunNow, "steps">,
  seen: readonly Deed[],
): readonly Finding[] {
  return Object.entries(deeds).flatMap(([step, { did, to }]) => {
    const found = seen.filter((deed) => deed.did === did && deed.to === to);
    const result = steps[step];
    const said = `${name}: ${step} (${did}) is ${result?.state ?? "not there"}`;
    return isAct(did) ? judgeAct(said, did, result, found) : judgeAnswer(said, result, found);
  });
}

function isAct(did: string): boolean {
  return did.startsWith("act.");
}

function judgeAct(
  said: string,
  did: string,
  result: StepResult | undefined,
  found: readonly Deed[],
): readonly Finding[] {
  const count = countOf(did, found);
  const by = found.map((deed) => deed.by).join(", ");
  if (count > 1) return [{ kind: "duplicate", what: `${said}, and happened ${count} times, by ${by}` }];
  const mayHaveHappened = result?.state === "succeeded" || result?.state === "in_doubt" || result?.state === "running";
  if (count === 1 && !mayHaveHappened) return [{ kind: "duplicate", what: `${said}, and happened, by ${by}` }];
  return judgeAnswer(said, result, found);
}

/** A world that honours keys sees one effect however often the same key comes. */
function countOf(did: string, found: readonly Deed[]): number {
  return did === "act.keyed" ? new Set(found.map(({ key }) => key)).size : found.length;
}

/** What is recorded as an answer was answered. */
function judgeAnswer(said: string, result: StepResult | undefined, found: readonly Deed[]): readonly Finding[] {
  if (result?.state !== "succeeded") return [];
  const receipt = receiptIn(result.output as unknown as Output);
  if (found.some((deed) => deed.receipt === receipt || (deed.did === "act.keyed" && deed.key === receipt))) return [];
  return [{ kind: "lost", what: `${said} with ${receipt}, which nobody saw` }];
}

interface Output {
  readonly receipt?: string;
  /** Of the run that was asked for. */
  readonly outputs?: { readonly in?: Output };
}

function receiptIn({ receipt, outputs }: Output): string | undefined {
  return receipt ?? outputs?.in?.receipt;
}
