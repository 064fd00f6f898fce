import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleWithPackage, compiledPackage, packageRoot } from "../crash/bundle-programs.ts";
import { Rng } from "../sim/rng.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { startCuttingProxy } from "../tests/store/postgres/cutting-proxy.ts";
import { ChaosClient } from "./chaos-client.ts";
import { chaosTenants, drawJob } from "./chaos-jobs.ts";
import { type MinimumFigures, missingFigures } from "./chaos-report.ts";
import { newChaosTools } from "./chaos-tools.ts";
import type { ChaosFinding } from "./check-job.ts";
import { type ChaosRemains, type ChaosVerdict, checkResults, readProgress } from "./check-results.ts";
import { type CleanupGuard, startCleanupGuard } from "./cleanup-guard.ts";
import { EffectLog } from "./effect-log.ts";
import { FaultInjector, type FaultIntervals, type InjectedFaults } from "./fault-injector.ts";
import { KillablePostgres } from "./killable-postgres.ts";
import { LineAppender, recordStore } from "./record-store.ts";
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
  readonly rates: FaultIntervals;
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
  readonly faults: InjectedFaults;
}

const appRole = "writ_chaos_app";
const ownerRole = "writ_chaos_owner";
const stepSeconds = 5;

/** The pause after the last fault, until no stopped worker can still act. */
const quietMs = 3_000;

/** Runs workers on a server under faults, then without faults until every run has ended, and checks the results. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const cluster = await KillablePostgres.cluster();
  const folder = mkdtempSync(join(tmpdir(), "writ-chaos-"));
  const guard = startCleanupGuard([folder, cluster.folder]);
  try {
    const server = new KillablePostgres(cluster, guard);
    await server.start();
    return await new ChaosRun(options, folder, server, guard).run();
  } finally {
    await guard.end();
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #folder: string;
  readonly #server: KillablePostgres;
  readonly #guard: CleanupGuard;
  readonly #rng: Rng;
  readonly #dist: string;

  constructor(options: ChaosOptions, folder: string, server: KillablePostgres, guard: CleanupGuard) {
    this.#options = options;
    this.#folder = folder;
    this.#server = server;
    this.#guard = guard;
    this.#rng = new Rng(options.seed);
    this.#dist = options.dist ?? compiledPackage;
  }

  async run(): Promise<ChaosResult> {
    const { workers, clients, leaseMs, rates, settleMs, log } = this.#options;
    const url = await this.#prepareDatabase();
    const proxy = await startCuttingProxy(url);
    const world = join(this.#folder, "world");
    const history = join(this.#folder, "history");
    const appender = new LineAppender(history);
    const workerProcesses = new WorkerProcesses(
      await this.#bundleWorker(),
      { url: proxy.url, leaseMs, world, history },
      this.#guard,
    );
    const engine = await this.#makeEngine(proxy.url, "driver", appender);
    const client = new ChaosClient(engine, this.#jobs());
    const injector = new FaultInjector({
      workers: workerProcesses,
      server: this.#server,
      proxy,
      history: appender,
      rng: this.#rng,
    });
    for (let count = 0; count < workers; count += 1) workerProcesses.start();
    client.start(clients);
    injector.start(rates);
    await this.#wait(history, injector, () => client.jobs.length);
    await injector.stop();
    log("the faults have ended");
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    const effectLog = new EffectLog(world, "checker");
    await client.finish(settleMs, (did, to) => effectLog.find(did, to));
    await this.#waitForNotices(settleMs);
    const unstopped = await workerProcesses.stopAll(settleMs);
    await engine.close();
    proxy.end();
    this.#keep([world, history]);
    const verdict = await this.#check({ jobs: client.jobs, server: this.#server, world, history }, url);
    const stuck = [...unstopped, ...workerProcesses.failures].map((what): ChaosFinding => ({ kind: "stuck", what }));
    return { ...verdict, faults: injector.counts, findings: [...verdict.findings, ...stuck] };
  }

  /** Waits until every notice is delivered or the time is over; an undelivered notice is a finding later. */
  async #waitForNotices(withinMs: number): Promise<void> {
    const until = Date.now() + withinMs;
    while (Date.now() < until) {
      if (!(await this.#server.ask<boolean>("select exists (select from writ.rows where kind = 'notice')"))) return;
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
    const { seconds, mostSeconds, log } = this.#options;
    for (let elapsed = 0; elapsed < mostSeconds; elapsed += stepSeconds) {
      if (elapsed >= seconds && (await this.#missing(history, injector)).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, stepSeconds * 1000));
      log(`${elapsed + stepSeconds} s: ${runs()} runs, ${JSON.stringify(injector.counts)}`);
    }
  }

  async #missing(history: string, { counts }: FaultInjector): Promise<readonly string[]> {
    const { least } = this.#options;
    const missing = missingFigures({ ...least, ...counts }, least); // The other counts take longer.
    if (missing.length > 0) return missing;
    try {
      const { historyCounts, doubts } = await readProgress({ history, server: this.#server });
      return missingFigures({ ...counts, ...historyCounts, in_doubt: doubts.length }, least);
    } catch {
      return ["the server"]; // The server is down.
    }
  }

  /** Migrates with the built package as a plain owner, and returns the URL of a role that owns no table. */
  async #prepareDatabase(): Promise<string> {
    await this.#server.ask(`create role ${appRole} login`);
    await this.#server.ask(`create role ${ownerRole} login`);
    await this.#server.ask(`grant create on database postgres to ${ownerRole}`);
    const entry = pathToFileURL(join(this.#dist, "postgres.js")).href;
    const { migrate } = (await import(entry)) as typeof import("../src/postgres.ts");
    const url = new URL(this.#server.url);
    url.username = ownerRole;
    await migrate(url.href, { grant: appRole });
    url.username = appRole;
    return url.href;
  }

  async #bundleWorker(): Promise<string> {
    writeFileSync(join(this.#folder, "package.json"), `{ "type": "module" }\n`);
    symlinkSync(join(packageRoot, "node_modules"), join(this.#folder, "node_modules"));
    const out = join(this.#folder, "programs");
    await bundleWithPackage({ worker: join(packageRoot, "chaos", "worker.ts") }, this.#dist, out);
    return join(out, "worker.js");
  }

  #jobs() {
    let number = 0;
    return () => drawJob(number++, this.#rng);
  }

  /** Returns an engine that reads and decides; only worker processes execute. */
  async #makeEngine(url: string, by: string, appender: LineAppender): Promise<Engine> {
    const store = await postgres(url, { leaseMs: this.#options.leaseMs });
    const noPauses = { pause: async () => {}, now: () => 0 };
    return createEngine({
      store: recordStore(store, appender, by),
      tools: newChaosTools(new EffectLog(join(this.#folder, "nowhere"), by), noPauses),
      tenants: Object.fromEntries(chaosTenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
      work: false,
    });
  }

  async #check(data: Omit<ChaosRemains, "engine">, url: string): Promise<ChaosVerdict> {
    const engine = await this.#makeEngine(url, "checker", new LineAppender(join(this.#folder, "afterwards")));
    try {
      return await checkResults({ ...data, engine });
    } finally {
      await engine.close();
    }
  }
}
