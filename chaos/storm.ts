import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleOf, dist, root } from "../crash/bundle.ts";
import { Rng } from "../sim/rng.ts";
import { createEngine } from "../src/engine/engine.ts";
import { migrate } from "../src/store/postgres/migrate.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { openPassage } from "../tests/postgres/passage.ts";
import { check, type Journals } from "./checker.ts";
import { Crew } from "./crew.ts";
import { Driver, type Errand, isAtRest, tell } from "./driver.ts";
import { grouped, push } from "./grouped.ts";
import { type Guard, guardOf } from "./guard.ts";
import { historyOf, type Line, linesIn } from "./history.ts";
import { type Finding, judge } from "./judge.ts";
import { type Blows, Nemesis, type Rates } from "./nemesis.ts";
import { jobOf, tenants } from "./plans.ts";
import { hex, Pen, recorded } from "./recorder.ts";
import { Server } from "./server.ts";
import { type Sums, sumsOf } from "./sums.ts";
import { toolsOf } from "./tools.ts";
import { deedsIn, Witness } from "./witness.ts";

export interface Weather {
  readonly seconds: number;
  readonly workers: number;
  /** How many runs are under way at once. */
  readonly clients: number;
  readonly leaseMs: number;
  readonly rates: Rates;
  readonly seed: number;
  /** The built package under the workers. */
  readonly dist?: string;
  say(line: string): void;
}

/** What came of it. */
export interface Wreckage {
  readonly runs: number;
  readonly blows: Blows;
  readonly sums: Sums;
  /** Acts that were in doubt, for good or for a while. */
  readonly in_doubt: number;
  readonly findings: readonly Finding[];
  /** Why the history of the ledger cannot have been. */
  readonly violations: readonly string[];
}

const role = "writ_chaos_app";

/** How long whatever is still under way when the faults stop may take to come to rest. */
const settleMs = 60_000;

/** Workers, a server and those who strike at both, for some time; then peace, and judgement. */
export async function storm(weather: Weather): Promise<Wreckage> {
  const cluster = await Server.cluster();
  const folder = mkdtempSync(join(tmpdir(), "writ-chaos-"));
  const guard = guardOf([folder, cluster.folder]);
  try {
    const server = new Server(cluster, guard);
    await server.start();
    return await new Storm(weather, folder, server, guard).rage();
  } finally {
    await guard.end();
  }
}

class Storm {
  readonly #weather: Weather;
  readonly #folder: string;
  readonly #server: Server;
  readonly #guard: Guard;
  readonly #rng: Rng;

  constructor(weather: Weather, folder: string, server: Server, guard: Guard) {
    this.#weather = weather;
    this.#folder = folder;
    this.#server = server;
    this.#guard = guard;
    this.#rng = new Rng(weather.seed);
  }

  get #world(): string {
    return join(this.#folder, "world");
  }

  get #history(): string {
    return join(this.#folder, "history");
  }

  async rage(): Promise<Wreckage> {
    const { workers, clients, leaseMs, rates, seconds, say } = this.#weather;
    const url = await this.#prepared();
    const program = await this.#program();
    const passage = await openPassage(url);
    const pen = new Pen(this.#history);
    const shared = { url: passage.url, leaseMs, world: this.#world, history: this.#history };
    const crew = new Crew(program, shared, this.#guard);
    const engine = await this.#engine(passage.url, "driver", pen);
    const driver = new Driver(engine, this.#jobs());
    const nemesis = new Nemesis({ crew, server: this.#server, passage, pen, rng: this.#rng });
    for (let count = 0; count < workers; count += 1) crew.hire();
    driver.begin(clients);
    nemesis.begin(rates);
    for (let left = seconds; left > 0; left -= 10) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(10, left) * 1000));
      say(`${left} s left: ${driver.errands.length} runs, ${JSON.stringify(nemesis.blows)}`);
    }
    await nemesis.stop();
    say("peace");
    await driver.finish(settleMs);
    const late = await crew.dismiss(20_000);
    await engine.close();
    passage.end();
    pen.close();
    const stuck = [...late, ...crew.fallen].map((what): Finding => ({ kind: "stuck", what }));
    const judged = await this.#judged(driver.errands, url);
    return { ...judged, blows: nemesis.blows, findings: [...judged.findings, ...stuck] };
  }

  /** Tables, and a role that owns none of them. */
  async #prepared(): Promise<string> {
    await this.#server.ask(`create role ${role} login`);
    await migrate(this.#server.url, { grant: role });
    const url = new URL(this.#server.url);
    url.username = role;
    return url.href;
  }

  async #program(): Promise<string> {
    writeFileSync(join(this.#folder, "package.json"), `{ "type": "module" }\n`);
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
    const out = join(this.#folder, "programs");
    await bundleOf({ worker: join(root, "chaos", "worker.ts") }, "postgres", this.#weather.dist ?? dist, out);
    return join(out, "worker.js");
  }

  #jobs() {
    let number = 0;
    return () => jobOf(number++, this.#rng);
  }

  /** Looks and decides; whoever executes is in a process of its own. */
  async #engine(url: string, by: string, pen: Pen) {
    const store = await postgres(url, { leaseMs: this.#weather.leaseMs });
    const idle = { pause: async () => {}, now: () => 0 };
    return createEngine({
      store: recorded(store, pen, by),
      tools: toolsOf(new Witness(this.#world, by), idle),
      tenants: Object.fromEntries(tenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
      work: false,
    });
  }

  async #judged(errands: readonly Errand[], url: string): Promise<Omit<Wreckage, "blows">> {
    const pen = new Pen(join(this.#folder, "afterwards"));
    const engine = await this.#engine(url, "judge", pen);
    const deeds = grouped(deedsIn(this.#world), ({ to }) => nameIn(to));
    const findings: Finding[] = [];
    for (const errand of errands) {
      const { job, run_id } = errand;
      if (run_id === null) continue;
      const handle = await engine.run(run_id, { principal: { id: "ana", kind: "person", tenant: job.tenant } });
      const now = await handle.now();
      for (const [step, result] of Object.entries(now.steps))
        if (errand.told.has(step)) tell(errand, step, result.state === "succeeded" ? result.output : result.state);
      if (errand.told.has("the end")) tell(errand, "the end", now.status);
      findings.push(...errand.changed.map((what): Finding => ({ kind: "lost", what })));
      findings.push(...judge(job, now, deeds.get(job.name) ?? []));
      if (!isAtRest(now)) findings.push({ kind: "stuck", what: `${job.name} ${run_id}: ${JSON.stringify(now)}` });
    }
    for (const tenant of tenants) {
      const { broken } = await engine.audit({ principal: { id: "ana", kind: "person", tenant } });
      for (const { run_id, what } of broken) findings.push({ kind: "lost", what: `${run_id}: ${what}` });
    }
    await engine.close();
    const history = historyOf(linesIn<Line>(readFileSync(this.#history, "utf8")));
    const { journals, doubts } = await this.#journals();
    return {
      runs: errands.length,
      sums: sumsOf(history, journals),
      in_doubt: doubts,
      findings,
      violations: check(history, journals),
    };
  }

  async #journals(): Promise<{ readonly journals: Journals; readonly doubts: number }> {
    const journals = new Map<string, string[]>();
    let doubts = 0;
    const text = "select run, type, hash from writ.event order by tenant, run, position";
    for (const [run, type, hash] of await this.#server.rows<readonly [string, string, Uint8Array]>(text)) {
      push(journals, run, hex(hash));
      if (type === "step.doubted") doubts += 1;
    }
    return { journals, doubts };
  }
}

/** "job 17 act" is of "job 17". */
function nameIn(to: string): string {
  return to.split(" ").slice(0, 2).join(" ");
}
