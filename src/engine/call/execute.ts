import type { Grant } from "../../core/decide/command.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import type { CompletedAct } from "../../core/tool/tool.ts";
import { assert } from "../../core/values/assert.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import type { HoldableVerb } from "../api/verb-arguments.ts";
import { downstreamKey } from "../ports/digest.ts";
import { traceParentOf, traceParentText } from "../ports/trace-parent.ts";
import { isAct } from "./acquire.ts";
import { actAttempt } from "./acts-in-flight.ts";
import { type AttemptReport, notCalled } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";
import { callEnd, callForObserver, traceIdOf } from "./call-for-observer.ts";
import type { CallPorts } from "./call-ports.ts";
import { type CallResources, closeResources } from "./call-resources.ts";
import { type CallerFunction, runInContext } from "./caller-function.ts";
import { checkBeforeCall } from "./check-before-call.ts";
import { expectedCost } from "./cost-estimate.ts";
import { beginWork } from "./host-work.ts";
import { previewInstant } from "./preview-call.ts";
import { restoreRollbackTargets } from "./restore-rollback-targets.ts";
import { type HandlerListener, type HandlerWork, type RunningHandler, startHandler } from "./start-handler.ts";
import { timeLimitFor } from "./time-limit.ts";

/** The report of an attempt. Null: the host of the agent does the work itself, and reports its end. */
type Execution = AttemptReport | null | Promise<AttemptReport | null>;

/** Stage 4. Calls the handler and returns the report of the attempt: its output, its fault, or that it was not called. */
export function execute(context: CallContext, step: Step, grant: Grant, resources: CallResources): Execution {
  const check = checkBeforeCall(context, step, grant);
  // Nothing is awaited between the last check and the start of the handler.
  return check === null
    ? callHandler(context, step, grant, resources)
    : executeAfter(check, context, step, grant, resources);
}

async function executeAfter(
  first: Promise<AttemptReport | null>,
  context: CallContext,
  step: Step,
  grant: Grant,
  resources: CallResources,
): Promise<AttemptReport | null> {
  let check: Promise<AttemptReport | null> | null = first;
  for (; check !== null; check = checkBeforeCall(context, step, grant)) {
    const refused = await check;
    if (refused !== null) return refused;
  }
  return callHandler(context, step, grant, resources);
}

function callHandler(context: CallContext, step: Step, grant: Grant, resources: CallResources): Execution {
  const { ports } = context;
  const given = context.givenWith(step);
  if (grant.proposal.external !== undefined) return letHostBegin(context, step, grant, given);
  const work = handlerWork(context, step, grant, { resources, given });
  resources.called = true;
  const start = (traceparent: string | null) =>
    startHandler(ports, traceparent === null ? work : { ...work, traceparent }, new CallListener(context, grant));
  const handler = runInContext(step, given, () =>
    ports.observers.isEmpty ? start(null) : startObserved(context, step, grant, start),
  );
  context.handlerStarted(grant, handler);
  const isVerb = step.spec.kind === "verb";
  const isPlain = resources.captured === null && resources.state === null && !isAct(grant) && !isVerb;
  return isPlain ? handler.ended : closeAttempt(context, step, grant, resources, handler.ended);
}

/** Starts the handler inside the observers. */
function startObserved(
  context: CallContext,
  step: Step,
  grant: Grant,
  start: (traceparent: string | null) => RunningHandler,
): RunningHandler {
  return context.ports.observers.aroundCall(
    () => callForObserver(context, step, grant),
    start,
    ({ ended }) => ended.then(callEnd),
  );
}

/** Tells the leased run about the handler of a call. */
class CallListener implements HandlerListener {
  readonly #context: CallContext;
  readonly #grant: Grant;

  constructor(context: CallContext, grant: Grant) {
    this.#context = context;
    this.#grant = grant;
  }

  onEnd(): void {
    this.#context.attemptEnded(this.#grant);
  }

  onReturn(late: AttemptReport | null): void {
    const { ports, mailbox } = this.#context;
    if (isAct(this.#grant)) ports.actsInFlight.delete(actAttempt(mailbox.run, this.#grant));
    this.#context.handlerReturned(this.#grant, late);
  }
}

/** Closes the resources and the draft of the state that the attempt has used. */
async function closeAttempt(
  { ports }: CallContext,
  step: Step,
  grant: Grant,
  { captured, state }: CallResources,
  ended: Promise<AttemptReport>,
): Promise<AttemptReport> {
  let report = await ended;
  if (step.spec.kind === "verb") assertNotClosed(report);
  if (captured !== null) report = await closeResources(ports, report, captured);
  state?.close(report.ending, { tool: step.spec.name, step_id: step.spec.step_id, attempt: grant.attempt });
  if (isAct(grant)) ports.failpoint("tool.after");
  return report;
}

/** Tells the host to begin. If the host has stopped waiting, no process knows the token, so the call is not made. */
function letHostBegin(
  context: CallContext,
  step: Step,
  grant: Grant,
  given: CallerFunction | null,
): AttemptReport | null {
  const { run } = context.mailbox;
  const { observers } = context.ports;
  const until = findStep(run, grant.step_id)?.external?.until;
  const work = given?.work ?? null;
  if (work === null || until === undefined) return HOST_GONE;
  const begin = (traceparent: string | null) => {
    const derived = traceParentOf({ run_id: run.id, trace_id: traceIdOf(run, step) });
    beginWork(work, run.id, grant, until, traceparent ?? traceParentText(derived));
    return context.hostBegins(grant.step_id);
  };
  const describe = () => callForObserver(context, step, grant);
  runInContext(step, given, () =>
    observers.isEmpty ? begin(null) : observers.aroundCall(describe, begin, (ended) => ended),
  );
  context.ports.failpoint("begin.after");
  return null;
}

const HOST_GONE = notCalled(fault("CALL_NOT_MADE", "the call was not made: its host stopped waiting to begin it"));

function handlerWork(
  { ports, mailbox: { run } }: CallContext,
  step: Step,
  grant: Grant,
  {
    resources: { state, captured },
    given,
  }: { readonly resources: CallResources; readonly given: CallerFunction | null },
): HandlerWork {
  const { spec, cause } = step;
  const { input, call, estimate } = grant.proposal;
  const tool = ports.toolbox.get(spec.name);
  assert(tool !== undefined, "an unknown tool is never admitted");
  const undoes = cause?.by === "undo";
  const callerRun = given?.run ?? null;
  const { timeoutMs, endsByDeadline } = timeLimitFor(run, step, tool, ports.clock.now());
  return {
    tool,
    handler: (context) => {
      if (spec.kind === "rollback") return restoreRollbackTargets(ports, run, { state, captured });
      if (spec.kind === "verb") return executeVerb(ports, run, spec.name as HoldableVerb, input as JsonObject);
      if (undoes && tool.compensate !== null) {
        const done = input as unknown as Omit<CompletedAct, "changes"> & Partial<CompletedAct>;
        return tool.compensate({ changes: [], ...done }, context);
      }
      return callerRun === null ? tool.run(input, context) : callerRun(input, context);
    },
    context: {
      key: call?.key == null ? "" : downstreamKey(call.key, grant.generation),
      run_id: run.id,
      plan_id: run.plan?.plan_id ?? null,
      step_id: spec.step_id,
      attempt: grant.attempt,
      correlation_id: run.correlation_id,
      trace_id: traceIdOf(run, step),
      now: previewInstant(run, step) ?? grant.started_at,
      last_heartbeat: step.heartbeat,
    },
    place: run,
    state,
    captured,
    checksOutput: !undoes,
    timeoutMs,
    endsByDeadline,
    costTerms: { expected: expectedCost(estimate) },
    traceparent: null,
  };
}

/** Throws if the engine closed before the request was executed. The request stays started, and a worker executes it. */
function assertNotClosed({ ending }: AttemptReport): void {
  if (ending.how === "error" && ending.fault.code === "ENGINE_CLOSED") throw new FaultError(ending.fault);
}

/** The waits after a failure of the store: each is twice as long as the one before. Their sum is 25 seconds. */
const verbRetries = { firstMs: 100, count: 8 } as const;

/** Executes an approved request. A second execution changes nothing, so a failure of the store is no reason to give up. */
async function executeVerb(ports: CallPorts, run: Run, verb: HoldableVerb, input: JsonObject): Promise<Json> {
  ports.failpoint("verb.before");
  const output = await retryStoreFailures(ports, () => ports.verbs().execute(run, verb, input));
  ports.failpoint("verb.after");
  return output;
}

async function retryStoreFailures(ports: CallPorts, execute: () => Promise<Json>): Promise<Json> {
  for (let retry = 0; retry < verbRetries.count; retry += 1) {
    try {
      return await execute();
    } catch (error) {
      if (!isPassingFault(error)) throw error;
    }
    const waitMs = verbRetries.firstMs * 2 ** retry;
    await new Promise<void>((resolve) => ports.timers.after(waitMs, resolve));
  }
  return execute();
}

/** The store failed, or its answer was lost. Other faults of a store stay. */
function isPassingFault(error: unknown): boolean {
  return error instanceof FaultError && ["STORE_FAILED", "STORE_UNKNOWN"].includes(error.fault.code);
}
