import type { Principal } from "../../core/approval/principal.ts";
import type { InheritedStep } from "../../core/decide/command.ts";
import { foldEvents } from "../../core/evolve/evolve.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { planInForce } from "../../core/run/plan-in-force.ts";
import { rolledBackRunFault } from "../../core/run/rolled-back-run-fault.ts";
import { emptyRun, findStep, getStep, type Run, type Step } from "../../core/run/run.ts";
import { ancestorRuns } from "../../core/settings/halt.ts";
import type { ForkOrigin, RejectedCall } from "../../core/state/state-change.ts";
import { defaultQueue } from "../../core/store/select-fairly.ts";
import { stricterMode, type WorldOutcome } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import { type Json, sameJson } from "../../core/values/json.ts";
import type { ForkOptions } from "../api/checkpoint-api.ts";
import type { CheckpointRef } from "../api/state-api.ts";
import { childRunId } from "../call/child-run-port.ts";
import { toolPins } from "../call/tool-pins.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import type { JudgedRequest } from "../journal/judged-request.ts";
import { newRun } from "../journal/load-run.ts";
import { sessionFault } from "../journal/named-session-row.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { submissionMode } from "../messages/submission-mode.ts";
import { inheritedRestoration, ownRules, readPlan, type SubmittedRun } from "../messages/submit-run.ts";
import { makeCaptureTag } from "../resources/capture-owner.ts";
import { RestorePoints, type RestoreTarget } from "../resources/restore-points.ts";
import { type RestoredResources, restoreResourcesAt } from "../resources/restore-resources-at.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { atCheckpoint } from "./checkpoint-admin.ts";

type JudgedForkOptions = Omit<ForkOptions, "principal"> & JudgedRequest & { readonly principal: Principal };

/**
 * Accepts a run that continues from a checkpoint of another run. It has the same origin, so it finds the receipts of
 * earlier acts. It inherits the steps that were done by then and starts with the state of the checkpoint.
 */
export async function forkRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  at: CheckpointRef,
  { principal, plan: given, mode, files, held_in, checks = [] }: JudgedForkOptions,
): Promise<SubmittedRun> {
  leasedRuns.assertOpen();
  const { tenant } = principal;
  const id = forkId(ports, held_in);
  if (held_in !== undefined && (await ports.store.head(tenant, id)) !== null) return { id, attached: true };
  const { run: source, step, version } = await atCheckpoint(ports, tenant, at, async (found) => found);
  const then = await runAtCheckpoint(ports, source, at);
  const now = ports.clock.now();
  const plan = given === undefined ? planInForce(then) : readPlan(ports, given, source.context, false);
  if (plan === null)
    throw new FaultError(fault("NOT_POSSIBLE", `run ${source.id} has no plan; pass a plan for the new run`));
  const above = ancestorRuns(source);
  const forked: ForkOrigin = {
    run_id: source.id,
    ...(above.length > 0 && { above }),
    step_id: at.stepId as StepId,
    side: at.side,
    state: version.point,
    acted: toolsActedAfter(source, then),
    ...rejectedCalls(source),
    ...(held_in !== undefined && { held_in }),
  };
  const { origin, context, project, session, correlation_id, trace_id } = source;
  const mailbox = new RunMailbox(ports, newRun(tenant, id), null);
  const accept = (restored: RestoredResources) =>
    mailbox.ask(() => ({
      type: "accept",
      now,
      run_id: id,
      origin,
      principal,
      mode: stricterMode(source.mode, submissionMode(ports, principal, { mode: mode ?? source.mode })),
      plan,
      context,
      request: null,
      checks,
      tools: toolPins(ports, plan),
      deadline_at: null,
      ...inheritedTerms(source),
      ...(project !== null && { project }),
      ...(session !== null && { session }),
      correlation_id,
      trace_id,
      forked: { ...forked, ...restored },
      ...inheritedRestoration(source),
      inherited: inheritedSteps(plan, then),
      rules: ownRules(ports, tenant),
    }));
  const target = { run: source, step, side: at.side };
  const tag = makeCaptureTag({ for: "fork", tenant, run_id: source.id, at: now, position: source.position, into: id });
  if (files === undefined) await assertFilesUnchanged(ports, target);
  await (files === "restore" ? restoreResourcesAt(ports, target, tag, accept) : accept(null));
  await leasedRuns.takeDueRun(mailbox.run, mailbox.loaded);
  return { id, attached: false };
}

/** The fork shares the budgets of the submission. */
function inheritedTerms({ queue, priority, terms: { budgets } }: Run) {
  return {
    ...(queue !== defaultQueue && { queue }),
    ...(priority !== 0 && { priority }),
    ...(budgets !== null && { budgets }),
  };
}

/** A held request has one id for its fork, so that the fork is not made again after a crash. */
function forkId({ newId, clock }: WorkerPorts, heldIn: RunId | undefined): RunId {
  return heldIn === undefined ? (newId("run", clock.now()) as RunId) : childRunId(heldIn, "fork" as StepId);
}

/** Throws if files have changed since the checkpoint. The caller must then say what to do with them. */
async function assertFilesUnchanged(ports: WorkerPorts, target: RestoreTarget): Promise<void> {
  const points = new RestorePoints(ports, target);
  for (const [name, resource] of ports.resources.byName)
    if ((await points.find(resource)) !== null)
      throw new FaultError(
        fault(
          "NOT_POSSIBLE",
          `calls have changed ${name} since then; pass files: "restore" to restore it, or files: "leave"`,
        ),
      );
}

/** Returns the run as it was right before or after the call. Throws if the run was rolled back. */
async function runAtCheckpoint({ store }: WorkerPorts, source: Run, { stepId, side }: CheckpointRef): Promise<Run> {
  const refusal = rolledBackRunFault(source) ?? (await sessionFault(store, source.tenant, source));
  if (refusal !== null) throw new FaultError(refusal);
  const { tenant, id } = source;
  const position = findStep(source, stepId as StepId)?.checkpoint?.position ?? 0;
  const journal = new JournalCodec(tenant, id);
  const stored = await store.events(tenant, id, 0, side === "after" ? position : position - 1);
  return foldEvents(emptyRun(id, tenant), await Promise.all(stored.map((event) => journal.open(event, store))));
}

/** Returns the steps of the plan that were done at the checkpoint. A step with a changed specification is new. */
function inheritedSteps(plan: Plan, then: Run): readonly InheritedStep[] {
  const steps = new Map(plan.steps.map((step) => [step.step_id, step]));
  const done = Array.from(then.steps).filter(({ spec, standing, cause }) => {
    const same = sameJson(steps.get(spec.step_id) as unknown as Json | undefined, spec as unknown as Json);
    return cause === null && standing.state === "succeeded" && same;
  });
  return sortByDependency(done).map(({ spec: { step_id }, standing, world }) => {
    const { output, at } = standing as Extract<Step["standing"], { state: "succeeded" }>;
    return {
      step_id,
      output,
      world: world as WorldOutcome,
      reused: { run: then.id, step: step_id, at, differs: null },
    };
  });
}

/** Sorts steps so that each follows its dependencies. */
function sortByDependency(done: readonly Step[]): readonly Step[] {
  const ids = new Set<StepId>(done.map(({ spec }) => spec.step_id));
  const placed = new Set<StepId>();
  const order: Step[] = [];
  const place = (step: Step) => {
    if (placed.has(step.spec.step_id)) return;
    placed.add(step.spec.step_id);
    for (const other of done) if (step.spec.depends_on.includes(other.spec.step_id)) place(other);
    order.push(step);
  };
  for (const step of done) if (step.spec.depends_on.every((id) => ids.has(id))) place(step);
  return order;
}

/** Returns the calls that a person rejected in the run, and in the runs that it was forked from. */
function rejectedCalls(source: Run): Pick<ForkOrigin, "rejected"> {
  const rejected: RejectedCall[] = [...(source.forked?.rejected ?? [])];
  for (const [, { status, step_id, call, decided_by }] of source.gates) {
    if (status !== "rejected") continue;
    const tool = getStep(source, { step_id }).spec.name;
    rejected.push({ run_id: source.id, tool, digest: call.digest, key: call.key, by: decided_by ?? "" });
  }
  return rejected.length === 0 ? {} : { rejected };
}

/** Returns the tools that acted in the run after the checkpoint. */
function toolsActedAfter(source: Run, then: Run): readonly string[] {
  const tools = new Set<string>();
  for (const { spec, act } of source.steps)
    if (act !== null && act.state !== "not_done" && findStep(then, spec.step_id)?.act?.receipt !== act.receipt)
      tools.add(spec.name);
  return [...tools].sort();
}
