import type { ToolFacts } from "../../core/call/proposal.ts";
import type { CommandOf, FollowUpStep, Resolution } from "../../core/decide/command.ts";
import type { ReplanFact } from "../../core/decide/replan-run.ts";
import type { StepsInFlight } from "../../core/event/event.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import { renameTakenSteps } from "../../core/plan/rename-taken-steps.ts";
import type { Sighting } from "../../core/tool/tool.ts";
import { fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import * as commands from "./commands.ts";
import {
  addUp,
  ana,
  bob,
  conditionOn,
  cost,
  keepNote,
  plan,
  planAssertion,
  planWait,
  readPage,
  robin,
  type StepOptions,
  sendMail,
  step,
} from "./fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "./given.ts";

/** One random choice. Pairs of whole numbers choose a plan and then one action after another. */
export type RandomChoice = readonly [what: number, how: number];

const undoable = { ...sendMail, compensates: true };
const tools: readonly ToolFacts[] = [
  addUp,
  readPage,
  keepNote,
  sendMail,
  { ...undoable, idempotentForMs: 600_000 },
  { ...undoable, verifies: true, safeIfAbsent: true },
  { ...undoable, errorsMean: "not_done", verifies: true, idempotentForMs: 120_000, safeIfAbsent: true },
];
const names = ["a", "b", "c", "d"] as const;

/** Makes a plan of four random steps with random dependencies, sometimes with a wait or an assertion. */
export function randomPlan(choices: readonly RandomChoice[]): Plan {
  const steps = names.map((id, at) => randomStep(id, at, choices[at] ?? [0, 0]));
  const [last] = choices[names.length] ?? [0];
  if (last % 3 === 0) return plan(...steps);
  const more =
    last % 3 === 1
      ? planWait("e", { ms: 5000 }, { after: ["a"] })
      : planAssertion("e", conditionOn("a", "/id", "exists"));
  return plan(...steps, more);
}

function randomStep(id: string, at: number, [what, how]: RandomChoice): PlanStep {
  const options: StepOptions = {
    tool: pick(tools, what),
    after: names.slice(0, at).filter((_, bit) => (how >> bit) % 3 === 1),
    on_failure: pick(["abort", "skip", "retry"] as const, how),
    on_rejected: pick(["stop", "continue"] as const, what),
    gate: how % 5 === 0 ? "human_confirm" : "none",
    retries: pick([null, 0, 2], what + how),
    timeout_ms: how % 7 === 0 ? 90_000 : null,
    outcome: how % 3 === 0 ? { type: "draft.mail", status: "draft" } : null,
  };
  return step(id, options);
}

function pick<Item>(list: readonly Item[], by: number): Item {
  return list[by % list.length] as Item;
}

/** Accepts the plan and applies the chosen actions. Calls `onCommand` with the run before and after each action. */
export function driveRandomRun(
  accepted: Plan,
  choices: readonly RandomChoice[],
  onCommand: (before: GivenRun, after: GivenRun) => void = () => {},
): GivenRun {
  const mode = choices.length % 3 === 0 ? "human_gated" : "auto_exec";
  const deadline = choices.length % 5 === 0 ? { deadline_at: (given().now + 500_000) as GivenRun["now"] } : {};
  let givenRun = given(commands.accepts(accepted, { mode, ...deadline, ...otherPlans(accepted, choices.length) }));
  for (const [what, how] of choices) {
    const after = givenRun.when(pick(possibleActions(givenRun, how), what));
    onCommand(givenRun, after);
    givenRun = after;
  }
  return givenRun;
}

/** Some runs continue with a fallback plan, or ask a replanner, when their plan does not complete. */
function otherPlans(accepted: Plan, choices: number): Pick<CommandOf<"accept">, "replan" | "fallbacks"> {
  return {
    ...(choices % 4 === 1 && { fallbacks: [renameTakenSteps(accepted, () => true, 2)] }),
    ...(choices % 2 === 1 && {
      replan: { by: readPage.name, attempts: 2, ...(choices % 6 === 1 && { delay_ms: 2000 }) },
    }),
  };
}

/** Returns possible next actions: mostly those that the run waits for, sometimes unexpected ones. */
function possibleActions(givenRun: GivenRun, how: number): readonly GivenAction[] {
  const ids = Array.from(givenRun.run.steps, ({ spec }) => spec.step_id as string);
  const randomId = pick(ids, how);
  const timePassing = pass(pick([10, 2000, 70_000, 200_000, 90_000_000], how));
  const cancel = how % 9 === 0 ? [commands.cancels] : [];
  const resume = givenRun.run.ended === null ? [] : [commands.resumes];
  return [
    timePassing,
    ...cancel,
    ...resume,
    commands.delivers(`notice ${randomId}`),
    ...ids.flatMap((id) => [...actionsForStep(givenRun, id, how)]),
    ...(givenRun.isGranted(randomId) ? [randomEnding(givenRun, randomId, how)] : []),
    commands.undoes(randomId),
  ];
}

function* actionsForStep(givenRun: GivenRun, id: string, how: number): Iterable<GivenAction> {
  const { standing } = givenRun.step(id);
  switch (standing.state) {
    case "ready":
    case "failed_retryable":
    case "waiting":
      yield randomStart(givenRun, id, how);
      if (isInFlight(givenRun, id)) yield* [randomEnding(givenRun, id, how), randomEnding(givenRun, id, how + 7)];
      if (how % 4 === 0) yield randomRecovery(id, how);
      break;
    case "waiting_approval":
      yield* [commands.approves(id), commands.approves(id, pick([ana, bob, robin], how))];
      if (how % 3 === 0) yield randomRefusal(givenRun, id, how);
      break;
    case "running":
      yield* [randomEnding(givenRun, id, how), randomEnding(givenRun, id, how + 7)];
      if (how % 4 === 0) yield randomRecovery(id, how);
      break;
    case "in_doubt":
      yield* [randomSighting(givenRun, id, how), randomSighting(givenRun, id, how + 1), commands.undoes(id)];
      if (how % 3 === 0) yield randomResolution(givenRun, id, how);
      break;
    case "succeeded":
    case "compensation_failed":
      if (how % 3 === 0) yield commands.undoes(id);
      break;
    case "failed_final":
      yield* [randomResolution(givenRun, id, how), commands.undoes(id)];
      break;
  }
}

function randomStart(givenRun: GivenRun, id: string, how: number): GivenAction {
  const parked = how % 13 === 0 ? { parked: fault("TOOL_MISSING", "the tool is missing") } : {};
  const flaw = how % 17 === 0 ? { flaw: fault("INVALID_INPUT", "the input is invalid") } : {};
  return commands.starts(id, { inFlight: stepsInFlight(givenRun), ...parked, ...flaw });
}

function randomEnding(givenRun: GivenRun, id: string, how: number): GivenAction {
  const options = {
    inFlight: stepsInFlight(givenRun),
    ...(how % 3 === 0 && { cost: cost(how) }),
    dice: (how % 10) / 10,
  };
  const notices = [{ notice_id: `notice ${id}`, topic: "mail", payload: null }];
  const { cause } = givenRun.step(id);
  if (cause?.by === "replan" && how % 3 > 0)
    return commands.answers(id, { plan: {} }, { ...options, replan: randomReplan(givenRun, how) });
  const endings: readonly (() => GivenAction)[] = [
    () => commands.answers(id, { id: how }, options),
    () => commands.timesOut(id, "TOOL_TIMEOUT", options),
    () => commands.answers(id, { id: how }, { ...options, notices, errands: [makeFollowUp(id)] }),
    () => commands.saysNotDone(id, pick(["NETWORK_TIMEOUT", "INVALID_INPUT", "RATE_LIMIT"] as const, how), options),
    () => commands.answers(id, { id: how }, { ...options, flaw: commands.invalidOutput }),
    () => commands.answers(id, { id: how }, options),
    () => commands.fails(id, pick(["RATE_LIMIT", "TOOL_FAILED"] as const, how), options),
  ];
  return pick(endings, how >> 3)();
}

function randomReplan({ run }: GivenRun, how: number): ReplanFact {
  if (how % 7 === 0) return { refused: fault("REPLAN_REFUSED", "the answer is no plan") };
  const known = run.plan as Plan;
  return { plan: renameTakenSteps(known, () => true, (run.replanning?.plans ?? 1) + 1), tools: {} };
}

function randomRecovery(id: string, how: number): GivenAction {
  const missingTool = how % 5 === 0 ? { tool: null } : {};
  return commands.recovers({ id, mark: pick(["yes", "no", "unknown"] as const, how), ...missingTool });
}

function randomSighting(givenRun: GivenRun, id: string, how: number): GivenAction {
  const sightings: readonly (Sighting | null)[] = [
    null,
    commands.sightingAbsent,
    commands.sightingAbsent,
    commands.sightingUnclear,
    commands.sightingHappened(null),
  ];
  const flaw = how % 7 === 0 ? commands.invalidOutput : null;
  return commands.settles(id, pick(sightings, how >> 3), {
    flaw,
    in_flight: stepsInFlight(givenRun) as readonly StepId[],
  });
}

/** Returns the steps in flight as the holder of the run knows them, or `unknown` as for a caller without the lease. */
function inFlight(givenRun: GivenRun, how: number): StepsInFlight {
  return how % 2 === 0 ? (stepsInFlight(givenRun) as readonly StepId[]) : "unknown";
}

function randomRefusal(givenRun: GivenRun, id: string, how: number): GivenAction {
  const in_flight = inFlight(givenRun, how);
  return pick([commands.rejects(id, ana, { in_flight }), commands.expires(id, in_flight)], how);
}

function randomResolution(givenRun: GivenRun, id: string, how: number): GivenAction {
  const verdicts: readonly Resolution[] = [
    commands.resolvedHappened({ id: how }),
    { as: "absent" },
    { as: "give_up" },
    { as: "verify" },
  ];
  return commands.resolves(id, pick(verdicts, how >> 3), ana, { in_flight: inFlight(givenRun, how) });
}

function makeFollowUp(of: string): FollowUpStep {
  const followUp = step(`${of}.1`, { tool: sendMail, on_failure: "skip", on_rejected: "continue" });
  return { step: followUp, pin: null, cause: { by: "errand", of: of as StepId } };
}

/** Returns the steps that were granted without a recorded start and may still have a running handler. */
function stepsInFlight(givenRun: GivenRun): readonly string[] {
  const ids = Array.from(givenRun.run.steps, ({ spec }) => spec.step_id as string);
  return ids.filter((id) => isInFlight(givenRun, id));
}

function isInFlight(givenRun: GivenRun, id: string): boolean {
  if (!givenRun.isGranted(id)) return false;
  const { recorded, attempt } = givenRun.grant(id);
  return !recorded && attempt === givenRun.step(id).attempts + 1;
}
