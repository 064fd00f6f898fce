import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { bundleWithPackage, compiledPackage, packageRoot } from "../crash/bundle-programs.ts";
import { Rng } from "../sim/rng.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { ChaosClient } from "./chaos-client.ts";
import { chaosTenants, drawJob } from "./chaos-jobs.ts";
import { type MinimumFigures, missingFigures } from "./chaos-report.ts";
import type { ChaosStore } from "./chaos-store.ts";
import { actsWithinMs, newChaosTools } from "./chaos-tools.ts";
import type { ChaosFinding } from "./check-job.ts";
import { type ChaosRemains, type ChaosVerdict, checkResults, readProgress } from "./check-results.ts";
import { type CleanupGuard, startCleanupGuard } from "./cleanup-guard.ts";
import { EffectLog } from "./effect-log.ts";
import { type FaultCounts, FaultInjector, type WorkerFaultRates } from "./fault-injector.ts";
import { KillablePostgres } from "./killable-postgres.ts";
import { PostgresChaosStore, type PostgresFaultRates } from "./postgres-chaos-store.ts";
import { LineAppender, recordStore } from "./record-store.ts";
import { SmallDisk } from "./small-disk.ts";
import { SqliteChaosStore, type SqliteFaultRates } from "./sqlite-chaos-store.ts";
import { WorkerProcesses } from "./worker-processes.ts";

export interface ChaosOptions {
  readonly seconds: number;
  /** The longest duration, if the minimum counts are not reached before. */
  readonly mostSeconds: number;
  readonly least: MinimumFigures;
  readonly workers: number;
  /** The number of concurrent runs. */
  readonly clients: number;
  readonly leaseMs: number;
  readonly rates: WorkerFaultRates;
  readonly store:
    | { readonly kind: "postgres"; readonly rates: PostgresFaultRates }
    | { readonly kind: "sqlite"; readonly stallMs: number; readonly rates: SqliteFaultRates };
  readonly seed: number;
  /** The time that open runs have to end after the faults stop. */
  readonly settleMs: number;
  /** The folder to which the history and the effect log are copied. */
  readonly keep?: string | null;
  /** The built package of the workers. */
  readonly dist?: string;
  log(line: string): void;
}

/** The result of the checks, and the injected faults. */
export interface ChaosResult extends ChaosVerdict {
  readonly faults: FaultCounts;
}

/** More than a store and its log need while a reader keeps the log from being reused. */
const diskMebibytes = 2_048;

const stepSeconds = 1;
const secondsPerLine = 5;

/** The pause after the last fault, until no call that was made before can still act (chaos-tools.ts). */
const quietMs = actsWithinMs + 500;

/** Runs workers on a store under faults, then without faults until every run has ended, and checks the results. */
export function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  return options.store.kind === "postgres"
    ? runOnPostgres(options, options.store.rates)
    : runOnSqlite(options, options.store);
}

async function runOnPostgres(options: ChaosOptions, rates: PostgresFaultRates): Promise<ChaosResult> {
  const cluster = await KillablePostgres.cluster();
  return withTestFolder([cluster.folder], async (folder, guard) => {
    const server = new KillablePostgres(cluster, guard);
    await server.start();
    const { dist = compiledPackage, leaseMs } = options;
    const programs = await bundlePrograms(folder, dist);
    const store = await PostgresChaosStore.prepare(server, dist, leaseMs, rates);
    return new ChaosRun(options, folder, store, guard, programs.worker).run();
  });
}

async function runOnSqlite(
  options: ChaosOptions,
  { stallMs, rates }: Extract<ChaosOptions["store"], { kind: "sqlite" }>,
): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), "writ-chaos-store-"));
  return withTestFolder([folder], async (testFolder, guard) => {
    const disk = SmallDisk.mount(folder, diskMebibytes);
    if (disk === null) options.log("this user may not mount a disk, so no disk is filled");
    const { dist = compiledPackage, leaseMs } = options;
    const { worker, reader } = await bundlePrograms(testFolder, dist);
    const store = new SqliteChaosStore({ folder, disk, testFolder, reader, guard, leaseMs, stallMs, rates });
    return new ChaosRun(options, testFolder, store, guard, worker).run();
  });
}

/** Calls `use` with a folder for the files of a test, and removes it and the other folders afterwards. */
async function withTestFolder(
  others: readonly string[],
  use: (folder: string, guard: CleanupGuard) => Promise<ChaosResult>,
): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), "writ-chaos-"));
  const guard = startCleanupGuard([folder, ...others]);
  try {
    return await use(folder, guard);
  } finally {
    await guard.end();
  }
}

/** Bundles the programs of a test with a built package, and returns their paths. */
async function bundlePrograms(
  folder: string,
  dist: string,
): Promise<{ readonly worker: string; readonly reader: string }> {
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`);
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  const out = join(folder, "programs");
  const source = (name: string): string => join(packageRoot, "chaos", `${name}.ts`);
  await bundleWithPackage({ worker: source("worker"), reader: source("reader") }, dist, out);
  return { worker: join(out, "worker.js"), reader: join(out, "reader.js") };
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #folder: string;
  readonly #store: ChaosStore;
  readonly #guard: CleanupGuard;
  readonly #worker: string;
  readonly #rng: Rng;

  constructor(options: ChaosOptions, folder: string, store: ChaosStore, guard: CleanupGuard, worker: string) {
    this.#options = options;
    this.#folder = folder;
    this.#store = store;
    this.#guard = guard;
    this.#worker = worker;
    this.#rng = new Rng(options.seed);
  }

  async run(): Promise<ChaosResult> {
    const { workers, clients, rates, settleMs, log } = this.#options;
    const store = this.#store;
    const world = join(this.#folder, "world");
    const history = join(this.#folder, "history");
    const appender = new LineAppender(history);
    const task = { store: store.task, world, history };
    const workerProcesses = new WorkerProcesses(this.#worker, task, this.#guard, appender);
    const engine = await this.#makeEngine("testing", "driver", appender);
    const client = new ChaosClient(engine, this.#jobs());
    const injector = new FaultInjector(workerProcesses, this.#rng);
    for (let count = 0; count < workers; count += 1) workerProcesses.start();
    await workerProcesses.ready();
    client.start(clients);
    injector.start(rates, store.faults(appender));
    await this.#wait(history, injector, () => client.jobs.length);
    await injector.stop();
    log("the faults have ended");
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    await store.calm();
    const effectLog = new EffectLog(world, "checker");
    await client.finish(settleMs, (did, to) => effectLog.find(did, to));
    await this.#waitForNotices(settleMs);
    const unstopped = await workerProcesses.stopAll(settleMs);
    await engine.close();
    store.close();
    this.#keep([world, history]);
    const verdict = await this.#check({ jobs: client.jobs, store, world, history });
    const stuck = [...unstopped, ...workerProcesses.failures].map((what): ChaosFinding => ({ kind: "stuck", what }));
    return { ...verdict, faults: injector.counts, findings: [...verdict.findings, ...stuck] };
  }

  /** Waits until every notice is delivered or the time is over; an undelivered notice is a finding later. */
  async #waitForNotices(withinMs: number): Promise<void> {
    const until = Date.now() + withinMs;
    while (Date.now() < until) {
      if ((await this.#store.notices()).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  #keep(files: readonly string[]): void {
    const { keep = null } = this.#options;
    if (keep === null) return;
    mkdirSync(keep, { recursive: true });
    for (const file of files) cpSync(file, join(keep, basename(file)));
  }

  /** Waits for the requested time, and then until the minimum counts are reached, at most `mostSeconds`. */
  async #wait(history: string, injector: FaultInjector, runs: () => number): Promise<void> {
    const { mostSeconds, log } = this.#options;
    for (let elapsed = 0; elapsed < mostSeconds; elapsed += stepSeconds) {
      if (elapsed >= this.#options.seconds && (await this.#missing(history, injector)).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, stepSeconds * 1000));
      const seconds = elapsed + stepSeconds;
      if (seconds % secondsPerLine === 0) log(`${seconds} s: ${runs()} runs, ${JSON.stringify(injector.counts)}`);
    }
  }

  async #missing(history: string, { counts }: FaultInjector): Promise<readonly string[]> {
    const { least } = this.#options;
    const missing = missingFigures({ ...least, ...counts }, least); // The other counts take longer.
    if (missing.length > 0) return missing;
    try {
      const { historyCounts, doubts } = await readProgress({ history, store: this.#store });
      return missingFigures({ ...counts, ...historyCounts, in_doubt: doubts.length }, least);
    } catch {
      return ["the store"]; // The server is down.
    }
  }

  #jobs() {
    let number = 0;
    return () => drawJob(number++, this.#rng);
  }

  /** Returns an engine that reads and decides; only worker processes execute. */
  async #makeEngine(purpose: "testing" | "checking", by: string, appender: LineAppender): Promise<Engine> {
    const store = await this.#store.open(purpose);
    const noPauses = { pause: async () => {}, now: () => 0 };
    return createEngine({
      store: recordStore(store, appender, by),
      tools: newChaosTools(new EffectLog(join(this.#folder, "nowhere"), by), noPauses),
      tenants: Object.fromEntries(chaosTenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
      work: false,
    });
  }

  async #check(data: Omit<ChaosRemains, "engine">): Promise<ChaosVerdict> {
    const engine = await this.#makeEngine("checking", "checker", new LineAppender(join(this.#folder, "afterwards")));
    try {
      return await checkResults({ ...data, engine });
    } finally {
      await engine.close();
    }
  }
}
