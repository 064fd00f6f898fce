import type { Event, Notice } from "../event/event.ts";
import type { Run } from "../run/run.ts";

type GateOpened = Extract<Event, { readonly type: "gate.opened" }>;

/**
 * Returns the notice that a call waits for a person, without the input of the call. "!" keeps the id apart from step
 * notices: no step id contains it.
 */
export function gateNotices(
  run: Pick<Run, "id" | "position">,
  tool: string,
  { gate_id, step_id, rule, reason, expires_at, at }: Omit<GateOpened, "notices">,
): { readonly notices: readonly Notice[] } {
  const notice_id = `ntc_${run.id.slice("run_".length)}_!gate_${run.position + 1}`;
  const payload = { run_id: run.id, gate_id, step_id, tool, rule, reason, expires_at, at };
  return { notices: [{ notice_id, topic: "gate.opened", payload }] };
}
