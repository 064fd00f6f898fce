import { FaultError, fault } from "../../core/fault.ts";
import { decideHalt, evolveHalts, type HaltEvent, haltPut, noHalts } from "../../core/halt.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import type { Principal } from "../../core/principal.ts";
import type { Halt, HaltRow, Reach, RunRow } from "../../core/rows.ts";
import type { Run } from "../../core/run.ts";
import { type Entry, type Head, house } from "../../core/store.ts";
import type { As } from "../api.ts";
import { assertRun } from "../handle.ts";
import type { Ports } from "../ports.ts";
import { principalOf } from "../principal.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { load } from "../record/load.ts";
import { childOf } from "../road/kin.ts";
import type { Holds } from "../watch/holds.ts";
import type { HaltOptions, Halts } from "./halt-api.ts";
import { haltJournal } from "./halt-board.ts";

/** So many runs that wait are told at once that they may go on; the others look by themselves. */
const TOLD_MOST = 1000;

/** Halts, on record: one journal for each tenant and one for the house, of which each fact is a version of one row. */
export class HaltOffice implements Halts {
  readonly #ports: Ports;
  readonly #holds: Holds;

  constructor(ports: Ports, holds: Holds) {
    this.#ports = ports;
    this.#holds = holds;
  }

  async set(options: HaltOptions & { readonly reason: string }): Promise<void> {
    const who = principalOf(options.principal);
    if (who.kind === "agent") throw forbidden(`agent ${who.id} cannot halt anything; a person or a service can`);
    const { reason } = options;
    if (typeof reason !== "string" || reason.trim() === "" || reason.length > REASON_MOST) {
      const message = `nothing was halted: a halt has a reason, of 1 to ${REASON_MOST} characters, for whoever has to lift it`;
      throw new FaultError(fault("INVALID_INPUT", message));
    }
    const place = placeOf(who, options);
    // At once, with those that it asked for itself; finding the others takes a while.
    if (options.runId !== undefined) {
      await assertRun(this.#ports, who, options.runId as RunId);
      await this.#record(place, { who, reason, type: "halt.set", over: [options.runId as RunId] });
    }
    await this.#record(place, { who, reason, type: "halt.set", over: await this.#reaches(who, options) });
    // A run that was asked for meanwhile is found now: those that it is for know that it is halted.
    if (options.runId !== undefined)
      await this.#record(place, { who, reason, type: "halt.set", over: await this.#reaches(who, options) });
    await this.#ports.halts.readAnew({ tenant: who.tenant, project: null });
  }

  async lift(options: HaltOptions & { readonly reason?: string }): Promise<void> {
    const who = principalOf(options.principal);
    if (who.kind !== "person") throw forbidden(`${who.kind} ${who.id} cannot lift a halt; only a person can`);
    const over = await this.#reaches(who, options);
    await this.#record(placeOf(who, options), { who, reason: options.reason ?? "", type: "halt.lifted", over });
    await this.#ports.halts.readAnew({ tenant: who.tenant, project: null });
    await this.#tell(who.tenant, options.runId === undefined ? await this.#waiting(who.tenant) : (over as RunId[]));
  }

  async list({ principal }: As): Promise<readonly Halt[]> {
    const { tenant } = principalOf(principal);
    const [all, own] = await Promise.all([this.#row(house), this.#row(tenant)]);
    return [...all.halts, ...own.halts];
  }

  /** Everything, the tenant, or a run with those below it. */
  async #reaches(who: Principal, { runId, everything }: HaltOptions): Promise<readonly Reach[]> {
    if (everything) return ["everything"];
    if (runId === undefined) return ["tenant"];
    await assertRun(this.#ports, who, runId as RunId);
    return this.#family(who.tenant, runId as RunId);
  }

  async #family(tenant: Tenant, id: RunId): Promise<readonly RunId[]> {
    const { run } = await load(this.#ports.store, tenant, id);
    const found: RunId[] = [id];
    for (const child of childrenOf(run))
      if ((await this.#ports.store.head(tenant, child)) !== null) found.push(...(await this.#family(tenant, child)));
    return found;
  }

  /** Appends a fact, judged by the halts as they are; whoever loses judges anew. */
  async #record(tenant: Tenant, { who, ...wish }: Wish): Promise<void> {
    const { store, clock } = this.#ports;
    for (;;) {
      const head = await store.head(tenant, haltJournal);
      const before = await this.#row(tenant);
      const event = decideHalt(before, { ...wish, at: clock.now(), by: who.id });
      if (event === null) return;
      if ("code" in event) throw new FaultError(event);
      if (await this.#appended(tenant, event, before, head ?? { position: 0, hash: GENESIS })) return;
    }
  }

  async #appended(tenant: Tenant, event: HaltEvent, before: HaltRow, { position, hash }: Head): Promise<boolean> {
    const { event: sealed, blob } = new Journal(tenant, haltJournal).seal(event, position + 1, hash);
    if (blob !== null) await this.#ports.store.putBlob(tenant, blob.hash, blob.bytes);
    const entry: Entry = {
      tenant,
      run: haltJournal,
      expect: { position, epoch: null },
      events: [sealed],
      puts: [haltPut(haltJournal, evolveHalts(before, event), position + 1)],
      charges: [],
      checks: [],
      flush: "hard",
    };
    return (await appendOnce(this.#ports, entry)).landed;
  }

  async #row(tenant: Tenant): Promise<HaltRow> {
    const stored = await this.#ports.store.row(tenant, "setting", haltJournal);
    return stored === null ? noHalts : (JSON.parse(stored.row) as HaltRow);
  }

  async #waiting(tenant: Tenant): Promise<readonly RunId[]> {
    const where = { field: "status", equals: "waiting" } as const;
    const rows = await this.#ports.store.list(tenant, { table: "run", order: "oldest", limit: TOLD_MOST, where });
    return rows.map(({ row }) => (JSON.parse(row) as RunRow).run_id);
  }

  /** They would look again by themselves, though not at once. */
  async #tell(tenant: Tenant, runs: readonly RunId[]): Promise<void> {
    for (const run of runs)
      await this.#holds.command(tenant, run, () => ({ type: "wake", now: this.#ports.clock.now() }));
  }
}

/** What goes into a row is short. */
const REASON_MOST = 1000;

type Wish = Pick<HaltEvent, "type" | "reason" | "over"> & { readonly who: Principal };

const OPERATOR = "operator";

function placeOf({ id, roles = [], tenant }: Principal, { everything, runId }: HaltOptions): Tenant {
  if (!everything) return tenant;
  if (runId !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "either a run or everything is halted; say one of them"));
  if (roles.includes(OPERATOR)) return house;
  throw forbidden(`${id} is no ${OPERATOR}, and only one of those halts everything or lets it go on`);
}

function forbidden(message: string): FaultError {
  return new FaultError(fault("AUTH_FORBIDDEN", message));
}

function childrenOf(run: Run): readonly RunId[] {
  return [...run.steps].filter(({ spec }) => spec.kind === "run").map(({ spec }) => childOf(run.id, spec.step_id));
}
