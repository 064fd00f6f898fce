import { FaultError } from "../src/core/fault.ts";
import type { EffectKey, GateId, RunId, StepId } from "../src/core/id.ts";
import type { JsonObject } from "../src/core/json/json.ts";
import { findStep, requesterOf, type Step } from "../src/core/run.ts";
import type { Engine, PrincipalInput, ResolveOptions } from "../src/engine/api.ts";
import { downstreamKey } from "../src/engine/digest.ts";
import { isAsked } from "./ballots.ts";
import { cast, MUTE } from "./cast.ts";
import type { Company } from "./company.ts";
import { clerks } from "./desk.ts";
import type { Fact, Kept } from "./record.ts";
import { board, FORBIDDEN } from "./rules.ts";
import type { Scene } from "./scene.ts";

/** What a person is told, and what is no surprise. */
const ordinary: readonly string[] = ["GATE_DECIDED", "GATE_EXPIRED", "NOT_POSSIBLE"];

/** Those who decide, look and repent: they say yes, no or nothing, twice or late, and some are not who they should be. */
export class People {
  readonly #scene: Scene;
  readonly #company: Company;
  readonly #resumes = new Map<RunId, number>();
  #calm = false;
  #busy = 0;

  constructor(scene: Scene, company: Company) {
    this.#scene = scene;
    this.#company = company;
    scene.record.witness((fact) => this.#notice(fact));
  }

  /** Nobody has anything in mind. */
  get done(): boolean {
    return this.#busy === 0;
  }

  /** From now on everyone does what they are there for. */
  calm(): void {
    this.#calm = true;
    for (const kept of this.#scene.record.all()) {
      if (kept.run.poison !== null) this.#release(kept);
      for (const { standing, spec } of kept.run.steps) {
        if (standing.state === "waiting_approval") this.#decide(kept, standing.gate_id);
        if (standing.state === "in_doubt") this.#lookAt(kept, spec.step_id);
      }
    }
  }

  #notice(fact: Fact): void {
    const { scene, kept, event, after } = fact;
    const { rng, swarm, counts } = scene;
    this.#noticeDoubts(fact);
    const { folk } = swarm;
    switch (event.type) {
      case "run.accepted":
        if (rng.chance(folk.cancels)) this.#cancel(kept);
        break;
      case "gate.opened":
        if (event.duplicate_of !== null) counts.duplicatesHeld += 1;
        if (rng.chance(folk.intrudes)) this.#intrude(kept, event.gate_id);
        if (this.#calm || !rng.chance(folk.vanishes)) this.#decide(kept, event.gate_id);
        break;
      case "gate.endorsed":
        if (this.#calm || !rng.chance(folk.vanishes)) this.#decide(kept, event.gate_id);
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
        this.#release(kept);
        break;
      case "step.uncompensated":
        counts.undosFailed += 1;
        break;
      case "step.succeeded":
        if (event.ledger !== undefined && rng.chance(folk.undoes)) this.#undo(kept, event.step_id);
        break;
      case "step.proposed":
        if (event.cause.by === "errand") counts.errands += 1;
        break;
      case "step.parked":
        if (event.on.for === "tool") counts.parked += 1;
        if (event.on.for === "rate") counts.tooOften += 1;
        break;
      case "run.ended":
        if (after.ended?.status !== "completed" && rng.chance(folk.resumes)) this.#resume(kept);
        break;
    }
  }

  /** Whatever falls into doubt is looked at by someone, sooner or later. */
  #noticeDoubts({ scene: { rng, swarm }, kept, before, after }: Fact): void {
    for (const step of before.steps) {
      const { standing } = after.steps.get(step.index);
      if (standing.state !== "in_doubt" || standing === step.standing) continue;
      if (this.#calm || !rng.chance(swarm.folk.vanishes)) this.#lookAt(kept, step.spec.step_id);
    }
  }

  /** Someone does something after a while. */
  #plan(name: string, about: string, inMs: number, happen: () => string): void {
    const { agenda } = this.#scene;
    this.#busy += 1;
    agenda.addAt(agenda.now() + inMs, {
      name,
      owner: 0,
      about,
      happen: () => {
        this.#busy -= 1;
        return happen();
      },
    });
  }

  #pause(): number {
    return this.#scene.rng.between(1, this.#calm ? 2000 : this.#scene.swarm.paceMs);
  }

  /** Goes to whatever door is open; comes back when the answer was not one. */
  #go(again: () => void, ask: (engine: Engine) => Promise<unknown>, forbidden = false): string {
    const asked = this.#company.ask("command", ask);
    if (asked === null) {
      again();
      return "nobody there";
    }
    void asked.then(
      () => {
        if (forbidden) this.#scene.violate("I7: someone who may not was let through");
      },
      (error: unknown) => this.#told(error, again, forbidden),
    );
    return "asked";
  }

  #told(error: unknown, again: () => void, forbidden: boolean): void {
    if (!(error instanceof FaultError)) {
      this.#scene.violate(`a person was told ${String(error)}`);
      return;
    }
    const { code } = error.fault;
    const unheard = code.startsWith("STORE_") || code === "ENGINE_CLOSED" || code === "TOOL_MISSING";
    if (this.#calm && (unheard || code === "NOT_POSSIBLE")) again();
    const unasked = code === "AUTH_FORBIDDEN" && this.#scene.rules !== null;
    if (!unheard && !ordinary.includes(code) && !forbidden && !unasked)
      this.#scene.violate(`a person was refused: ${error.message}`);
  }

  #decide(kept: Kept, gate: GateId): void {
    const { rng, swarm, counts } = this.#scene;
    this.#plan("decide", gate, this.#pause(), () => {
      if (kept.run.gates.get(gate)?.status !== "open") return "decided already";
      const principal = this.#voter(kept, gate);
      const edit = this.#edit(kept, gate);
      const denies = rng.chance(this.#calm ? swarm.folk.denies / 2 : swarm.folk.denies);
      if (denies) counts.denials += 1;
      const again = () => this.#decide(kept, gate);
      const say = (no: boolean) => (engine: Engine) =>
        no ? engine.reject(gate, { principal }) : engine.approve(gate, { principal, ...edit });
      if (rng.chance(swarm.folk.repeats)) this.#go(() => {}, say(rng.chance(0.3) ? !denies : denies));
      return this.#go(again, say(denies));
    });
  }

  /** Whoever comes by; in the end someone whose yes is asked for and was not given yet. */
  #voter(kept: Kept, gate: GateId): PrincipalInput {
    const { rng, rules, agenda } = this.#scene;
    const { tenant, run, ballots } = kept;
    const step = findStep(run, run.gates.get(gate)?.step_id as StepId);
    const ballot = ballots.get(gate);
    if (rules === null || step === undefined || ballot === undefined) return person(kept, this.#othersThan(kept, gate));
    const asker = requesterOf(run, step);
    const asking = step.cause?.by === "undo" ? null : (rules.asking.get(step.spec.name) ?? null);
    const wanted = board.filter(({ id, roles }) => {
      const fits = isAsked(asking, ballot.opened, asker, { by: id, roles, at: agenda.now() });
      return fits && !ballot.casts.some(({ by }) => by === id);
    });
    const anyone = wanted.length === 0 || (!this.#calm && rng.chance(0.3));
    const { id, roles } = rng.pick(anyone ? board.filter((each) => each.id !== asker) : wanted);
    return { id, roles, kind: "person", tenant };
  }

  /** Yes, but otherwise: in other words, to someone else, or as nobody may put it. */
  #edit({ run }: Kept, gate: GateId): { readonly input?: JsonObject } {
    const { rng, rules } = this.#scene;
    const held = run.gates.get(gate);
    const tool = held && findStep(run, held.step_id)?.spec.name;
    const known = [...cast, ...clerks].some(({ name }) => name === tool);
    if (rules === null || held === undefined || !known || !rng.chance(rules.edits)) return {};
    const input = held.call.input as JsonObject;
    if (rng.chance(0.3)) return { input: { ...input, to: "r0" } };
    return { input: { ...input, text: rng.pick([FORBIDDEN, "in other words"]) } };
  }

  /** Someone who did not ask for it. */
  #othersThan({ run }: Kept, gate: GateId): string {
    const step = findStep(run, run.gates.get(gate)?.step_id as StepId);
    return step !== undefined && requesterOf(run, step) === "ana" ? "bea" : "ana";
  }

  /** An agent, the one who asked, or a stranger tries to say yes. */
  #intrude(kept: Kept, gate: GateId): void {
    const { rng, counts, swarm } = this.#scene;
    counts.intrusions += 1;
    const others = swarm.tenants.filter(({ name }) => name !== kept.tenant);
    const { id } = kept.run.principal;
    const who = [
      { id: "robot", kind: "agent", tenant: kept.tenant },
      { id: "cron", kind: "service", tenant: kept.tenant },
      { id, kind: "person", tenant: kept.tenant },
      ...others.map(({ name }) => ({ id: "ana", kind: "person", tenant: name }) as const),
    ] as const;
    const principal: PrincipalInput = rng.pick(who);
    const stranger = principal.tenant !== kept.tenant;
    const intrude = (engine: Engine): Promise<unknown> =>
      stranger && rng.chance(0.5) ? engine.run(kept.run.id, { principal }) : engine.approve(gate, { principal });
    this.#plan("intrude", gate, this.#pause(), () => this.#go(() => {}, intrude, true));
  }

  #cancel(kept: Kept): void {
    this.#plan("cancel", kept.run.id, this.#pause(), () => {
      if (kept.run.ended !== null) return "too late";
      const principal = person(kept, "ana");
      return this.#go(
        () => {},
        async (engine) => (await engine.run(kept.run.id, { principal })).cancel({ reason: "changed my mind" }),
      );
    });
  }

  #resume(kept: Kept): void {
    const { id } = kept.run;
    const times = this.#resumes.get(id) ?? 0;
    if (times >= 2) return;
    this.#resumes.set(id, times + 1);
    this.#plan("resume", id, this.#pause(), () => {
      const status = kept.run.ended?.status;
      if (status !== "partial" && status !== "failed") return "not needed";
      const again = () => this.#resume(kept);
      return this.#go(again, (engine) => engine.resume(id, { principal: person(kept, "ana") }));
    });
  }

  /** Whatever is parked is looked into by someone, who lets it go on. */
  #release(kept: Kept): void {
    const { id } = kept.run;
    this.#plan("release", id, this.#pause(), () => {
      if (kept.run.poison === null || kept.run.ended !== null) return "not needed";
      const again = () => this.#release(kept);
      return this.#go(again, (engine) => engine.resume(id, { principal: person(kept, "ana") }));
    });
  }

  #undo(kept: Kept, step_id: StepId): void {
    this.#plan("undo", step_id, this.#pause(), () => {
      const step = findStep(kept.run, step_id) as Step;
      if (step.act?.state !== "committed" || !canUndo(step)) return "not possible";
      if (this.#scene.rng.chance(this.#scene.swarm.folk.repeats)) this.#undo(kept, step_id);
      return this.#resolve(kept, step_id, { principal: person(kept, "ana"), as: "undo" });
    });
  }

  #resolve(kept: Kept, step_id: StepId, options: ResolveOptions): string {
    const again = () => this.#lookAt(kept, step_id);
    const attempt = findStep(kept.run, step_id)?.act?.attempt;
    const looked = attempt === undefined ? options : { ...options, attempt };
    return this.#go(again, (engine) => engine.resolve(kept.run.id, step_id, looked));
  }

  /** A person looks at the world, and says what is there. Whoever cannot tell yet waits. */
  #lookAt(kept: Kept, step_id: StepId): void {
    const { rng, world, swarm } = this.#scene;
    this.#plan("look", step_id, this.#pause(), () => {
      const step = findStep(kept.run, step_id) as Step;
      if (step.standing.state !== "in_doubt") return "settled already";
      const automatic = step.standing.doubt.next.do !== "ask";
      const key = downstreamKey(step.call?.key as EffectKey, step.act?.generation ?? 1);
      if (world.mayStillLand(key) || (automatic && rng.chance(0.9))) {
        this.#lookAt(kept, step_id);
        return "cannot tell yet";
      }
      const principal = person(kept, "ana");
      if (!this.#calm && rng.chance(0.1)) {
        this.#lookAt(kept, step_id);
        return this.#resolve(kept, step_id, { principal, as: "verify" });
      }
      if (rng.chance(0.1)) return this.#resolve(kept, step_id, { principal, as: "give_up" });
      if (rng.chance(swarm.folk.undoes) && canUndo(step) && safeToUndo(step))
        return this.#resolve(kept, step_id, { principal, as: "undo" });
      if (!this.#happened(step, key)) return this.#resolve(kept, step_id, { principal, as: "absent" });
      return this.#resolve(kept, step_id, {
        principal,
        as: "happened",
        output: step.spec.name === MUTE ? null : { tenant: kept.tenant, id: key, n: 1 },
      });
    });
  }

  #happened({ cause }: Step, key: EffectKey): boolean {
    const { world } = this.#scene;
    return cause?.by === "undo" ? (world.undoing(key)?.times ?? 0) > 0 : world.stands(key);
  }
}

function person({ tenant }: Kept, id: string): PrincipalInput {
  return { id, kind: "person", tenant };
}

function canUndo({ spec, cause }: Step): boolean {
  return cause?.by !== "undo" && cast.some(({ name, compensate }) => name === spec.name && compensate !== null);
}

function safeToUndo({ spec }: Step): boolean {
  return cast.some(({ name, safeIfAbsent }) => name === spec.name && safeIfAbsent);
}
