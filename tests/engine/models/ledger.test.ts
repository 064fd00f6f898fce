import fc from "fast-check";
import { describe, it } from "vitest";
import type { LedgerFact, Proposal, ToolFacts } from "../../../src/core/call/proposal.ts";
import type { Command, Grant, Resolution } from "../../../src/core/decide/command.ts";
import type { HandlerResult } from "../../../src/core/decide/handler-result.ts";
import type { Call } from "../../../src/core/event/event.ts";
import { findStep, getStep, type Step } from "../../../src/core/run/run.ts";
import { notHalted } from "../../../src/core/settings/halt.ts";
import type { Sighting } from "../../../src/core/tool/tool.ts";
import { fault } from "../../../src/core/values/fault.ts";
import type { GateId, Instant, StepId, WorkerId } from "../../../src/core/values/ids.ts";
import { invalidOutput } from "../../../src/testing/given/commands.ts";
import { ana, fakeDigest, fakeKey, sendMail, step } from "../../../src/testing/given/fixtures.ts";
import { type ActTerms, LedgerModel, type ModelRun, SETTLE_AFTER_MS, type Sight, TIMEOUT_MS } from "./ledger-model.ts";
import { assertModelAgrees, modelRuns, modelTimeout } from "./model-runs.ts";
import { MultiRunLedger } from "./multi-run-ledger.ts";
import { chooseTarget, rarely, targetChoices } from "./target-choice.ts";

const key = fakeKey("pay");
/** Two runs of one lineage, and a stranger. */
const origins = { hire: "hire", fork: "hire", order: "order" } as const;
const names = Object.keys(origins) as (keyof typeof origins)[];
const SECOND = 1000;
const MINUTE = 60 * SECOND;

const sights = fc.constantFrom<Sight[]>("seen", "seen", "seen, misfit", "seen, differs", "absent", "absent", "unclear");

const terms: fc.Arbitrary<ActTerms> = fc.record({
  onDuplicate: fc.constantFrom("hold", "hold", "reuse", "refuse"),
  confirm: fc.constantFrom("none", "none", "warn", "gate", "strict"),
  errorsMean: fc.constantFrom("unknown", "not_done"),
  keyedBy: fc.constantFrom("identity", "template"),
  idempotentForMs: fc.constantFrom(null, 5 * MINUTE),
  safeIfAbsent: fc.boolean(),
});

const askers = fc.array(fc.record({ run: fc.constantFrom(...names), input: rarely.map(Number) }), {
  minLength: 1,
  maxLength: 5,
});

const about = fc.record({
  ...targetChoices({ start: 8, end: 6, gate: 4, recover: 1, settle: 5, resolve: 1, undo: 1, endUndo: 1 }),
  sight: fc.option(sights),
  stale: fc.oneof(fc.constant(0), fc.nat(3)),
  end: fc.constantFrom("value", "value", "misfit", "not done", "not done", "error", "unheard", "unheard"),
  yes: rarely.map((no) => !no),
  mark: fc.constantFrom("yes", "no", "unknown"),
  as: fc.constantFrom("happened", "absent", "give_up"),
  early: rarely,
  well: fc.boolean(),
});
type About = typeof about extends fc.Arbitrary<infer Made> ? Made : never;

const passing = fc.constantFrom(SECOND, 30 * SECOND, MINUTE, 90 * SECOND, 100 * SECOND, 3 * MINUTE);
const move = fc.oneof(
  { weight: 40, arbitrary: about },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("pass"), ms: passing }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel"), run: fc.constantFrom(...names) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lose receipts") }) },
);
type Move = typeof move extends fc.Arbitrary<infer Made> ? Made : never;

/** The states in which a move means something. */
const meant: Readonly<Record<About["do"], readonly string[]>> = {
  start: ["ready", "failed_retryable", "waiting"],
  end: ["running", "in_doubt"],
  gate: ["waiting_approval"],
  recover: ["running", "in_doubt"],
  settle: ["in_doubt"],
  resolve: ["in_doubt", "failed_final"],
  undo: ["succeeded", "in_doubt", "failed_final", "compensation_failed"],
  endUndo: ["compensating"],
};

/** Everyone who asks for the same act, as the law has it and as the model has it. */
class Both {
  readonly #model: LedgerModel;
  readonly #real = new MultiRunLedger(key, origins);
  readonly #tool: ToolFacts;
  readonly #keyedBy: ActTerms["keyedBy"];
  readonly #grants = new Map<string, Grant>();
  /** The latest version of the row that each step has read; later reads are never older. */
  readonly #known = new Map<string, number>();
  readonly #story: unknown[] = [];
  #outputs = 0;

  constructor({ keyedBy, ...declared }: ActTerms) {
    this.#model = new LedgerModel({ keyedBy, ...declared });
    this.#keyedBy = keyedBy;
    const times = { timeoutMs: TIMEOUT_MS, settleAfterMs: SETTLE_AFTER_MS };
    this.#tool = { ...sendMail, ...declared, ...times, verifies: true, compensates: true };
  }

  join(run: keyof typeof origins, input: number): void {
    const id = `s${this.#model.askers.size + 1}`;
    this.#model.add(id, run, origins[run], input);
    const wish = { tool: this.#tool, retries: 99, on_failure: "skip", on_rejected: "continue" } as const;
    const made = step(id, { ...wish, payload: { to: input } });
    const call = { step: made, pin: null, cause: { by: "agent" }, refused: null } as const;
    this.#real.decideAndLand(run, { type: "propose", now: this.#real.now, calls: [call] });
    this.#story.push([id, { run, input }]);
  }

  make(move: Move): void {
    if ("nth" in move) this.#aim(move);
    else this.#around(move);
    this.#compare();
  }

  #aim(move: About): void {
    const [deed, asker] = chooseTarget(move, [...this.#model.askers.values()], meant) ?? [];
    if (deed === undefined || asker === undefined) return;
    this.#story.push([deed, asker.id, move]);
    this.#about(asker, deed, move);
    this.#known.set(asker.id, this.#model.views.length - 1);
  }

  #around(move: Exclude<Move, About>): void {
    const { now } = this.#real;
    this.#story.push(move);
    if ("ms" in move) {
      this.#model.now += move.ms;
      this.#real.now = (now + move.ms) as Instant;
    } else if ("run" in move) {
      this.#model.cancel(move.run);
      this.#real.decideAndLand(move.run, { type: "cancel", now, principal: ana, reason: "" });
    } else this.#model.receiptLost = true;
  }

  #about(asker: ModelRun, deed: About["do"], move: About): void {
    const { now } = this.#real;
    const head = { now, step_id: asker.id as StepId, in_flight: [] } as const;
    const output = ++this.#outputs;
    switch (deed) {
      case "start":
        this.#start(asker, move);
        break;
      case "end":
        this.#end(asker, move.end, output);
        break;
      case "gate": {
        const { gate } = this.#step(asker);
        if (asker.state !== "waiting_approval") break;
        this.#model.decideGate(asker, move.yes);
        const decided = { now, gate_id: gate as GateId, principal: ana, reason: "", in_flight: [] };
        this.#ask(asker, {
          ...decided,
          ...(move.yes ? { type: "approve", use_within_ms: 1e12 } : { type: "reject" }),
        });
        break;
      }
      case "recover":
        this.#model.recover(asker, move.mark);
        this.#ask(asker, {
          type: "recover",
          now,
          taken: null,
          rules: null,
          found: [{ ...head, mark: move.mark, alive: false, tool: this.#tool }],
        });
        break;
      case "settle": {
        this.#model.settle(asker, move.sight, output);
        const flaw = move.sight === "seen, misfit" ? invalidOutput : null;
        const sighting = move.sight === null ? null : sightingOf(move.sight, output);
        const { standing } = this.#step(asker);
        const quiet_in = standing.state === "in_doubt" ? Math.max(0, standing.doubt.exits.quiet_at - now) : 0;
        this.#ask(asker, { type: "settle", ...head, sighting, sender: null, quiet_in, flaw });
        break;
      }
      case "resolve": {
        const verdict = move.as === "happened" ? { as: move.as, output, flaw: null } : { as: move.as };
        this.#say(asker, move, verdict, () => this.#model.resolve(asker, move.as, output));
        break;
      }
      case "undo":
        this.#say(asker, move, { as: "undo", tool: this.#tool }, () => this.#model.undo(asker));
        break;
      case "endUndo":
        this.#endUndo(asker, move.well);
        break;
    }
  }

  /** A person resolves the attempt that they saw. A resolution of an earlier attempt is refused. */
  #say(asker: ModelRun, { early }: About, verdict: Resolution, then: () => void): void {
    const attempt = early ? this.#step(asker).attempts - 1 : null;
    if (!early) then();
    const said = { step_id: asker.id as StepId, principal: ana, reason: "", verdict, attempt, in_flight: [] };
    this.#ask(asker, { type: "resolve", now: this.#real.now, ...said });
  }

  #ask({ run }: ModelRun, command: Command): void {
    this.#real.decideAndLand(run, command);
  }

  #step({ run, id }: ModelRun): Step {
    return getStep(this.#real.run(run), { step_id: id as StepId });
  }

  /** Asked with the row as it was some versions ago; the store finds that out where it matters. */
  #start(asker: ModelRun, { sight: given, stale }: About): void {
    const sight = given ?? "unclear";
    const { views } = this.#model;
    const at = Math.max(this.#known.get(asker.id) ?? -1, views.length - 1 - stale);
    const [view, fact] = [views[at] ?? null, this.#real.facts[at] ?? null];
    this.#model.start(asker, view, sight);
    this.#startReal(asker, fact, sight);
  }

  #startReal(asker: ModelRun, ledger: LedgerFact | null, sight: Sight): void {
    const lost = this.#model.receiptLost && ledger !== null ? { ...ledger, receipt: null } : ledger;
    const proposal = this.#proposal(asker, lost);
    const command = {
      type: "start",
      policy: null,
      unruled: [],
      halts: notHalted,
      loaded: 0,
      now: this.#real.now,
      step_id: asker.id as StepId,
      proposal,
      in_flight: [],
    } as const;
    const decision = this.#real.decideAndLand(asker.run, command);
    if (decision === null) this.#startReal(asker, this.#fact(), sight);
    else if (decision.need === "sighting")
      this.#startReal(asker, { ...(ledger as LedgerFact), sighting: sightingOf(sight, 0) }, sight);
    else if (decision.grant !== null) this.#grants.set(asker.id, decision.grant);
  }

  #fact(): LedgerFact | null {
    return this.#real.facts.at(-1) ?? null;
  }

  #proposal({ id, input: to }: ModelRun, ledger: LedgerFact | null): Proposal {
    const input = { to };
    const call: Call = { input, digest: fakeDigest(input), key, keyed_by: this.#keyedBy };
    const unset = {
      derived: false,
      flaw: null,
      parked: null,
      away: null,
      trusted: false,
      record: null,
      reusable: null,
      signal: null,
      estimate: null,
      limits: [],
      policy_state: null,
      captures: [],
      preview: null,
      pins: null,
      boot: "",
      worker: "wrk_1" as WorkerId,
    } as const;
    const gate_id = `gate_${id}_${this.#outputs}` as GateId;
    return { input, call, tool: this.#tool, ledger, gate_id, gate_ms: 1e12, ...unset };
  }

  #end(asker: ModelRun, how: About["end"], output: number): void {
    const grant = this.#grants.get(asker.id);
    if (grant === undefined) return;
    this.#model.end(asker, how, output);
    this.#ask(asker, this.#ending(grant, endingOf(how, output)));
  }

  #ending(grant: Grant, ending: HandlerResult): Command {
    const none = { cost: null, reuse: null, heartbeat: null, state: null, errands: [], notices: [] };
    const nothing = { ...none, dice: 0, in_flight: [], confirmed: false };
    return { type: "end", now: this.#real.now, grant, ending, tool: this.#tool, ...nothing };
  }

  /** The undo is an act of its own, under its own key: started and ended at once. */
  #endUndo(asker: ModelRun, well: boolean): void {
    if (asker.state !== "compensating") return;
    this.#model.endUndo(asker, well);
    const { standing } = this.#step(asker);
    const step_id = (standing as Extract<Step["standing"], { state: "compensating" }>).undo;
    const undo = getStep(this.#real.run(asker.run), { step_id });
    const call: Call = undo.call ?? {
      input: 0,
      digest: fakeDigest(0),
      key: fakeKey(`${asker.run} ${step_id}`),
      keyed_by: "input",
    };
    const row = undo.act === null ? null : this.#undoFact(asker, undo, call);
    const proposal = { ...this.#proposal(asker, row), call };
    const decision = this.#real.decideAndLand(asker.run, {
      type: "start",
      policy: null,
      unruled: [],
      halts: notHalted,
      loaded: 0,
      now: this.#real.now,
      step_id,
      proposal,
      in_flight: [],
    });
    const ending = endingOf(well ? "value" : "not done", 0);
    const final = "fault" in ending ? { ...ending, fault: fault("INVALID_INPUT", "no") } : ending;
    this.#ask(asker, this.#ending(decision?.grant as Grant, final));
  }

  #undoFact({ run }: ModelRun, { act, spec }: Step, call: Call): LedgerFact {
    const { version, generation, state, attempt, receipt, usable } = act as NonNullable<Step["act"]>;
    const { id, origin } = this.#real.run(run);
    const row = {
      key: call.key as LedgerFact["row"]["key"],
      state,
      generation,
      tool: spec.name,
      run_id: id,
      origin,
      step_id: spec.step_id,
      attempt,
      input_digest: call.digest,
      receipt,
      usable,
    };
    return { version, row, receipt: null, sighting: null };
  }

  #compare(): void {
    const { view } = this.#model;
    const fact = this.#fact();
    const told = [...this.#model.askers.values()].map(({ id, run }) => {
      const found = findStep(this.#real.run(run), id as StepId);
      const { standing, act } = found as Step;
      const output = standing.state === "succeeded" ? standing.output : null;
      return [id, standing.state, act?.state ?? null, act?.generation ?? 0, output];
    });
    const expected = [...this.#model.askers.values()].map(({ id, state, act, output }) => [
      id,
      state,
      act?.fate ?? null,
      act?.generation ?? 0,
      state === "succeeded" ? output : null,
    ]);
    const row = fact && [fact.version, fact.row.step_id, fact.row.state, fact.row.generation, fact.row.usable];
    const held = view && [view.version, view.holder.id, view.act.fate, view.act.generation, view.act.usable];
    assertModelAgrees(this.#story, [row, ...told], [held, ...expected]);
  }
}

function sightingOf(sight: Sight, output: number): Sighting {
  if (sight === "absent") return { saw: "absent" };
  if (sight === "unclear") return { saw: "unknown", why: "no answer" };
  return sight === "seen, differs" ? { saw: "happened", output, differs: "the amount" } : { saw: "happened", output };
}

function endingOf(how: About["end"], output: number): HandlerResult {
  const why = fault("NETWORK_TIMEOUT", "no answer");
  if (how === "value" || how === "misfit")
    return { how: "value", output, flaw: how === "misfit" ? invalidOutput : null };
  return { how: how === "not done" ? "not_done" : how, fault: why };
}

describe("ledger", () => {
  it("admits an act as its model does, for any run and any stale read", modelTimeout, () => {
    const stories = fc.array(move, { maxLength: 80, size: "max" });
    fc.assert(
      fc.property(terms, askers, stories, (declared, asking, moves) => {
        const both = new Both(declared);
        for (const { run, input } of asking) both.join(run, input);
        for (const each of moves) both.make(each);
      }),
      modelRuns(400),
    );
  });
});
