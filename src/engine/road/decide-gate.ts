import type { Edit } from "../../core/command.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { GateId, StepId } from "../../core/id.ts";
import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import type { Json } from "../../core/json/json.ts";
import { type Run, stepOf } from "../../core/run.ts";
import type { ApproveOptions, RejectOptions } from "../api.ts";
import { gateRow } from "../office.ts";
import type { Ports } from "../ports.ts";
import { principalOf } from "../principal.ts";
import { reasonOf } from "../reason.ts";
import { trustRecord } from "../rules/trust.ts";
import type { Holds } from "../watch/holds.ts";
import { callWith } from "./propose.ts";

/** Says yes to a held call, or to another one in its place. */
export async function approve(ports: Ports, holds: Holds, gateId: string, options: ApproveOptions): Promise<void> {
  const said = saidOf(options);
  const { principal } = said;
  const { run_id, gate_id, step_id } = await gateRow(ports, principal.tenant, gateId as GateId);
  const use_within_ms = ports.limits.useWithinMs;
  ports.failpoint("approve.before");
  await holds.command(principal.tenant, run_id, (in_flight, run) => ({
    type: "approve",
    now: ports.clock.now(),
    gate_id,
    ...said,
    ...(options.input !== undefined && { edit: editOf(ports, run, step_id, options.input) }),
    use_within_ms,
    in_flight,
  }));
  ports.failpoint("approve.after");
}

export async function reject(ports: Ports, holds: Holds, gateId: string, options: RejectOptions): Promise<void> {
  const said = saidOf(options);
  const { principal } = said;
  const { run_id, gate_id, tool, requester } = await gateRow(ports, principal.tenant, gateId as GateId);
  const record = await trustRecord(ports, principal.tenant, tool, requester);
  await holds.command(principal.tenant, run_id, (in_flight) => ({
    type: "reject",
    now: ports.clock.now(),
    gate_id,
    record,
    ...said,
    in_flight,
  }));
}

function saidOf({ principal, digest, ...options }: RejectOptions) {
  if (digest !== undefined && typeof digest !== "string")
    throw new FaultError(fault("INVALID_INPUT", "digest is that of the call that was looked at, as the gate shows it"));
  return { principal: principalOf(principal), reason: reasonOf(options), ...(digest !== undefined && { digest }) };
}

/**
 * The call as it would be made with another input. It is read by its tool, so that what is approved is what runs. The gate may be so
 * new that whoever holds the run has not heard yet that it is on record.
 */
function editOf(ports: Ports, run: Run, step_id: StepId, input: Json): Edit {
  const checked = checkJson(input, valueLimits);
  if (checked.ok) return callWith(ports, run, stepOf(run, { step_id }), checked.value);
  const reasons = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  return { flaw: fault("INVALID_INPUT", `the input cannot be used: ${reasons.join("; ")}`, { reasons }) };
}
