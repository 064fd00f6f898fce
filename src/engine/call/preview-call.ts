import { type PinFact, type Preview, previewDrift } from "../../core/approval/result-preview.ts";
import type { Proposal } from "../../core/call/proposal.ts";
import type { Grant } from "../../core/decide/command.ts";
import { lastApprovedGate } from "../../core/decide/find-approval.ts";
import { parsePointer, pointerTo, valueAt } from "../../core/json/json-pointer.ts";
import { findStep, getStep, type Run, type Step, startsNoCalls } from "../../core/run/run.ts";
import { entriesFrom, entriesToJson, entryAt, type ProjectState } from "../../core/state/project-state.ts";
import { recordedSliceName } from "../../core/state/slice.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { assert } from "../../core/values/assert.ts";
import { type Effect, worseEffect } from "../../core/values/effect.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { Digest, Instant } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import { FencedError } from "../journal/append-errors.ts";
import { digestOfJson } from "../ports/digest.ts";
import { isHaltedNow } from "../rules/halt-cache.ts";
import { AttemptState, openRunState } from "../state/attempt-state.ts";
import type { StateVersion } from "../state/project-states.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";
import { traceIdOf } from "./call-for-observer.ts";
import type { CallPorts } from "./call-ports.ts";
import type { CallResources } from "./call-resources.ts";
import { withoutTool } from "./missing-tool-fault.ts";
import { startHandler } from "./start-handler.ts";
import { timeLimitFor } from "./time-limit.ts";

/** True if a preview of the call can show something. */
export function canPreview(tool: Tool, step: Step): boolean {
  if (step.cause?.by === "undo") return false;
  return previewHandler(tool, effectOf(tool, step)) !== null || Object.keys(tool.resources).length > 0;
}

function effectOf(tool: Tool, { spec }: Step): Effect {
  return worseEffect(spec.effect, tool.effect);
}

/** Returns a handler that leaves no trace: that of a tool that only changes its draft, or else its `preview`. */
function previewHandler(tool: Tool, effect: Effect): Tool["run"] | null {
  const changesResources = Object.keys(tool.resources).length > 0;
  if (effect === "acts" || changesResources) return tool.preview;
  const isDrafted = effect !== "reads";
  // A handler with a cost needs an approval first.
  return isDrafted && tool.cost === null && !tool.external ? tool.run : null;
}

/** Returns the proposal with a preview of the call, for the person who decides. Nothing else of it is kept. */
export async function withPreview(
  context: CallContext,
  step: Step,
  proposal: Proposal,
  { captured }: CallResources,
): Promise<Proposal> {
  const { ports, mailbox } = context;
  const { run } = mailbox;
  const tool = ports.toolbox.pinned(step.spec.name, step.pin);
  if (tool === null) return withoutTool(ports, step, proposal);
  const at = ports.clock.now();
  const effect = effectOf(tool, step);
  const handler = previewHandler(tool, effect);
  // A call that has captured its resources must not wait for them again.
  const resources = await ports.resources.readDigests(tool, captured === null ? "waits" : "captured");
  const state = handler === null || ports.slices.length === 0 ? null : await AttemptState.open(ports, run, step);
  try {
    const report = handler === null ? null : await runPreview(context, step, { tool, handler, state, at, proposal });
    if (report === "halted") return proposal; // The next decision parks the step.
    const { version, reads } = state === null ? NO_STATE : readsOfState(ports, run, state);
    const preview = { ...previewOf(report, effect, state), pins: { at, version, reads, resources } };
    return { ...proposal, preview };
  } finally {
    state?.release();
  }
}

const NO_STATE = { version: null, reads: {} } as const;

interface PreviewAttempt {
  readonly tool: Tool;
  readonly handler: Tool["run"];
  readonly state: AttemptState | null;
  readonly at: Instant;
  readonly proposal: Proposal;
}

/** Runs the handler as the approved attempt will: with the same time and random numbers. A cancelled run aborts it. */
async function runPreview(
  context: CallContext,
  step: Step,
  { tool, handler, state, at, proposal }: PreviewAttempt,
): Promise<AttemptReport | "halted" | null> {
  const { ports, mailbox, claim } = context;
  await mailbox.storeResults(); // A preview is computed only for a run on record.
  if (!(await ports.leases.confirm(claim)))
    throw new FencedError("another worker claimed the run before the preview of a call");
  if (await isHaltedNow(ports.halts, mailbox.run)) return "halted";
  const { run } = mailbox;
  if (startsNoCalls(run)) return null; // It opens no gate.
  const owner = { step_id: step.spec.step_id, generation: 0 };
  const running = startHandler(
    ports,
    {
      tool,
      handler: (given) => handler(proposal.input, given),
      context: {
        key: "",
        run_id: run.id,
        plan_id: run.plan?.plan_id ?? null,
        step_id: step.spec.step_id,
        attempt: step.attempts + 1,
        correlation_id: run.correlation_id,
        trace_id: traceIdOf(run, step),
        now: at,
        last_heartbeat: step.heartbeat,
      },
      place: run,
      state,
      captured: null,
      traceparent: null,
      checksOutput: true,
      ...timeLimitFor(run, step, tool, ports.clock.now()),
      costTerms: null,
    },
    { onEnd: () => context.attemptEnded(owner), onReturn: () => {} },
  );
  context.handlerStarted(owner, running);
  return running.ended;
}

function previewOf(report: AttemptReport | null, effect: Effect, state: AttemptState | null): Omit<Preview, "pins"> {
  if (report === null) return {};
  const { ending } = report;
  const why = ending.how === "value" ? (ending.flaw ?? state?.fault ?? null) : ending.fault;
  if (why !== null || ending.how !== "value") return why === null ? {} : { fault: why };
  return { output: ending.output, ...(effect === "writes" && state !== null && { patch: state.written }) };
}

/** Returns the version that a call read, and the digest of each path that it read. */
function readsOfState(
  { slices }: CallPorts,
  run: Run,
  state: AttemptState,
): Pick<Preview["pins"], "version" | "reads"> {
  const { base, paths } = state.reads;
  return { version: base.version, reads: digestsIn(base, slices, run, paths) };
}

/** Returns the digest of the value at each path of a version. */
function digestsIn(
  { state }: StateVersion,
  slices: CallPorts["slices"],
  run: Run,
  paths: Iterable<string>,
): Preview["pins"]["reads"] {
  const initial = new Map(slices.map((slice) => [recordedSliceName(slice, run.session ?? ""), slice] as const));
  return Object.fromEntries(Array.from(paths, (path) => [path, digestAt(state, path, initial)]));
}

type Initial = ReadonlyMap<string, CallPorts["slices"][number]>;

/** A slice without changes has its initial value. */
function digestAt(state: ProjectState, path: string, initial: Initial): Digest {
  const [name = "", key, ...rest] = parsePointer(path) ?? [];
  const slice = initial.get(name);
  const entries = state.get(name) ?? (slice && entriesFrom(slice.initial, slice.version));
  const whole = key === undefined ? entries && (entriesToJson(entries) as Json) : entryAt(entries, key);
  const value = rest.length === 0 || whole === undefined ? whole : valueAt(whole, rest.reduce(pointerTo, ""));
  return digestOfJson(value === undefined ? [] : [value]);
}

/** Returns the proposal with the current digests of the state and the resources that its preview read. */
export async function withPins(ports: CallPorts, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  assert(gate?.preview !== undefined, "a gate with a preview is checked against it");
  const tool = ports.toolbox.pinned(step.spec.name, step.pin);
  if (tool === null) return withoutTool(ports, step, proposal);
  const { reads, resources } = gate.preview.pins;
  const has = Object.keys(resources).length > 0;
  const now = await stateNow(ports, run, Object.keys(reads));
  // The call has captured the resources.
  return { ...proposal, pins: { ...now, resources: has ? await ports.resources.readDigests(tool, "captured") : {} } };
}

async function stateNow(ports: CallPorts, run: Run, paths: readonly string[]): Promise<Omit<PinFact, "resources">> {
  if (paths.length === 0) return { reads: {}, check: null };
  const project = await openRunState(ports, run);
  project.leave();
  const { head, key } = project;
  const reads = digestsIn(head, ports.slices, run, paths);
  return { reads, check: { table: "project", key, was: head.version === 0 ? null : head.version } };
}

/**
 * Returns a fault if the state that the call is about to read differs from the approved one, or null. Another call may
 * have written between the start of this call and the moment its draft was opened.
 */
export function driftFault(
  { slices }: CallPorts,
  run: Run,
  { step_id, proposal }: Grant,
  state: AttemptState,
): Fault | null {
  const { pins, estimate } = proposal;
  const { base } = state.reads;
  if (pins === null || pins.check === null || (pins.check.was ?? 0) === base.version) return null;
  const gate = lastApprovedGate(run, getStep(run, { step_id }));
  assert(gate !== null, "a pinned call was approved");
  const reads = digestsIn(base, slices, run, Object.keys(pins.reads));
  const drift = previewDrift(gate, { pins: { ...pins, reads }, estimate });
  assert(drift !== "pins_needed", "the digests were just read");
  return drift;
}

/** Returns the time of the preview that the call must reproduce, or null if there is none. */
export function previewInstant(run: Run, { spec }: Step): Instant | null {
  const gate = findStep(run, spec.step_id)?.gate ?? null;
  const preview = gate === null ? undefined : run.gates.get(gate)?.preview;
  return preview?.output === undefined || spec.effect === "acts" ? null : preview.pins.at;
}
