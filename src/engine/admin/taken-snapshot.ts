import type { Step } from "../../core/run/run.ts";
import { isJsonObject } from "../../core/values/json.ts";
import type { TakenSnapshot } from "../resources/snapshot-tools.ts";
import { snapshotVerbs } from "../state/snapshot-verbs.ts";

/** Returns the record of a snapshot that was taken by hand, or null. */
export function takenSnapshot({ spec, standing }: Pick<Step, "spec" | "standing">): TakenSnapshot | null {
  if (spec.name !== snapshotVerbs.take || standing.state !== "succeeded" || !isJsonObject(standing.output)) return null;
  return standing.output as unknown as TakenSnapshot;
}
