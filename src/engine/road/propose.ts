import type { Edit } from "../../core/command.ts";
import { worst } from "../../core/effect.ts";
import type { Call } from "../../core/event.ts";
import { type Fault, fault } from "../../core/fault.ts";
import type { EffectKey, GateId, StepId } from "../../core/id.ts";
import { canonical } from "../../core/json/canonical.ts";
import { type Json, type JsonObject, sameJson } from "../../core/json/json.ts";
import { valueAt, withValuesAt } from "../../core/json/pointer.ts";
import { type Binding, type PlanStep, signalKey } from "../../core/plan/plan.ts";
import { boundNames, lookupIn, placeholders, render, sourceOf } from "../../core/plan/template.ts";
import type { Proposal } from "../../core/proposal.ts";
import { findStep, type Run, type Step } from "../../core/run.ts";
import type { Tool } from "../../core/tool.ts";
import { digestOf, digestOfJson, downstreamKey, undoKey } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { estimateFor } from "./fare.ts";
import { isForeseeable } from "./preview.ts";

/** Puts a call together: bindings resolved, input parsed once, key derived where something needs it. No I/O, never throws. */
export function propose(ports: Ports, run: Run, step: Step, wants: { readonly call: boolean }): Proposal {
  const { kind, name } = step.spec;
  const parked = kind === "operator" ? mismatch(ports, run, step) : null;
  const tool = kind === "operator" && parked === null ? ports.toolbox.get(name) : undefined;
  const { input, call, derived, flaw } = asked(run, step, tool, wants);
  const expected = tool === undefined || flaw !== null ? UNKNOWN : estimateFor(step, tool, input);
  return {
    input,
    call,
    derived,
    flaw: flaw ?? expected.flaw,
    parked,
    tool: kind === "operator" ? ports.toolbox.facts(name) : null,
    trusted: ports.tenants.trusts(run.tenant, name),
    record: null,
    ledger: null,
    reusable: null,
    signal: null,
    estimate: expected.estimate,
    tolls: NONE,
    seen: null,
    captures: tool === undefined || Object.keys(tool.resources).length === 0 ? NONE : "wanted",
    preview: tool !== undefined && isForeseeable(tool, step) ? "wanted" : null,
    pins: null,
    gate_id: call === null ? null : (ports.newId("gate", ports.clock.now()) as GateId),
    gate_ms: ports.limits.gateMs,
    boot: ports.store.boot,
  };
}

const UNKNOWN = { estimate: null, flaw: null } as const;
const NONE: readonly never[] = [];

/** Why the step must wait: its tool, or what that changes, is not here. */
function mismatch({ toolbox, resources }: Ports, run: Run, { spec: { name }, pin }: Step): Fault | null {
  const tool = toolbox.get(name);
  return toolbox.mismatch(name, pin) ?? (tool === undefined ? null : resources.mismatch(tool, run.bound));
}

type Asked = Pick<Proposal, "input" | "call" | "derived" | "flaw">;

function asked(run: Run, step: Step, tool: Tool | undefined, wants: { readonly call: boolean }): Asked {
  const { spec, cause } = step;
  if (step.call !== null) return { input: step.call.input, call: step.call, derived: true, flaw: null };
  if (spec.kind === "wait") return awaited(run, step);
  if (spec.kind === "run") return filled(run, step);
  if (tool === undefined) return { input: spec.payload, call: null, derived: false, flaw: null };
  if (cause?.by === "undo") return { derived: true, flaw: null, ...undoCall(run, cause.of) };
  const read = readInput(run, step, tool);
  if (!read.ok) return { input: spec.payload, call: null, derived: false, flaw: read.fault };
  const { input, bound } = read;
  const derived = bound || !sameJson(input, spec.payload);
  if (worst(spec.effect, tool.effect) === "acts") return { input, derived, ...actCall(run, step, tool, input) };
  return { input, call: wants.call ? plainCall(input) : null, derived, flaw: null };
}

/** A held call with another input in its place. */
export function callWith({ toolbox }: Ports, run: Run, step: Step, given: Json): Edit {
  const tool = toolbox.get(step.spec.name);
  const mismatch = toolbox.mismatch(step.spec.name, step.pin);
  if (mismatch !== null) return { flaw: mismatch };
  if (tool === undefined)
    return {
      flaw: fault("TOOL_MISSING", `${step.spec.name} is not registered here, so that no other input can be read`),
    };
  const parsed = tool.input.parse(given);
  if (!parsed.ok) return { flaw: { ...parsed.fault, message: `${tool.name}: ${parsed.fault.message}` } };
  if (worst(step.spec.effect, tool.effect) !== "acts") return { call: plainCall(parsed.value) };
  const { call, flaw } = actCall(run, step, tool, parsed.value);
  return call === null ? { flaw: flaw as Fault } : { call };
}

/** A wait calls nothing, but the signal it is for can come from an earlier step. */
function awaited(run: Run, { spec }: Step): Asked {
  const filled = filledIn(run, spec);
  const plain = { call: null, derived: false };
  if (!filled.ok) return { ...plain, input: spec.payload, flaw: filled.fault };
  const { signal } = filled.input as JsonObject;
  if (signal === undefined || (typeof signal === "string" && signalKey.test(signal)))
    return { ...plain, input: filled.input, flaw: null };
  const message = `${spec.step_id}: its signal is not a name of 1 to 200 printable characters`;
  return { ...plain, input: filled.input, flaw: fault("INVALID_INPUT", message) };
}

/** What is asked of another run is judged by that run. */
function filled(run: Run, { spec }: Step): Asked {
  const read = filledIn(run, spec);
  return read.ok
    ? { call: null, derived: read.bound, input: read.input, flaw: null }
    : { call: null, derived: false, input: spec.payload, flaw: read.fault };
}

type Read =
  | { readonly ok: true; readonly input: Json; readonly bound: boolean }
  | { readonly ok: false; readonly fault: Fault };

function readInput(run: Run, { spec }: Step, tool: Tool): Read {
  const filled = filledIn(run, spec);
  if (!filled.ok) return filled;
  const parsed = tool.input.parse(filled.input);
  if (parsed.ok) return { ok: true, input: parsed.value, bound: filled.bound };
  return { ok: false, fault: { ...parsed.fault, message: `${spec.step_id} (${tool.name}): ${parsed.fault.message}` } };
}

/** The payload with what is bound put in. */
function filledIn(run: Run, spec: PlanStep): Read {
  const values: [string, Json][] = [];
  for (const [pointer, binding] of Object.entries(spec.bindings)) {
    const value = boundValue(run, binding);
    if (value === undefined) return { ok: false, fault: unbound(spec.step_id, pointer, binding) };
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

function unbound(step: StepId, pointer: string, { step: source, path }: Binding): Fault {
  return fault("MISSING_REQUIRED_CONTEXT", `${step}: ${pointer} is bound to ${source}${path}, which has no value`);
}

function boundValue(run: Run, { step, path, as }: Binding): Json | undefined {
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

/** An act is its key. */
function actCall(run: Run, step: Step, tool: Tool, input: Json): ActCall {
  const what = whatOf(run, step, tool, input);
  if ("flaw" in what) return { call: null, flaw: what.flaw };
  const key = digestOf(
    "writ/key/v1",
    run.tenant,
    tool.name,
    what.scope,
    what.keyed_by,
    what.text,
  ) as string as EffectKey;
  return { call: { input, digest: digestOfJson(input), key, keyed_by: what.keyed_by }, flaw: null };
}

type What =
  | { readonly keyed_by: "identity" | "template" | "input"; readonly scope: string; readonly text: string }
  | { readonly flaw: Fault };

/** What makes two calls the same act, and how far that reaches: the whole tenant, or this step of this lineage. */
function whatOf(run: Run, { spec }: Step, tool: Tool, input: Json): What {
  const here = `step/${run.origin}/${spec.step_id}`;
  if (tool.identity !== null) return identified(spec.step_id, tool.identity, input);
  const template = spec.idempotency_template;
  if (template === null) return { keyed_by: "input", scope: here, text: canonical(input) };
  const filled = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as JsonObject) : {};
  const rendered = render(template, lookupIn({ ...spec.payload, ...filled }, run.context));
  if (!rendered.ok) {
    const message = `${spec.step_id}: ${rendered.missing.join(", ")} of its idempotency template has no value`;
    return { flaw: fault("MISSING_REQUIRED_CONTEXT", message) };
  }
  const names = placeholders(template);
  const sources = { payload: spec.payload, bound: boundNames(spec.bindings), context: run.context };
  const literal = names.length > 0 && names.every((name) => sourceOf(name, sources) !== "binding");
  return { keyed_by: "template", scope: literal ? "tenant" : here, text: rendered.text };
}

/** A call that lacks part of its identity would be the same act as any other that lacks it. */
function identified(step: StepId, identity: readonly string[], input: Json): What {
  const missing = identity.filter((pointer) => (valueAt(input, pointer) ?? null) === null);
  if (missing.length > 0) {
    return {
      flaw: fault(
        "MISSING_REQUIRED_CONTEXT",
        `${step}: ${missing.join(", ")} makes the call what it is, and has no value`,
      ),
    };
  }
  const values = identity.map((pointer) => valueAt(input, pointer) as Json);
  return { keyed_by: "identity", scope: "tenant", text: canonical(values) };
}

/** An undo receives the act as it is on record. */
function undoCall(run: Run, of: StepId): { readonly input: Json; readonly call: Call | null } {
  const original = findStep(run, of);
  const key = original?.call?.key;
  if (original == null || key == null) return { input: null, call: null };
  const { act } = original;
  const generation = act?.generation ?? 1;
  const input = {
    input: original.call?.input ?? null,
    output: act?.output ?? null,
    key: downstreamKey(key, generation), // The one that the act was done under.
  };
  return {
    input,
    call: { input, digest: digestOfJson(input), key: undoKey(key, generation), keyed_by: "input" },
  };
}
