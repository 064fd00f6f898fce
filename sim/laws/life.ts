import { awaitedRun } from "../../src/core/child.ts";
import type { Event } from "../../src/core/event.ts";
import { faults } from "../../src/core/fault.ts";
import { needsOf } from "../../src/core/need.ts";
import { dueAt, type Run, type Step } from "../../src/core/run.ts";
import { cast } from "../cast.ts";
import { clerks } from "../desk.ts";
import type { Fact, Said } from "../record.ts";
import type { Scene } from "../scene.ts";
import { isOfLimit } from "./limits.ts";

/** How a run lives: it ends once, waits only for what can come, tries as often as it may, pays for what it did. */
export function judgeLife(fact: Fact): void {
  ending(fact);
  trying(fact);
  paying(fact);
  telling(fact);
  hearing(fact);
  timing(fact);
}

const afterTheEnd: readonly string[] = [
  "run.resumed",
  "step.compensating",
  "step.superseded",
  "step.settled",
  "notice.delivered",
  "budget.alerted",
  "evidence.kept",
  "step.cancelled",
  "gate.contested",
  "state.restored",
];

/** I3: nothing moves an ended run but resuming, undoing and the word of a person. */
function ending({ scene, before, event, after }: Fact): void {
  if (before.ended !== null && !afterTheEnd.includes(event.type))
    scene.violate(`I3: ${before.id} is ${before.ended.status}, and then came ${event.type}`);
  if (event.type !== "run.ended") return;
  const states = Array.from(after.steps, ({ standing }) => standing.state);
  const whole = states.every((state) => state === "succeeded");
  if (event.status === "completed" && !whole)
    scene.violate(`${before.id} was called completed with ${states.join(", ")}`);
  const open = states.find((state) =>
    [
      "ready",
      "running",
      "waiting",
      "waiting_approval",
      "in_doubt",
      "pending",
      "failed_retryable",
      "compensating",
    ].includes(state),
  );
  if (open !== undefined) scene.violate(`I11: ${before.id} ended (${event.status}) with a step ${open}`);
}

/** I8: whoever waits has someone or something that will wake it. */
export function judgeWaking(scene: Scene, after: Run): void {
  if (after.ended !== null || after.poison !== null) return;
  let moves = false;
  for (const step of after.steps) {
    const wrong = sleeper(scene, after, step);
    if (wrong !== null) scene.violate(`I8: ${after.id} ${step.spec.step_id} ${wrong}`);
    moves ||= ["ready", "running", "failed_retryable", "waiting"].includes(step.standing.state) && !isAsking(step);
  }
  if (moves && dueAt(after) === null && needsOf(after).length === 0)
    scene.violate(`I8: ${after.id} moves by itself, but is never due`);
}

/** It waits for another run, and is told when that has ended. */
function isAsking({ standing }: Step): boolean {
  return standing.state === "waiting" && standing.on.for === "signal";
}

function sleeper({ record }: Scene, run: Run, { standing }: Step): string | null {
  if (standing.state === "waiting" && standing.on.for === "signal") {
    const asked = awaitedRun(standing.on.box.key);
    if (asked === null && standing.on.until !== null) return null;
    return asked !== null && record.get(asked) !== undefined ? null : "waits for a run that nobody accepted";
  }
  if (standing.state === "waiting_approval") {
    const gate = run.gates.get(standing.gate_id);
    return gate?.status === "open" ? null : `waits for a gate that is ${gate?.status}`;
  }
  if (standing.state === "compensating") {
    const undo = run.index.get(standing.undo);
    if (undo === undefined) return "is undone by nobody";
    const { state } = run.steps.get(undo).standing;
    return ["succeeded", "failed_final", "rejected", "skipped", "cancelled"].includes(state)
      ? `waits for an undo that is ${state}`
      : null;
  }
  return null;
}

/** A step is tried as often as its plan, its tool or its fault allows, and no more. */
function trying({ scene, kept, before, event }: Fact): void {
  if (event.type === "run.resumed") kept.failures.clear();
  if (event.type === "step.readied") kept.failures.delete(event.step_id);
  // Whoever was overtaken, or never called, did nothing wrong.
  if (event.type !== "step.failed" || ["STATE_CONFLICT", "CALL_NOT_MADE"].includes(event.fault.code)) return;
  const failures = (kept.failures.get(event.step_id) ?? 0) + 1;
  kept.failures.set(event.step_id, failures);
  if (event.retry_at === null) return;
  scene.counts.retries += 1;
  const { spec } = before.steps.get(before.index.get(event.step_id) as number);
  const asked = spec.on_failure === "retry" && event.fault.code === "TOOL_FAILED";
  const usual = asked ? 4 : faults[event.fault.code].tries;
  const tries =
    spec.retries === null
      ? ([...cast, ...clerks].find(({ name }) => name === spec.name)?.tries ?? usual)
      : spec.retries + 1;
  if (failures >= tries)
    scene.violate(`${before.id} ${event.step_id} is tried again after ${failures} of ${tries} tries`);
}

/** I6: what is charged is what the attempts cost. */
function paying({ scene, kept, before, event }: Fact): void {
  const cost = "cost" in event ? event.cost : undefined;
  const charges = ("charges" in event ? event.charges : undefined) ?? [];
  for (const { tally, amount } of charges) kept.charges.set(tally, (kept.charges.get(tally) ?? 0) + amount);
  const paid = charges.reduce((sum, { tally, amount }) => (isOfLimit(tally) ? sum : sum + amount), 0);
  const tallies = before.project === null ? 2 : 3;
  const due = cost === undefined ? 0 : tallies * (cost.usd_micros + cost.credits + cost.tokens_in + cost.tokens_out);
  if (paid !== due) scene.violate(`I6: ${before.id} charged ${paid} where ${due} were due`);
}

/** What a handler said beside its answer is on record with it. */
function hearing({ scene, before, event }: Fact): void {
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return;
  if ("reused" in event || (event.type === "step.failed" && event.fault.code === "CALL_NOT_MADE")) return;
  const { step_id, attempt, cost } = event;
  const notices = "notices" in event ? event.notices : undefined;
  const { standing, spec } = before.steps.get(before.index.get(step_id) as number);
  // What was said before a timeout was put on record with the doubt.
  if (spec.kind !== "operator" || standing.state === "in_doubt") return;
  const said = scene.record.saidIn(before.id, step_id, attempt);
  const same = ({ usd_micros, notices: told }: Said) =>
    usd_micros === (cost?.usd_micros ?? 0) && (event.type === "step.failed" || told === (notices?.length ?? 0));
  const silent = said.length === 0 && cost === undefined && notices === undefined;
  if (!silent && !said.some(same))
    scene.violate(`I6: ${before.id} ${step_id}.${attempt} is not on record with what it cost and told`);
}

/** What a handler wants done afterwards is put into the run with its answer. */
export function judgeErrands({ record, violate }: Scene, event: Event, after: Run): void {
  if (event.type !== "step.succeeded" || event.reused !== undefined) return;
  const { step_id, attempt } = event;
  const said = record.saidIn(after.id, step_id, attempt);
  const wanted = said.length > 0 && said.every(({ errands }) => errands > 0);
  if (wanted && !after.index.has(`${step_id}.1`))
    violate(`${after.id} ${step_id}.${attempt} wanted something done afterwards, and it was forgotten`);
}

/** Nothing happens before its time. */
function timing({ scene, before, event }: Fact): void {
  if (event.type !== "step.started" && event.type !== "step.succeeded" && event.type !== "step.failed") return;
  const { standing } = before.steps.get(before.index.get(event.step_id) as number);
  const begun = "started_at" in event ? event.started_at : event.at;
  const where = `${before.id} ${event.step_id}.${event.attempt}`;
  if (standing.state === "failed_retryable" && begun < standing.retry_at)
    scene.violate(`${where} was tried again before its time`);
  const until =
    standing.state === "waiting" && standing.on.for !== "tool" && standing.on.for !== "signal" && standing.on.until;
  if (until !== false && begun < until) scene.violate(`${where} did not wait for its time`);
}

/** I14: delivered is only said of what has arrived. */
function telling({ scene, before, event }: Fact): void {
  if (event.type !== "notice.delivered" || before.notices.get(event.notice_id)?.kin !== undefined) return;
  if (!scene.world.heard(event.notice_id))
    scene.violate(`I14: ${before.id} says that ${event.notice_id} was delivered, and nobody got it`);
}
