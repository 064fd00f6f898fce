import type { Proposal } from "../../core/call/proposal.ts";
import type { CallEdit } from "../../core/decide/command.ts";
import type { Call } from "../../core/event/event.ts";
import { canonicalJson } from "../../core/json/canonical-json.ts";
import { valueAt, withValuesAt } from "../../core/json/json-pointer.ts";
import { readForEach } from "../../core/plan/for-each.ts";
import {
  boundPayloadKeys,
  placeholderSource,
  renderTemplate,
  templateLookup,
  templatePlaceholders,
} from "../../core/plan/idempotency-template.ts";
import { type PlanBinding, type PlanStep, signalKeyPattern } from "../../core/plan/plan.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { equalReplacedAct, isReplaced } from "../../core/run/plan-in-force.ts";
import { replanContext } from "../../core/run/replan-context.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import { identityCaution, identityValue } from "../../core/tool/act-identity.ts";
import { missingData } from "../../core/tool/asked-data.ts";
import type { IdentityField, Tool } from "../../core/tool/tool.ts";
import { worseEffect } from "../../core/values/effect.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { Digest, EffectKey, GateId, StepId } from "../../core/values/ids.ts";
import { nameRule } from "../../core/values/is-name.ts";
import { type Json, type JsonObject, sameJson } from "../../core/values/json.ts";
import { digestOfJson, digestOfParts, downstreamKey, undoKey } from "../ports/digest.ts";
import type { CallPorts } from "./call-ports.ts";
import { estimateCost } from "./cost-estimate.ts";
import { missingToolFault } from "./missing-tool-fault.ts";
import { canPreview } from "./preview-call.ts";
import { missingResourceFault, toolForStep } from "./rollback-tool.ts";

/** Makes the proposal of a step: resolves bindings, parses the input once, derives the key of an act. No I/O, never throws. */
export function makeProposal(ports: CallPorts, run: Run, step: Step, wants: { readonly call: boolean }): Proposal {
  const { kind, name } = step.spec;
  const { callsTool } = stepKinds[kind];
  const parked = callsTool ? mismatch(ports, run, step) : null;
  const known = callsTool && parked === null ? ports.toolbox.get(name) : undefined;
  const tool = known === undefined ? undefined : toolForStep(ports, run, step, known);
  const { input, call, derived, flaw, asks } = proposeCall(run, step, tool, wants);
  const isComplete = asks === undefined;
  const expected = tool === undefined || flaw !== null || !isComplete ? UNKNOWN : estimateCost(step, tool, input);
  return {
    input,
    call,
    derived,
    flaw: flaw ?? expected.flaw,
    ...(asks && { asks }),
    parked,
    away: null,
    tool: callsTool ? ports.toolbox.facts(name) : null,
    trusted: ports.tenants.trusts(run.tenant, name),
    record: null,
    ledger: null,
    reusable: null,
    signal: null,
    estimate: expected.estimate,
    limits: NONE,
    policy_state: null,
    captures: tool === undefined || Object.keys(tool.resources).length === 0 ? NONE : "wanted",
    preview: tool !== undefined && isComplete && canPreview(tool, step) ? "wanted" : null,
    pins: null,
    gate_id: call === null ? null : (ports.newId("gate", ports.clock.now()) as GateId),
    gate_ms: ports.limits.gateMs,
    ...ports.gateNotices,
    boot: ports.store.boot,
    worker: ports.leases.worker,
  };
}

const UNKNOWN = { estimate: null, flaw: null } as const;
const NONE: readonly never[] = [];

/** Returns why the step must wait: this worker does not have its tool or one of its resources; else null. */
function mismatch({ toolbox, resources }: CallPorts, run: Run, step: Step): Fault | null {
  const tool = toolbox.get(step.spec.name);
  const missing = missingToolFault(toolbox, step) ?? missingResourceFault({ resources }, run, step);
  return missing ?? (tool === undefined ? null : resources.mismatch(tool, run.bound));
}

type ProposedCall = Pick<Proposal, "input" | "call" | "derived" | "flaw" | "asks">;

function proposeCall(run: Run, step: Step, tool: Tool | undefined, wants: { readonly call: boolean }): ProposedCall {
  if (step.call !== null) return { input: step.call.input, call: step.call, derived: true, flaw: null };
  switch (step.spec.kind) {
    case "operator":
    case "verb":
    case "model":
    case "rollback":
      return tool === undefined ? payloadAsInput(step) : toolCall(run, step, tool, wants);
    case "assertion":
      return payloadAsInput(step);
    case "wait":
      return proposeWait(run, step);
    case "run":
      return proposeChildRun(run, step);
    case "for_each":
      return proposeItems(run, step);
  }
}

/** The input is the payload of the plan, not parsed. */
function payloadAsInput({ spec }: Step): ProposedCall {
  return { input: spec.payload, call: null, derived: false, flaw: null };
}

function toolCall(run: Run, step: Step, tool: Tool, wants: { readonly call: boolean }): ProposedCall {
  const { spec, cause } = step;
  if (cause?.by === "undo") return { derived: true, flaw: missingUndoFault(tool), ...undoCall(run, cause.of) };
  if (cause?.by === "replan") return replanCall(run, step, cause.attempt, tool, wants);
  const filled = fillPayload(run, spec);
  if (!filled.ok) return { input: spec.payload, call: null, derived: false, flaw: filled.fault };
  const asks = missingData(spec.asks_for, filled.input);
  if (asks.length > 0)
    return { input: filled.input, call: plainCall(filled.input), derived: filled.bound, flaw: null, asks };
  const read = readInput(filled, step, tool);
  if (!read.ok) return { input: spec.payload, call: null, derived: false, flaw: read.fault };
  const { input, bound } = read;
  const derived = bound || !sameJson(input, spec.payload);
  if (worseEffect(spec.effect, tool.effect) === "acts") return { input, derived, ...actCall(run, step, tool, input) };
  return { input, call: wants.call ? plainCall(input) : null, derived, flaw: null };
}

/** The tool can have lost its compensation since the act was started. */
function missingUndoFault({ name, compensate }: Tool): Fault | null {
  return compensate === null ? fault("NOT_POSSIBLE", `${name} declares no compensation any more`) : null;
}

/** The input of a replanner is the report about the run. */
function replanCall(
  run: Run,
  { spec }: Step,
  attempt: number,
  tool: Tool,
  wants: { readonly call: boolean },
): ProposedCall {
  const parsed = tool.input.parse(replanContext(run, attempt) as unknown as Json);
  if (parsed.ok)
    return { input: parsed.value, call: wants.call ? plainCall(parsed.value) : null, derived: true, flaw: null };
  const flaw = { ...parsed.fault, message: `${spec.step_id} (${tool.name}): ${parsed.fault.message}` };
  return { input: spec.payload, call: null, derived: false, flaw };
}

/** Makes the call of a held step with another input, or says why that input cannot be used. */
export function proposeEditedCall({ toolbox }: CallPorts, run: Run, step: Step, given: Json): CallEdit {
  const tool = toolbox.get(step.spec.name);
  const mismatch = toolbox.mismatch(step.spec.name, step.pin);
  if (mismatch !== null) return { flaw: mismatch };
  if (tool === undefined)
    return {
      flaw: fault(
        "TOOL_MISSING",
        `${step.spec.name} is not registered here, so its input cannot be changed; register the tool`,
      ),
    };
  const parsed = tool.input.parse(given);
  if (!parsed.ok) return { flaw: { ...parsed.fault, message: `${tool.name}: ${parsed.fault.message}` } };
  if (worseEffect(step.spec.effect, tool.effect) !== "acts") return { call: plainCall(parsed.value) };
  const { call, flaw } = actCall(run, step, tool, parsed.value);
  return call === null ? { flaw: flaw as Fault } : { call };
}

/** A wait calls no tool, but its signal key can be bound to an earlier output. */
function proposeWait(run: Run, { spec }: Step): ProposedCall {
  const filled = fillPayload(run, spec);
  const plain = { call: null, derived: false };
  if (!filled.ok) return { ...plain, input: spec.payload, flaw: filled.fault };
  const { signal } = filled.input as JsonObject;
  if (signal === undefined || (typeof signal === "string" && signalKeyPattern.test(signal)))
    return { ...plain, input: filled.input, flaw: null };
  const message = `${spec.step_id}: its signal is not a name of ${nameRule}`;
  return { ...plain, input: filled.input, flaw: fault("INVALID_INPUT", message) };
}

/** The child run checks the plan itself. */
function proposeChildRun(run: Run, { spec }: Step): ProposedCall {
  const read = fillPayload(run, spec);
  return read.ok
    ? { call: null, derived: read.bound, input: read.input, flaw: null }
    : { call: null, derived: false, input: spec.payload, flaw: read.fault };
}

/** The list must be known and within its limit before the child run starts. */
function proposeItems(run: Run, step: Step): ProposedCall {
  const proposed = proposeChildRun(run, step);
  if (proposed.flaw !== null) return proposed;
  const read = readForEach(step.spec.step_id, proposed.input as JsonObject);
  return "flaw" in read ? { ...proposed, flaw: read.flaw } : proposed;
}

type Read<Input> =
  | { readonly ok: true; readonly input: Input; readonly bound: boolean }
  | { readonly ok: false; readonly fault: Fault };
type ReadInput = Read<Json>;
type FilledPayload = Extract<Read<JsonObject>, { ok: true }>;

function readInput(filled: FilledPayload, { spec }: Step, tool: Tool): ReadInput {
  const parsed = tool.input.parse(filled.input);
  if (parsed.ok) return { ok: true, input: parsed.value, bound: filled.bound };
  return { ok: false, fault: { ...parsed.fault, message: `${spec.step_id} (${tool.name}): ${parsed.fault.message}` } };
}

/** Returns the payload with the bound values. */
function fillPayload(run: Run, spec: PlanStep): Read<JsonObject> {
  const values: [string, Json][] = [];
  for (const [pointer, binding] of Object.entries(spec.bindings)) {
    if ("outcome" in binding && binding.from !== undefined) continue; // The payload has its value.
    const value = boundValue(run, binding);
    if (value === undefined) return { ok: false, fault: missingValueFault(spec.step_id, pointer, binding) };
    values.push([pointer, value]);
  }
  const bound = values.length > 0;
  const payload = bound ? withValuesAt(spec.payload, values) : spec.payload;
  if (payload === undefined) {
    const message = `${spec.step_id}: its payload has no place for ${values.map(([pointer]) => pointer).join(", ")}`;
    return { ok: false, fault: fault("INVALID_INPUT", message) };
  }
  return { ok: true, input: payload, bound };
}

function missingValueFault(step: StepId, pointer: string, binding: PlanBinding): Fault {
  const { path } = binding;
  const source = "outcome" in binding ? binding.outcome : binding.step;
  return fault("MISSING_REQUIRED_CONTEXT", `${step}: ${pointer} is bound to ${source}${path}, which has no value`);
}

function boundValue(run: Run, binding: PlanBinding): Json | undefined {
  if ("outcome" in binding) return undefined;
  const { step, path, as } = binding;
  const standing = findStep(run, step)?.standing;
  const value = standing?.state === "succeeded" ? valueAt(standing.output, path) : undefined;
  return as === "sha256" && value !== undefined ? digestOfJson(value) : value;
}

function plainCall(input: Json): Call {
  return { input, digest: digestOfJson(input), key: null, keyed_by: null };
}

interface ActCall {
  readonly call: Call | null;
  readonly flaw: Fault | null;
}

/** Makes the call of an act. Its key identifies the act. */
function actCall(run: Run, step: Step, tool: Tool, input: Json): ActCall {
  const what = actIdentity(run, step, tool, input);
  if ("flaw" in what) return { call: null, flaw: what.flaw };
  const caution = "caution" in what && what.caution !== null ? { caution: what.caution } : {};
  const digest = digestOfJson(input);
  const known = what.keyed_by === "identity" ? null : earlierCall(run, step, digest);
  if (known !== null) return { call: known, flaw: null };
  const key = digestOfParts(
    "writ/key/v1",
    run.tenant,
    tool.name,
    what.scope,
    what.keyed_by,
    what.text,
  ) as string as EffectKey;
  return { call: { input, digest, key, keyed_by: what.keyed_by, ...caution }, flaw: null };
}

/** Returns the equal act of a replaced plan. The new act gets its key, so the ledger answers with its receipt. */
function earlierCall(run: Run, step: Step, digest: Digest): Call | null {
  if (isReplaced(run, step)) return null;
  return equalReplacedAct(run, step.spec.name, digest)?.call ?? null;
}

type ActIdentity =
  | {
      readonly keyed_by: "identity" | "template" | "input";
      readonly scope: string;
      readonly text: string;
      readonly caution?: string | null;
    }
  | { readonly flaw: Fault };

/** Returns the text that makes two calls the same act, and its scope: the whole tenant, or this step and its forks. */
function actIdentity(run: Run, { spec }: Step, tool: Tool, input: Json): ActIdentity {
  const here = `step/${run.origin}/${spec.step_id}`;
  if (tool.identity !== null) return identityFromInput(spec.step_id, tool.identity, input);
  const template = spec.idempotency_template;
  if (template === null) return { keyed_by: "input", scope: here, text: canonicalJson(input) };
  const filled = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as JsonObject) : {};
  const rendered = renderTemplate(template, templateLookup({ ...spec.payload, ...filled }, run.context));
  if (!rendered.ok) {
    const message = `${spec.step_id}: ${rendered.missing.join(", ")} of its idempotency template has no value`;
    return { flaw: fault("MISSING_REQUIRED_CONTEXT", message) };
  }
  const names = templatePlaceholders(template);
  const sources = { payload: spec.payload, bound: boundPayloadKeys(spec.bindings), context: run.context };
  const literal = names.length > 0 && names.every((name) => placeholderSource(name, sources) !== "binding");
  return { keyed_by: "template", scope: literal ? "tenant" : here, text: rendered.text };
}

/** Refuses a call without a value for its identity: it would be the same act as every other such call. */
function identityFromInput(step: StepId, identity: readonly IdentityField[], input: Json): ActIdentity {
  const pointers = identity.map(({ pointer }) => pointer);
  const missing = pointers.filter((pointer) => (valueAt(input, pointer) ?? null) === null);
  if (missing.length > 0) {
    return {
      flaw: fault(
        "MISSING_REQUIRED_CONTEXT",
        `${step}: ${missing.join(", ")} is part of the identity of the act and has no value`,
      ),
    };
  }
  const values = identity.map((field) => identityValue(field, valueAt(input, field.pointer) as Json));
  const caution = identityCaution(identity, (pointer) => valueAt(input, pointer));
  return { keyed_by: "identity", scope: "tenant", text: canonicalJson(values), caution };
}

/** The input of an undo is the recorded act. */
function undoCall(run: Run, of: StepId): { readonly input: Json; readonly call: Call | null } {
  const original = findStep(run, of);
  const key = original?.call?.key;
  if (original == null || key == null) return { input: null, call: null };
  const { act } = original;
  const generation = act?.generation ?? 1;
  const input = {
    input: original.call?.input ?? null,
    output: act?.output ?? null,
    key: downstreamKey(key, generation), // The key that the act was executed with.
    ...(act !== null && act.changes.length > 0 && { changes: act.changes as unknown as Json }),
  };
  return {
    input,
    call: { input, digest: digestOfJson(input), key: undoKey(key, generation), keyed_by: "input" },
  };
}
