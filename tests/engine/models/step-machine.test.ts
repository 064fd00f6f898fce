import fc from "fast-check";
import { describe, it } from "vitest";
import type { Grant } from "../../../src/core/decide/command.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { fault } from "../../../src/core/values/fault.ts";
import * as story from "../../../src/testing/given/commands.ts";
import { plan, planWait, readPage, sendMail, step } from "../../../src/testing/given/fixtures.ts";
import { type GivenRun, given, pass, type GivenAction as Telling } from "../../../src/testing/given/given.ts";
import { assertModelAgrees, modelRuns, modelTimeout } from "./model-runs.ts";
import {
  type AllowedMove,
  type ModelStep,
  type ModelStepState,
  type MoveOutcome,
  type PlanShape,
  StepModel,
} from "./step-model.ts";
import { chooseTarget, rarely, targetChoices } from "./target-choice.ts";

const names = ["a", "b", "c", "d"] as const;
const flip = fc.boolean();

const shapes = fc.tuple(...names.map((_, at) => shape(names.slice(0, at))));

function shape(earlier: readonly string[]): fc.Arbitrary<PlanShape> {
  return fc.record({
    kind: fc.constantFrom("acts", "acts", "acts", "reads", "reads", "wait"),
    needs: fc.subarray([...earlier], { maxLength: Math.min(2, earlier.length) }),
    gated: rarely,
    onFailure: fc.constantFrom("abort", "skip"),
    onRejected: fc.constantFrom("stop", "continue"),
    tries: fc.constantFrom(1, 2, 3),
    undoable: rarely.map((not) => !not),
    safeIfAbsent: flip,
  });
}

const about = fc.record({
  ...targetChoices({ start: 6, end: 6, gate: 2, recover: 1, resolve: 3, undo: 3 }),
  start: fc.constantFrom("well", "well", "well", "well", "well", "well", "well", "no tool", "bad input"),
  end: fc.constantFrom<MoveOutcome[]>("value", "value", "value", "misfit", "not done", "not done", "error", "unheard"),
  mayPass: flip,
  old: rarely,
  errand: flip,
  yes: flip,
  mark: fc.constantFrom("yes", "no", "unknown"),
  as: fc.constantFrom("happened", "absent", "give_up"),
});
type About = typeof about extends fc.Arbitrary<infer Made> ? Made : never;

const around = fc.record({ do: fc.constantFrom("resume", "resume", "resume", "pass", "pass", "cancel", "close") });
const move = fc.oneof(
  { weight: 20, arbitrary: about },
  { weight: 3, arbitrary: around },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("propose"), who: fc.constantFrom(...names) }) },
);
type Move = typeof move extends fc.Arbitrary<infer Made> ? Made : never;

/** The states in which a move means something. */
const meant: Readonly<Record<About["do"], readonly ModelStepState[]>> = {
  start: ["ready", "failed_retryable", "waiting"],
  end: ["running", "ready", "failed_retryable", "in_doubt", "waiting"],
  gate: ["waiting_approval"],
  recover: ["running", "waiting"],
  resolve: ["in_doubt", "failed_final"],
  undo: ["succeeded", "in_doubt", "compensation_failed", "failed_final"],
};

const HOUR = 60 * 60_000;
const LONG = 1_000 * HOUR * 24;
/** A command from another process does not know which handlers run here. */
const OUTSIDE = { in_flight: "unknown" } as const;

/** One run, as the code computes it and as the model computes it. */
class Both {
  readonly model = new StepModel();
  readonly #shapes: ReadonlyMap<string, PlanShape>;
  readonly #leaves = new Map<string, (readonly [AllowedMove, Grant])[]>();
  readonly #story: unknown[] = [];
  #told: GivenRun;

  constructor(made: readonly PlanShape[], open: boolean) {
    const needs = open ? { needs: [] } : {};
    this.#shapes = new Map(names.map((id, at) => [id, { ...(made[at] as PlanShape), ...needs }]));
    this.model.open = open;
    this.model.hasPlan = !open;
    if (!open) for (const [id, each] of this.#shapes) this.model.add(id, each);
    const steps = [...this.#shapes].map(([id, each]) => stepOf(id, each));
    this.#told = given(story.accepts(open ? null : plan(...steps)));
  }

  make(move: Move): void {
    if ("nth" in move) this.#aim(move);
    else if ("who" in move) this.#propose(move.who);
    else this.#whole(move.do);
    this.#compare();
  }

  #aim(move: About): void {
    const [deed, node] = chooseTarget(move, [...this.model.nodes.values()], meant) ?? [];
    if (deed === undefined || node === undefined) return;
    this.#story.push([deed, node.id, move]);
    this.#about(node, deed, move);
  }

  #tell(...moves: readonly Telling[]): void {
    this.#told = this.#told.when(...moves);
  }

  #propose(id: string): void {
    this.#story.push(["propose", id]);
    const made = this.#shapes.get(id) as PlanShape;
    this.model.propose(id, made);
    this.#tell(story.proposes(stepOf(id, made)));
  }

  #whole(what: "resume" | "pass" | "cancel" | "close"): void {
    this.#story.push([what]);
    const { model } = this;
    model[what]();
    this.#tell({ resume: story.resumes, pass: pass(HOUR), cancel: story.cancels, close: story.closes }[what]);
  }

  #about(node: ModelStep, deed: About["do"], move: About): void {
    const { model } = this;
    const { id } = node;
    switch (deed) {
      case "start":
        this.#start(node, node.kind === "wait" ? "well" : move.start);
        break;
      case "end":
        this.#end(node, move);
        break;
      case "gate":
        if (node.state !== "waiting_approval") break;
        model.decideGate(node, move.yes);
        this.#tell(
          move.yes ? story.approves(id, undefined, { use_within_ms: LONG }) : story.rejects(id, undefined, OUTSIDE),
        );
        break;
      case "recover":
        model.recover(node, move.mark);
        this.#tell(story.recovers({ id, mark: move.mark }));
        break;
      case "resolve":
        model.resolve(node, move.as);
        this.#tell(
          story.resolves(id, move.as === "happened" ? story.resolvedHappened(1) : { as: move.as }, undefined, OUTSIDE),
        );
        break;
      case "undo":
        model.undo(node);
        this.#tell(story.undoes(id));
    }
  }

  /** Returns the steps with a running handler and no recorded start, and the steps that wait at a gate. */
  #inFlight(): readonly string[] {
    const nodes = [...this.model.nodes.values()];
    return nodes.filter((node) => this.model.isFlying(node) || node.state === "waiting_approval").map(({ id }) => id);
  }

  #start(node: ModelStep, how: About["start"]): void {
    const { id } = node;
    const wish = { inFlight: this.#inFlight(), gate_ms: LONG };
    const parked = { ...wish, parked: fault("TOOL_MISSING", "not here") };
    const flawed = { ...wish, flaw: fault("INVALID_INPUT", "it does not fit") };
    const leave = this.model.start(node, how);
    this.#tell(story.starts(id, { well: wish, "no tool": parked, "bad input": flawed }[how]));
    const { grant } = this.#told.decision;
    assertModelAgrees(this.#story, grant && { attempt: grant.attempt, recorded: grant.recorded }, leave);
    if (leave !== null && grant !== null) this.#leaves.set(id, [...(this.#leaves.get(id) ?? []), [leave, grant]]);
  }

  #end(node: ModelStep, { end, mayPass, old, errand }: About): void {
    const [leave, grant] = this.#leaves.get(node.id)?.at(old ? -2 : -1) ?? [];
    if (leave === undefined || grant === undefined) return;
    const made = errand && node.id === "a" ? [errandOf(node.id)] : [];
    const wish = { grant, inFlight: this.#inFlight(), errands: made.map((each) => each.errand) };
    const code = mayPass ? "NETWORK_TIMEOUT" : "INVALID_INPUT";
    const isDone = node.state === "succeeded";
    this.model.end(node, leave, end, mayPass);
    if (!isDone && node.state === "succeeded") for (const { id, shape } of made) this.model.add(id, shape);
    this.#tell(
      {
        value: story.answers(node.id, 1, wish),
        misfit: story.answers(node.id, 1, { ...wish, flaw: story.invalidOutput }),
        "not done": story.saysNotDone(node.id, code, wish),
        error: story.fails(node.id, code, wish),
        unheard: story.timesOut(node.id, code, wish),
      }[end],
    );
  }

  #compare(): void {
    const { run } = this.#told;
    const told = Array.from(run.steps, ({ spec, standing, act }) => [spec.step_id, standing.state, act?.state ?? null]);
    const expected = Array.from(this.model.nodes.values(), ({ id, state, row }) => [id, state, row]);
    assertModelAgrees(this.#story, [...told, run.ended?.status ?? null], [...expected, this.model.status]);
  }
}

function stepOf(id: string, { kind, needs, gated, tries, ...each }: PlanShape): PlanStep {
  const wish = { after: needs, retries: tries - 1, on_failure: each.onFailure, on_rejected: each.onRejected };
  if (kind === "wait") return planWait(id, { ms: HOUR }, wish);
  const tool =
    kind === "acts" ? { ...sendMail, compensates: each.undoable, safeIfAbsent: each.safeIfAbsent } : readPage;
  return step(id, { ...wish, tool, gate: gated ? "human_confirm" : "none" });
}

function errandOf(of: string) {
  const id = `${of}.1`;
  const shape: PlanShape = {
    kind: "acts",
    needs: [],
    gated: false,
    onFailure: "skip",
    onRejected: "continue",
    tries: 2,
    undoable: false,
    safeIfAbsent: false,
  };
  return { id, shape, errand: { step: stepOf(id, shape), pin: null, cause: { by: "errand", of } } as never };
}

describe("step machine", () => {
  it("moves every step as its model does, for any commands in any order", modelTimeout, () => {
    const stories = fc.array(move, { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(shapes, flip, stories, (made, open, moves) => {
        const both = new Both(made, open);
        for (const each of moves) both.make(each);
      }),
      modelRuns(500),
    );
  });
});
