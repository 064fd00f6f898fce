import { assert } from "../../core/assert.ts";
import type { Grant } from "../../core/command.ts";
import { approvedGate } from "../../core/decide/approval.ts";
import { type Effect, worst } from "../../core/effect.ts";
import type { Fault } from "../../core/fault.ts";
import type { Digest, Instant } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import { parsePointer, pointerTo, valueAt } from "../../core/json/pointer.ts";
import { driftFrom, type PinFact, type Preview } from "../../core/preview.ts";
import type { Proposal } from "../../core/proposal.ts";
import { findStep, type Run, type Step, stepOf } from "../../core/run.ts";
import { entriesFrom, entryAt, type ProjectState, wholeOf } from "../../core/state/project-state.ts";
import { recordName } from "../../core/state/slice.ts";
import type { Tool } from "../../core/tool.ts";
import { Desk, openProject } from "../desk/desk.ts";
import type { Loan } from "../desk/loan.ts";
import type { Version } from "../desk/projects.ts";
import { digestOfJson } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { Fenced } from "../record/mailbox.ts";
import { isHaltedNow } from "../rules/halt-board.ts";
import { execute } from "./execute.ts";
import type { Execution } from "./execution.ts";
import { timeFor } from "./time-limit.ts";
import type { Way } from "./way.ts";

/** Whether anything can be told of a call before it is made. */
export function isForeseeable(tool: Tool, step: Step): boolean {
  if (step.cause?.by === "undo") return false;
  return handlerOf(tool, effectOf(tool, step)) !== null || Object.keys(tool.resources).length > 0;
}

function effectOf(tool: Tool, { spec }: Step): Effect {
  return worst(spec.effect, tool.effect);
}

/** What can be run without a trace: all of what stays in a draft, and what an act's tool says of it. */
function handlerOf(tool: Tool, effect: Effect): Tool["run"] | null {
  if (effect === "acts") return tool.preview;
  const isDrafted = effect !== "reads" && Object.keys(tool.resources).length === 0;
  // Nobody has agreed to what it costs yet.
  return isDrafted && tool.cost === null ? tool.run : null;
}

/** The proposal with what the call would do, told to whoever is about to be asked. Nothing of it is kept but that. */
export async function withPreview(way: Way, step: Step, proposal: Proposal, loan: Loan): Promise<Proposal> {
  const { ports, mailbox } = way;
  const { run } = mailbox;
  const tool = ports.toolbox.get(step.spec.name);
  assert(tool !== undefined, "an unknown tool is never admitted");
  const at = ports.clock.now();
  const effect = effectOf(tool, step);
  const handler = handlerOf(tool, effect);
  // Whoever has them in hand would wait for itself.
  const resources = await ports.resources.digests(tool, loan.borrowed === null ? "in turn" : "in hand");
  const desk = handler === null || ports.slices.length === 0 ? null : await Desk.open(ports, run, step);
  try {
    const told = handler === null ? null : await tried(way, step, { tool, handler, desk, at, proposal });
    if (told === "halted") return proposal; // Whoever asks with what is known now is told so.
    const { version, reads } = desk === null ? NO_STATE : readBy(ports, run, desk);
    const preview = { ...foreseen(told, effect, desk), pins: { at, version, reads, resources } };
    return { ...proposal, preview };
  } finally {
    desk?.leave();
  }
}

const NO_STATE = { version: null, reads: {} } as const;

interface Trial {
  readonly tool: Tool;
  readonly handler: Tool["run"];
  readonly desk: Desk | null;
  readonly at: Instant;
  readonly proposal: Proposal;
}

/** As the attempt will be that the yes is for: the same chance, the same moment. Like it, it ends when the run is cancelled or lost. */
async function tried(way: Way, step: Step, trial: Trial): Promise<Execution | "halted" | null> {
  const { ports, mailbox, claim } = way;
  const { tool, handler, desk, at, proposal } = trial;
  if (!(await ports.leases.holds(claim))) throw new Fenced("the run was claimed again before a call was looked into");
  if (await isHaltedNow(ports.halts, mailbox.run)) return "halted";
  const { run } = mailbox;
  if (run.cancel !== null) return null; // Nobody will be asked.
  const running = execute(
    ports,
    {
      tool,
      handler: (context) => handler(proposal.input, context),
      context: {
        key: "",
        run_id: run.id,
        plan_id: run.plan?.plan_id ?? null,
        step_id: step.spec.step_id,
        attempt: step.attempts + 1,
        correlation_id: run.correlation_id,
        trace_id: run.trace_id,
        now: at,
        last_heartbeat: step.heartbeat,
      },
      desk,
      borrowed: null,
      checked: true,
      ...timeFor(run, step, tool, ports.clock.now()),
      spends: null,
    },
    () => {},
  );
  const caller = { step_id: step.spec.step_id, generation: 0 };
  way.began(caller, running);
  const told = await running.over;
  way.over(caller);
  return told;
}

function foreseen(told: Execution | null, effect: Effect, desk: Desk | null): Omit<Preview, "pins"> {
  if (told === null) return {};
  const { ending } = told;
  const why = ending.how === "value" ? (ending.flaw ?? desk?.flaw ?? null) : ending.fault;
  if (why !== null || ending.how !== "value") return why === null ? {} : { fault: why };
  return { output: ending.output, ...(effect === "writes" && desk !== null && { patch: desk.written }) };
}

/** What a call read of state, place by place. */
function readBy({ slices }: Ports, run: Run, desk: Desk): Pick<Preview["pins"], "version" | "reads"> {
  const { base, places } = desk.footing;
  return { version: base.version, reads: digestsIn(base, slices, run, places) };
}

/** By place, what is there in a version. */
function digestsIn(
  { state }: Version,
  slices: Ports["slices"],
  run: Run,
  places: Iterable<string>,
): Preview["pins"]["reads"] {
  const initial = new Map(slices.map((slice) => [recordName(slice, run.session ?? ""), slice] as const));
  return Object.fromEntries(Array.from(places, (place) => [place, digestAt(state, place, initial)]));
}

type Initial = ReadonlyMap<string, Ports["slices"][number]>;

/** A slice that nobody has written to is what it begins as. */
function digestAt(state: ProjectState, place: string, initial: Initial): Digest {
  const [name = "", key, ...rest] = parsePointer(place) ?? [];
  const slice = initial.get(name);
  const entries = state.get(name) ?? (slice && entriesFrom(slice.initial, slice.version));
  const whole = key === undefined ? entries && (wholeOf(entries) as Json) : entryAt(entries, key);
  const value = rest.length === 0 || whole === undefined ? whole : valueAt(whole, rest.reduce(pointerTo, ""));
  return digestOfJson(value === undefined ? [] : [value]);
}

/** The proposal with how that stands now which a preview was told from. */
export async function withPins(ports: Ports, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  const gate = step.gate === null ? undefined : run.gates.get(step.gate);
  const tool = ports.toolbox.get(step.spec.name);
  assert(gate?.preview !== undefined && tool !== undefined, "only what was shown can have changed");
  const { reads, resources } = gate.preview.pins;
  const has = Object.keys(resources).length > 0;
  const now = await stateNow(ports, run, Object.keys(reads));
  // Whoever is about to make the call has the resources in hand.
  return { ...proposal, pins: { ...now, resources: has ? await ports.resources.digests(tool, "in hand") : {} } };
}

async function stateNow(ports: Ports, run: Run, places: readonly string[]): Promise<Omit<PinFact, "resources">> {
  if (places.length === 0) return { reads: {}, check: null };
  const project = await openProject(ports, run);
  project.leave();
  const { head, key } = project;
  const reads = digestsIn(head, ports.slices, run, places);
  return { reads, check: { table: "project", key, was: head.version === 0 ? null : head.version } };
}

/**
 * Why the state that a call is about to read is not the one that was approved; null: it is. Others may have written between the start of
 * the call and when it was given its state, which from then on is what it reads.
 */
export function driftAt({ slices }: Ports, run: Run, { step_id, proposal }: Grant, desk: Desk): Fault | null {
  const { pins, estimate } = proposal;
  const { base } = desk.footing;
  if (pins === null || pins.check === null || (pins.check.was ?? 0) === base.version) return null;
  const gate = approvedGate(run, stepOf(run, { step_id }));
  assert(gate !== null, "what is pinned was approved");
  const reads = digestsIn(base, slices, run, Object.keys(pins.reads));
  const drift = driftFrom(gate, { pins: { ...pins, reads }, estimate });
  assert(drift !== "unseen", "it was just looked at");
  return drift;
}

/** The moment that a preview was made for, where the call is to come out as that did; null: there was none. */
export function shownAt(run: Run, { spec }: Step): Instant | null {
  const gate = findStep(run, spec.step_id)?.gate ?? null;
  const preview = gate === null ? undefined : run.gates.get(gate)?.preview;
  return preview?.output === undefined || spec.effect === "acts" ? null : preview.pins.at;
}
