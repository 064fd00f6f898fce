import type { StepResult } from "../src/core/run/step-result.ts";
import type { RunProgress } from "../src/engine/api/engine-api.ts";
import type { ChaosJob } from "./chaos-jobs.ts";
import type { LoggedEffect } from "./effect-log.ts";

/** A violation. */
export interface ChaosFinding {
  readonly kind: "duplicate" | "lost" | "stuck" | "evicted";
  readonly what: string;
}

/** Compares the recorded steps of a job with the effects in the world. */
export function checkJob(
  { expectedEffects, name }: ChaosJob,
  { steps }: Pick<RunProgress, "steps">,
  effects: readonly LoggedEffect[],
): readonly ChaosFinding[] {
  return Object.entries(expectedEffects).flatMap(([step, { did, to }]) => {
    const found = effects.filter((effect) => effect.did === did && effect.to === to);
    const result = steps[step];
    const description = `${name}: ${step} (${did}) is ${result?.state ?? "missing"}`;
    return isAct(did) ? checkAct(description, did, result, found) : checkReceipt(description, result, found);
  });
}

function isAct(did: string): boolean {
  return did.startsWith("act.");
}

function checkAct(
  description: string,
  did: string,
  result: StepResult | undefined,
  found: readonly LoggedEffect[],
): readonly ChaosFinding[] {
  const count = countEffects(did, found);
  const by = found.map((effect) => effect.by).join(", ");
  if (count > 1) return [{ kind: "duplicate", what: `${description}, but happened ${count} times, by ${by}` }];
  const mayHaveHappened = result?.state === "succeeded" || result?.state === "in_doubt" || result?.state === "running";
  if (count === 1 && !mayHaveHappened) return [{ kind: "duplicate", what: `${description}, but happened, by ${by}` }];
  return checkReceipt(description, result, found);
}

/** Counts effects; with a key, repeated requests are one effect. */
function countEffects(did: string, found: readonly LoggedEffect[]): number {
  return did === "act.keyed" ? new Set(found.map(({ key }) => key)).size : found.length;
}

/** A recorded answer is in the effect log. */
function checkReceipt(
  description: string,
  result: StepResult | undefined,
  found: readonly LoggedEffect[],
): readonly ChaosFinding[] {
  if (result?.state !== "succeeded") return [];
  const receipt = findReceipt(result.output as unknown as ReceiptOutput);
  if (found.some((effect) => effect.receipt === receipt || (effect.did === "act.keyed" && effect.key === receipt)))
    return [];
  return [{ kind: "lost", what: `${description} with ${receipt}, which is not in the effect log` }];
}

interface ReceiptOutput {
  readonly receipt?: string;
  /** The outputs of a child run. */
  readonly outputs?: { readonly in?: ReceiptOutput };
}

function findReceipt({ receipt, outputs }: ReceiptOutput): string | undefined {
  return receipt ?? outputs?.in?.receipt;
}
