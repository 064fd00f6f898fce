import type { Principal } from "../../core/approval/principal.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import type { Run } from "../../core/run/run.ts";
import { decideHalt, evolveHalts, type HaltEvent, haltPut, noHalts } from "../../core/settings/halt.ts";
import { type Check, type Entry, type Head, sharedTenant } from "../../core/store/store.ts";
import type { Halt, HaltRow, HaltScope, RunRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { PrincipalOptions } from "../api/engine-api.ts";
import type { HaltOptions, Halts } from "../api/halt-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { requestLimits } from "../api/request-limits.ts";
import { childRunId } from "../call/child-run-port.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import { appendOnce } from "../journal/append-once.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { haltJournal } from "../journal/journal-names.ts";
import { isLanded, type JudgedRequest } from "../journal/judged-request.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { assertRunExists } from "./gate-and-cost-reports.ts";

/** Waiting runs per read. */
const PAGE_SIZE = 1000;

/** Sets, lifts and lists halts. Each tenant has a halt journal, and all share another. Each event versions one row. */
export class HaltAdmin implements Halts {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
  }

  async set(options: HaltOptions & { readonly reason: string }): Promise<void> {
    const who = readPrincipal(options.principal);
    const { reason } = options;
    if (typeof reason !== "string" || reason.trim() === "" || reason.length > requestLimits.haltReason) {
      const message = `nothing was halted: a halt needs a reason of 1 to ${requestLimits.haltReason} characters`;
      throw new FaultError(fault("INVALID_INPUT", message));
    }
    const place = haltTenant(who, options);
    const over = await this.#scope(who, options);
    await this.#record(place, { who, reason, type: "halt.set", over: [over] });
    await this.#ports.halts.refresh({ tenant: who.tenant, project: null });
  }

  async lift(options: HaltOptions & JudgedRequest & { readonly reason?: string }): Promise<void> {
    const who = readPrincipal(options.principal);
    const place = haltTenant(who, options);
    const over = await this.#scope(who, options);
    const lifted = { who, reason: options.reason ?? "", type: "halt.lifted", over: [over] } as const;
    const fact = await this.#tryRecord(place, { ...lifted, ...requestField(options), checks: policyChecks(options) });
    await this.#ports.halts.refresh({ tenant: who.tenant, project: null });
    // Even if no halt was found: an earlier lift may have crashed before it woke all runs.
    await this.#wake(
      who.tenant,
      options.runId === undefined ? this.#waitingRuns(who.tenant) : this.#runAndChildren(who.tenant, over as RunId),
    );
    if (fact !== null && "code" in fact) throw new FaultError(fact);
  }

  async list({ principal }: PrincipalOptions): Promise<readonly Halt[]> {
    const { tenant } = readPrincipal(principal);
    const [all, own] = await Promise.all([this.#row(sharedTenant), this.#row(tenant)]);
    return [...all.halts, ...own.halts];
  }

  async #scope(who: Principal, { runId, everything }: HaltOptions): Promise<HaltScope> {
    if (runId === undefined) return everything ? "everything" : "tenant";
    await assertRunExists(this.#ports, who.tenant, runId as RunId);
    return runId as RunId;
  }

  /** Yields a run and its child runs. A halted run starts no children, so none is missed. */
  async *#runAndChildren(tenant: Tenant, id: RunId): AsyncGenerator<RunId> {
    yield id;
    const { run } = await loadRun(this.#ports.store, tenant, id);
    for (const child of childRunIds(run))
      if ((await this.#ports.store.head(tenant, child)) !== null) yield* this.#runAndChildren(tenant, child);
  }

  async #record(tenant: Tenant, request: HaltRequest): Promise<void> {
    const fact = await this.#tryRecord(tenant, request);
    if (fact !== null && "code" in fact) throw new FaultError(fact);
  }

  /**
   * Decides on the current halts and appends the event, again if another append came first. Returns a fault if refused.
   */
  async #tryRecord(
    tenant: Tenant,
    { who, checks = [], ...request }: HaltRequest,
  ): Promise<ReturnType<typeof decideHalt>> {
    const { store, clock } = this.#ports;
    for (;;) {
      const head = await store.head(tenant, haltJournal);
      if ((await findRequestExecution(store, tenant, haltJournal, request)) !== null) return null;
      const before = await this.#row(tenant);
      const event = decideHalt(before, { ...request, at: clock.now(), by: who.id });
      if (event === null || "code" in event) return event;
      if (await this.#appended(tenant, event, before, { ...(head ?? NO_HEAD), checks })) return event;
    }
  }

  async #appended(
    tenant: Tenant,
    event: HaltEvent,
    before: HaltRow,
    { position, hash, checks }: CheckedHead,
  ): Promise<boolean> {
    const { event: sealed, blob } = new JournalCodec(tenant, haltJournal).seal(event, position + 1, hash);
    if (blob !== null) await this.#ports.store.putBlob(tenant, blob.hash, blob.bytes);
    const entry: Entry = {
      tenant,
      run: haltJournal,
      expect: { position, epoch: null },
      events: [sealed],
      puts: [haltPut(haltJournal, evolveHalts(before, event), position + 1)],
      charges: [],
      checks,
      flush: "hard",
    };
    return isLanded(await appendOnce(this.#ports, entry));
  }

  async #row(tenant: Tenant): Promise<HaltRow> {
    const stored = await this.#ports.store.row(tenant, "setting", haltJournal);
    return stored === null ? noHalts : (JSON.parse(stored.row) as HaltRow);
  }

  /** Yields waiting runs, oldest first. The order makes sure that runs which change meanwhile hide no others. */
  async *#waitingRuns(tenant: Tenant): AsyncGenerator<RunId> {
    const where = { field: "status", equals: "waiting" } as const;
    const query = { table: "run", order: "oldest", limit: PAGE_SIZE, where } as const;
    for (let page = await this.#ports.store.list(tenant, query); page.length > 0; ) {
      for (const { row } of page) yield (JSON.parse(row) as RunRow).run_id;
      page = await this.#ports.store.list(tenant, { ...query, after: page.at(-1)?.key as string });
    }
  }

  /** Wakes the runs. A run that cannot be woken now finds the lifted halt later by itself. */
  async #wake(tenant: Tenant, runs: AsyncIterable<RunId>): Promise<void> {
    for await (const run of runs) {
      try {
        await this.#leasedRuns.command(tenant, run, () => ({ type: "wake", now: this.#ports.clock.now() }));
      } catch (error) {
        if (!(error instanceof FaultError) || isStoreFault(error)) throw error;
      }
    }
  }
}

type HaltRequest = Pick<HaltEvent, "type" | "reason" | "over" | "held_in"> &
  Pick<JudgedRequest, "checks"> & { readonly who: Principal };

type CheckedHead = Head & Required<Pick<JudgedRequest, "checks">>;

const NO_HEAD: Head = { position: 0, hash: GENESIS_HASH };

/** The halt of all tenants is a row of all tenants, and an append checks the policies of its own tenant only. */
function policyChecks({ everything, checks = [] }: HaltOptions & JudgedRequest): readonly Check[] {
  return everything ? [] : checks;
}

function haltTenant({ tenant }: Principal, { everything, runId }: HaltOptions): Tenant {
  if (everything && runId !== undefined)
    throw new FaultError(fault("INVALID_INPUT", "either a run or everything is halted; pass one of them"));
  return everything ? sharedTenant : tenant;
}

function childRunIds(run: Run): readonly RunId[] {
  return [...run.steps]
    .filter(({ spec }) => stepKinds[spec.kind].startsRun)
    .map(({ spec }) => childRunId(run.id, spec.step_id));
}
