import type { Engine } from "../src/engine/api/engine-api.ts";
import type { KeyPath } from "../src/store/memory/sorted-table.ts";
import { checkPowerCut } from "./invariants/check-power-cut.ts";
import { Rng } from "./rng.ts";
import type { SimContext } from "./sim-context.ts";
import { actToolNames } from "./sim-tools.ts";
import { WorkerProcess } from "./worker-process.ts";

/** A request to a process that is not answered yet. */
interface OpenCall {
  readonly worker: WorkerProcess;
  readonly what: string;
}

/** The processes of a simulation: workers that die and restart, and one process that only takes commands. */
export class WorkerPool {
  readonly #sim: SimContext;
  readonly #workers: WorkerProcess[] = [];
  readonly #calls = new Set<OpenCall>();
  /** Draws which rules a process has; null: all have the same. A source of its own, so that other seeds stay the same. */
  readonly #rulesRng: Rng | null;
  #started = 0;
  #closing = false;

  constructor(sim: SimContext) {
    this.#sim = sim;
    const rulesRng = new Rng(sim.seed ^ 9151);
    this.#rulesRng = rulesRng.chance(0.12) ? rulesRng : null;
    for (let count = 0; count < sim.config.workers; count += 1) this.#start(true);
    this.#start(false);
    sim.observer.onEvent(({ event }) => {
      const isHinted = this.#workers.length > 0 && event.type !== "step.succeeded" && sim.rng.chance(sim.config.hints);
      if (isHinted) sim.rng.pick(this.#workers).hint();
    });
  }

  #start(works: boolean): void {
    const { rng, config } = this.#sim;
    this.#started += 1;
    const missing = works && !this.#closing && rng.chance(config.missingTool) ? rng.pick(actToolNames) : null;
    const hasOtherRules = this.#rulesRng?.chance(0.5) ?? false;
    this.#workers.push(
      new WorkerProcess(this.#sim, this.#started, { works, missing, hasOtherRules }, (worker) => this.#replace(worker)),
    );
  }

  #replace(worker: WorkerProcess): void {
    this.#workers.splice(this.#workers.indexOf(worker), 1);
    for (const call of this.#calls) if (call.worker === worker) this.#calls.delete(call);
    const { scheduler, rng, config } = this.#sim;
    const execute = () => {
      this.#start(worker.works);
      return "started";
    };
    const pause = this.#closing ? 1 : rng.below(config.restartMs);
    scheduler.addAt(scheduler.now() + pause, { name: "start", owner: 0, about: "", execute });
  }

  /** Sends a request to any running process; null if there is none. The answer may never arrive. */
  ask<Value>(what: string, ask: (engine: Engine) => Promise<Value>): Promise<Value> | null {
    const open = this.#workers.filter(({ engine }) => engine !== null);
    if (open.length === 0) return null;
    const worker = this.#sim.rng.pick(open);
    const call = { worker, what };
    this.#calls.add(call);
    return ask(worker.engine as Engine).finally(() => this.#calls.delete(call));
  }

  /** The requests that live processes have not answered. */
  get unanswered(): readonly string[] {
    return Array.from(this.#calls, ({ what, worker }) => `${what} (w${worker.number})`);
  }

  /** Restarts the machine: all processes die, and send markers that were not synced may be lost. */
  reboot(): void {
    const sim = this.#sim;
    sim.counts.reboots += 1;
    sim.boot = sim.newId("boot");
    for (const [path] of sim.tables.markers.sorted()) if (sim.rng.chance(0.5)) loseMarker(sim, path);
    for (const worker of [...this.#workers]) worker.die("its machine restarted");
  }

  /** Cuts the power: unsynced writes may be lost, and the machine restarts. */
  cutPower(): void {
    const sim = this.#sim;
    sim.powerCut = false;
    sim.powerCuts += 1;
    sim.counts.powerCuts += 1;
    sim.counts.unsynced += sim.unsynced.lose(sim.rng);
    checkPowerCut(sim);
    this.reboot();
  }

  /** Pauses one process. The others cannot distinguish that from death. */
  pauseOne(): void {
    const { rng, scheduler, counts } = this.#sim;
    if (this.#workers.length === 0) return;
    counts.sleeps += 1;
    scheduler.pauseOwner(rng.pick(this.#workers).number, scheduler.now() + rng.between(2000, 100_000));
  }

  /** Asks one worker to stop. */
  stopOne(): void {
    const working = this.#workers.filter(({ works }) => works);
    if (working.length > 0) this.#stop(this.#sim.rng.pick(working));
  }

  /** The worker finishes its calls, and a new one replaces it. */
  #stop(worker: WorkerProcess): void {
    const { engine } = worker;
    if (engine === null) return;
    this.#sim.counts.stops += 1;
    worker.engine = null;
    worker.stopping = true;
    void engine.close().then(() => worker.die("it stopped"));
  }

  /** Ends the faults: dead processes restart soon, and workers that lack a tool are replaced. */
  beginSettling(): void {
    this.#closing = true;
    for (const worker of [...this.#workers]) if (worker.missing !== null) worker.die("it lacks a tool");
  }
}

/** A marker and its count are one write, so they are lost together. */
function loseMarker({ tables }: SimContext, path: KeyPath): void {
  const [tenant, run] = path as readonly string[];
  tables.markers.remove(...path);
  tables.sent.set([tenant as string, run as string], (tables.sent.get(tenant as string, run as string) ?? 1) - 1);
}
