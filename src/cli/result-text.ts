import { demandText } from "../core/demand.ts";
import type { Instant } from "../core/id.ts";
import type { Json } from "../core/json/json.ts";
import type { Blocked, OpenGate, RunResult, StepResult } from "../core/result.ts";
import type { Spent } from "../core/run.ts";
import type { HiddenGate } from "../engine/api.ts";
import { glance, jsonLines, type Line, line, tableLines } from "./line.ts";
import type { Paint } from "./terminal.ts";

type CommandLine = (...words: readonly string[]) => string;

type ShownResult = RunResult & {
  readonly running?: boolean;
  /** Whether a process executes the store; null: nobody can tell; left out: this one did. */
  readonly executing?: boolean | null;
};

/** A run as its result tells it: where it stands, step by step, and what can be done now. */
export function resultLines(result: ShownResult, tell: CommandLine, paint: Paint): readonly Line[] {
  const status = result.poison === undefined ? statusText(result) : "poison";
  const blocked = new Map(result.blocked_on.map((block) => [block.step_id as string, block]));
  const steps = Object.entries(result.steps).map(([id, step]) => [
    line`${id}`,
    stateText(step.state, paint),
    stepText(step, blocked.get(id)),
  ]);
  return [
    line`${stateText(status, paint)}  ${result.run_id}${result.plan_id === null ? "" : `  plan ${result.plan_id}`}`,
    ...tableLines(steps, "  "),
    ...result.gates.flatMap((gate) => gateLines(gate, tell)),
    ...(result.poison === undefined ? nextLines(result, tell) : poisonLines(result.run_id, result.poison, tell)),
    ...spentLines(result.spent),
  ];
}

function statusText({ running, final, status }: ShownResult): string {
  if (running === true) return "running";
  return final || status !== "partial" ? status : "waiting";
}

/** Who lost the run, when, and with what under way; and what can be done. */
function poisonLines(
  run_id: string,
  { takeovers }: NonNullable<RunResult["poison"]>,
  tell: CommandLine,
): readonly Line[] {
  return [
    line``,
    line`parked: one worker after the other lost it, and nothing came of it`,
    ...takeovers.map(
      ({ from, at, position, steps }) =>
        line`  ${from} had lost it by ${timeText(at)}, at position ${position}; under way: ${steps.join(", ")}`,
    ),
    line`find out what kills its workers, then:  ${tell("resume", run_id)}`,
    line`                                    or:  ${tell("cancel", run_id)}`,
  ];
}

const good = /^(completed|succeeded|compensated|approved|consumed)$/;
const bad = /^(failed|failed_final|rejected|compensation_failed|cancelled|skipped|expired|poison)$/;

/** A state in its colour: done, gone wrong, or still open. */
export function stateText(state: string, { green, red, yellow }: Paint): Line {
  return line`${state}`.painted(good.test(state) ? green : bad.test(state) ? red : yellow);
}

function stepText(step: StepResult, blocked: Blocked | undefined): Line {
  if (step.state === "succeeded") {
    const { reused } = step;
    const from =
      reused === undefined ? "" : `  (recorded by ${reused.step} of ${reused.run} at ${timeText(reused.at)})`;
    return line`${glance(step.output)}${from}`;
  }
  if (step.state === "waiting_approval") return line`${step.gate_id}`;
  if (step.state === "compensated") return line`${step.confirmed ? "undone and confirmed" : "undone, unconfirmed"}`;
  if ("fault" in step) return line`${step.fault.code}: ${step.fault.message}${untilText(blocked)}`;
  return blocked === undefined ? line`` : line`${blocked.reason_code}${untilText(blocked)}`;
}

function untilText(blocked: Blocked | undefined): string {
  return blocked?.until === undefined ? "" : `, until ${timeText(blocked.until)}`;
}

/** The exact call that is held, whole, and the commands that decide it. */
export function gateLines(gate: OpenGate, tell: CommandLine): readonly Line[] {
  return [
    line``,
    line`${gate.step_id} wants to call ${gate.tool} with`,
    ...jsonLines(gate.input, "    "),
    line`  held: ${gate.reason}; until ${timeText(gate.expires_at)}`,
    line`  ${votesText(gate)}`,
    ...stakesLines(gate),
    ...previewLines(gate),
    line`  approve:  ${tell("approve", gate.gate_id)}`,
    line`  reject:   ${tell("reject", gate.gate_id)}`,
  ];
}

/** Whose yes it takes, and who has said it. */
export function votesText({ demand, votes }: Pick<OpenGate, "demand" | "votes">): string {
  const said = votes.length === 0 ? "" : `; ${votes.map(({ by }) => by).join(", ")} said yes`;
  return `asks for ${demandText(demand)}${said}`;
}

/** What it may cost, and whether there is a way back. */
function stakesLines({ estimate, reversible }: OpenGate): readonly Line[] {
  const { usd_micros = 0, credits = 0, tokens_in = 0, tokens_out = 0 } = estimate ?? {};
  const [cost] = spentLines({ usd_micros, credits, tokens_in, tokens_out }).map((told) => line`  would have ${told}`);
  const back = reversible === null ? [] : [line`  ${reversible ? "can be undone" : "cannot be undone"}`];
  return cost === undefined ? back : [cost, ...back];
}

/** What it would do, as far as that can be told, and why someone is asked again. */
function previewLines({ preview, stale }: OpenGate): readonly Line[] {
  const again = stale === undefined ? [] : [line`  asked again: ${stale.message}`];
  if (preview === null) return again;
  const { fault, output, patch = [] } = preview;
  return [
    ...again,
    ...(fault === undefined ? [] : [line`  would fail: ${fault.code}: ${fault.message}`]),
    ...(output === undefined ? [] : [line`  would answer ${glance(output)}`]),
    ...patch.filter(({ op }) => op !== "init").map((change) => line`  would ${glance(change as unknown as Json)}`),
  ];
}

/** A call that is held and cannot be shown, so that nobody should decide it. */
export function hiddenLines({ step_id, tool, run_id, fault }: HiddenGate, tell: CommandLine): readonly Line[] {
  return [
    line``,
    line`${step_id} wants to call ${tool}, and what with cannot be read`,
    line`  ${fault.code}: ${fault.message}`,
    line`  look into it:  ${tell("audit", run_id)}`,
  ];
}

/** What the gates have not already said about going on. */
function nextLines(result: ShownResult, tell: CommandLine): readonly Line[] {
  const { run_id, blocked_on, next, executing, steps } = result;
  const doubts = blocked_on.filter(({ reason_code }) => reason_code === "IN_DOUBT");
  const settled = doubts.flatMap(({ step_id }) => {
    const step = steps[step_id];
    const looked = step?.state === "in_doubt" ? ["--attempt", `${step.attempt}`] : [];
    const resolve = (...how: readonly string[]) => tell("resolve", run_id, step_id, ...how, ...looked);
    return [
      line``,
      line`${step_id} may or may not have happened. Find out, then say which:`,
      line`  it happened:    ${resolve("--happened", "--output", "{}")}`,
      line`  it did not:     ${resolve("--absent")}`,
      line`  undo it:        ${resolve("--undo")}`,
      line`  leave it open:  ${resolve("--give-up")}`,
    ];
  });
  if (result.final) return next === null ? [] : [line``, line`mend the cause, then:  ${tell("resume", run_id)}`];
  if (executing !== undefined && executing !== true && goesOnByItself(result)) {
    return [...settled, line``, goingOnLine(executing, run_id, tell)];
  }
  const said = doubts.length > 0 || blocked_on.some(({ reason_code }) => reason_code === "REQUIRES_APPROVAL");
  return said || next === null ? settled : [line``, line`next: ${next}`];
}

/** It needs nobody to decide anything, but it does need a process. */
function goesOnByItself({ running, blocked_on }: ShownResult): boolean {
  return running === true || blocked_on.some(({ until }) => until !== undefined);
}

/** Who goes on with a run that can go on. */
export function goingOnLine(executing: boolean | null, run: string, tell: CommandLine): Line {
  if (executing === true) return line`the process that executes this store goes on with it`;
  const resume = tell("resume", run);
  return executing === false
    ? line`no process executes this store, so nothing moves; go on with:  ${resume}`
    : line`a process that executes this store goes on with it by itself; if there is none:  ${resume}`;
}

export function spentLines({ usd_micros, credits, tokens_in, tokens_out }: Omit<Spent, "attempts">): readonly Line[] {
  const parts = Object.entries({ credits, tokens_in, tokens_out }).flatMap(([unit, amount]) =>
    amount === 0 ? [] : [`${amount} ${unit}`],
  );
  const all = usd_micros === 0 ? parts : [`$${(usd_micros / 1_000_000).toFixed(6)}`, ...parts];
  return all.length === 0 ? [] : [line`spent: ${all.join(", ")}`];
}

/** In UTC and down to the millisecond, as it was recorded. */
export function timeText(at: Instant): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}
