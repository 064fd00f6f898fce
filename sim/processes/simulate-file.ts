import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Digest } from "../../src/core/values/ids.ts";
import { connectSqlite, type SqliteDatabase } from "../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { Rng } from "../rng.ts";
import type { SeedOutcome } from "../search-with.ts";
import { Trace } from "../trace.ts";
import { VirtualScheduler } from "../virtual-scheduler.ts";
import type { FileConfig, FileContext } from "./file-context.ts";
import { newFileCounters } from "./file-counters.ts";
import { FileObserver } from "./file-observer.ts";
import { FileProcess } from "./file-process.ts";
import { type FileTerms, processTerms, runTerms } from "./file-terms.ts";
import { Maintenance } from "./maintenance.ts";
import { fileTenant, RunWorker, runId, sealEvent } from "./run-worker.ts";

/** A simulation whose runs have not ended this many steps after the faults ended is stuck. */
const MAX_SETTLING_STEPS = 8000;

/** A transaction of the store takes a turn of the event loop. A look makes one for each worker that it evicts. */
const TURNS_PER_STEP = 16;

const HOUR_MS = 3_600_000;

/**
 * Simulates processes with the real SQLite store on one real file, in one thread: lock files, registration, claims,
 * evictions, markers and appends are the code of the store. The clock, stopwatches, timers and random numbers are
 * simulated. The same seed repeats exactly.
 */
export async function simulateFile(seed: number, about: string | null = null): Promise<SeedOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "writ-sim-"));
  try {
    copyFileSync(await templateFile(), join(folder, "writ.db"));
    const simulation = new FileSimulation(seed, join(folder, "writ.db"), about);
    await simulation.run();
    return simulation.outcome(seed);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

class FileSimulation {
  readonly #sim: FileContext;
  readonly #trace: Trace;
  readonly #processes: FileProcess[] = [];
  readonly #maintenance: Maintenance;
  #started = 0;
  #steps = 0;
  #settlingSince = 0;
  #wallOffset = 0;
  #suspendedMs = 0;
  /** The connection of a program that holds the write lock. */
  #blocker: SqliteDatabase | null = null;
  #violation: SeedOutcome["violation"] = null;

  constructor(seed: number, file: string, about: string | null) {
    const rng = new Rng(seed ^ 52_711);
    const config = drawFileConfig(rng, new Rng(seed ^ 31_337));
    const scheduler = new VirtualScheduler(rng, { timerFirst: 0.3, skip: 0.1, skipMs: 50, latencyMs: 3 });
    const awakeMs = () => scheduler.elapsedMs - this.#suspendedMs;
    this.#trace = new Trace(about);
    const sim: FileContext = {
      file,
      rng,
      config,
      scheduler,
      observer: new FileObserver(() => sim, file),
      counts: newFileCounters(),
      wallClock: () => scheduler.now() + this.#wallOffset,
      stopwatch: () => (config.countsSuspend ? scheduler.elapsedMs : awakeMs()),
      awakeMs,
      violate: (law) => {
        this.#violation ??= { law, lines: this.#trace.lines() };
      },
    };
    this.#sim = sim;
    this.#maintenance = new Maintenance(sim);
  }

  outcome(seed: number): SeedOutcome {
    const { counts, observer } = this.#sim;
    counts.ended = observer.endedRuns;
    return { seed, steps: this.#steps, violation: this.#violation, counts, trace: this.#trace.hash };
  }

  async run(): Promise<void> {
    const { config } = this.#sim;
    await this.#submitRuns();
    for (let number = 0; number < config.processes; number += 1) this.#start(processTerms(config, number));
    while (this.#violation === null && (await this.#step()));
    this.#blocker?.close();
    this.#maintenance.close();
    for (const process of this.#processes) process.kill();
    await turnsOfTheEventLoop();
    this.#sim.observer.close();
  }

  /** A run is due at once, and has the rules and the tool of one of the processes. */
  async #submitRuns(): Promise<void> {
    const { file, config } = this.#sim;
    const store = openSqlite(file);
    for (let number = 0; number < config.runs; number += 1) {
      const event = sealEvent(1, "accepted", { step: 0, attempt: 0, worker: "", epoch: null });
      const { rules, offers: tools } = runTerms(config, runId(number));
      const row = JSON.stringify({ due_at: 1, rules, ...(tools.length > 0 && { tools }) });
      const puts = [{ table: "timer", key: runId(number), was: "any", row }] as const;
      const expect = { position: 0, epoch: null };
      const entry = { tenant: fileTenant, run: runId(number), expect, charges: [], checks: [], flush: "soft" } as const;
      await store.append([{ ...entry, events: [event], puts }]);
    }
    await store.close();
  }

  #start(terms: FileTerms): void {
    this.#started += 1;
    const process = new FileProcess(this.#sim, this.#started, terms, (claims) =>
      this.#sim.observer.checkTerms(claims, process),
    );
    this.#processes.push(process);
    this.#sim.observer.addProcess(process);
    void new RunWorker(this.#sim, process).start().catch(() => process.kill());
  }

  /** Takes one step; returns false at the end. */
  async #step(): Promise<boolean> {
    const { scheduler, rng, config, observer } = this.#sim;
    if (this.#settlingSince === 0 && this.#steps >= config.faultSteps) this.#beginSettling();
    if (observer.hasFaults && rng.chance(config.disturbed)) this.#disturb();
    this.#replaceDead();
    if (!observer.hasFaults && observer.endedRuns === config.runs) return false;
    if (this.#settlingSince > 0 && this.#steps - this.#settlingSince > MAX_SETTLING_STEPS) {
      this.#sim.violate(`F7: ${config.runs - observer.endedRuns} runs have not ended after the faults ended`);
      return false;
    }
    const pending = scheduler.next();
    if (pending === null) return false;
    this.#steps += 1;
    const how = pending.execute();
    await turnsOfTheEventLoop();
    this.#trace.note(this.#steps, scheduler.elapsedMs, pending, how);
    observer.observeStep(this.#steps, pending.owner);
    return true;
  }

  #beginSettling(): void {
    this.#settlingSince = this.#steps;
    this.#sim.observer.hasFaults = false;
  }

  /** A new process takes the place of a dead one. */
  #replaceDead(): void {
    const { scheduler, rng } = this.#sim;
    for (const dead of this.#processes.filter(({ alive }) => !alive)) {
      this.#processes.splice(this.#processes.indexOf(dead), 1);
      const execute = () => {
        this.#start(dead.terms);
        return "started";
      };
      scheduler.addAt(scheduler.now() + rng.below(4000), { name: "start", owner: 0, about: "", execute });
    }
  }

  #disturb(): void {
    const { rng, counts, config, scheduler } = this.#sim;
    const some = this.#processes.length === 0 ? null : rng.pick(this.#processes);
    const what = rng.float();
    if (rng.chance(0.25)) {
      this.#maintain(some);
    } else if (what < 0.25) {
      some?.kill();
    } else if (what < 0.5 && some !== null) {
      counts.pauses += 1;
      // Often it moves again just when the others evict it.
      const ms = rng.chance(0.5) ? rng.below(3 * config.stallMs) : config.stallMs + rng.below(1500);
      scheduler.pauseOwner(some.number, scheduler.now() + ms);
    } else if (what < 0.6) {
      counts.jumps += 1;
      this.#wallOffset += rng.pick([-HOUR_MS, HOUR_MS]);
    } else if (what < 0.7) {
      counts.suspends += 1;
      const ms = rng.pick([1000, config.stallMs + 1000, HOUR_MS]);
      this.#suspendedMs += ms;
      scheduler.advanceTo(scheduler.now() + ms);
    } else if (what < 0.85) {
      counts.deletedLocks += 1;
      some?.deleteLock();
    } else if (what < 0.95) {
      this.#blockWrites();
    } else if (some !== null && !some.stopping) {
      counts.stops += 1;
      some.stopping = true;
      void some.stop().catch(() => {});
    }
  }

  #maintain(some: FileProcess | null): void {
    const { rng } = this.#sim;
    const what = rng.float();
    if (what < 0.3) this.#maintenance.read();
    else if (what < 0.8 && some !== null) this.#maintenance.truncate(some);
    else if (this.#blocker === null) this.#maintenance.upgrade(this.#processes);
  }

  /** Another program holds the write lock of the file for a while. */
  #blockWrites(): void {
    const { scheduler, rng, counts, file } = this.#sim;
    if (this.#blocker !== null) return;
    this.#blocker = connectSqlite(file);
    this.#blocker.exec("pragma busy_timeout = 0; begin immediate");
    counts.blockedWrites += 1;
    const execute = () => {
      this.#blocker?.close();
      this.#blocker = null;
      return "unblocked";
    };
    scheduler.addAt(scheduler.now() + rng.below(2000), { name: "unblock", owner: 0, about: "", execute });
  }
}

/** Draws the tools from a random source of their own, so that the other seeds stay as they are. */
function drawFileConfig(rng: Rng, toolRng: Rng): FileConfig {
  const stallMs = rng.pick([4000, 8000]);
  const rules = (rng.chance(0.4) ? ["rules-a", "rules-b"] : ["rules-a"]) as readonly string[] as readonly Digest[];
  return {
    processes: rng.between(2, 5),
    runs: rng.between(6, 24),
    stepsPerRun: rng.between(2, 8),
    rules,
    tools: toolRng.chance(0.3) ? ["mail@1", "pay@1"] : [],
    stallMs,
    leaseMs: stallMs / 2,
    countsSuspend: rng.chance(0.5),
    disturbed: rng.pick([0.005, 0.01, 0.03]),
    faultSteps: rng.between(400, 1500),
  };
}

/** Lets the store commit what the last step has asked for. */
async function turnsOfTheEventLoop(): Promise<void> {
  for (let turn = 0; turn < TURNS_PER_STEP; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

let template: Promise<string> | null = null;

/** Returns the path of an empty store, which is made once per process. */
function templateFile(): Promise<string> {
  template ??= makeTemplate();
  return template;
}

async function makeTemplate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "writ-sim-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "empty.db");
  await openSqlite(file).close();
  return file;
}
