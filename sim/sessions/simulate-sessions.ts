import type { Engine } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { Rng } from "../rng.ts";
import type { SeedOutcome } from "../search-with.ts";
import { Trace } from "../trace.ts";
import { VirtualScheduler } from "../virtual-scheduler.ts";
import { watchAssertions } from "../watch-assertions.ts";
import { ConversationObserver } from "./conversation-observer.ts";
import { FamilyObserver } from "./family-observer.ts";
import { ModelLoop } from "./model-loop.ts";
import { SessionAgent } from "./session-agent.ts";
import { type SessionConfig, type SessionContext, simPerson } from "./session-context.ts";
import { newSessionCounters } from "./session-counters.ts";
import { SessionHosts } from "./session-host.ts";
import { SessionObserver } from "./session-observer.ts";
import { SessionPeople } from "./session-people.ts";
import { SessionProcess } from "./session-process.ts";
import { SimModel } from "./sim-model.ts";

/** A simulation that has not settled this many steps after the faults ended is stuck. */
const MAX_SETTLING_STEPS = 20_000;

const LEASE_MS = 5000;

/** Simulates sessions of agents, their hosts and the people who decide, while processes are killed. */
export async function simulateSessions(seed: number, about: string | null = null): Promise<SeedOutcome> {
  const simulation = new SessionSimulation(seed, about);
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

class SessionSimulation {
  readonly #seed: number;
  readonly #sim: SessionContext;
  readonly #trace: Trace;
  readonly #processes: SessionProcess[] = [];
  readonly #agents: readonly (SessionAgent | ModelLoop)[];
  readonly #hosts: SessionHosts;
  #violation: SeedOutcome["violation"] = null;
  #steps = 0;

  constructor(seed: number, about: string | null) {
    this.#seed = seed;
    this.#trace = new Trace(about);
    this.#sim = newContext(seed, (law) => this.violate(law));
    const { config } = this.#sim;
    for (let count = 0; count < config.processes; count += 1) this.#startProcess();
    this.#hosts = new SessionHosts(this.#sim, () => this.#anyEngine());
    const model = new SimModel(this.#sim);
    this.#agents = Array.from({ length: config.sessions }, (_, index) => {
      const session = `chat ${index}`;
      const pick = () => this.#anyProcess();
      return this.#sim.rng.chance(0.6)
        ? new ModelLoop(this.#sim, session, this.#hosts, model, pick)
        : new SessionAgent(this.#sim, session, this.#hosts, pick);
    });
    new SessionPeople(this.#sim, () => this.#anyEngine());
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
        if (this.#violation !== null || !this.#step()) return resolve(this.#close());
        return queueMicrotask(hop);
      };
      next();
    });
  }

  #step(): boolean {
    const { scheduler, rng, config } = this.#sim;
    this.#sim.isSettling ||= this.#steps >= config.faultSteps;
    if (!this.#sim.isSettling && rng.chance(config.killed)) this.#killOne();
    if (this.#agents.every(({ isDone }) => isDone) && this.#hosts.isDone && this.#hasEnded()) return false;
    if (this.#steps > config.faultSteps + MAX_SETTLING_STEPS) {
      this.violate(`S15: not settled: ${this.#describe()}`);
      return false;
    }
    const pending = scheduler.next();
    if (pending === null) {
      this.violate(`S15: nothing is pending: ${this.#describe()}`);
      return false;
    }
    this.#steps += 1;
    const how = pending.execute();
    this.#trace.note(this.#steps, scheduler.elapsedMs, pending, how);
    this.#sim.observer.checkSettled();
    for (const [id, times] of this.#sim.effects) if (times > 1) this.violate(`S16: ${id} happened ${times} times`);
    return true;
  }

  #hasEnded(): boolean {
    return this.#sim.observer.runs.every(({ ended }) => ended !== null);
  }

  #describe(): string {
    const left = this.#sim.observer.runs.filter(({ ended }) => ended === null);
    const runs = left.map(
      ({ id, steps }) => `${id} ${Array.from(steps, ({ spec, standing }) => `${spec.step_id} ${standing.state}`)}`,
    );
    return [
      ...runs,
      ...this.#agents.filter(({ isDone }) => !isDone).map(({ session }) => `${session} is not done`),
    ].join("; ");
  }

  #startProcess(): void {
    this.#processes.push(new SessionProcess(this.#sim, this.#processes.length + 1));
  }

  #killOne(): void {
    const alive = this.#processes.filter(({ isAlive }) => isAlive);
    this.#sim.rng.pick(alive).kill();
    this.#startProcess();
  }

  #anyProcess(): SessionProcess | null {
    const alive = this.#processes.filter(({ isAlive, engine }) => isAlive && engine !== null);
    return alive.length === 0 ? null : this.#sim.rng.pick(alive);
  }

  #anyEngine(): Engine | null {
    return this.#anyProcess()?.engine ?? null;
  }

  /** Reads every journal and every row at the end. */
  async #close(): Promise<void> {
    if (this.#violation !== null) return;
    const { store, scheduler } = this.#sim;
    const auditor = await createEngine({ store, tools: [], work: false, timers: scheduler });
    const { broken, rows } = await auditor.audit({ principal: simPerson });
    if (broken.length + rows.length > 0) this.violate(`S17: the audit finds ${JSON.stringify([...broken, ...rows])}`);
  }
}

function newContext(seed: number, violate: (law: string) => void): SessionContext {
  const rng = new Rng(seed);
  const segmentSteps = rng.pick([3, 5, 5000]);
  const config: SessionConfig = {
    processes: rng.between(2, 3),
    sessions: rng.between(1, 2),
    calls: rng.between(2, 8),
    isGated: rng.chance(0.5),
    segmentSteps,
    killed: rng.pick([0, 0.001, 0.004]),
    hostDies: rng.pick([0, 0.2]),
    faultSteps: 3000,
    modelFails: rng.pick([0, 0.1]),
    branches: segmentSteps === 5000 && rng.chance(0.7), // A history is compared within one run.
    deadlineMs: 100_000_000,
    releaseMs: rng.pick([500, 600_000]),
    sends: rng.chance(0.2) ? rng.between(1, 3) : null,
  };
  const timing = { timerFirst: 0.05, skip: 0.1, skipMs: 2000, latencyMs: 20 };
  const scheduler = new VirtualScheduler(rng, timing);
  let ids = 0;
  const sim: SessionContext = {
    rng,
    config,
    scheduler,
    store: memoryStore({ clock: scheduler, leaseMs: LEASE_MS }),
    observer: new SessionObserver(() => sim),
    conversations: new ConversationObserver(() => sim),
    families: new FamilyObserver(() => sim),
    counts: newSessionCounters(),
    effects: new Map(),
    sends: new Map(),
    isSettling: false,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${String(ids).padStart(6, "0")}`;
    },
    violate,
  };
  return sim;
}
