import { FaultError, fault } from "../../core/fault.ts";
import { decideHalt, evolveHalts, type HaltEvent, haltPut, noHalts } from "../../core/halt.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import type { Principal } from "../../core/principal.ts";
import type { Halt, HaltRow, Reach, RunRow } from "../../core/rows.ts";
import type { Run } from "../../core/run.ts";
import { type Entry, type Head, house } from "../../core/store.ts";
import type { As } from "../api.ts";
import { askingLimits } from "../asking-limits.ts";
import { assertRun } from "../handle.ts";
import type { Ports } from "../ports.ts";
import { principalOf } from "../principal.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { load } from "../record/load.ts";
import { isStoreFault } from "../record/mailbox.ts";
import { childOf } from "../road/kin.ts";
import type { Holds } from "../watch/holds.ts";
import type { HaltOptions, Halts } from "./halt-api.ts";
import { haltJournal } from "./halt-board.ts";

/** So many runs that wait are read at a time. */
const PAGE = 1000;

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
    if (typeof reason !== "string" || reason.trim() === "" || reason.length > askingLimits.haltReason) {
      const message = `nothing was halted: a halt has a reason, of 1 to ${askingLimits.haltReason} characters, for whoever has to lift it`;
      throw new FaultError(fault("INVALID_INPUT", message));
    }
    const place = placeOf(who, options);
    const over = await this.#reach(who, options);
    await this.#record(place, { who, reason, type: "halt.set", over: [over] });
    await this.#ports.halts.readAnew({ tenant: who.tenant, project: null });
  }

  async lift(options: HaltOptions & { readonly reason?: string }): Promise<void> {
    const who = principalOf(options.principal);
    if (who.kind !== "person") throw forbidden(`${who.kind} ${who.id} cannot lift a halt; only a person can`);
    const place = placeOf(who, options);
    const over = await this.#reach(who, options);
    const wish = { who, reason: options.reason ?? "", type: "halt.lifted", over: [over] } as const;
    const fact = await this.#recorded(place, wish);
    await this.#ports.halts.readAnew({ tenant: who.tenant, project: null });
    // Though nothing stands there: whoever lifted it may have died before all were told.
    await this.#tell(
      who.tenant,
      options.runId === undefined ? this.#waiting(who.tenant) : this.#family(who.tenant, over as RunId),
    );
    if (fact !== null && "code" in fact) throw new FaultError(fact);
  }

  async list({ principal }: As): Promise<readonly Halt[]> {
    const { tenant } = principalOf(principal);
    const [all, own] = await Promise.all([this.#row(house), this.#row(tenant)]);
    return [...all.halts, ...own.halts];
  }

  async #reach(who: Principal, { runId, everything }: HaltOptions): Promise<Reach> {
    if (runId === undefined) return everything ? "everything" : "tenant";
    await assertRun(this.#ports, who, runId as RunId);
    return runId as RunId;
  }

  /** A run and those below it. Whoever is halted asks for no other, so that nobody is missed. */
  async *#family(tenant: Tenant, id: RunId): AsyncGenerator<RunId> {
    yield id;
    const { run } = await load(this.#ports.store, tenant, id);
    for (const child of childrenOf(run))
      if ((await this.#ports.store.head(tenant, child)) !== null) yield* this.#family(tenant, child);
  }

  async #record(tenant: Tenant, wish: Wish): Promise<void> {
    const fact = await this.#recorded(tenant, wish);
    if (fact !== null && "code" in fact) throw new FaultError(fact);
  }

  /** Appends a fact, judged by the halts as they are; whoever loses judges anew. A fault: nothing was appended. */
  async #recorded(tenant: Tenant, { who, ...wish }: Wish): Promise<ReturnType<typeof decideHalt>> {
    const { store, clock } = this.#ports;
    for (;;) {
      const head = await store.head(tenant, haltJournal);
      const before = await this.#row(tenant);
      const event = decideHalt(before, { ...wish, at: clock.now(), by: who.id });
      if (event === null || "code" in event) return event;
      if (await this.#appended(tenant, event, before, head ?? { position: 0, hash: GENESIS })) return event;
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

  /** The oldest first, page by page: those that were told move on meanwhile, and nobody is passed over for it. */
  async *#waiting(tenant: Tenant): AsyncGenerator<RunId> {
    const where = { field: "status", equals: "waiting" } as const;
    const query = { table: "run", order: "oldest", limit: PAGE, where } as const;
    for (let page = await this.#ports.store.list(tenant, query); page.length > 0; ) {
      for (const { row } of page) yield (JSON.parse(row) as RunRow).run_id;
      page = await this.#ports.store.list(tenant, { ...query, after: page.at(-1)?.key as string });
    }
  }

  /** They would look again by themselves, though not at once. So does whoever cannot be told. */
  async #tell(tenant: Tenant, runs: AsyncIterable<RunId>): Promise<void> {
    for await (const run of runs) {
      try {
        await this.#holds.command(tenant, run, () => ({ type: "wake", now: this.#ports.clock.now() }));
      } catch (error) {
        if (!(error instanceof FaultError) || isStoreFault(error)) throw error;
      }
    }
  }
}

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
