import { attenuate, type Principal } from "../../core/approval/principal.ts";
import type { Confirmation } from "../../core/event/event.ts";
import { oldRequestKey, requestKey } from "../../core/evolve/event-rows.ts";
import { checkJson } from "../../core/json/check-json.ts";
import { planLimits } from "../../core/plan/plan.ts";
import {
  decideSchedule,
  dueFiring,
  evolveSchedule,
  type FiringOutcome,
  type ScheduleCommand,
  type ScheduleEvent,
  type ScheduleFiring,
  type ScheduleOrder,
  scheduleProblem,
  schedulePuts,
} from "../../core/settings/schedule.ts";
import { defaultQueue } from "../../core/store/select-fairly.ts";
import type { Check, Claim, Entry } from "../../core/store/store.ts";
import type { RequestRow, ScheduleRow } from "../../core/store/tables.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { Json } from "../../core/values/json.ts";
import { labelFields } from "../api/label-problems.ts";
import type { PrincipalInput } from "../api/principal-input.ts";
import { assertName, readPrincipal } from "../api/read-principal.ts";
import { readSubmitOptions } from "../api/read-submit-options.ts";
import type { PrincipalOptions, SubmitOptions } from "../api/request-options.ts";
import type { ScheduleOptions, Schedules } from "../api/schedule-api.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import { appendOnce } from "../journal/append-once.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { isScheduleJournal, scheduleJournal } from "../journal/journal-names.ts";
import { isLanded, type JudgedRequest } from "../journal/judged-request.ts";
import { listRows } from "../journal/store-listing.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { readPlan, submitRun } from "./submit-run.ts";

/** Missed times that one schedule submits before other runs get their turn. */
const FIRINGS_IN_A_ROW_MAX = 100;

/** Keeps schedules. Each has its own journal and timer, and a worker claims it like a run when it is due. */
export class ScheduleRunner implements Schedules {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;
  readonly #strict: boolean;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns, strict: boolean) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
    this.#strict = strict;
  }

  async set(schedule: string, plan: unknown, given: ScheduleOptions & JudgedRequest): Promise<ScheduleRow> {
    const { setter, ...read } = this.#read(schedule, plan, given);
    const command = { type: "set", by: setter.id, schedule, ...read, ...requestField(given) } as const;
    const row = await this.#command(setter.tenant, schedule, command, given);
    this.#leasedRuns.notifyChange();
    return row as ScheduleRow;
  }

  /** Throws if `set` would refuse these arguments. */
  assertValid(schedule: string, plan: unknown, given: ScheduleOptions): void {
    this.#read(schedule, plan, given);
  }

  #read(
    schedule: string,
    plan: unknown,
    given: ScheduleOptions & JudgedRequest,
  ): Pick<ScheduleEvent & { type: "schedule.set" }, "terms" | "order"> & { readonly setter: Principal } {
    const { cron, zone = "UTC", catchUp = "latest", runAs, held_in: _request, checks: _checks, ...options } = given;
    const setter = readPrincipal(options.principal);
    const principal = runAs === undefined ? setter : readSubmitter(setter, runAs);
    const read = readSubmitOptions(options);
    const { context, mode = null, deadlineMs = null, queue = defaultQueue, priority = 0 } = read;
    const { project, session, confirmed, budgets } = read;
    const terms = { cron, zone, catch_up: catchUp };
    const flaw = scheduleOptionsProblem(schedule, options) ?? scheduleProblem(terms, this.#ports.clock.now());
    if (flaw !== null) throw new FaultError(fault("INVALID_INPUT", `the schedule was not set: ${flaw}`));
    readPlan(this.#ports, plan, context, this.#strict);
    const order: ScheduleOrder = {
      plan: planAsJson(plan),
      principal,
      context,
      mode,
      deadline_ms: deadlineMs,
      queue,
      priority,
      rules: this.#ports.rulesDigest,
      ...(project !== undefined && { project }),
      ...(session !== undefined && { session }),
      ...(confirmed !== undefined && { confirmed: confirmed as Confirmation }),
      ...(budgets !== undefined && { budgets }),
      ...labelFields(read),
    };
    return { setter, terms, order };
  }

  async pause(schedule: string, options: PrincipalOptions & JudgedRequest): Promise<void> {
    const { tenant, id: by } = readPrincipal(options.principal);
    await this.#command(tenant, schedule, { type: "pause", by, ...requestField(options) }, options);
  }

  async resume(schedule: string, options: PrincipalOptions & JudgedRequest): Promise<void> {
    const { tenant, id: by } = readPrincipal(options.principal);
    await this.#command(tenant, schedule, { type: "resume", by, ...requestField(options) }, options);
  }

  async remove(schedule: string, options: PrincipalOptions & JudgedRequest): Promise<void> {
    const { tenant, id: by } = readPrincipal(options.principal);
    await this.#command(tenant, schedule, { type: "remove", by, ...requestField(options) }, options);
  }

  async list({ principal }: PrincipalOptions): Promise<readonly ScheduleRow[]> {
    const { tenant } = readPrincipal(principal);
    const found: ScheduleRow[] = [];
    for await (const { key, row } of listRows(this.#ports.store, tenant, "setting"))
      if (isScheduleJournal(key as RunId)) found.push(JSON.parse(row) as ScheduleRow);
    return found.toSorted((left, right) => (left.schedule < right.schedule ? -1 : 1));
  }

  async #command(
    tenant: Tenant,
    schedule: string,
    request: ScheduleRequest,
    { checks = [] }: JudgedRequest,
  ): Promise<ScheduleRow | null> {
    this.#leasedRuns.assertOpen();
    assertName(schedule, "the name of a schedule");
    const command = { ...request, now: this.#ports.clock.now() };
    const made = await this.#record(tenant, scheduleJournal(schedule), command, { claim: null, checks });
    if (made !== null && "code" in made)
      throw new FaultError(fault(made.code, `there is no schedule ${schedule}; see: writ schedules`));
    return made;
  }

  /** Submits the runs that a schedule is due for. After a crash, the same request key gives the same run again. */
  async fire(claim: Claim): Promise<void> {
    try {
      for (let times = 0; times < FIRINGS_IN_A_ROW_MAX && (await this.#fireOnce(claim)); times += 1);
      await this.#ports.store.release(claim);
    } catch {
      // Other schedules go on. This one is tried again when its lease expires.
    }
  }

  /** Returns false if the schedule is not due. */
  async #fireOnce(claim: Claim): Promise<boolean> {
    const { tenant, run } = claim;
    const stored = await this.#ports.store.row(tenant, "setting", run);
    const row = stored && (JSON.parse(stored.row) as ScheduleRow);
    const now = this.#ports.clock.now();
    const firing = row && dueFiring(row, now);
    if (row === null || firing === null) return false;
    const { late, ...about } = firing;
    const skipsTimes = late || about.missed_from !== null;
    const unrecorded = skipsTimes ? await this.#findUnrecorded(tenant, run, row, about) : null;
    const result = unrecorded ?? { firing: about, outcome: await this.#outcome(tenant, run, row, firing) };
    const made = await this.#record(tenant, run, { type: "fire", now, ...result }, { claim, checks: [] });
    return made !== null && !("code" in made);
  }

  /**
   * Finds the first run that a crashed worker submitted but did not record. It is recorded before times are skipped.
   */
  async #findUnrecorded(
    tenant: Tenant,
    run: RunId,
    row: ScheduleRow,
    { due_at, missed_from }: ScheduleFiring,
  ): Promise<{ readonly firing: ScheduleFiring; readonly outcome: FiringOutcome } | null> {
    const from = missed_from ?? due_at;
    const order = await this.#order(tenant, run, row.order);
    const id = order.principal.id;
    for (const keys of [oldRequestKey(id, `${run}:`), requestKey(id, `${run}:`, order)]) {
      const query = { table: "request", order: "oldest", limit: 1, after: `${keys}${from - 1}` } as const;
      const [found] = await this.#ports.store.list(tenant, query);
      const made = found?.key.startsWith(keys) ? (Number(found.key.slice(keys.length)) as Instant) : null;
      if (found === undefined || made === null || made > due_at) continue;
      const { run_id } = JSON.parse(found.row) as RequestRow;
      return {
        firing: { due_at: made, missed_from: made > from ? from : null },
        outcome: { kind: "run", run_id },
      };
    }
    return null;
  }

  async #outcome(
    tenant: Tenant,
    run: RunId,
    row: ScheduleRow,
    firing: ScheduleFiring & Lateness,
  ): Promise<FiringOutcome> {
    if (firing.late) return { kind: "nothing" };
    try {
      return { kind: "run", run_id: await this.#submit(tenant, run, row, firing) };
    } catch (error) {
      if (!(error instanceof FaultError) || isStoreFault(error) || error.fault.code === "ENGINE_CLOSED") throw error;
      const { detail } = error.fault;
      // The same time was submitted before, with another version of a tool or under other rules.
      const { run_id } = (detail ?? {}) as { readonly run_id?: RunId };
      if (run_id !== undefined) return { kind: "run", run_id };
      return { kind: "refusal", fault: error.fault };
    }
  }

  async #submit(tenant: Tenant, run: RunId, row: ScheduleRow, { due_at }: ScheduleFiring): Promise<RunId> {
    const order = await this.#order(tenant, run, row.order);
    const { plan, mode, deadline_ms, ...asked } = order;
    const { principal, context } = order;
    const options = {
      ...asked,
      requestKey: `${run}:${due_at}`,
      correlationId: run,
      ...(mode !== null && { mode }),
      ...(deadline_ms !== null && { deadlineMs: deadline_ms }),
    };
    const checked = readPlan(this.#ports, plan, context, this.#strict);
    return (await submitRun(this.#ports, this.#leasedRuns, checked, principal, options)).id;
  }

  async #order(tenant: Tenant, run: RunId, position: number): Promise<ScheduleOrder> {
    const { store } = this.#ports;
    const journal = new JournalCodec(tenant, run);
    const found = await store.events(tenant, run, Math.max(0, position - 2), position === 1 ? 1 : 2);
    const stored = found.at(-1);
    if (stored?.position !== position) throw journal.chainBrokenError(position);
    journal.assertIntact([stored], position === 1 ? GENESIS_HASH : (found[0]?.hash ?? GENESIS_HASH), position - 1);
    const event = await journal.open<ScheduleEvent>(stored, store);
    if (event.type !== "schedule.set") throw journal.chainBrokenError(position);
    return event.order;
  }

  /** Decides a command on the current schedule and appends the event. Decides again if another append came first. */
  async #record(
    tenant: Tenant,
    run: RunId,
    command: ScheduleCommand,
    { claim, checks }: { readonly claim: Claim | null; readonly checks: readonly Check[] },
  ): Promise<ScheduleRow | Fault | null> {
    for (;;) {
      const head = await this.#ports.store.head(tenant, run);
      const stored = await this.#ports.store.row(tenant, "setting", run);
      const before = stored && (JSON.parse(stored.row) as ScheduleRow);
      if ((await findRequestExecution(this.#ports.store, tenant, run, command)) !== null) return before;
      const event = decideSchedule(before, command);
      if (event === null || "code" in event) return event ?? before;
      const position = (head?.position ?? 0) + 1;
      const sealed = new JournalCodec(tenant, run).seal(event, position, head?.hash ?? GENESIS_HASH);
      if (sealed.blob !== null) await this.#ports.store.putBlob(tenant, sealed.blob.hash, sealed.blob.bytes);
      const after = evolveSchedule(before, event, position);
      const entry: Entry = {
        tenant,
        run,
        expect: { position: position - 1, epoch: claim?.epoch ?? null },
        events: [sealed.event],
        puts: schedulePuts(run, after),
        charges: [],
        checks,
        flush: "hard",
      };
      const landing = await appendOnce(this.#ports, entry);
      if (isLanded(landing)) return after;
      if (!landing.landed && landing.why !== "position") return null; // Another worker has claimed the schedule.
    }
  }
}

interface Lateness {
  readonly late: boolean;
}

type ScheduleRequest =
  Exclude<ScheduleCommand, { type: "fire" }> extends infer Each
    ? Each extends object
      ? Omit<Each, "now">
      : never
    : never;

/**
 * Reads the principal that submits the plans of a schedule. It gets the capabilities of the principal that sets the
 * schedule, too, so that a restricted principal cannot schedule calls that it may not make.
 */
function readSubmitter(
  { tenant, capabilities = [] }: Pick<Principal, "tenant" | "capabilities">,
  given: PrincipalInput,
): Principal {
  const submitter = readPrincipal(given);
  if (submitter.tenant !== tenant || submitter.kind === "person") {
    const message = `${submitter.kind} ${submitter.id} cannot submit the plans of a schedule of ${tenant}; runAs is an agent or a service of the tenant`;
    throw new FaultError(fault("AUTH_FORBIDDEN", message));
  }
  return capabilities.reduce<Principal>((who, capability) => attenuate(who, capability), submitter);
}

function scheduleOptionsProblem(schedule: string, options: Pick<SubmitOptions, "mode">): string | null {
  if (!isName(schedule)) return `its name must be ${nameRule}`;
  return options.mode === "dry_run" ? "runs in mode dry_run do nothing; use simulate" : null;
}

/** The plan was read before, so it is JSON. */
function planAsJson(plan: unknown): Json {
  const checked = checkJson(plan, planLimits);
  if (!checked.ok) throw new FaultError(fault("PLAN_INVALID", "the plan is not JSON"));
  return checked.value;
}
