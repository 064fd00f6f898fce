import { worst } from "../../core/effect.ts";
import type { Proposal } from "../../core/proposal.ts";
import type { Run, Step } from "../../core/run.ts";
import { recordedPlace, seenAt } from "../../core/state/state-seen.ts";
import { openProject } from "../desk/desk.ts";
import type { Ports } from "../ports.ts";

/** Which places of state the policies have to see before they judge a call. */
export function placesFor({ policies, clock }: Ports, run: Run, step: Step, proposal: Proposal): readonly string[] {
  const policy = policies.of(run);
  if (policy === null || proposal.tool === null) return NONE;
  const effect = worst(step.spec.effect, proposal.tool.effect);
  return policy.placesFor({ run, step, proposal, effect, now: clock.now(), policy, closure: null });
}

const NONE: readonly string[] = [];

/** The proposal with what the policies want to see of state, as it is now. */
export async function withSeen(ports: Ports, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  const wanted = placesFor(ports, run, step, proposal);
  const { seen } = proposal;
  if (wanted.length === 0 ? seen === null : seen !== null && wanted.every((place) => Object.hasOwn(seen.places, place)))
    return proposal;
  if (wanted.length === 0) return { ...proposal, seen: null };
  const project = await openProject(ports, run);
  project.leave();
  const { head, key } = project;
  const terms = { slices: ports.slices, session: run.session ?? "" };
  const check = { table: "project", key, was: head.version === 0 ? null : head.version } as const;
  return {
    ...proposal,
    seen: {
      places: Object.fromEntries(wanted.map((place) => [place, seenAt(head.state, terms, place)])),
      recorded: wanted.map((place) => recordedPlace(terms, place)),
      version: head.version,
      check,
    },
  };
}
