import type { LiveWorker } from "../store/store.ts";
import type { TimerRow } from "../store/tables.ts";
import type { WorkerId } from "../values/ids.ts";
import { noticeRequirement } from "./worker-requirements.ts";

/** Why no live worker continues a run that waits for one. */
export interface MissingWorker {
  readonly reason_code: /** No worker claims runs. */
    | "NO_WORKER"
    /** No worker that may execute the run has the tool of a waiting step. */
    | "TOOL_MISSING"
    /** A worker has the tool in another form than the run was accepted with. */
    | "TOOL_CHANGED"
    /** The workers in `with_needs` have what the run needs, and only those in `with_rules` may execute it. */
    | "RULES_ELSEWHERE"
    /** The rules of the run are pinned, and no worker has them. */
    | "RULES_MISSING"
    /** No worker that may execute the run delivers notices. */
    | "NO_NOTICES";
  /** The requirements of the run. A worker must meet one of them. */
  readonly needs: readonly string[];
  readonly with_needs: readonly WorkerId[];
  readonly with_rules: readonly WorkerId[];
}

/** Returns why no worker continues a run that is due or has needs. Null: a worker can. */
export function missingWorker(
  { rules, needs = [] }: Pick<TimerRow, "rules" | "needs">,
  workers: readonly LiveWorker[],
): MissingWorker | null {
  const claiming = workers.filter((worker) => worker.rules !== null);
  const same = claiming.filter((worker) => rules !== undefined && worker.rules === rules);
  const able = same.length > 0 ? same : claiming;
  const withNeeds = claiming.filter(({ offers }) => needs.some((need) => offers.includes(need)));
  if (needs.length === 0 ? able.length > 0 : withNeeds.some((worker) => able.includes(worker))) return null;
  return {
    reason_code: reasonCode(needs, able, withNeeds),
    needs,
    with_needs: withNeeds.map(({ worker }) => worker),
    with_rules: same.map(({ worker }) => worker),
  };
}

function reasonCode(
  needs: readonly string[],
  able: readonly LiveWorker[],
  withNeeds: readonly LiveWorker[],
): MissingWorker["reason_code"] {
  if (able.length === 0) return "NO_WORKER";
  if (withNeeds.length > 0) return "RULES_ELSEWHERE";
  if (needs.some(isRulesRequirement)) return "RULES_MISSING";
  const tools = needs.filter(isToolRequirement).map(toolNameOf);
  if (tools.length === 0) return "NO_NOTICES";
  const isChanged = able.some(({ offers }) => offers.some((offer) => tools.includes(toolNameOf(offer))));
  return isChanged ? "TOOL_CHANGED" : "TOOL_MISSING";
}

const isRulesRequirement = (need: string): boolean => need.startsWith("rules@");

export const isToolRequirement = (need: string): boolean => need !== noticeRequirement && !isRulesRequirement(need);

function toolNameOf(requirement: string): string {
  return requirement.slice(0, requirement.indexOf("@"));
}

/** Returns a requirement without its digests: `name@version` of a tool. */
export function requirementText(need: string): string {
  const at = need.indexOf(":", need.indexOf("@"));
  return at === -1 ? need : need.slice(0, at);
}
