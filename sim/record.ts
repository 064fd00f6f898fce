import type { Event } from "../src/core/event.ts";
import { evolve } from "../src/core/evolve.ts";
import type { EffectKey, RunId, StepId, Tenant } from "../src/core/id.ts";
import { type Json, type JsonObject, sameJson } from "../src/core/json/json.ts";
import { rowsOf } from "../src/core/rows-of.ts";
import { findStep, type Run, type Step, unbornRun } from "../src/core/run.ts";
import type { Claim, Entry, Put, SealedEvent } from "../src/core/store.ts";
import type { Tool, ToolContext } from "../src/core/tool.ts";
import { Ballots } from "./ballots.ts";
import { bodyText } from "./body.ts";
import { SECRET } from "./cast.ts";
import { judgeActs } from "./laws/acts.ts";
import { judgeAnswer } from "./laws/answers.ts";
import { judgeGates } from "./laws/gates.ts";
import { judgeAct, judgeAsking, judgeHalts } from "./laws/halts.ts";
import { judgeKin } from "./laws/kin.ts";
import { judgeErrands, judgeLife, judgeWaking } from "./laws/life.ts";
import { judgeLimits } from "./laws/limits.ts";
import { judgeMoves } from "./laws/moves.ts";
import { judgePoison } from "./laws/poison.ts";
import { judgePreviews } from "./laws/previews.ts";
import { judgeStarts } from "./laws/starts.ts";
import { judgeState } from "./laws/state.ts";
import { judgeTrust } from "./laws/trust.ts";
import { judgeVotes } from "./laws/votes.ts";
import type { Scene } from "./scene.ts";
import { isHalts } from "./standstill.ts";
import type { Dispatch } from "./world.ts";

/** A run as its stored bytes tell it, and what the laws remember of it beside. */
export interface Kept {
  readonly tenant: Tenant;
  run: Run;
  epoch: number;
  /** The worker that claimed it last, and until when nobody else may; 0: it was given back. */
  holder: number;
  until: number;
  /** The last event that someone outside was told of. */
  told: number;
  /** Failed tries of a step since it was last begun anew. */
  readonly failures: Map<StepId, number>;
  /** How it has ended so far: what was undone or resumed since had ended all the same. */
  readonly ends: Set<string>;
  /** How many workers lost it in turn since it last came further. */
  losses: number;
  /** Gates that let someone through, with the step they did it for. */
  readonly consumed: Map<string, StepId>;
  readonly charges: Map<string, number>;
  readonly ballots: Ballots;
}

/** What a handler says beside its answer. */
export interface Said {
  readonly usd_micros: number;
  readonly notices: number;
  readonly errands: number;
}

/** One fact, between what was before and what is after it. */
export interface Fact {
  readonly scene: Scene;
  readonly kept: Kept;
  readonly before: Run;
  readonly event: Event;
  readonly after: Run;
  /** The worker that wrote it. */
  readonly writer: number;
}

/** Who wants to know what has become true. */
export type Witness = (fact: Fact) => void;

/** The journal as an outsider reads it: every append is folded again from its bytes and held against the laws. */
export class RunRecord {
  readonly #scene: () => Scene;
  readonly #kept = new Map<RunId, Kept>();
  /** By effect key: the latest generation that was opened. */
  readonly generations = new Map<EffectKey, number>();
  /** The tenants of the boxes in which signals are kept, and of standing orders: each is a journal, and none is a run. */
  readonly #boxes: Tenant[] = [];
  readonly #witnesses: Witness[] = [];
  /** By attempt: one who has lost a run without knowing may ask once more what was asked before. */
  readonly #said = new Map<string, Said[]>();
  /** Values that a living, unfenced worker has heard: they must come to be on record. */
  #heard: Dispatch[] = [];

  constructor(scene: () => Scene) {
    this.#scene = scene;
  }

  witness(witness: Witness): void {
    this.#witnesses.push(witness);
  }

  all(): Iterable<Kept> {
    return this.#kept.values();
  }

  boxesOf(tenant: Tenant): number {
    return this.#boxes.filter((owner) => owner === tenant).length;
  }

  get(run: RunId): Kept | undefined {
    return this.#kept.get(run);
  }

  get heard(): readonly Dispatch[] {
    return this.#heard;
  }

  /** An entry has been written. */
  landed(entry: Entry, writer: number): void {
    const scene = this.#scene();
    if (isHalts(entry.run)) scene.standstill.landed(scene, entry);
    if (isBox(entry.run) || isOrder(entry.run) || isHalts(entry.run)) {
      if (entry.expect.position === 0) this.#boxes.push(entry.tenant);
      if (isBox(entry.run)) scene.counts.boxes += 1;
      return;
    }
    try {
      const kept = this.#keptOf(entry);
      if (entry.expect.epoch !== null && entry.expect.epoch !== kept.epoch) {
        scene.violate(`I4: ${entry.run} was written under epoch ${entry.expect.epoch}, it is ${kept.epoch}`);
      }
      const before = kept.run;
      const events = entry.events.map((sealed) => read(scene, entry.tenant, sealed));
      for (const event of events) this.#happened(scene, kept, event, writer);
      for (const event of events) judgeErrands(scene, event, kept.run);
      judgeWaking(scene, kept.run);
      this.#compareRows(scene, entry, rowsOf(before, events, kept.run));
    } catch (error) {
      scene.violate(`the record cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** What is known of a run now. Call it, and it is all that is known. */
  memory(id: RunId): () => void {
    const kept = this.#kept.get(id);
    const recall = this.#scene().shelf.memory();
    if (kept === undefined)
      return () => {
        this.#kept.delete(id);
        recall();
      };
    const { run, losses } = kept;
    const [failures, charges] = [new Map(kept.failures), new Map(kept.charges)];
    return () => {
      recall();
      kept.run = run;
      kept.losses = losses;
      become(kept.failures, failures);
      become(kept.charges, charges);
    };
  }

  #keptOf({ tenant, run }: Pick<Entry, "tenant" | "run">): Kept {
    let kept = this.#kept.get(run);
    if (kept === undefined) {
      const charges = new Map<string, number>();
      kept = {
        tenant,
        run: unbornRun(run, tenant),
        epoch: 0,
        holder: 0,
        until: 0,
        told: 0,
        failures: new Map(),
        losses: 0,
        ends: new Set(),
        consumed: new Map(),
        charges,
        ballots: new Ballots(),
      };
      this.#kept.set(run, kept);
    }
    return kept;
  }

  #happened(scene: Scene, kept: Kept, event: Event, writer: number): void {
    const before = kept.run;
    const after = evolve(before, event);
    kept.run = after;
    const fact: Fact = { scene, kept, before, event, after, writer };
    judgeMoves(fact);
    judgeStarts(fact);
    judgeLife(fact);
    judgeLimits(fact);
    judgePoison(fact);
    judgeKin(fact);
    judgeState(fact);
    judgePreviews(fact);
    judgeGates(fact);
    judgeVotes(fact);
    judgeTrust(fact);
    judgeHalts(fact);
    judgeActs(fact);
    for (const witness of this.#witnesses) witness(fact);
  }

  /** I13: what the writer's running fold made of it is what its bytes make of it. */
  #compareRows(scene: Scene, { run, puts }: Entry, expected: readonly Put[]): void {
    const same = puts.length === expected.length && puts.every((put, index) => samePut(put, expected[index] as Put));
    if (!same) scene.violate(`I13: ${run} wrote rows that its events do not add up to`);
  }

  claimed({ run, tenant, epoch }: Claim, holder: number): void {
    const scene = this.#scene();
    const kept = this.#keptOf({ run, tenant });
    if (kept.tenant !== tenant) scene.violate(`I10: ${run} of ${kept.tenant} was claimed for ${tenant}`);
    if (epoch <= kept.epoch) scene.violate(`I4: the epoch of ${run} went from ${kept.epoch} to ${epoch}`);
    if (kept.holder !== holder && scene.agenda.now() < kept.until)
      scene.violate(`I4: ${run} was claimed by ${holder} while the lease of ${kept.holder} lasts`);
    if (kept.holder !== 0 && kept.holder !== holder) scene.counts.takeovers += 1;
    kept.epoch = epoch;
    kept.holder = holder;
    kept.until = scene.agenda.now() + scene.swarm.leaseMs;
  }

  renewed(claims: readonly Claim[]): void {
    const scene = this.#scene();
    for (const claim of claims) {
      const kept = this.#leased(scene, claim);
      if (claim.epoch === kept.epoch && kept.until > 0) kept.until = scene.agenda.now() + scene.swarm.leaseMs;
    }
  }

  /** Whoever gives a run back has put on record what it had heard. */
  released(claim: Claim, stopping: boolean): void {
    const scene = this.#scene();
    const kept = this.#leased(scene, claim);
    if (claim.epoch !== kept.epoch) return;
    kept.until = 0;
    if (stopping) return; // It does not wait for a store that fails.
    for (const dispatch of this.#heard) if (dispatch.run === claim.run) judgeAnswer(scene, dispatch);
  }

  #leased(scene: Scene, { run, tenant }: Claim): Kept {
    const kept = this.#keptOf({ run, tenant });
    const epoch = scene.tables.epoch(tenant, run);
    if (epoch !== kept.epoch) scene.violate(`I4: the epoch of ${run} is ${epoch}, it was ${kept.epoch}`);
    return kept;
  }

  /** A tool that only computes or reads is called. */
  asked(tool: Tool, input: Json, { run_id, step_id }: ToolContext, worker: number): void {
    const kept = this.#kept.get(run_id);
    if (kept === undefined) return; // A rehearsal computes, too.
    const step = this.#called(tool, input, run_id, step_id);
    if (step === null) return;
    this.#inOrder(step, run_id);
    judgeAsking(this.#scene(), kept.run, step, worker);
    // Of one who holds it no longer, and does not know that yet, nothing better can be asked.
    const holds = kept.holder === worker && this.#scene().agenda.now() < kept.until;
    if (step.standing.state === "succeeded" && holds && !this.#isTrial(step))
      this.#scene().violate(`I2: ${run_id} ${step_id} has its answer on record, and ${tool.name} was asked again`);
  }

  /** What takes a yes is tried before anyone is asked for it, and put on record before it is called for good. */
  #isTrial({ spec, standing }: Step): boolean {
    const held = spec.gate !== "none" || this.#scene().rules?.asking.has(spec.name) === true;
    return held && standing.state !== "running";
  }

  said({ run_id, step_id, attempt }: ToolContext, said: Said): void {
    const name = `${run_id} ${step_id} ${attempt}`;
    const before = this.#said.get(name);
    if (before === undefined) this.#said.set(name, [said]);
    else before.push(said);
  }

  /** What was said, perhaps more than once, in an attempt. */
  saidIn(run: RunId, step: StepId, attempt: number): readonly Said[] {
    return this.#said.get(`${run} ${step} ${attempt}`) ?? [];
  }

  /** A tool is let loose on the world: the record must have said so before. */
  acting(tool: Tool, input: Json, { run_id, step_id, attempt }: ToolContext, worker: number): void {
    const scene = this.#scene();
    const step = this.#called(tool, input, run_id, step_id);
    if (step === null) return;
    this.#inOrder(step, run_id);
    judgeAct(scene, (this.#kept.get(run_id) as Kept).run, step);
    const where = `${run_id} ${step_id}.${attempt} (${tool.name}, by ${worker})`;
    const { standing, act } = step;
    const begun = standing.state === "running" && standing.attempt === attempt && act !== null;
    // Another worker may have taken the run over since the marker was written; then it must be known to be in doubt.
    const doubted = standing.state === "in_doubt" && act?.attempt === attempt;
    if (!begun && !doubted) scene.violate(`I1: ${where} was called while it is ${standing.state} on record`);
    if (begun && !sameJson(step.call?.input ?? null, undoInput(step) ?? input))
      scene.violate(`I7: ${where} got another input than was recorded`);
    const tenant = this.#kept.get(run_id)?.tenant as Tenant;
    if (scene.tables.markers.get(tenant, run_id, step_id, attempt) === undefined)
      scene.violate(`I1: ${where} was called without a send marker`);
  }

  #called(tool: Tool, input: Json, run_id: RunId, step_id: StepId): Step | null {
    const scene = this.#scene();
    const kept = this.#kept.get(run_id);
    const step = kept && findStep(kept.run, step_id);
    if (kept === undefined || step === undefined) {
      scene.violate(`${tool.name} was called for ${run_id} ${step_id}, which is not on record`);
      return null;
    }
    if ((input as JsonObject).tenant !== kept.tenant)
      scene.violate(
        `I10: ${run_id} of ${kept.tenant} calls ${tool.name} with what belongs to ${(input as JsonObject).tenant}`,
      );
    return step;
  }

  /** I9: nothing runs before what it needs. */
  #inOrder({ spec }: Step, run: RunId): void {
    const kept = this.#kept.get(run) as Kept;
    for (const needed of spec.depends_on) {
      const state = findStep(kept.run, needed)?.standing.state;
      if (
        state !== "succeeded" &&
        state !== "compensating" &&
        state !== "compensated" &&
        state !== "compensation_failed"
      )
        this.#scene().violate(`I9: ${run} ${spec.step_id} was called while ${needed} is ${state}`);
    }
  }

  /** A value has reached a living worker. */
  answered(dispatch: Dispatch): void {
    const kept = this.#kept.get(dispatch.run);
    if (kept?.holder === dispatch.sender && kept.epoch === dispatch.epoch) this.#heard.push(dispatch);
  }

  /** What a worker had heard dies with it. */
  bereave(sender: number): void {
    this.#heard = this.#heard.filter((dispatch) => dispatch.sender !== sender);
  }

  timeoutOf(run: RunId, step: StepId): number | null {
    const kept = this.#kept.get(run);
    return (kept && findStep(kept.run, step)?.spec.timeout_ms) ?? null;
  }

  /** What a call would make true, as the scenario sees it: the same words to the same one are the same act. */
  factOf(tool: Tool, input: Json, { run_id, step_id }: Pick<ToolContext, "run_id" | "step_id">): string {
    const kept = this.#kept.get(run_id);
    const step = kept && findStep(kept.run, step_id);
    const { tenant, to } = input as { tenant: string; to: string };
    if (tool.identity !== null) return `${tenant}/${tool.name}/${to}`;
    if (step?.spec.idempotency_template != null) return `${tenant}/${tool.name}/template/${to}`;
    return `${tenant}/${tool.name}/${run_id}/${step_id}`;
  }
}

function become<Key, Value>(map: Map<Key, Value>, other: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of other) map.set(key, value);
}

/** What an undo receives is put together from the act it undoes. */
function undoInput({ cause, call }: Step): Json | null {
  return cause?.by === "undo" ? (call?.input ?? null) : null;
}

function samePut(left: Put, right: Put): boolean {
  return left.table === right.table && left.key === right.key && left.was === right.was && left.row === right.row;
}

/** An event as its bytes have it. */
function read({ tables, violate }: Scene, tenant: Tenant, { type, at, body }: SealedEvent): Event {
  const text = bodyText(tables, tenant, body);
  if (text.includes(SECRET)) violate(`I15: a secret of ${tenant} is on record in ${type}`);
  return { type, at, ...JSON.parse(text) } as Event;
}

function isBox(run: RunId): boolean {
  return run.startsWith("sig_");
}

function isOrder(run: RunId): boolean {
  return run.startsWith("sch_");
}
