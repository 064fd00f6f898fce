import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "../src/core/store/store.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { type CommitCut, type CuttingProxy, startCuttingProxy } from "../tests/store/postgres/cutting-proxy.ts";
import type { ChaosStore, StoredEvent, UndeliveredNotice } from "./chaos-store.ts";
import type { InjectedFault } from "./fault-injector.ts";
import { type KillablePostgres, serverFailures } from "./killable-postgres.ts";
import { type LineAppender, shortHash } from "./record-store.ts";
import type { StoreTask } from "./worker-task.ts";

/** The average time between two faults of a kind. */
export interface PostgresFaultRates {
  readonly crashMs: number;
  readonly terminateMs: number;
  readonly cutMs: number;
}

const appRole = "writ_chaos_app";
const ownerRole = "writ_chaos_owner";

/** A Postgres that fails, behind a proxy that cuts connections. */
export class PostgresChaosStore implements ChaosStore {
  readonly task: StoreTask & { readonly kind: "postgres" };
  readonly evicts = false;
  readonly #server: KillablePostgres;
  readonly #proxy: CuttingProxy;
  readonly #rates: PostgresFaultRates;
  /** The address of the server without the proxy. */
  readonly #url: string;
  #isDown = false;
  #crashes = 0;
  #cuts = 0;

  private constructor(
    server: KillablePostgres,
    proxy: CuttingProxy,
    url: string,
    leaseMs: number,
    rates: PostgresFaultRates,
  ) {
    this.#server = server;
    this.#proxy = proxy;
    this.#url = url;
    this.#rates = rates;
    this.task = { kind: "postgres", url: proxy.url, leaseMs };
  }

  /** Migrates with the built package. */
  static async prepare(
    server: KillablePostgres,
    dist: string,
    leaseMs: number,
    rates: PostgresFaultRates,
  ): Promise<PostgresChaosStore> {
    const url = await prepareDatabase(server, dist);
    return new PostgresChaosStore(server, await startCuttingProxy(url), url, leaseMs, rates);
  }

  open(purpose: "testing" | "checking"): Promise<Store> {
    return postgres(purpose === "testing" ? this.task.url : this.#url, { leaseMs: this.task.leaseMs });
  }

  faults(history: LineAppender): Readonly<Record<string, InjectedFault>> {
    const choose = (below: (count: number) => number) => (count: number) => below(Math.max(1, count));
    return {
      server_faults: { everyMs: this.#rates.crashMs, inject: () => this.#crash(history) },
      terminated: {
        everyMs: this.#rates.terminateMs,
        // If the server is down, there is no connection.
        inject: (rng) =>
          this.#server.terminate(choose((count) => rng.below(count))).then(
            () => true,
            () => false,
          ),
      },
      cuts: { everyMs: this.#rates.cutMs, inject: async () => this.#cut() },
    };
  }

  async #crash(history: LineAppender): Promise<boolean> {
    if (this.#isDown) return false;
    this.#isDown = true;
    history.write({ server: "dies" });
    const hasCrashed = await this.#server.crash(serverFailures[this.#crashes % serverFailures.length] ?? "killed");
    history.write({ server: "is back" });
    if (hasCrashed) this.#crashes += 1;
    this.#isDown = false;
    return hasCrashed;
  }

  /** Cuts alternately before the server receives the commit and after it has answered. */
  #cut(): boolean {
    const how: CommitCut = this.#cuts % 2 === 0 ? "landed" : "not landed";
    this.#cuts += 1;
    void this.#proxy.cut(how);
    return true;
  }

  async calm(): Promise<void> {}

  close(): void {
    this.#proxy.end();
  }

  async events(): Promise<readonly StoredEvent[]> {
    const text = "select run, type, hash, body from writ.event order by tenant, run, position";
    const rows = await this.#server.rows<readonly [string, string, Uint8Array, string]>(text);
    return rows.map(([run, type, hash, body]) => ({ run, type, hash: shortHash(hash), body }));
  }

  async notices(): Promise<readonly UndeliveredNotice[]> {
    const text = "select key, row::json ->> 'run_id' from writ.rows where kind = 'notice'";
    const rows = await this.#server.rows<readonly [string, string]>(text);
    return rows.map(([notice, run]) => ({ notice, run }));
  }

  async heldRuns(): Promise<readonly string[]> {
    const rows = await this.#server.rows<readonly [string]>("select run from writ.lease where until > writ.now_ms()");
    return rows.map(([run]) => run);
  }

  async describeRun(run: string): Promise<string> {
    const [stored] = await this.#server.rows<readonly [object]>(stateQuery, [run]);
    return JSON.stringify(stored?.[0]);
  }
}

/** Migrates as a plain owner, and returns the URL of a role that owns no table. */
async function prepareDatabase(server: KillablePostgres, dist: string): Promise<string> {
  await server.ask(`create role ${appRole} login`);
  await server.ask(`create role ${ownerRole} login`);
  await server.ask(`grant create on database postgres to ${ownerRole}`);
  const entry = pathToFileURL(join(dist, "postgres.js")).href;
  const { migrate } = (await import(entry)) as typeof import("../src/postgres.ts");
  const url = new URL(server.url);
  url.username = ownerRole;
  await migrate(url.href, { grant: appRole });
  url.username = appRole;
  return url.href;
}

const stateQuery = `select json_build_object(
  'head', (select json_build_object('position', h.position, 'epoch', h.epoch) from writ.head h where h.run = $1),
  'timer', (select r.row::json from writ.rows r where r.kind = 'timer' and r.key = $1),
  'due', (select json_build_object('in_ms', d.at - writ.now_ms(), 'queue', d.queue, 'rank', d.rank) from writ.due d where d.run = $1),
  'needs', (select json_agg(n.need) from writ.need n where n.run = $1),
  'lease', (select json_build_object('worker', l.worker, 'epoch', l.epoch, 'left_ms', l.until - writ.now_ms(), 'prior', l.prior)
            from writ.lease l where l.run = $1),
  'status', (select r.row::json ->> 'status' from writ.rows r where r.kind = 'run' and r.key = $1),
  'notices', (select json_agg(r.key) from writ.rows r where r.kind = 'notice' and r.row::json ->> 'run_id' = $1),
  'last', (select json_agg(concat_ws(' ', e.type, e.body::json ->> 'step_id') order by e.position) from (
             select * from writ.event v where v.run = $1 order by v.position desc limit 8) e))`;
