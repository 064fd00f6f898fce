import type { Outcome } from "./cell.ts";
import { inTurns } from "./in-turns.ts";
import type { Finding } from "./judge.ts";
import type { Kill } from "./killer.ts";
import type { ScenarioName } from "./scenarios.ts";
import type { Stage } from "./stage.ts";
import { found, type Tally } from "./tally.ts";

/** The store fails at one place, or one answer of it is lost, and the process lives on: it must all come to the same. */
export async function failOnce(
  stage: Stage,
  scenario: ScenarioName,
  chosen: (place: Kill) => boolean,
  tally: Tally,
): Promise<void> {
  const calm = await stage.run({ cast: [scenario], kills: [] });
  const places = (calm.report?.passed ?? []).filter(chosen).flatMap(faultsAt);
  await inTurns(places, async (place) => {
    const outcome = await stage.run({ cast: [scenario], kills: [place] });
    tally.faults += 1;
    const name = `fault:${scenario}@${place.point}#${place.nth}`;
    found(tally, name, [...outcome.findings, ...otherStatus(calm, outcome, scenario)]);
  });
}

/** What was in hand when the store failed is recorded as it was, not doubted. */
function otherStatus(calm: Outcome, { report }: Outcome, scenario: ScenarioName): readonly Finding[] {
  const expected = calm.report?.rest.runs[scenario]?.result.status;
  const status = report?.rest.runs[scenario]?.result.status;
  return status === expected ? [] : [{ kind: "untrue", what: `the run is ${status} instead of ${expected}` }];
}

function faultsAt(place: Kill): readonly Kill[] {
  if (place.point === "append.landed") return [{ ...place, fault: "STORE_UNKNOWN" }];
  return /^(append|mark|claim|blob|release)\.asked$/.test(place.point) ? [{ ...place, fault: "STORE_FAILED" }] : [];
}
