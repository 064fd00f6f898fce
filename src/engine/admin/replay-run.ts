import type { HandlerResult } from "../../core/decide/handler-result.ts";
import type { Event } from "../../core/event/event.ts";
import { jsonPreview } from "../../core/json/json-preview.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import { Draft } from "../../core/state/draft.ts";
import type { Patch } from "../../core/state/patch.ts";
import type { SlicePolicy } from "../../core/state/slice.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { worseEffect } from "../../core/values/effect.ts";
import type { StepId } from "../../core/values/ids.ts";
import { type Json, sameJson } from "../../core/values/json.ts";
import type { ReplayedStep } from "../api/replay-api.ts";
import { traceIdOf } from "../call/call-for-observer.ts";
import { expectedCost } from "../call/cost-estimate.ts";
import { previewInstant } from "../call/preview-call.ts";
import { type HandlerState, startHandler } from "../call/start-handler.ts";
import { openRunState, TOOL_INVOKED } from "../state/attempt-state.ts";
import type { StateVersion } from "../state/project-states.ts";
import { snapshotDraft } from "../state/slice-snapshots.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

type Succeeded = Extract<Event, { type: "step.succeeded" }>;
type Comparison = { readonly [Kind in ReplayedStep["replay"]]: Omit<Extract<ReplayedStep, { replay: Kind }>, Place> };
type Place = "step_id" | "tool" | "attempt";

/**
 * Calls the handlers of a run again that only compute: with the recorded input, time and random numbers, on the state
 * that they read. Compares the results with the record, and writes nothing.
 */
export async function replayRun(
  ports: WorkerPorts,
  run: Run,
  events: AsyncIterable<{ readonly event: Event }>,
): Promise<readonly ReplayedStep[]> {
  const replayed: ReplayedStep[] = [];
  for await (const { event } of events) {
    if (event.type !== "step.succeeded" || event.reused !== undefined) continue;
    const step = findStep(run, event.step_id);
    if (step?.spec.kind !== "operator") continue;
    const place: { readonly [Name in Place]: ReplayedStep[Name] } = {
      step_id: event.step_id as StepId,
      tool: step.spec.name,
      attempt: event.attempt,
    };
    replayed.push({ ...place, ...(await replayStep(ports, run, step, event)) });
  }
  return replayed;
}

async function replayStep(
  ports: WorkerPorts,
  run: Run,
  step: Step,
  event: Succeeded,
): Promise<Comparison[keyof Comparison]> {
  const tool = ports.toolbox.pinned(step.spec.name, step.pin);
  const why = tool === null ? "its tool is not here, or not as it was" : reasonToSkip(tool, step);
  if (tool === null || why !== null) return { replay: "not_called", why: why ?? "" };
  const base = await stateBefore(ports, run, event);
  if (base === "erased") return { replay: "not_called", why: "the state that it read is no longer on record" };
  const state = base === null ? null : new ReplayState(ports, run, base, tool.effect === "writes");
  const ending = await callAgain(ports, run, step, { tool, event, state });
  const output = ending.how === "value" && ending.flaw === null ? ending.output : faultOf(ending);
  if (!sameJson(output, event.output)) return different("output", event.output, output);
  const recorded = event.state?.patch ?? [];
  const computed = state?.close({ tool: tool.name, step_id: event.step_id, attempt: event.attempt }) ?? [];
  const [left, right] = [changesOf(recorded), changesOf(computed)];
  return sameJson(left, right) ? { replay: "same" } : different("state", left, right);
}

/** Returns why a call must not be made again, or null. */
function reasonToSkip(tool: Tool, { spec }: Step): string | null {
  const effect = worseEffect(spec.effect, tool.effect);
  if (tool.external) return "its host does the work";
  if (tool.cost !== null) return "it costs money";
  if (tool.asks === "model") return "it asks a model";
  if (Object.keys(tool.resources).length > 0) return "it changes resources";
  if (spec.expected_effects.length > 0) return "its plan sets or checks the state";
  return effect === "pure" || effect === "writes" ? null : `its effect is ${effect}`;
}

/** Returns the version of the state that the call read. Null: it can have read none. */
async function stateBefore(ports: WorkerPorts, run: Run, { base }: Succeeded): Promise<StateVersion | null | "erased"> {
  if (ports.slices.length === 0) return null;
  const project = await openRunState(ports, run);
  project.leave();
  return (await project.findLatest(({ version }) => version <= (base ?? 0))) ?? "erased";
}

interface RepeatedCall {
  readonly tool: Tool;
  readonly event: Succeeded;
  readonly state: ReplayState | null;
}

async function callAgain(
  ports: WorkerPorts,
  run: Run,
  step: Step,
  { tool, event, state }: RepeatedCall,
): Promise<HandlerResult> {
  const input = step.call?.input ?? event.input ?? step.spec.payload;
  const running = startHandler(
    ports,
    {
      tool,
      handler: (context) => tool.run(input, context),
      context: {
        key: "",
        run_id: run.id,
        plan_id: run.plan?.plan_id ?? null,
        step_id: event.step_id,
        attempt: event.attempt,
        correlation_id: run.correlation_id,
        trace_id: traceIdOf(run, step),
        now: previewInstant(run, step) ?? event.started_at,
        last_heartbeat: null,
      },
      place: run,
      state,
      captured: null,
      traceparent: null,
      checksOutput: true,
      timeoutMs: step.spec.timeout_ms ?? tool.timeoutMs,
      endsByDeadline: false,
      costTerms: { expected: expectedCost(null) },
    },
    { onEnd: () => {}, onReturn: () => {} },
  );
  return (await running.ended).ending;
}

function faultOf(ending: HandlerResult): Json {
  const why = ending.how === "value" ? ending.flaw : ending.fault;
  return why === null ? null : { code: why.code, message: why.message };
}

function different(differs: "output" | "state", recorded: Json, computed: Json): Comparison["different"] {
  return { replay: "different", differs, recorded: jsonPreview(recorded), computed: jsonPreview(computed) };
}

/** A slice begins with the first change of any call, so that change may be another call's now. */
function changesOf(patch: Patch): Json {
  return patch.filter(({ op }) => op !== "init") as unknown as Json;
}

/** The state of an earlier version, with a draft on top that is dropped. */
class ReplayState implements HandlerState {
  readonly #ports: WorkerPorts;
  readonly #base: StateVersion;
  readonly #draft: Draft;

  constructor(ports: WorkerPorts, run: Run, base: StateVersion, writes: boolean) {
    this.#ports = ports;
    this.#base = base;
    this.#draft = new Draft(base.state, { slices: ports.slices, session: run.session ?? "", writes });
  }

  slice(slice: Parameters<HandlerState["slice"]>[0]): ReturnType<HandlerState["slice"]> {
    return this.#draft.slice(slice);
  }

  dispatch(event: string, payload: Json): void {
    this.#draft.dispatch(event, payload);
  }

  snapshotSlices(policies: readonly SlicePolicy[]): ReturnType<HandlerState["snapshotSlices"]> {
    const chosen = this.#ports.slices.filter(({ policy }) => policies.includes(policy));
    return Object.fromEntries(chosen.map((slice) => [slice.name, snapshotDraft(slice, this.#draft.slice(slice))]));
  }

  get reads(): HandlerState["reads"] {
    return { base: this.#base, paths: this.#draft.reads.places };
  }

  /** Dispatches the success of the call, as its end did, and returns the changes. */
  close(about: { readonly tool: string; readonly step_id: string; readonly attempt: number }): Patch {
    const isTold = this.#ports.slices.some(({ reducers }) => Object.hasOwn(reducers, TOOL_INVOKED));
    if (isTold) this.#draft.dispatch(TOOL_INVOKED, { ...about, success: true, fault: null });
    return this.#draft.patch;
  }
}
