import { findStep, type Step } from "../src/core/run/run.ts";
import { requesterOf } from "../src/core/run/step-principal.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { EffectKey, GateId, RunId, StepId } from "../src/core/values/ids.ts";
import type { JsonObject } from "../src/core/values/json.ts";
import type { Engine, PrincipalInput, ResolveOptions } from "../src/engine/api/engine-api.ts";
import { downstreamKey } from "../src/engine/ports/digest.ts";
import type { ObservedEvent, ObservedRun } from "./journal-observer.ts";
import type { SimContext } from "./sim-context.ts";
import { FORBIDDEN_TEXT, simApprovers } from "./sim-rules.ts";
import { simStateTools } from "./sim-state-tools.ts";
import { SILENT_TOOL, simTools } from "./sim-tools.ts";
import { isVoteEligible } from "./vote-model.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** Fault codes that a person may receive at any time. */
const expectedCodes: readonly string[] = ["GATE_DECIDED", "GATE_EXPIRED", "NOT_POSSIBLE"];

/** People who approve, reject, resume, undo and settle doubts: late, repeatedly, or without permission. */
export class People {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  readonly #resumes = new Map<RunId, number>();
  #beginSettling = false;
  #busy = 0;

  constructor(sim: SimContext, pool: WorkerPool) {
    this.#sim = sim;
    this.#pool = pool;
    sim.observer.onEvent((observedEvent) => this.#observe(observedEvent));
  }

  /** True if no action is planned. */
  get done(): boolean {
    return this.#busy === 0;
  }

  /** From now on people decide every open gate and settle every doubt. */
  beginSettling(): void {
    this.#beginSettling = true;
    for (const observedRun of this.#sim.observer.all()) {
      if (observedRun.run.parked !== null) this.#release(observedRun);
      for (const { standing, spec } of observedRun.run.steps) {
        if (standing.state === "waiting_approval") this.#decide(observedRun, standing.gate_id);
        if (standing.state === "in_doubt") this.#settleDoubt(observedRun, spec.step_id);
      }
    }
  }

  #observe(observedEvent: ObservedEvent): void {
    const { sim, observedRun, event, after } = observedEvent;
    const { rng, config, counts } = sim;
    this.#observeDoubts(observedEvent);
    const { peopleBehaviour } = config;
    switch (event.type) {
      case "run.accepted":
        if (rng.chance(peopleBehaviour.cancels)) this.#cancel(observedRun);
        break;
      case "gate.opened":
        if (event.duplicate_of !== null) counts.duplicatesHeld += 1;
        if (rng.chance(peopleBehaviour.actsWithoutPermission)) this.#intrude(observedRun, event.gate_id);
        if (this.#beginSettling || !rng.chance(peopleBehaviour.ignores)) this.#decide(observedRun, event.gate_id);
        break;
      case "gate.endorsed":
        if (this.#beginSettling || !rng.chance(peopleBehaviour.ignores)) this.#decide(observedRun, event.gate_id);
        break;
      case "gate.expired":
        counts.gatesExpired += 1;
        break;
      case "cancel.requested":
        counts.cancels += 1;
        break;
      case "run.resumed":
        counts.resumes += 1;
        break;
      case "run.poisoned":
        counts.poisoned += 1;
        this.#release(observedRun);
        break;
      case "step.uncompensated":
        counts.undosFailed += 1;
        break;
      case "step.succeeded":
        if (event.ledger !== undefined && rng.chance(peopleBehaviour.undoes)) this.#undo(observedRun, event.step_id);
        break;
      case "step.proposed":
        if (event.cause.by === "errand") counts.errands += 1;
        break;
      case "step.parked":
        if (event.on.for === "tool") counts.parked += 1;
        if (event.on.for === "rate") counts.tooOften += 1;
        break;
      case "run.ended":
        if (after.ended?.status !== "completed" && rng.chance(peopleBehaviour.resumes)) this.#resume(observedRun);
        break;
    }
  }

  /** Plans a settlement of each new doubt. */
  #observeDoubts({ sim: { rng, config }, observedRun, before, after }: ObservedEvent): void {
    for (const step of before.steps) {
      const { standing } = after.steps.get(step.index);
      if (standing.state !== "in_doubt" || standing === step.standing) continue;
      if (this.#beginSettling || !rng.chance(config.peopleBehaviour.ignores))
        this.#settleDoubt(observedRun, step.spec.step_id);
    }
  }

  /** Plans an action after a delay. */
  #plan(name: string, about: string, inMs: number, execute: () => string): void {
    const { scheduler } = this.#sim;
    this.#busy += 1;
    scheduler.addAt(scheduler.now() + inMs, {
      name,
      owner: 0,
      about,
      execute: () => {
        this.#busy -= 1;
        return execute();
      },
    });
  }

  #drawDelay(): number {
    return this.#sim.rng.between(1, this.#beginSettling ? 2000 : this.#sim.config.paceMs);
  }

  /** Sends a command to any running process, and repeats it if the answer does not settle it. */
  #send(again: () => void, ask: (engine: Engine) => Promise<unknown>, forbidden = false): string {
    const sent = this.#pool.ask("command", ask);
    if (sent === null) {
      again();
      return "no process";
    }
    void sent.then(
      () => {
        if (forbidden) this.#sim.violate("I7: a command without permission succeeded");
      },
      (error: unknown) => this.#handleError(error, again, forbidden),
    );
    return "sent";
  }

  #handleError(error: unknown, again: () => void, forbidden: boolean): void {
    if (!(error instanceof FaultError)) {
      this.#sim.violate(`a person received an unexpected error: ${String(error)}`);
      return;
    }
    const { code } = error.fault;
    const unanswered = code.startsWith("STORE_") || code === "ENGINE_CLOSED" || code === "TOOL_MISSING";
    if (this.#beginSettling && (unanswered || code === "NOT_POSSIBLE")) again();
    const notPermitted = code === "AUTH_FORBIDDEN" && this.#sim.rules !== null;
    if (!unanswered && !expectedCodes.includes(code) && !forbidden && !notPermitted)
      this.#sim.violate(`a person was refused: ${error.message}`);
  }

  #decide(observedRun: ObservedRun, gate: GateId): void {
    const { rng, config, counts } = this.#sim;
    this.#plan("decide", gate, this.#drawDelay(), () => {
      if (observedRun.run.gates.get(gate)?.status !== "open") return "decided already";
      const principal = this.#voter(observedRun, gate);
      const edit = this.#edit(observedRun, gate);
      const denies = rng.chance(
        this.#beginSettling ? config.peopleBehaviour.denies / 2 : config.peopleBehaviour.denies,
      );
      if (denies) counts.denials += 1;
      const again = () => this.#decide(observedRun, gate);
      const decide = (no: boolean) => (engine: Engine) =>
        no ? engine.reject(gate, { principal }) : engine.approve(gate, { principal, ...edit });
      if (rng.chance(config.peopleBehaviour.repeats)) this.#send(() => {}, decide(rng.chance(0.3) ? !denies : denies));
      return this.#send(again, decide(denies));
    });
  }

  /** Draws the person who votes; in the settling phase one who is permitted and has not voted. */
  #voter(observedRun: ObservedRun, gate: GateId): PrincipalInput {
    const { rng, rules, scheduler } = this.#sim;
    const { tenant, run, votes } = observedRun;
    const step = findStep(run, run.gates.get(gate)?.step_id as StepId);
    const gateVotes = votes.get(gate);
    if (rules === null || step === undefined || gateVotes === undefined)
      return personPrincipal(observedRun, this.#otherPerson(observedRun, gate));
    const requester = requesterOf(run, step);
    const requiredVotes = step.cause?.by === "undo" ? null : (rules.requiredVotes.get(step.spec.name) ?? null);
    const eligible = simApprovers.filter(({ id, roles }) => {
      const isEligible = isVoteEligible(requiredVotes, gateVotes.opened, requester, {
        by: id,
        roles,
        at: scheduler.now(),
      });
      return isEligible && !gateVotes.votes.some(({ by }) => by === id);
    });
    const anyone = eligible.length === 0 || (!this.#beginSettling && rng.chance(0.3));
    const { id, roles } = rng.pick(anyone ? simApprovers.filter((each) => each.id !== requester) : eligible);
    return { id, roles, kind: "person", tenant };
  }

  /** Draws an edit of the held input: another text, another recipient, or a forbidden text. */
  #edit({ run }: ObservedRun, gate: GateId): { readonly input?: JsonObject } {
    const { rng, rules } = this.#sim;
    const held = run.gates.get(gate);
    const tool = held && findStep(run, held.step_id)?.spec.name;
    const known = [...simTools, ...simStateTools].some(({ name }) => name === tool);
    if (rules === null || held === undefined || !known || !rng.chance(rules.edits)) return {};
    const input = held.call.input as JsonObject;
    if (rng.chance(0.3)) return { input: { ...input, to: "r0" } };
    return { input: { ...input, text: rng.pick([FORBIDDEN_TEXT, "another text"]) } };
  }

  /** Returns a person other than the requester. */
  #otherPerson({ run }: ObservedRun, gate: GateId): string {
    const step = findStep(run, run.gates.get(gate)?.step_id as StepId);
    return step !== undefined && requesterOf(run, step) === "ana" ? "bea" : "ana";
  }

  /** An agent, a service, the requester, or a person of another tenant tries to approve. */
  #intrude(observedRun: ObservedRun, gate: GateId): void {
    const { rng, counts, config } = this.#sim;
    counts.intrusions += 1;
    const others = config.tenants.filter(({ name }) => name !== observedRun.tenant);
    const { id } = observedRun.run.principal;
    const who = [
      { id: "robot", kind: "agent", tenant: observedRun.tenant },
      { id: "cron", kind: "service", tenant: observedRun.tenant },
      { id, kind: "person", tenant: observedRun.tenant },
      ...others.map(({ name }) => ({ id: "ana", kind: "person", tenant: name }) as const),
    ] as const;
    const principal: PrincipalInput = rng.pick(who);
    const otherTenant = principal.tenant !== observedRun.tenant;
    const intrude = (engine: Engine): Promise<unknown> =>
      otherTenant && rng.chance(0.5)
        ? engine.run(observedRun.run.id, { principal })
        : engine.approve(gate, { principal });
    this.#plan("intrude", gate, this.#drawDelay(), () => this.#send(() => {}, intrude, true));
  }

  #cancel(observedRun: ObservedRun): void {
    this.#plan("cancel", observedRun.run.id, this.#drawDelay(), () => {
      if (observedRun.run.ended !== null) return "too late";
      const principal = personPrincipal(observedRun, "ana");
      return this.#send(
        () => {},
        async (engine) => (await engine.run(observedRun.run.id, { principal })).cancel({ reason: "changed my mind" }),
      );
    });
  }

  #resume(observedRun: ObservedRun): void {
    const { id } = observedRun.run;
    const times = this.#resumes.get(id) ?? 0;
    if (times >= 2) return;
    this.#resumes.set(id, times + 1);
    this.#plan("resume", id, this.#drawDelay(), () => {
      const status = observedRun.run.ended?.status;
      if (status !== "partial" && status !== "failed") return "not needed";
      const again = () => this.#resume(observedRun);
      return this.#send(again, (engine) => engine.resume(id, { principal: personPrincipal(observedRun, "ana") }));
    });
  }

  /** Plans the resumption of a parked run. */
  #release(observedRun: ObservedRun): void {
    const { id } = observedRun.run;
    this.#plan("release", id, this.#drawDelay(), () => {
      if (observedRun.run.parked === null || observedRun.run.ended !== null) return "not needed";
      const again = () => this.#release(observedRun);
      return this.#send(again, (engine) => engine.resume(id, { principal: personPrincipal(observedRun, "ana") }));
    });
  }

  #undo(observedRun: ObservedRun, step_id: StepId): void {
    this.#plan("undo", step_id, this.#drawDelay(), () => {
      const step = findStep(observedRun.run, step_id) as Step;
      if (step.act?.state !== "committed" || !canUndo(step)) return "not possible";
      if (this.#sim.rng.chance(this.#sim.config.peopleBehaviour.repeats)) this.#undo(observedRun, step_id);
      return this.#resolve(observedRun, step_id, { principal: personPrincipal(observedRun, "ana"), as: "undo" });
    });
  }

  #resolve(observedRun: ObservedRun, step_id: StepId, options: ResolveOptions): string {
    const again = () => this.#settleDoubt(observedRun, step_id);
    const attempt = findStep(observedRun.run, step_id)?.act?.attempt;
    const withAttempt = attempt === undefined ? options : { ...options, attempt };
    return this.#send(again, (engine) => engine.resolve(observedRun.run.id, step_id, withAttempt));
  }

  /** A person settles a doubt by checking the world, and waits while the request may still land. */
  #settleDoubt(observedRun: ObservedRun, step_id: StepId): void {
    const { rng, world, config } = this.#sim;
    this.#plan("settle", step_id, this.#drawDelay(), () => {
      const step = findStep(observedRun.run, step_id) as Step;
      if (step.standing.state !== "in_doubt") return "settled already";
      const automatic = step.standing.doubt.next.do !== "ask";
      const key = downstreamKey(step.call?.key as EffectKey, step.act?.generation ?? 1);
      if (world.mayStillLand(key) || (automatic && rng.chance(0.9))) {
        this.#settleDoubt(observedRun, step_id);
        return "not settled yet";
      }
      const principal = personPrincipal(observedRun, "ana");
      if (!this.#beginSettling && rng.chance(0.1)) {
        this.#settleDoubt(observedRun, step_id);
        return this.#resolve(observedRun, step_id, { principal, as: "verify" });
      }
      if (rng.chance(0.1)) return this.#resolve(observedRun, step_id, { principal, as: "give_up" });
      if (rng.chance(config.peopleBehaviour.undoes) && canUndo(step) && isSafeToUndo(step))
        return this.#resolve(observedRun, step_id, { principal, as: "undo" });
      if (!this.#happened(step, key)) return this.#resolve(observedRun, step_id, { principal, as: "absent" });
      return this.#resolve(observedRun, step_id, {
        principal,
        as: "happened",
        output: step.spec.name === SILENT_TOOL ? null : { tenant: observedRun.tenant, id: key, n: 1 },
      });
    });
  }

  #happened({ cause }: Step, key: EffectKey): boolean {
    const { world } = this.#sim;
    return cause?.by === "undo" ? (world.findUndo(key)?.times ?? 0) > 0 : world.isInEffect(key);
  }
}

function personPrincipal({ tenant }: ObservedRun, id: string): PrincipalInput {
  return { id, kind: "person", tenant };
}

function canUndo({ spec, cause }: Step): boolean {
  return cause?.by !== "undo" && simTools.some(({ name, compensate }) => name === spec.name && compensate !== null);
}

function isSafeToUndo({ spec }: Step): boolean {
  return simTools.some(({ name, safeIfAbsent }) => name === spec.name && safeIfAbsent);
}
