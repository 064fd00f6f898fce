import type { Inherited } from "../../core/command.ts";
import { strictest, type World } from "../../core/effect.ts";
import { fold } from "../../core/evolve.ts";
import { FaultError, fault } from "../../core/fault.ts";
import { lineAbove } from "../../core/halt.ts";
import type { RunId, StepId } from "../../core/id.ts";
import { type Json, sameJson } from "../../core/json/json.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { Principal } from "../../core/principal.ts";
import { findStep, type Run, type Step, unbornRun } from "../../core/run.ts";
import type { Forked } from "../../core/state/state-change.ts";
import { queueDefault } from "../../core/turns.ts";
import type { ForkOptions } from "../api.ts";
import { tagOf } from "../desk/capture-tag.ts";
import { atCheckpoint } from "../desk/checkpoints.ts";
import { type FilesBack, withFilesBack } from "../desk/gone-back.ts";
import { Moments, type Target } from "../desk/moments.ts";
import type { CheckpointAt } from "../desk/state-api.ts";
import type { Ports } from "../ports.ts";
import { Journal } from "../record/journal.ts";
import { unborn } from "../record/load.ts";
import { Mailbox } from "../record/mailbox.ts";
import type { Holds } from "../watch/holds.ts";
import { pinsOf, readPlan, type Submitted } from "./submit.ts";

/**
 * Accepts a run that goes on from the middle of another: of the same origin, so that it meets the receipts of what was acted, with
 * the steps that were done by then, and a state that begins as it was then.
 */
export async function fork(
  ports: Ports,
  holds: Holds,
  at: CheckpointAt,
  { principal, plan: given, mode, files }: Omit<ForkOptions, "principal"> & { readonly principal: Principal },
): Promise<Submitted> {
  holds.assertOpen();
  const { tenant } = principal;
  const { run: source, step, version } = await atCheckpoint(ports, tenant, at, async (found) => found);
  const then = await runThen(ports, source, at);
  const now = ports.clock.now();
  const id = ports.newId("run", now) as RunId;
  const plan = given === undefined ? source.plan : readPlan(ports, given, source.context, false);
  if (plan === null)
    throw new FaultError(fault("NOT_POSSIBLE", `run ${source.id} has no plan; give one to go on with`));
  const above = lineAbove(source);
  const forked: Forked = {
    run_id: source.id,
    ...(above.length > 0 && { above }),
    step_id: at.stepId as StepId,
    side: at.side,
    state: version.point,
    acted: actedAfter(source, then),
  };
  const { origin, context, project, session, queue, priority, correlation_id, trace_id } = source;
  const mailbox = new Mailbox(ports, unborn(tenant, id), null);
  const accept = (back: FilesBack) =>
    mailbox.ask({
      type: "accept",
      now,
      run_id: id,
      origin,
      principal,
      mode: strictest(source.mode, mode ?? source.mode),
      plan,
      context,
      request: null,
      tools: pinsOf(ports, plan),
      deadline_at: null,
      ...(queue !== queueDefault && { queue }),
      ...(priority !== 0 && { priority }),
      ...(project !== null && { project }),
      ...(session !== null && { session }),
      correlation_id,
      trace_id,
      forked: { ...forked, ...back },
      inherited: inheritedBy(plan, then),
    });
  const target = { run: source, step, side: at.side };
  const tag = tagOf({ for: "fork", tenant, run_id: source.id, at: now, position: source.position, into: id });
  if (files === undefined) await mustBeUnchanged(ports, target);
  await (files === "restore" ? withFilesBack(ports, target, tag, accept) : accept(null));
  await holds.fellDue(tenant, id, queue, mailbox.loaded);
  return { id, attached: false };
}

/** A run that goes on from the middle of another on files that are not what they were then does so because somebody said it. */
async function mustBeUnchanged(ports: Ports, target: Target): Promise<void> {
  const moments = new Moments(ports, target);
  for (const [name, resource] of ports.resources.byName)
    if ((await moments.in(resource)) !== null)
      throw new FaultError(
        fault("NOT_POSSIBLE", `calls have changed ${name} since; say files: "restore" to go back, or files: "leave"`),
      );
}

/** The run as it was right before or after the call. */
async function runThen({ store }: Ports, source: Run, { stepId, side }: CheckpointAt): Promise<Run> {
  const { tenant, id } = source;
  const position = findStep(source, stepId as StepId)?.checkpoint?.position ?? 0;
  const journal = new Journal(tenant, id);
  const stored = await store.events(tenant, id, 0, side === "after" ? position : position - 1);
  return fold(unbornRun(id, tenant), await Promise.all(stored.map((event) => journal.open(event, store))));
}

/** What the plan has in common with what was done: a step that says something else now is another one. */
function inheritedBy(plan: Plan, then: Run): readonly Inherited[] {
  const steps = new Map(plan.steps.map((step) => [step.step_id, step]));
  const done = Array.from(then.steps).filter(({ spec, standing, cause }) => {
    const same = sameJson(steps.get(spec.step_id) as unknown as Json | undefined, spec as unknown as Json);
    return cause === null && standing.state === "succeeded" && same;
  });
  return inOrder(done).map(({ spec: { step_id }, standing, world }) => {
    const { output, at } = standing as Extract<Step["standing"], { state: "succeeded" }>;
    return { step_id, output, world: world as World, reused: { run: then.id, step: step_id, at, differs: null } };
  });
}

/** Each after those that it needs; what needs one that was not done cannot have been. */
function inOrder(done: readonly Step[]): readonly Step[] {
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

/** Tools that acted in the run after the point it is forked from. */
function actedAfter(source: Run, then: Run): readonly string[] {
  const tools = new Set<string>();
  for (const { spec, act } of source.steps)
    if (act !== null && act.state !== "not_done" && findStep(then, spec.step_id)?.act?.receipt !== act.receipt)
      tools.add(spec.name);
  return [...tools].sort();
}
