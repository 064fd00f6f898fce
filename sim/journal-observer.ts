import type { Event } from "../src/core/event/event.ts";
import { eventRows } from "../src/core/evolve/event-rows.ts";
import { evolve } from "../src/core/evolve/evolve.ts";
import { emptyRun, findStep, type Run, type Step } from "../src/core/run/run.ts";
import type { Claim, Entry, Put, SealedEvent } from "../src/core/store/store.ts";
import type { Tool, ToolContext } from "../src/core/tool/tool.ts";
import type { EffectKey, RunId, StepId, Tenant } from "../src/core/values/ids.ts";
import { type Json, type JsonObject, sameJson } from "../src/core/values/json.ts";
import type { ToolRequest } from "./external-world.ts";
import { isHaltJournalName } from "./halt-model.ts";
import { checkActs } from "./invariants/check-acts.ts";
import { checkAnswer } from "./invariants/check-answer.ts";
import { checkChildRuns } from "./invariants/check-child-runs.ts";
import { checkDependencies } from "./invariants/check-dependencies.ts";
import { checkGates } from "./invariants/check-gates.ts";
import { checkActAllowed, checkCallAllowed, checkHalts } from "./invariants/check-halts.ts";
import { checkLimits } from "./invariants/check-limits.ts";
import { checkPoisonedRuns } from "./invariants/check-poisoned-runs.ts";
import { checkPreviews } from "./invariants/check-previews.ts";
import { checkClaimTerms, checkRules } from "./invariants/check-rules.ts";
import { checkErrands, checkRunLifecycle, checkWakeups } from "./invariants/check-run-lifecycle.ts";
import { checkStarts } from "./invariants/check-starts.ts";
import { checkState } from "./invariants/check-state.ts";
import { checkStepTransitions } from "./invariants/check-step-transitions.ts";
import { checkTrust } from "./invariants/check-trust.ts";
import { checkVotes } from "./invariants/check-votes.ts";
import { readEventBody } from "./read-event-body.ts";
import { NO_FAULTS } from "./seed-config.ts";
import type { SimContext } from "./sim-context.ts";
import { SECRET_OUTPUT } from "./sim-tools.ts";
import { VoteModel } from "./vote-model.ts";

/** A due run that is claimed more often without an event is claimed again and again. */
const MAX_IDLE_CLAIMS = 10;

/** A run folded from its stored bytes, and what the invariants record about it. */
export interface ObservedRun {
  readonly tenant: Tenant;
  run: Run;
  epoch: number;
  /** The worker that claimed it last, and the end of its lease; 0: the lease was released. */
  holder: number;
  until: number;
  /** Claims without faults since the last event. */
  idleClaims: number;
  /** The position of the last event that a caller was told. */
  reportedPosition: number;
  /** By step: failed attempts since it was last reset. */
  readonly failures: Map<StepId, number>;
  /** Every status with which the run has ended, including endStatuses before it was resumed or undone. */
  readonly endStatuses: Set<string>;
  /** How many workers lost the run in turn without progress. */
  losses: number;
  /** By consumed gate: the step that consumed it. */
  readonly consumed: Map<string, StepId>;
  readonly charges: Map<string, number>;
  readonly votes: VoteModel;
}

/** The cost, notices and errands of one call. */
export interface SideOutputs {
  readonly usd_micros: number;
  readonly notices: number;
  readonly errands: number;
}

/** A recorded event, with the run before and after it. */
export interface ObservedEvent {
  readonly sim: SimContext;
  readonly observedRun: ObservedRun;
  readonly before: Run;
  readonly event: Event;
  readonly after: Run;
  /** The worker that wrote it. */
  readonly writer: number;
}

/** Is called for every recorded event. */
export type EventListener = (observedEvent: ObservedEvent) => void;

/** Folds every append again from its bytes and checks the invariants, independently of the engine. */
export class JournalObserver {
  readonly #sim: () => SimContext;
  readonly #runs = new Map<RunId, ObservedRun>();
  /** By effect key: the latest generation. */
  readonly generations = new Map<EffectKey, number>();
  /** The tenants of the journals that are not runs: signal boxes, schedules and halts. */
  readonly #otherJournals: Tenant[] = [];
  readonly #listeners: EventListener[] = [];
  /** By attempt: a worker that lost the run without knowing may make the same call again. */
  readonly #sideOutputs = new Map<string, SideOutputs[]>();
  /** The runs, steps and workers of the outputs that workers have received. */
  readonly #outputs = new Set<string>();
  /** Answers that reached a live worker which holds the run: they must be recorded. */
  #receivedAnswers: ToolRequest[] = [];

  constructor(sim: () => SimContext) {
    this.#sim = sim;
  }

  onEvent(listener: EventListener): void {
    this.#listeners.push(listener);
  }

  all(): Iterable<ObservedRun> {
    return this.#runs.values();
  }

  countOtherJournals(tenant: Tenant): number {
    return this.#otherJournals.filter((owner) => owner === tenant).length;
  }

  get(run: RunId): ObservedRun | undefined {
    return this.#runs.get(run);
  }

  get receivedAnswers(): readonly ToolRequest[] {
    return this.#receivedAnswers;
  }

  /** Checks an entry that has been appended. */
  observeEntry(entry: Entry, writer: number): void {
    const sim = this.#sim();
    if (isHaltJournalName(entry.run)) sim.haltModel.apply(sim, entry);
    if (isSignalBox(entry.run) || isSchedule(entry.run) || isHaltJournalName(entry.run)) {
      if (entry.expect.position === 0) this.#otherJournals.push(entry.tenant);
      if (isSignalBox(entry.run)) sim.counts.boxes += 1;
      return;
    }
    try {
      const observedRun = this.#findOrAdd(entry);
      if (entry.expect.epoch !== null && entry.expect.epoch !== observedRun.epoch) {
        sim.violate(`I4: ${entry.run} was written under epoch ${entry.expect.epoch} instead of ${observedRun.epoch}`);
      }
      const before = observedRun.run;
      const events = entry.events.map((sealed) => parseEvent(sim, entry.tenant, sealed));
      for (const event of events) this.#observeEvent(sim, observedRun, event, writer);
      for (const event of events) checkErrands(sim, event, observedRun.run);
      checkWakeups(sim, observedRun.run);
      checkRules(sim, entry, events, observedRun.run, writer);
      this.#compareRows(sim, entry, eventRows(before, events, observedRun.run));
    } catch (error) {
      sim.violate(`the journal cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Saves the observations about a run; the returned function restores them. */
  save(id: RunId): () => void {
    const observedRun = this.#runs.get(id);
    const restoreState = this.#sim().stateVersions.save();
    if (observedRun === undefined)
      return () => {
        this.#runs.delete(id);
        restoreState();
      };
    const { run, losses } = observedRun;
    const [failures, charges] = [new Map(observedRun.failures), new Map(observedRun.charges)];
    return () => {
      restoreState();
      observedRun.run = run;
      observedRun.losses = losses;
      replaceEntries(observedRun.failures, failures);
      replaceEntries(observedRun.charges, charges);
    };
  }

  #findOrAdd({ tenant, run }: Pick<Entry, "tenant" | "run">): ObservedRun {
    let observedRun = this.#runs.get(run);
    if (observedRun === undefined) {
      const charges = new Map<string, number>();
      observedRun = {
        tenant,
        run: emptyRun(run, tenant),
        epoch: 0,
        holder: 0,
        until: 0,
        idleClaims: 0,
        reportedPosition: 0,
        failures: new Map(),
        losses: 0,
        endStatuses: new Set(),
        consumed: new Map(),
        charges,
        votes: new VoteModel(),
      };
      this.#runs.set(run, observedRun);
    }
    return observedRun;
  }

  #observeEvent(sim: SimContext, observedRun: ObservedRun, event: Event, writer: number): void {
    const before = observedRun.run;
    const after = evolve(before, event);
    observedRun.run = after;
    observedRun.idleClaims = 0;
    const observedEvent: ObservedEvent = { sim, observedRun, before, event, after, writer };
    checkStepTransitions(observedEvent);
    checkStarts(observedEvent);
    checkRunLifecycle(observedEvent);
    checkLimits(observedEvent);
    checkPoisonedRuns(observedEvent);
    checkChildRuns(observedEvent);
    checkState(observedEvent);
    checkPreviews(observedEvent);
    checkGates(observedEvent);
    checkVotes(observedEvent);
    checkTrust(observedEvent);
    checkHalts(observedEvent);
    checkActs(observedEvent);
    for (const listener of this.#listeners) listener(observedEvent);
  }

  /** I13: the rows that the writer computed equal the rows of the stored events. */
  #compareRows(sim: SimContext, { run, puts }: Entry, expected: readonly Put[]): void {
    const same = puts.length === expected.length && puts.every((put, index) => samePut(put, expected[index] as Put));
    if (!same) sim.violate(`I13: ${run} wrote rows that do not follow from its events`);
  }

  observeClaim(claim: Claim, holder: number): void {
    const { run, tenant, epoch } = claim;
    const sim = this.#sim();
    const observedRun = this.#findOrAdd({ run, tenant });
    if (observedRun.tenant !== tenant) sim.violate(`I10: ${run} of ${observedRun.tenant} was claimed for ${tenant}`);
    if (epoch <= observedRun.epoch) sim.violate(`I4: the epoch of ${run} went from ${observedRun.epoch} to ${epoch}`);
    if (observedRun.holder !== holder && sim.scheduler.now() < observedRun.until)
      sim.violate(`I4: ${run} was claimed by ${holder} while the lease of ${observedRun.holder} lasts`);
    if (observedRun.holder !== 0 && observedRun.holder !== holder) sim.counts.takeovers += 1;
    checkClaimTerms(sim, observedRun.run, claim, holder);
    observedRun.idleClaims += sim.rates === NO_FAULTS ? 1 : 0;
    if (observedRun.idleClaims > MAX_IDLE_CLAIMS)
      sim.violate(`I11: ${run} was claimed ${observedRun.idleClaims} times, and nothing was recorded`);
    observedRun.epoch = epoch;
    observedRun.holder = holder;
    observedRun.until = sim.scheduler.now() + sim.config.leaseMs;
  }

  observeRenewal(claims: readonly Claim[]): void {
    const sim = this.#sim();
    for (const claim of claims) {
      const observedRun = this.#checkEpoch(sim, claim);
      if (claim.epoch === observedRun.epoch && observedRun.until > 0)
        observedRun.until = sim.scheduler.now() + sim.config.leaseMs;
    }
  }

  /** A worker that releases a run has recorded every answer it received. */
  observeRelease(claim: Claim, stopping: boolean): void {
    const sim = this.#sim();
    const observedRun = this.#checkEpoch(sim, claim);
    if (claim.epoch !== observedRun.epoch) return;
    observedRun.until = 0;
    if (stopping) return; // A stopping worker does not wait for a failing store.
    for (const request of this.#receivedAnswers) if (request.run === claim.run) checkAnswer(sim, request);
  }

  #checkEpoch(sim: SimContext, { run, tenant }: Claim): ObservedRun {
    const observedRun = this.#findOrAdd({ run, tenant });
    const epoch = sim.tables.epoch(tenant, run);
    if (epoch !== observedRun.epoch) sim.violate(`I4: the epoch of ${run} is ${epoch} instead of ${observedRun.epoch}`);
    return observedRun;
  }

  /** Checks a call of a tool that is not an act. */
  observeCall(tool: Tool, input: Json, { run_id, step_id }: ToolContext, worker: number): void {
    const observedRun = this.#runs.get(run_id);
    if (observedRun === undefined) {
      // A simulation by the engine calls tools too, but none that reads. A new run is recorded before it reads.
      if (tool.effect === "reads") this.#sim().violate(`${tool.name} was called for ${run_id}, which is not recorded`);
      return;
    }
    const step = this.#findCalledStep(tool, input, run_id, step_id);
    if (step === null) return;
    checkDependencies(this.#sim(), observedRun.run, step, (needed) =>
      this.#outputs.has(`${run_id} ${needed} ${worker}`),
    );
    checkCallAllowed(this.#sim(), observedRun.run, step, worker);
    // A worker whose lease has expired may not know yet that the answer is recorded.
    const holds = observedRun.holder === worker && this.#sim().scheduler.now() < observedRun.until;
    if (step.standing.state === "succeeded" && holds && !this.#isPreview(step))
      this.#sim().violate(`I2: ${run_id} ${step_id} has a recorded answer, but ${tool.name} was called again`);
  }

  /** True if the call only computes a preview: a call that needs approval is recorded as running before it executes. */
  #isPreview({ spec, standing }: Step): boolean {
    const held = spec.gate !== "none" || this.#sim().rules?.requiredVotes.has(spec.name) === true;
    return held && standing.state !== "running";
  }

  observeSideOutputs({ run_id, step_id, attempt }: ToolContext, outputs: SideOutputs): void {
    const name = `${run_id} ${step_id} ${attempt}`;
    const before = this.#sideOutputs.get(name);
    if (before === undefined) this.#sideOutputs.set(name, [outputs]);
    else before.push(outputs);
  }

  /** Returns the side outputs of each call of an attempt. */
  sideOutputsOf(run: RunId, step: StepId, attempt: number): readonly SideOutputs[] {
    return this.#sideOutputs.get(`${run} ${step} ${attempt}`) ?? [];
  }

  /** Checks a call of an act: its start must be recorded before. */
  observeAct(tool: Tool, input: Json, { run_id, step_id, attempt }: ToolContext, worker: number): void {
    const sim = this.#sim();
    const step = this.#findCalledStep(tool, input, run_id, step_id);
    if (step === null) return;
    const { run } = this.#runs.get(run_id) as ObservedRun;
    checkDependencies(sim, run, step, null);
    checkActAllowed(sim, run, step);
    const where = `${run_id} ${step_id}.${attempt} (${tool.name}, by ${worker})`;
    const { standing, act } = step;
    const begun = standing.state === "running" && standing.attempt === attempt && act !== null;
    // Another worker may have taken over the run since the marker was written; then the act must be in doubt.
    const doubted = standing.state === "in_doubt" && act?.attempt === attempt;
    if (!begun && !doubted) sim.violate(`I1: ${where} was called while its recorded state is ${standing.state}`);
    if (begun && !sameJson(step.call?.input ?? null, undoInput(step) ?? input))
      sim.violate(`I7: ${where} received an input other than the recorded one`);
    const tenant = this.#runs.get(run_id)?.tenant as Tenant;
    if (sim.tables.markers.get(tenant, run_id, step_id, attempt) === undefined)
      sim.violate(`I1: ${where} was called without a send marker`);
  }

  #findCalledStep(tool: Tool, input: Json, run_id: RunId, step_id: StepId): Step | null {
    const sim = this.#sim();
    const observedRun = this.#runs.get(run_id);
    const step = observedRun && findStep(observedRun.run, step_id);
    // A call that leaves nothing outside may be made in the turn in which its run is accepted.
    if (step === undefined && (tool.effect === "pure" || tool.effect === "writes")) return null;
    if (observedRun === undefined || step === undefined) {
      sim.violate(`${tool.name} was called for ${run_id} ${step_id}, which is not recorded`);
      return null;
    }
    if ((input as JsonObject).tenant !== observedRun.tenant)
      sim.violate(
        `I10: ${run_id} of ${observedRun.tenant} calls ${tool.name} with data of ${(input as JsonObject).tenant}`,
      );
    return step;
  }

  /** Records the output of a call that is not an act, when it reaches its worker. */
  observeOutput({ run_id, step_id }: ToolContext, worker: number): void {
    this.#outputs.add(`${run_id} ${step_id} ${worker}`);
  }

  /** Records an answer that reached a live worker. */
  observeAnswer(request: ToolRequest): void {
    const observedRun = this.#runs.get(request.run);
    if (observedRun?.holder === request.sender && observedRun.epoch === request.epoch)
      this.#receivedAnswers.push(request);
  }

  /** Drops the answers that a dead worker had not recorded. */
  forgetAnswersOf(sender: number): void {
    this.#receivedAnswers = this.#receivedAnswers.filter((request) => request.sender !== sender);
  }

  findTimeout(run: RunId, step: StepId): number | null {
    const observedRun = this.#runs.get(run);
    return (observedRun && findStep(observedRun.run, step)?.spec.timeout_ms) ?? null;
  }

  /** Returns the name of an effect in the terms of the scenario: calls with the same name are the same act. */
  effectName(tool: Tool, input: Json, { run_id, step_id }: Pick<ToolContext, "run_id" | "step_id">): string {
    const observedRun = this.#runs.get(run_id);
    const step = observedRun && findStep(observedRun.run, step_id);
    const { tenant, to } = input as { tenant: string; to: string };
    if (tool.identity !== null) return `${tenant}/${tool.name}/${to}`;
    if (step?.spec.idempotency_template != null) return `${tenant}/${tool.name}/template/${to}`;
    return `${tenant}/${tool.name}/${run_id}/${step_id}`;
  }
}

function replaceEntries<Key, Value>(map: Map<Key, Value>, other: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of other) map.set(key, value);
}

/** Returns the recorded input of an undo, which is built from the act it undoes; null: the step is no undo. */
function undoInput({ cause, call }: Step): Json | null {
  return cause?.by === "undo" ? (call?.input ?? null) : null;
}

function samePut(left: Put, right: Put): boolean {
  return left.table === right.table && left.key === right.key && left.was === right.was && left.row === right.row;
}

/** Parses an event from its stored bytes. */
function parseEvent({ tables, violate }: SimContext, tenant: Tenant, { type, at, body }: SealedEvent): Event {
  const text = readEventBody(tables, tenant, body);
  if (text.includes(SECRET_OUTPUT)) violate(`I15: a secret of ${tenant} is recorded in ${type}`);
  return { type, at, ...JSON.parse(text) } as Event;
}

function isSignalBox(run: RunId): boolean {
  return run.startsWith("sig_");
}

function isSchedule(run: RunId): boolean {
  return run.startsWith("sch_");
}
