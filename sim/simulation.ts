import { memoryStore } from "../src/store/memory/memory-store.ts";
import { Tables } from "../src/store/memory/tables.ts";
import { Agenda } from "./agenda.ts";
import { Archivists } from "./archivists.ts";
import { watchAssertions } from "./assertions.ts";
import { Callers } from "./callers.ts";
import { actNames, castNames } from "./cast.ts";
import { Clients } from "./clients.ts";
import { Company } from "./company.ts";
import { type Counts, noCounts } from "./counts.ts";
import { Credit } from "./credit.ts";
import { clerks, drawDesk } from "./desk.ts";
import { isOnRecord } from "./laws/answers.ts";
import { judgeCallers } from "./laws/callers.ts";
import { judgeStandstill } from "./laws/halts.ts";
import { judgeRest } from "./laws/rest.ts";
import { judgeShelf } from "./laws/state.ts";
import { drawLimits } from "./limits.ts";
import { People } from "./people.ts";
import { Unsynced } from "./power.ts";
import { RunRecord } from "./record.ts";
import { Rng } from "./rng.ts";
import { drawRules } from "./rules.ts";
import type { Scene } from "./scene.ts";
import { Shelf } from "./shelf.ts";
import { Standstill } from "./standstill.ts";
import { CALM, drawSwarm, type Swarm } from "./swarm.ts";
import { Trace } from "./trace.ts";
import { Wardens } from "./wardens.ts";
import { World } from "./world.ts";

/** How one seed went. */
export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  /** The first law that was broken, with the last lines before it. */
  readonly violation: { readonly law: string; readonly lines: readonly string[] } | null;
  readonly counts: Counts;
  readonly trace: string;
  readonly simulatedMs: number;
}

/** So many steps after the weather has cleared, whoever has not come to rest is stuck. */
const REST_STEPS = 16_000;

/** So many steps after everything has come to rest, an answer that is not on record was dropped. */
const GRACE_STEPS = 300;

/** Plays one seed: a storm, then calm until everything has come to rest. The same seed always plays the same. */
export async function simulate(seed: number, about: string | null = null): Promise<Outcome> {
  const play = new Play(seed, about);
  const unwatch = watchAssertions((message) => play.violate(`an assertion of the engine failed: ${message}`));
  const stray = (reason: unknown) => play.violate(`nobody caught ${String(reason)}`);
  process.on("unhandledRejection", stray);
  try {
    await play.toTheEnd();
    await new Promise((resolve) => setImmediate(resolve)); // Only now does Node say what nobody caught.
  } finally {
    unwatch();
    process.off("unhandledRejection", stray);
  }
  return play.outcome();
}

class Play {
  readonly #scene: Scene;
  readonly #company: Company;
  readonly #clients: Clients;
  readonly #people: People;
  readonly #callers: Callers;
  readonly #archivists: Archivists;
  readonly #wardens: Wardens;
  readonly #trace: Trace;
  #steps = 0;
  #calmAt = 0;
  #grace = GRACE_STEPS;
  #violation: Outcome["violation"] = null;

  constructor(seed: number, about: string | null) {
    this.#trace = new Trace(about);
    this.#scene = sceneOf(seed, (law) => this.violate(law));
    this.#company = new Company(this.#scene);
    this.#people = new People(this.#scene, this.#company);
    this.#clients = new Clients(this.#scene, this.#company);
    this.#callers = new Callers(this.#scene, this.#company);
    this.#archivists = new Archivists(this.#scene, this.#company);
    this.#wardens = new Wardens(this.#scene, this.#company);
  }

  violate(law: string): void {
    this.#violation ??= { law, lines: this.#trace.lines() };
  }

  outcome(): Outcome {
    const { seed, counts, agenda } = this.#scene;
    const simulatedMs = agenda.passed;
    return { seed, steps: this.#steps, violation: this.#violation, counts, trace: this.#trace.hash, simulatedMs };
  }

  /**
   * One step after the other. Between two of them everything that can run does: Node empties the queue of promise jobs
   * before it turns to the next tick, and the engine waits for nothing else.
   */
  toTheEnd(): Promise<void> {
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

  /** False when there is nothing left to do. */
  #step(): boolean {
    const { agenda, rng, swarm, counts } = this.#scene;
    if (this.#calmAt === 0 && this.#steps >= swarm.stormSteps) this.#clear();
    if (this.#calmAt === 0 && rng.chance(this.#scene.rates.jump)) this.#disturb();
    if (this.#scene.blackout) this.#company.blackout();
    if (this.#calmAt > 0 && this.#isAtRest() && this.#hasSaidAll()) return false;
    if (this.#calmAt > 0 && this.#steps - this.#calmAt > REST_STEPS) {
      this.violate(`I11: not at rest ${REST_STEPS} steps after the weather cleared: ${this.#stuck()}`);
      return false;
    }
    const pending = agenda.next();
    if (pending === null) {
      this.violate(`I11: nothing can happen any more, and not all is at rest: ${this.#stuck()}`);
      return false;
    }
    this.#steps += 1;
    if (pending.name === "timer") counts.timers += 1;
    const how = pending.happen();
    this.#trace.note(this.#steps, agenda.passed, pending, how);
    return true;
  }

  #disturb(): void {
    const { agenda, rng, counts } = this.#scene;
    const what = rng.float();
    if (what < 0.1) {
      this.#company.reboot();
    } else if (what < 0.3) {
      this.#company.stop();
    } else if (what < 0.7) {
      this.#company.sleep();
    } else {
      counts.jumps += 1;
      agenda.pass(agenda.now() + rng.between(1000, 90_000));
    }
  }

  /** The weather clears. */
  #clear(): void {
    this.#calmAt = this.#steps;
    this.#scene.rates = CALM;
    this.#scene.world.calm();
    this.#company.calm();
    this.#people.calm();
    this.#callers.calm();
    this.#wardens.calm();
  }

  /** A worker with an answer in hand may be looking at the world before it puts that on record, or waiting to. */
  #hasSaidAll(): boolean {
    const scene = this.#scene;
    this.#grace -= 1;
    return this.#grace < 0 || [...scene.record.heard].every((dispatch) => isOnRecord(scene, dispatch));
  }

  #isAtRest(): boolean {
    const everyone = [this.#clients, this.#people, this.#callers, this.#archivists, this.#wardens];
    if (!this.#scene.agenda.quiet || !everyone.every(({ done }) => done) || this.#company.owed.length > 0) return false;
    for (const { run } of this.#scene.record.all()) {
      if (run.position > 0 && (run.ended === null || run.notices.size > 0)) return false;
    }
    return true;
  }

  #stuck(): string {
    const lines: string[] = [];
    for (const { run, epoch, holder } of this.#scene.record.all()) {
      if (run.position === 0 || (run.ended !== null && run.notices.size === 0)) continue;
      const steps = Array.from(run.steps, ({ spec, standing }) => `${spec.step_id} ${spec.name} ${standing.state}`);
      lines.push(`${run.id} (epoch ${epoch}, held by ${holder}, ${run.notices.size} notices): ${steps.join(", ")}`);
    }
    return [...lines, ...this.#company.owed.map((what) => `${what} was never answered`)].join("; ");
  }

  async #close(): Promise<void> {
    if (this.#violation === null) await judgeRest(this.#scene);
    if (this.#violation === null) judgeStandstill(this.#scene);
    if (this.#violation === null) await judgeShelf(this.#scene);
    if (this.#violation === null) judgeCallers(this.#scene, this.#callers.heard);
  }
}

/** Where there are rules, somebody is asked, and trust is earned. */
function underRules(tenant: Swarm["tenants"][number], index: number): Swarm["tenants"][number] {
  return { ...tenant, trust: [], ...(index === 0 && { mode: "human_gated" }) };
}

function sceneOf(seed: number, violate: (law: string) => void): Scene {
  const rng = new Rng(seed);
  const limits = drawLimits(seed);
  const clerkNames = clerks.map(({ name }) => name);
  const rules = drawRules(seed, castNames, clerkNames);
  const drawn = drawSwarm(rng, castNames, actNames, drawDesk(seed, limits, rules));
  const swarm = rules === null ? drawn : { ...drawn, tenants: drawn.tenants.map(underRules) };
  const agenda = new Agenda(rng, swarm);
  const counts = noCounts();
  const tables = new Tables();
  let ids = 0;
  const scene: Scene = {
    seed,
    rng,
    swarm,
    limits,
    rules,
    agenda,
    tables,
    store: memoryStore({ clock: agenda, tables, leaseMs: swarm.leaseMs }),
    world: new World(agenda, rng, swarm.outage, counts, violate),
    record: new RunRecord(() => scene),
    shelf: new Shelf(),
    standstill: new Standstill(),
    credit: new Credit(),
    counts,
    rates: swarm.rates,
    unsynced: new Unsynced(),
    boot: "boot",
    blackout: false,
    powerCuts: 0,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${String(ids).padStart(6, "0")}`;
    },
    violate,
  };
  return scene;
}
