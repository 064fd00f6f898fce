import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleOf, dist, root } from "../crash/bundle.ts";
import { Rng } from "../sim/rng.ts";
import type { Engine } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { openPassage } from "../tests/postgres/passage.ts";
import { type Remains, soFar, type Verdict, verdictOn } from "./aftermath.ts";
import { Crew } from "./crew.ts";
import { Driver } from "./driver.ts";
import { type Guard, guardOf } from "./guard.ts";
import type { Finding } from "./judge.ts";
import { type Blows, Nemesis, type Rates } from "./nemesis.ts";
import { jobOf, tenants } from "./plans.ts";
import { Pen, recorded } from "./recorder.ts";
import { type Least, unseen } from "./report.ts";
import { Server } from "./server.ts";
import { toolsOf } from "./tools.ts";
import { Witness } from "./witness.ts";

export interface Weather {
  readonly seconds: number;
  /** As long as this, until everything has happened often enough. */
  readonly mostSeconds: number;
  readonly least: Least;
  readonly workers: number;
  /** How many runs are under way at once. */
  readonly clients: number;
  readonly leaseMs: number;
  readonly rates: Rates;
  readonly seed: number;
  /** How long whatever is still under way when the faults stop may take to come to its end. */
  readonly settleMs: number;
  /** Where the history and the world are kept afterwards. */
  readonly keep?: string | null;
  /** The built package under the workers. */
  readonly dist?: string;
  say(line: string): void;
}

/** What came of it. */
export interface Wreckage extends Verdict {
  readonly blows: Blows;
}

const role = "writ_chaos_app";
const stepSeconds = 5;

/** After the last blow, until nobody can still be at something that they began before they were stopped. */
const lullMs = 3_000;

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
  readonly #dist: string;

  constructor(weather: Weather, folder: string, server: Server, guard: Guard) {
    this.#weather = weather;
    this.#folder = folder;
    this.#server = server;
    this.#guard = guard;
    this.#rng = new Rng(weather.seed);
    this.#dist = weather.dist ?? dist;
  }

  async rage(): Promise<Wreckage> {
    const { workers, clients, leaseMs, rates, settleMs, say } = this.#weather;
    const url = await this.#prepared();
    const passage = await openPassage(url);
    const world = join(this.#folder, "world");
    const history = join(this.#folder, "history");
    const pen = new Pen(history);
    const crew = new Crew(await this.#program(), { url: passage.url, leaseMs, world, history }, this.#guard);
    const engine = await this.#onlooker(passage.url, "driver", pen);
    const driver = new Driver(engine, this.#jobs());
    const nemesis = new Nemesis({ crew, server: this.#server, passage, pen, rng: this.#rng });
    for (let count = 0; count < workers; count += 1) crew.hire();
    driver.begin(clients);
    nemesis.begin(rates);
    await this.#wait(history, nemesis, () => driver.errands.length);
    await nemesis.stop();
    say("peace");
    await new Promise((resolve) => setTimeout(resolve, lullMs));
    const witness = new Witness(world, "witness");
    await driver.finish(settleMs, (did, to) => witness.find(did, to));
    await this.#delivered(settleMs);
    const late = await crew.dismiss(settleMs);
    await engine.close();
    passage.end();
    this.#keep([world, history]);
    const verdict = await this.#judged({ errands: driver.errands, server: this.#server, world, history }, url);
    const stuck = [...late, ...crew.fallen].map((what): Finding => ({ kind: "stuck", what }));
    return { ...verdict, blows: nemesis.blows, findings: [...verdict.findings, ...stuck] };
  }

  /** A run can be over and still have something to tell. What nobody delivers in this time is judged later. */
  async #delivered(withinMs: number): Promise<void> {
    const until = Date.now() + withinMs;
    while (Date.now() < until) {
      if (!(await this.#server.ask<boolean>("select exists (select from writ.rows where kind = 'notice')"))) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  #keep(files: readonly string[]): void {
    const { keep = null } = this.#weather;
    if (keep === null) return;
    mkdirSync(keep, { recursive: true });
    for (const file of files) cpSync(file, join(keep, basename(file)));
  }

  /** For as long as it was asked for, and then until everything has happened often enough, or it has taken too long. */
  async #wait(history: string, nemesis: Nemesis, runs: () => number): Promise<void> {
    const { seconds, mostSeconds, say } = this.#weather;
    for (let past = 0; past < mostSeconds; past += stepSeconds) {
      if (past >= seconds && (await this.#missing(history, nemesis)).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, stepSeconds * 1000));
      say(`${past + stepSeconds} s: ${runs()} runs, ${JSON.stringify(nemesis.blows)}`);
    }
  }

  async #missing(history: string, { blows }: Nemesis): Promise<readonly string[]> {
    const { least } = this.#weather;
    const toDo = unseen({ ...least, ...blows }, least); // The rest takes longer to count.
    if (toDo.length > 0) return toDo;
    try {
      const { sums, doubts } = await soFar({ history, server: this.#server });
      return unseen({ ...blows, ...sums, in_doubt: doubts.length }, least);
    } catch {
      return ["the server"]; // It is away.
    }
  }

  /** Tables as the built package makes them, and a role that owns none of them. */
  async #prepared(): Promise<string> {
    await this.#server.ask(`create role ${role} login`);
    const door = pathToFileURL(join(this.#dist, "postgres.js")).href;
    const { migrate } = (await import(door)) as typeof import("../src/postgres.ts");
    await migrate(this.#server.url, { grant: role });
    const url = new URL(this.#server.url);
    url.username = role;
    return url.href;
  }

  async #program(): Promise<string> {
    writeFileSync(join(this.#folder, "package.json"), `{ "type": "module" }\n`);
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
    const out = join(this.#folder, "programs");
    const beside = ["migrations", "renewal-thread.js"].map((name) => `store/postgres/${name}`);
    await bundleOf({ worker: join(root, "chaos", "worker.ts") }, beside, this.#dist, out);
    return join(out, "worker.js");
  }

  #jobs() {
    let number = 0;
    return () => jobOf(number++, this.#rng);
  }

  /** Looks and decides; whoever executes is in a process of its own. */
  async #onlooker(url: string, by: string, pen: Pen): Promise<Engine> {
    const store = await postgres(url, { leaseMs: this.#weather.leaseMs });
    const idle = { pause: async () => {}, now: () => 0 };
    return createEngine({
      store: recorded(store, pen, by),
      tools: toolsOf(new Witness(join(this.#folder, "nowhere"), by), idle),
      tenants: Object.fromEntries(tenants.map((tenant) => [tenant, { mode: "auto_exec" }] as const)),
      work: false,
    });
  }

  async #judged(remains: Omit<Remains, "engine">, url: string): Promise<Verdict> {
    const engine = await this.#onlooker(url, "judge", new Pen(join(this.#folder, "afterwards")));
    try {
      return await verdictOn({ ...remains, engine });
    } finally {
      await engine.close();
    }
  }
}
