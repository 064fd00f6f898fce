import type { DoubtExits } from "../event/doubt-settlement.ts";
import type { Notice } from "../event/event.ts";
import type { Run } from "../run/run.ts";
import type { Act, Step } from "../run/step.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";

/** A doubt that is recorded now. */
interface NewDoubt {
  readonly fault: Fault;
  readonly exits: DoubtExits;
  readonly at: Instant;
}

/**
 * Returns the notice that an act is in doubt, with the commands that settle it. Empty if this doubt of this attempt is on
 * record already. "!" keeps the id apart from step notices: no step id contains it.
 */
export function doubtNotices(
  run: Run,
  { spec: { step_id, name: tool }, standing }: Step,
  { attempt }: Act,
  { fault, exits, at }: NewDoubt,
): { readonly notices?: readonly Notice[] } {
  if (standing.state === "in_doubt") return {};
  const notice_id = `ntc_${run.id.slice("run_".length)}_!doubt_${step_id}_${attempt}`;
  const settle = ["--happened --output '{}'", "--absent", "--undo", "--give-up"].map(
    (verdict) => `writ resolve ${run.id} ${step_id} ${verdict} --attempt ${attempt}`,
  );
  const payload = {
    run_id: run.id,
    step_id,
    tool,
    attempt,
    at,
    fault: { code: fault.code, message: fault.message },
    // False: nothing but a person settles it.
    settles_itself: exits.verify || exits.resend_until !== null,
    commands: [`writ show ${run.id}`, ...settle],
  };
  return { notices: [{ notice_id, topic: "step.doubted", payload }] };
}
