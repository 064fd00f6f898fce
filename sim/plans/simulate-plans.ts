import type { Event } from "../../src/core/event/event.ts";
import { foldEvents } from "../../src/core/evolve/evolve.ts";
import { emptyRun, type Run } from "../../src/core/run/run.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { JournalCodec } from "../../src/engine/journal/journal-codec.ts";
import { type MemoryStore, memoryStore } from "../../src/store/memory/memory-store.ts";
import { Rng } from "../rng.ts";
import type { SeedOutcome } from "../search-with.ts";
import { Trace } from "../trace.ts";
import { VirtualScheduler } from "../virtual-scheduler.ts";
import { watchAssertions } from "../watch-assertions.ts";
import { drawPlanCase, type PlanCase } from "./plan-case.ts";
import { type PlanEnd, type PlanHistory, planModel } from "./plan-model.ts";
import { entries, newPlanCounters, type PlanContext, PlanProcess } from "./plan-process.ts";

/** A case that has not ended this many steps after the faults ended is stuck. */
const MAX_SETTLING_STEPS = 20_000;
const FAULT_STEPS = 600;
const LEASE_MS = 5000;
/** The state before the plan. */
const BEFORE = { a: "before" } as const;
const agent = { id: "bot", kind: "agent", tenant: "acme" } as const;
const person = { id: "ana", kind: "person", tenant: "acme" } as const;

/** Simulates one random plan with random failures and killed processes, and compares its end with the serial model. */
export async function simulatePlans(seed: number, about: string | null = null): Promise<SeedOutcome> {
  const simulation = new PlanSimulation(seed, about);
  const unwatch = watchAssertions((message) => simulation.violate(`an assertion of the engine failed: ${message}`));
  try {
    await simulation.run();
  } finally {
    unwatch();
  }
  return simulation.outcome();
}

class PlanSimulation {
  readonly #seed: number;
  readonly #case: PlanCase;
  readonly #trace: Trace;
  readonly #sim: PlanContext;
  readonly #store: MemoryStore;
  readonly #processes: PlanProcess[] = [];
  #violation: SeedOutcome["violation"] = null;
  #steps = 0;
  #run: RunId | null = null;
  #hasEnded = false;
  #isCancelling = false;

  constructor(seed: number, about: string | null) {
    this.#seed = seed;
    this.#trace = new Trace(about);
    const rng = new Rng(seed);
    this.#case = drawPlanCase(rng);
    const scheduler = new VirtualScheduler(rng, { timerFirst: 0.05, skip: 0.1, skipMs: 2000, latencyMs: 20 });
    this.#store = memoryStore({ clock: scheduler, leaseMs: LEASE_MS });
    let ids = 0;
    this.#sim = {
      rng,
      scheduler,
      store: this.#store,
      plan: this.#case,
      world: new Map(),
      failures: new Map(),
      counts: newPlanCounters(),
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${String(ids).padStart(6, "0")}`;
      },
      violate: (law) => this.violate(law),
    };
    for (let count = 0; count < 2; count += 1) this.#start();
    void this.#submit();
  }

  violate(law: string): void {
    this.#violation ??= { law, lines: this.#trace.lines() };
  }

  outcome(): SeedOutcome {
    const { counts } = this.#sim;
    return { seed: this.#seed, steps: this.#steps, violation: this.#violation, counts, trace: this.#trace.hash };
  }

  run(): Promise<void> {
    return new Promise((resolve) => {
      const hop = () => process.nextTick(next);
      const next = () => {
        if (this.#violation !== null || !this.#step()) return resolve(this.#compare());
        return queueMicrotask(hop);
      };
      next();
    });
  }

  #start(): void {
    this.#processes.push(new PlanProcess(this.#sim, this.#processes.length + 1));
  }

  #alive(): readonly PlanProcess[] {
    return this.#processes.filter(({ isAlive }) => isAlive);
  }

  /** Writes the state before the plan, then submits the plan until it is on record. */
  async #submit(): Promise<void> {
    const { scheduler } = this.#sim;
    const plan = {
      ...(this.#case.isAtomic && { atomicity: "plan" }),
      steps: this.#case.steps.map(({ id, kind, needs, key, failures, onFailure, undo }) => ({
        step_id: id,
        name: kind === "act" ? (undo === null ? "act" : "act_back") : kind,
        payload: { id, key },
        depends_on: needs,
        on_failure: onFailure,
        // An attempt that dies with its process counts, too.
        retries: failures === 1 ? 12 : 2,
      })),
    };
    for (const [requestKey, steps] of [
      ["before", { steps: [{ step_id: "w", name: "write", payload: { id: BEFORE.a, key: "a" } }] }],
      ["plan", plan],
    ] as const) {
      for (;;) {
        const process = this.#sim.rng.pick(this.#alive());
        const options = { principal: agent, project: "p", requestKey };
        const found = await until(process, scheduler, async () => {
          const run = await (await process.opened).submit(steps, options);
          if (requestKey === "before") await run.finished();
          return run;
        });
        if (found === null) continue;
        if (requestKey === "plan") this.#run = found.run_id;
        break;
      }
    }
    await this.#watch();
  }

  async #watch(): Promise<void> {
    const { scheduler, rng } = this.#sim;
    while (!this.#hasEnded) {
      const process = rng.pick(this.#alive());
      const ended = await until(process, scheduler, async () => {
        const run = await (await process.opened).run(this.#run as RunId, { principal: person });
        return (await run.finished()).status;
      });
      if (ended !== null) this.#hasEnded = true;
    }
  }

  #step(): boolean {
    const { scheduler, rng, counts } = this.#sim;
    const isFaulty = this.#run !== null && this.#steps < FAULT_STEPS;
    if (isFaulty && rng.chance(this.#case.killed)) {
      rng.pick(this.#alive()).kill();
      counts.killed += 1;
      this.#start();
    }
    if (this.#hasEnded) return false;
    if (this.#run !== null && this.#case.cancelAt !== null && this.#steps >= this.#case.cancelAt && !this.#isCancelling)
      void this.#cancel();
    if (this.#steps > FAULT_STEPS + MAX_SETTLING_STEPS) return this.#stuck("not settled");
    const pending = scheduler.next();
    if (pending === null) return this.#stuck("nothing is pending");
    this.#steps += 1;
    this.#trace.note(this.#steps, scheduler.elapsedMs, pending, pending.execute());
    return true;
  }

  #stuck(why: string): false {
    this.violate(`P1: the run does not end: ${why}`);
    return false;
  }

  async #cancel(): Promise<void> {
    this.#isCancelling = true;
    const process = this.#sim.rng.pick(this.#alive());
    const work = async () => (await (await process.opened).run(this.#run as RunId, { principal: agent })).cancel();
    await until(process, this.#sim.scheduler, work);
  }

  /** Compares the end of the run with that of the model. */
  async #compare(): Promise<void> {
    if (this.#violation !== null || this.#run === null) return;
    const { events, run } = await this.#readRun(this.#run);
    const history = historyOf(events);
    const { counts } = this.#sim;
    const model = planModel(this.#case, history, BEFORE);
    if ("impossible" in model) return this.violate(`P2: no serial run has this history: ${model.impossible}`);
    const engine = await this.#endOf(run);
    if (JSON.stringify(sorted(engine)) !== JSON.stringify(sorted(model)))
      return this.violate(`P3: the engine ends as ${JSON.stringify(engine)}, the model as ${JSON.stringify(model)}`);
    counts.atomic += Number(this.#case.isAtomic);
    counts.rolledBack += Number(run.rollback !== null);
    counts.cancelled += Number(history.isCancelled);
    counts.undone += Object.values(model.world).filter(({ undone }) => undone > 0).length;
    counts.notUndone += Object.values(model.steps).filter((state) => state === "compensation_failed").length;
    counts.doubts += events.filter(({ type }) => type === "step.doubted").length;
    if ((run.rollback !== null) !== (this.#case.isAtomic && (history.isCancelled || history.stopped !== null)))
      this.violate("P4: the run is rolled back exactly if its plan is atomic and aborts");
  }

  async #readRun(id: RunId): Promise<{ readonly events: readonly Event[]; readonly run: Run }> {
    const tenant = "acme" as Tenant;
    const journal = new JournalCodec(tenant, id);
    const stored = await this.#store.events(tenant, id, 0);
    const events: Event[] = [];
    for (const each of stored) events.push(await journal.open<Event>(each, this.#store));
    return { events, run: foldEvents(emptyRun(id, tenant), events) };
  }

  async #endOf(run: Run): Promise<PlanEnd> {
    const timers = { after: () => () => {} };
    const reader = await createEngine({ store: this.#store, tools: [], slices: [entries], work: false, timers });
    const state = (await reader.state({ principal: person, project: "p" })).slice(entries).all();
    const { broken, rows } = await reader.audit({ principal: person });
    if (broken.length + rows.length > 0) this.violate(`P5: the audit finds ${JSON.stringify([...broken, ...rows])}`);
    const ends = ["succeeded", "compensated", "compensation_failed"];
    return {
      status: run.ended?.status ?? "no end",
      steps: Object.fromEntries(
        this.#case.steps.map(({ id }) => {
          const end = [...run.steps].find(({ spec }) => spec.step_id === id)?.standing.state ?? "none";
          return [id, ends.includes(end) ? end : "not done"];
        }),
      ),
      state: Object.fromEntries(state) as PlanEnd["state"],
      world: Object.fromEntries([...this.#sim.world].filter(([, { done }]) => done > 0)),
    };
  }
}

function sorted({ status, steps, state, world }: PlanEnd): unknown {
  const list = (of: object) => Object.entries(of).sort(([one], [two]) => (one < two ? -1 : 1));
  return { status, steps: list(steps), state: list(state), world: list(world) };
}

function historyOf(events: readonly Event[]): PlanHistory {
  const succeeded: string[] = [];
  let isCancelled = false;
  let stopped: string | null = null;
  for (const event of events) {
    const happened = event.type === "step.settled" && event.settled.as === "happened";
    if ((event.type === "step.succeeded" || happened) && !event.step_id.includes(".")) succeeded.push(event.step_id);
    if (event.type === "cancel.requested") isCancelled = true;
    // A call that the cancellation stopped has failed, too.
    const fails = !isCancelled && event.type === "step.failed";
    if (fails && event.retry_at === null && event.skips !== true && !event.step_id.includes("."))
      stopped ??= event.step_id;
  }
  return { succeeded, isCancelled, stopped };
}

/** Resolves with null if the process dies before the work is done. */
function until<Answer>(
  process: PlanProcess,
  scheduler: VirtualScheduler,
  work: () => Promise<Answer>,
): Promise<Answer | null> {
  return new Promise((resolve) => {
    const look = () => {
      if (!process.isAlive) resolve(null);
      else scheduler.after(500, look);
    };
    look();
    work().then(resolve, () => void scheduler.after(500, () => resolve(null)));
  });
}
