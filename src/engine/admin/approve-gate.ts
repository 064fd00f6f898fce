import type { Principal } from "../../core/approval/principal.ts";
import type { CallEdit } from "../../core/decide/command.ts";
import type { RefusedDecisionTerms } from "../../core/decide/refused-decision-terms.ts";
import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import { withValuesAt } from "../../core/json/json-pointer.ts";
import { getStep, type Run } from "../../core/run/run.ts";
import type { GateRow } from "../../core/store/tables.ts";
import { dataProblem } from "../../core/tool/asked-data.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { GateId, RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import type { ApproveOptions, RejectOptions } from "../api/engine-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import { isHoldableVerb } from "../api/verb-arguments.ts";
import { proposeEditedCall } from "../call/make-proposal.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import { loadRun } from "../journal/load-run.ts";
import { isRefusalLimit, refusalCharge, refusalLimitError } from "../messages/recorded-refusal-limit.ts";
import { readEarnedTrust } from "../rules/read-earned-trust.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { loadGateRow } from "./gate-and-cost-reports.ts";
import { type ActName, readNamedAct } from "./read-named-act.ts";

/** Approves a held call, or the same call with another input. */
export async function approveGate(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  gateId: string,
  options: ApproveOptions,
): Promise<void> {
  const { sameAs, data, ...rest } = options;
  refuseDataWithOthers(options);
  const decision = readGateDecision(rest);
  const { principal } = decision;
  const named = readSameAs(sameAs, options);
  // Copied before the first await: the caller may change its objects later.
  const input = options.input === undefined ? null : checkJson(options.input, valueLimits);
  const given = data === undefined ? null : checkJson(data, valueLimits);
  const { run_id, gate_id, step_id, tool } = await loadGateRow(ports, principal.tenant, gateId as GateId);
  const edited = input === null ? null : await readEdit(ports, principal.tenant, { run_id, tool }, input);
  const use_within_ms = ports.limits.useWithinMs;
  ports.failpoint("approve.before");
  const decide = async (contest: RefusedDecisionTerms) => {
    const same = named === null ? {} : { same: await readNamedAct(ports, leasedRuns, principal.tenant, run_id, named) };
    return leasedRuns.command(principal.tenant, run_id, (in_flight, run) => ({
      type: "approve",
      now: ports.clock.now(),
      gate_id,
      ...decision,
      ...same,
      ...(edited !== null && { edit: editedCall(ports, run, step_id, edited) }),
      ...(given !== null && { edit: completedCall(ports, run, gate_id, given) }),
      use_within_ms,
      contest,
      in_flight,
    }));
  };
  await decideGate(ports, principal, (contest) => untilNamed(() => decide(contest)));
  ports.failpoint("approve.after");
}

/** Another approver may name the act at the same time. The decision then sees that. */
async function untilNamed(decide: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await decide();
    } catch (error) {
      if (!(error instanceof ConditionFailedError) || error.landing.why !== "row" || error.landing.table !== "request")
        throw error;
    }
  }
}

function refuseDataWithOthers({ data, input, sameAs }: ApproveOptions): void {
  if (data === undefined || (input === undefined && sameAs === undefined)) return;
  throw new FaultError(
    fault("INVALID_INPUT", "data goes without input and sameAs: it completes the call as it is shown"),
  );
}

function readSameAs(sameAs: unknown, { input }: ApproveOptions): ActName | null {
  if (sameAs === undefined) return null;
  if (isName(sameAs) && input === undefined) {
    const [step_id, run_id] = sameAs.split("/").reverse();
    return { step_id: step_id as StepId, run_id: (run_id ?? null) as RunId | null };
  }
  throw new FaultError(
    fault(
      "INVALID_INPUT",
      "sameAs must be the step of an earlier act, or its run and step (run/step), and goes without input",
    ),
  );
}

export async function rejectGate(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  gateId: string,
  options: RejectOptions,
): Promise<void> {
  const decision = readGateDecision(options);
  const { principal } = decision;
  const { run_id, gate_id, tool, requester } = await loadGateRow(ports, principal.tenant, gateId as GateId);
  const record = await readEarnedTrust(ports, principal.tenant, tool, requester);
  await decideGate(ports, principal, (contest) =>
    leasedRuns.command(principal.tenant, run_id, (in_flight) => ({
      type: "reject",
      now: ports.clock.now(),
      gate_id,
      record,
      ...decision,
      contest,
      in_flight,
    })),
  );
}

/** Decides a gate. A refused decision is recorded, and answered without a record once too many are on record. */
async function decideGate(
  ports: WorkerPorts,
  { id }: Principal,
  decide: (contest: RefusedDecisionTerms) => Promise<unknown>,
): Promise<void> {
  const now = ports.clock.now();
  try {
    await decide({ charge: refusalCharge(ports, id, now) });
  } catch (error) {
    if (!isRefusalLimit(error)) throw error;
    await decide("unrecorded").catch((refusal: unknown) => {
      throw refusal instanceof FaultError ? refusalLimitError(ports, id, now, refusal.fault) : refusal;
    });
  }
}

function readGateDecision({ principal, digest, ...options }: RejectOptions) {
  if (digest !== undefined && typeof digest !== "string")
    throw new FaultError(fault("INVALID_INPUT", "digest must be the digest of the call, as the gate shows it"));
  return { principal: readPrincipal(principal), reason: readReason(options), ...(digest !== undefined && { digest }) };
}

type EditedInput = { readonly input: Json } | { readonly flaw: Fault };

/** Reads another input. That of a held verb passes the checks of a new request. The decision reports the flaw. */
async function readEdit(
  { store, verbs }: WorkerPorts,
  tenant: Tenant,
  { run_id, tool }: Pick<GateRow, "run_id" | "tool">,
  checked: ReturnType<typeof checkJson>,
): Promise<EditedInput> {
  if (!checked.ok) return { flaw: unusableFault("input", checked) };
  const { value: input } = checked;
  if (!isHoldableVerb(tool) || !isJsonObject(input)) return { input };
  try {
    return { input: await verbs().readEdit((await loadRun(store, tenant, run_id)).run, tool, input) };
  } catch (error) {
    if (error instanceof FaultError) return { flaw: error.fault };
    throw error;
  }
}

/**
 * Returns the call with another input. The tool parses the input, so the approved call is the one that runs. The run in
 * memory may not contain a new gate yet.
 */
function editedCall(ports: WorkerPorts, run: Run, step_id: StepId, edited: EditedInput): CallEdit {
  return "flaw" in edited ? edited : proposeEditedCall(ports, run, getStep(run, { step_id }), edited.input);
}

type CheckedJson = ReturnType<typeof checkJson>;

function unusableFault(what: string, { reasons: found }: Extract<CheckedJson, { ok: false }>): Fault {
  const reasons = found.map(({ path, message }) => `${path || "/"}: ${message}`);
  return fault("INVALID_INPUT", `the ${what} cannot be used: ${reasons.join("; ")}`, { reasons });
}

/** Returns the call of a gate with the values that it asks for, and nothing else changed. */
function completedCall(ports: WorkerPorts, run: Run, gate_id: GateId, given: CheckedJson): CallEdit {
  if (!given.ok) return { flaw: unusableFault("data", given) };
  const gate = run.gates.get(gate_id);
  if (gate?.asks_for === undefined)
    return { flaw: fault("NOT_POSSIBLE", `gate ${gate_id} asks for no data; approve it as shown, or with input`) };
  const data = given.value as JsonObject;
  const problem = dataProblem(gate.asks_for, data);
  if (problem !== null) return { flaw: fault("INVALID_INPUT", problem) };
  const input = withValuesAt(gate.call.input as JsonObject, Object.entries(data));
  if (input !== undefined) {
    const edit = proposeEditedCall(ports, run, getStep(run, gate), input);
    return "call" in edit ? { ...edit, completes: true } : edit;
  }
  return { flaw: fault("INVALID_INPUT", `the input has no place for ${Object.keys(data).join(", ")}`) };
}
