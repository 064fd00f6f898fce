import type { Engine, EngineOptions } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { rulesDigest } from "../src/engine/rules/rules-digest.ts";
import { bindTools } from "./bind-tools.ts";
import { faultyStore } from "./faulty-store.ts";
import type { SimContext } from "./sim-context.ts";
import { SIM_SNAPSHOT_VERSIONS, simSlices } from "./sim-state-tools.ts";

type ProcessKind = Pick<WorkerProcess, "works" | "missing" | "hasOtherRules">;

/** A process with one engine, from its start to its death. */
export class WorkerProcess {
  readonly number: number;
  readonly works: boolean;
  /** A tool that this process lacks, or null. */
  readonly missing: string | null;
  /** True if its rules differ from those of most processes. */
  readonly hasOtherRules: boolean;
  alive = true;
  /** True if the process was asked to stop. */
  stopping = false;
  engine: Engine | null = null;
  readonly #sim: SimContext;
  readonly #hints = new Set<() => void>();
  readonly #onDeath: (worker: WorkerProcess) => void;

  constructor(
    sim: SimContext,
    number: number,
    { works, missing, hasOtherRules }: ProcessKind,
    onDeath: (worker: WorkerProcess) => void,
  ) {
    this.#sim = sim;
    this.number = number;
    this.works = works;
    this.missing = missing;
    this.hasOtherRules = hasOtherRules;
    this.#onDeath = onDeath;
    void this.#start();
  }

  async #start(): Promise<void> {
    const { scheduler, rng, config, newId } = this.#sim;
    try {
      const rules = this.#rules();
      this.#sim.rulesOf.set(this.number, rulesDigest(rules));
      this.engine = await createEngine({
        store: faultyStore(this.#sim, this),
        tools: bindTools(this.#sim, this),
        work: this.works,
        ...rules,
        ...(config.usesState && { slices: simSlices }),
        stopwatch: () => scheduler.now(),
        timers: {
          after: (ms, work) => (this.alive ? scheduler.after(ms, work, this.number) : () => {}),
          endOfTurn: (work) => void (this.alive && scheduler.after(0, work, this.number)),
        },
        dice: () => rng.float(),
        newId: (prefix) => newId(prefix),
        failpoint: () => this.#failAtFailpoint(),
        onNotice: (notice) =>
          this.#deliverNotice(notice.notice_id, `${notice.run_id} ${notice.topic} ${JSON.stringify(notice.payload)}`),
      });
    } catch {
      this.die("its engine failed to start");
    }
  }

  #rules(): Pick<EngineOptions, "policies" | "budgets" | "rates" | "tenants" | "limits"> {
    const { limits, rules, config } = this.#sim;
    return {
      ...limits,
      ...(rules !== null && { policies: rules.policies }),
      tenants: Object.fromEntries(config.tenants.map(({ name, mode, trust }) => [name, { mode, trust }])),
      limits: {
        gateMs: config.gateMs,
        useWithinMs: config.useWithinMs,
        concurrency: config.concurrency,
        ...(config.usesState && { snapshotVersions: SIM_SNAPSHOT_VERSIONS }),
        // No tool sends as many errands, so the rules differ only in their digest.
        ...(this.hasOtherRules && { errandsPerStep: 90 }),
      },
    };
  }

  /** At a failpoint the process dies or pauses, often for longer than its lease. */
  #failAtFailpoint(): void {
    const { scheduler, counts, rates, rng } = this.#sim;
    if (!this.alive) return;
    if (rng.chance(rates.killedInside)) {
      this.die("at a failpoint");
    } else if (rng.chance(rates.paused)) {
      counts.sleeps += 1;
      scheduler.pauseOwner(this.number, scheduler.now() + rng.between(1000, 14_000));
    }
  }

  /** Delivers a notice; it may arrive without an acknowledgement. */
  #deliverNotice(id: string, message: string): Promise<void> {
    const { scheduler, rng, world } = this.#sim;
    return new Promise((resolve, reject) => {
      if (!this.alive) return;
      const execute = () => {
        const { rates } = this.#sim;
        if (rng.chance(rates.failed)) {
          reject(new Error("the receiver is not reachable"));
          return "failed";
        }
        world.receiveNotice(id, message);
        if (rng.chance(rates.killed)) this.die("after a delivery");
        else if (rng.chance(rates.lost)) reject(new Error("no answer"));
        else resolve();
        return "delivered";
      };
      scheduler.add({ name: "notice", owner: this.number, about: id, execute });
    });
  }

  watch(hint: () => void): () => void {
    this.#hints.add(hint);
    return () => void this.#hints.delete(hint);
  }

  /** Tells this process that another one has written. */
  hint(): void {
    const { scheduler } = this.#sim;
    for (const hint of this.#hints) {
      const execute = () => {
        hint();
        return "hinted";
      };
      scheduler.add({ name: "hint", owner: this.number, about: "", execute });
    }
  }

  /** Kills the process: it receives and sends nothing more, but its earlier requests may still arrive. */
  die(_why: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.engine = null;
    const { scheduler, counts, rng, rates, observer, world } = this.#sim;
    counts.kills += 1;
    for (const { name, about, executeAfterDeath } of scheduler.removeOwner(this.number)) {
      if (executeAfterDeath === undefined || !rng.chance(rates.executeAfterDeath)) continue;
      const execute = () => {
        executeAfterDeath();
        counts.posthumous += 1;
        return "after death";
      };
      scheduler.addAt(scheduler.now() + rng.below(40_000), { name, owner: 0, about, execute });
    }
    world.dropRequestsOf(this.number);
    observer.forgetAnswersOf(this.number);
    this.#onDeath(this);
  }
}
