import type { Principal } from "../../core/approval/principal.ts";
import type { ProposedCall } from "../../core/decide/command.ts";
import type { AgentCause, CallName } from "../../core/event/session.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { planLimits, planStep } from "../../core/plan/plan.ts";
import { callKey, findCallStep, isSameCall, reusedNameFault } from "../../core/run/find-call-step.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../core/values/json.ts";
import type { AgentCall, BeginCallOptions, CallsOptions, CallTurnOptions } from "../api/open-run-api.ts";
import { assertKnownFields } from "../api/verb-options.ts";
import type { CallPorts } from "../call/call-ports.ts";
import { digestOfJson } from "../ports/digest.ts";

/** A call as it was read: its name, its tool, and its input or why the input cannot be used. */
export interface ReadCall {
  readonly name: CallName;
  readonly key: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly refused: Fault | null;
  readonly trace_id?: string;
}

/** Reads the calls of an agent. Throws INVALID_INPUT if one cannot be named; a bad input is refused on the record. */
export function readCalls(calls: readonly AgentCall[], options: CallsOptions): readonly ReadCall[] {
  if (!Array.isArray(calls)) throw new FaultError(fault("INVALID_INPUT", "calls must be a list of calls"));
  const { traceId } = options;
  if (traceId !== undefined && !isName(traceId))
    throw new FaultError(fault("INVALID_INPUT", `the traceId of a call must be ${nameRule}`));
  const trace = traceId === undefined ? {} : { trace_id: traceId };
  return calls.map((call) => ({ ...readCall(call, options), ...trace }));
}

function readCall(call: AgentCall, options: CallTurnOptions): ReadCall {
  assertKnownFields("the fields of a call", call, ["id", "tool", "input"]);
  const { id, tool, input } = call;
  const name = readCallName(id, options);
  if (!isName(tool)) throw new FaultError(fault("INVALID_INPUT", `the tool of call ${id} must be ${nameRule}`));
  return { name, key: callKey(name), tool, ...readInput(input, tool) };
}

export function readCallName(id: unknown, { turn }: CallTurnOptions): CallName {
  if (!isName(id)) throw new FaultError(fault("INVALID_INPUT", `the id of a call must be ${nameRule}`));
  if (turn === undefined) return { id };
  const named = typeof turn === "number" ? String(turn) : turn;
  if (!isName(named)) throw new FaultError(fault("INVALID_INPUT", `the turn of call ${id} must be ${nameRule}`));
  return { id, turn: named };
}

export function readClient(to: unknown): string {
  if (isName(to)) return to;
  throw new FaultError(fault("INVALID_INPUT", `the name of a client must be ${nameRule}`));
}

/** Reads how long a host may take. */
export function readForMs({ forMs }: BeginCallOptions): number | null {
  if (forMs === undefined) return null;
  const most = planLimits.timeoutMs;
  if (Number.isInteger(forMs) && forMs >= 1 && forMs <= most) return forMs;
  throw new FaultError(fault("INVALID_INPUT", `forMs must be a whole number of milliseconds, 1 to ${most}`));
}

function readInput(input: unknown, tool: string): Pick<ReadCall, "input" | "refused"> {
  const checked = checkJson(input ?? {}, planLimits);
  if (!checked.ok) {
    const why = checked.reasons.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
    return { input: {}, refused: fault("INVALID_INPUT", `${tool}: its input cannot be stored: ${why}`) };
  }
  if (isJsonObject(checked.value)) return { input: checked.value, refused: null };
  return { input: {}, refused: fault("INVALID_INPUT", `${tool}: its input must be an object`) };
}

/** Makes the steps of the calls for the current run. The engine makes the step ids. The ids of the agent are names of the calls. */
export function proposedCalls(
  { toolbox }: CallPorts,
  run: Run,
  principal: Principal,
  calls: readonly ReadCall[],
  handler: AgentCause["handler"],
): readonly ProposedCall[] {
  const hasOtherRights = !sameJson(principal as unknown as Json, run.principal as unknown as Json);
  const rights = hasOtherRights ? { principal } : {};
  const made = new Map<string, Pick<Step, "spec">>();
  return calls.map(({ name, key, tool: called, input, refused, trace_id }, index) => {
    const tool = toolbox.get(called);
    const spec = planStep({
      step_id: callStepId(run, index),
      name: called,
      payload: input,
      effect: tool?.effect ?? "acts",
      policy_tags: tool?.tags ?? [],
      cache_policy: tool?.cache ?? "never",
      ...(tool !== undefined && { asks_for: tool.asksFor }),
    });
    const earlier = findCallStep(run, name) ?? made.get(key);
    made.set(key, earlier ?? { spec });
    const given = { ...rights, ...(handler && { handler }), ...(trace_id !== undefined && { trace_id }) };
    const cause: AgentCause = { by: "agent", call: name, ...given };
    const pin = toolbox.pin(called);
    if (earlier === undefined || isSameCall(earlier, called, input)) return { step: spec, pin, cause, refused };
    const reuses = digestOfJson([called, input]);
    return { step: spec, pin, cause: { ...cause, reuses }, refused: reusedNameFault(name, earlier, called) };
  });
}

/** Ids are unique in all runs of a session: without an identity, an act is known by its step. */
export function callStepId({ opened, steps }: Run, index: number): StepId {
  const number = `c${steps.length + index + 1}`;
  return (opened === null || opened.segment === 1 ? number : `s${opened.segment}${number}`) as StepId;
}
