import { memoryStore } from "../src/store/memory/memory-store.ts";
import { MemoryTables } from "../src/store/memory/memory-tables.ts";
import { CheckpointUsers } from "./checkpoint-users.ts";
import { newCounters } from "./counters.ts";
import { ExternalWorld } from "./external-world.ts";
import { HaltModel } from "./halt-model.ts";
import { HaltOperators } from "./halt-operators.ts";
import { isAnswerRecorded } from "./invariants/check-answer.ts";
import { checkFinalState } from "./invariants/check-final-state.ts";
import { checkHaltRows } from "./invariants/check-halts.ts";
import { checkSignalsAndSchedules } from "./invariants/check-signals-and-schedules.ts";
import { checkStoredStates } from "./invariants/check-state.ts";
import { JournalObserver } from "./journal-observer.ts";
import { People } from "./people.ts";
import { Rng } from "./rng.ts";
import { RunClients } from "./run-clients.ts";
import type { SeedOutcome } from "./search-with.ts";
import { drawSeedConfig, NO_FAULTS, type SeedConfig } from "./seed-config.ts";
import { SignalClients } from "./signal-clients.ts";
import type { SimContext } from "./sim-context.ts";
import { drawSimLimits } from "./sim-limits.ts";
import { drawSimRules } from "./sim-rules.ts";
import { drawUsesState, simStateTools } from "./sim-state-tools.ts";
import { actToolNames, simToolNames } from "./sim-tools.ts";
import { StateVersions } from "./state-versions.ts";
import { Trace } from "./trace.ts";
import { TrustModel } from "./trust-model.ts";
import { UnsyncedWrites } from "./unsynced-writes.ts";
import { VirtualScheduler } from "./virtual-scheduler.ts";
import { watchAssertions } from "./watch-assertions.ts";
import { WorkerPool } from "./worker-pool.ts";

/**
 * A simulation that has not settled this many steps after the faults ended is stuck. With a rate, the steps count from
 * the last start of a call, because some rates allow one call a minute.
 */
const MAX_SETTLING_STEPS = 16_000;

/** No simulation needs as many steps, not even with a rate. */
const MAX_SETTLING_STEPS_WITH_RATE = 200_000;

/** An answer that is not recorded this many steps after everything settled was dropped. */
const GRACE_STEPS = 300;

/** Simulates one seed: first with faults, then without until everything has settled. The same seed repeats exactly. */
export async function simulate(seed: number, about: string | null = null): Promise<SeedOutcome> {
  const simulation = new Simulation(seed, about);
  const unwatch = watchAssertions((message) => simulation.violate(`an assertion of the engine failed: ${message}`));
  const onRejection = (reason: unknown) => simulation.violate(`unhandled rejection: ${String(reason)}`);
  process.on("unhandledRejection", onRejection);
  try {
    await simulation.run();
    await new Promise((resolve) => setImmediate(resolve)); // Node reports unhandled rejections only now.
  } finally {
    unwatch();
    process.off("unhandledRejection", onRejection);
  }
  return simulation.outcome();
}

class Simulation {
  readonly #sim: SimContext;
  readonly #pool: WorkerPool;
  readonly #clients: RunClients;
  readonly #people: People;
  readonly #signalClients: SignalClients;
  readonly #checkpointUsers: CheckpointUsers;
  readonly #haltOperators: HaltOperators;
  readonly #trace: Trace;
  #steps = 0;
  #settlingSince = 0;
  #lastStart = 0;
  #graceSteps = GRACE_STEPS;
  #violation: SeedOutcome["violation"] = null;

  constructor(seed: number, about: string | null) {
    this.#trace = new Trace(about);
    this.#sim = newSimContext(seed, (law) => this.violate(law));
    this.#pool = new WorkerPool(this.#sim);
    this.#people = new People(this.#sim, this.#pool);
    this.#clients = new RunClients(this.#sim, this.#pool);
    this.#signalClients = new SignalClients(this.#sim, this.#pool);
    this.#checkpointUsers = new CheckpointUsers(this.#sim, this.#pool);
    this.#haltOperators = new HaltOperators(this.#sim, this.#pool);
    this.#sim.observer.onEvent(({ event }) => {
      if (event.type === "step.started") this.#lastStart = this.#steps;
    });
  }

  violate(law: string): void {
    this.#violation ??= { law, lines: this.#trace.lines() };
  }

  outcome(): SeedOutcome {
    const { seed, counts } = this.#sim;
    return { seed, steps: this.#steps, violation: this.#violation, counts, trace: this.#trace.hash };
  }

  /**
   * Runs step after step. All ready code runs between two steps: Node empties the queue of promise jobs before the
   * next tick, and the engine waits for nothing else.
   */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      const hop = () => process.nextTick(next);
      const next = () => {
        try {
          if (this.#violation !== null || !this.#step()) {
            void this.#close().then(resolve, reject);
            return;
          }
        } catch (error) {
          this.violate(`the engine threw ${error instanceof Error ? error.stack : String(error)}`);
        }
        queueMicrotask(hop);
      };
      next();
    });
  }

  /** Runs one step; returns false at the end. */
  #step(): boolean {
    const { scheduler, rng, config, counts } = this.#sim;
    if (this.#settlingSince === 0 && this.#steps >= config.faultSteps) this.#beginSettling();
    if (this.#settlingSince === 0 && rng.chance(this.#sim.rates.disturbed)) this.#injectDisturbance();
    if (this.#sim.powerCut) this.#pool.cutPower();
    if (this.#settlingSince > 0 && this.#isSettled() && this.#hasRecordedAll()) return false;
    if (this.#settlingSince > 0 && this.#isStuck()) {
      const steps = this.#steps - this.#settlingSince;
      this.violate(`I11: not settled ${steps} steps after the faults ended: ${this.#describeUnsettled()}`);
      return false;
    }
    const pending = scheduler.next();
    if (pending === null) {
      this.violate(`I11: nothing is pending, but not everything has settled: ${this.#describeUnsettled()}`);
      return false;
    }
    this.#steps += 1;
    if (pending.name === "timer") counts.timers += 1;
    const how = pending.execute();
    this.#trace.note(this.#steps, scheduler.elapsedMs, pending, how);
    return true;
  }

  #injectDisturbance(): void {
    const { scheduler, rng, counts } = this.#sim;
    const what = rng.float();
    if (what < 0.1) {
      this.#pool.reboot();
    } else if (what < 0.3) {
      this.#pool.stopOne();
    } else if (what < 0.7) {
      this.#pool.pauseOne();
    } else {
      counts.jumps += 1;
      scheduler.advanceTo(scheduler.now() + rng.between(1000, 90_000));
    }
  }

  /** Ends all faults. */
  #beginSettling(): void {
    this.#settlingSince = this.#steps;
    this.#sim.rates = NO_FAULTS;
    this.#sim.world.endOutages();
    this.#pool.beginSettling();
    this.#people.beginSettling();
    this.#signalClients.beginSettling();
    this.#haltOperators.beginSettling();
  }

  /** True if every received answer is recorded. A worker may verify an answer, or wait, before it records it. */
  #hasRecordedAll(): boolean {
    const sim = this.#sim;
    this.#graceSteps -= 1;
    return this.#graceSteps < 0 || [...sim.observer.receivedAnswers].every((request) => isAnswerRecorded(sim, request));
  }

  #isSettled(): boolean {
    const users = [this.#clients, this.#people, this.#signalClients, this.#checkpointUsers, this.#haltOperators];
    if (!this.#sim.scheduler.isIdle || !users.every(({ done }) => done) || this.#pool.unanswered.length > 0)
      return false;
    for (const { run } of this.#sim.observer.all()) {
      if (run.position > 0 && (run.ended === null || run.notices.size > 0)) return false;
    }
    return true;
  }

  #isStuck(): boolean {
    const hasRate = (this.#sim.limits?.rates.length ?? 0) > 0;
    const since = hasRate ? Math.max(this.#settlingSince, this.#lastStart) : this.#settlingSince;
    const settling = this.#steps - this.#settlingSince;
    return this.#steps - since > MAX_SETTLING_STEPS || settling > MAX_SETTLING_STEPS_WITH_RATE;
  }

  #describeUnsettled(): string {
    const lines: string[] = [];
    for (const { run, epoch, holder } of this.#sim.observer.all()) {
      if (run.position === 0 || (run.ended !== null && run.notices.size === 0)) continue;
      const steps = Array.from(run.steps, ({ spec, standing }) => `${spec.step_id} ${spec.name} ${standing.state}`);
      lines.push(`${run.id} (epoch ${epoch}, held by ${holder}, ${run.notices.size} notices): ${steps.join(", ")}`);
    }
    return [...lines, ...this.#pool.unanswered.map((what) => `${what} was never answered`)].join("; ");
  }

  async #close(): Promise<void> {
    if (this.#violation === null) await checkFinalState(this.#sim);
    if (this.#violation === null) checkHaltRows(this.#sim);
    if (this.#violation === null) await checkStoredStates(this.#sim);
    if (this.#violation === null) checkSignalsAndSchedules(this.#sim, this.#signalClients.answeredSignals);
  }
}

/** With rules, tenants trust no tool by configuration, and the first one needs approvals. */
function applyRules(tenant: SeedConfig["tenants"][number], index: number): SeedConfig["tenants"][number] {
  return { ...tenant, trust: [], ...(index === 0 && { mode: "human_gated" }) };
}

function newSimContext(seed: number, violate: (law: string) => void): SimContext {
  const rng = new Rng(seed);
  const limits = drawSimLimits(seed);
  const stateToolNames = simStateTools.map(({ name }) => name);
  const rules = drawSimRules(seed, simToolNames, stateToolNames);
  const drawn = drawSeedConfig(rng, simToolNames, actToolNames, drawUsesState(seed, limits, rules));
  const config = rules === null ? drawn : { ...drawn, tenants: drawn.tenants.map(applyRules) };
  const scheduler = new VirtualScheduler(rng, config);
  const counts = newCounters();
  const tables = new MemoryTables();
  let ids = 0;
  const sim: SimContext = {
    seed,
    rng,
    config,
    limits,
    rules,
    scheduler,
    tables,
    store: memoryStore({ clock: scheduler, tables, leaseMs: config.leaseMs }),
    world: new ExternalWorld(scheduler, rng, config.outage, counts, violate),
    observer: new JournalObserver(() => sim),
    stateVersions: new StateVersions(),
    haltModel: new HaltModel(),
    trustModel: new TrustModel(),
    counts,
    rates: config.rates,
    unsynced: new UnsyncedWrites(),
    boot: "boot",
    powerCut: false,
    powerCuts: 0,
    rulesOf: new Map(),
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${String(ids).padStart(6, "0")}`;
    },
    violate,
  };
  return sim;
}
