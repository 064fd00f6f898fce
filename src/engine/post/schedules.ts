import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import { checkJson } from "../../core/json/check-json.ts";
import type { Json } from "../../core/json/json.ts";
import { planLimits } from "../../core/plan/plan.ts";
import type { RequestRow, ScheduleRow } from "../../core/rows.ts";
import { requestKey } from "../../core/rows-of.ts";
import type { Claim, Entry } from "../../core/store.ts";
import {
  decideSchedule,
  evolveSchedule,
  type Firing,
  firingAt,
  flawIn,
  type Order,
  type ScheduleCommand,
  type ScheduleEvent,
  schedulePuts,
  type Upshot,
} from "../../core/time/schedule.ts";
import { queueDefault } from "../../core/turns.ts";
import type { As, ScheduleOptions, Schedules, SubmitOptions } from "../api.ts";
import { digestOf } from "../digest.ts";
import { rowsIn } from "../listing.ts";
import type { Ports } from "../ports.ts";
import { assertName, isName, principalOf } from "../principal.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { isStoreFault } from "../record/mailbox.ts";
import { readPlan, submit } from "../road/submit.ts";
import { readOptions } from "../road/submit-options.ts";
import type { Holds } from "../watch/holds.ts";

/** So many times are made up for in a row before others have their turn. */
const IN_A_ROW = 100;

/** Standing orders: each has a journal of its own and a timer like a run's, and is claimed like one when it is due. */
export class StandingOrders implements Schedules {
  readonly #ports: Ports;
  readonly #holds: Holds;
  readonly #strict: boolean;

  constructor(ports: Ports, holds: Holds, strict: boolean) {
    this.#ports = ports;
    this.#holds = holds;
    this.#strict = strict;
  }

  async set(schedule: string, plan: unknown, given: ScheduleOptions): Promise<ScheduleRow> {
    const { cron, zone = "UTC", catchUp = "latest", ...options } = given;
    const principal = principalOf(options.principal);
    const { context, mode = null, deadlineMs = null, queue = queueDefault, priority = 0 } = readOptions(options);
    const terms = { cron, zone, catch_up: catchUp };
    const flaw = flawInOptions(schedule, options) ?? flawIn(terms, this.#ports.clock.now());
    if (flaw !== null) throw new FaultError(fault("INVALID_INPUT", `the schedule was not set: ${flaw}`));
    readPlan(this.#ports, plan, context, this.#strict);
    const order: Order = { plan: asJson(plan), principal, context, mode, deadline_ms: deadlineMs, queue, priority };
    const row = await this.#command(principal.tenant, schedule, { type: "set", schedule, terms, order });
    this.#holds.changed();
    return row as ScheduleRow;
  }

  async pause(schedule: string, { principal }: As): Promise<void> {
    const { tenant, id: by } = principalOf(principal);
    await this.#command(tenant, schedule, { type: "pause", by });
  }

  async resume(schedule: string, { principal }: As): Promise<void> {
    const { tenant, id: by } = principalOf(principal);
    await this.#command(tenant, schedule, { type: "resume", by });
  }

  async remove(schedule: string, { principal }: As): Promise<void> {
    const { tenant, id: by } = principalOf(principal);
    await this.#command(tenant, schedule, { type: "remove", by });
  }

  async list({ principal }: As): Promise<readonly ScheduleRow[]> {
    const { tenant } = principalOf(principal);
    const found: ScheduleRow[] = [];
    for await (const { key, row } of rowsIn(this.#ports.store, tenant, "setting"))
      if (isSchedule(key as RunId)) found.push(JSON.parse(row) as ScheduleRow);
    return found.toSorted((left, right) => (left.schedule < right.schedule ? -1 : 1));
  }

  async #command(tenant: Tenant, schedule: string, wish: Wish): Promise<ScheduleRow | null> {
    this.#holds.assertOpen();
    assertName(schedule, "the name of a schedule");
    const command = { ...wish, now: this.#ports.clock.now() };
    const made = await this.#record(tenant, journalOf(schedule), command, null);
    if (made !== null && "code" in made)
      throw new FaultError(fault(made.code, `there is no schedule ${schedule}; see: writ schedules`));
    return made;
  }

  /** Submits what a schedule is due for. Whoever is killed in between submits the same request again, which is the same run. */
  async fire(claim: Claim): Promise<void> {
    try {
      for (let times = 0; times < IN_A_ROW && (await this.#fireOnce(claim)); times += 1);
      await this.#ports.store.release(claim);
    } catch {
      // It stops no other. Whatever is in the way may have gone when its lease is over and it is looked at again.
    }
  }

  /** False: it is due for nothing. */
  async #fireOnce(claim: Claim): Promise<boolean> {
    const { tenant, run } = claim;
    const stored = await this.#ports.store.row(tenant, "setting", run);
    const row = stored && (JSON.parse(stored.row) as ScheduleRow);
    const now = this.#ports.clock.now();
    const firing = row && firingAt(row, now);
    if (row === null || firing === null) return false;
    const { late, ...about } = firing;
    const passesOver = late || about.missed_from !== null;
    const untold = passesOver ? await this.#untold(tenant, run, row, about) : null;
    const told = untold ?? { firing: about, outcome: await this.#upshot(tenant, run, row, firing) };
    const made = await this.#record(tenant, run, { type: "fire", now, ...told }, claim);
    return made !== null && !("code" in made);
  }

  /** The first run for one of these times, made by someone who died before saying so: it is told of before they are passed over. */
  async #untold(
    tenant: Tenant,
    run: RunId,
    row: ScheduleRow,
    { due_at, missed_from }: Firing,
  ): Promise<{ readonly firing: Firing; readonly outcome: Upshot } | null> {
    const from = missed_from ?? due_at;
    const { principal } = await this.#order(tenant, run, row.order);
    const keys = requestKey(principal.id, `${run}:`);
    const query = { table: "request", order: "oldest", limit: 1, after: `${keys}${from - 1}` } as const;
    const [found] = await this.#ports.store.list(tenant, query);
    const made = found?.key.startsWith(keys) ? (Number(found.key.slice(keys.length)) as Instant) : null;
    if (found === undefined || made === null || made > due_at) return null;
    const { run_id } = JSON.parse(found.row) as RequestRow;
    return {
      firing: { due_at: made, missed_from: made > from ? from : null },
      outcome: { became: "run", run_id },
    };
  }

  async #upshot(tenant: Tenant, run: RunId, row: ScheduleRow, firing: Firing & Late): Promise<Upshot> {
    if (firing.late) return { became: "nothing" };
    try {
      return { became: "run", run_id: await this.#submit(tenant, run, row, firing) };
    } catch (error) {
      if (!(error instanceof FaultError) || isStoreFault(error) || error.fault.code === "ENGINE_CLOSED") throw error;
      const { code, detail } = error.fault;
      // It was submitted before, when a tool said something else of itself.
      if (code === "REQUEST_KEY_REUSED")
        return { became: "run", run_id: (detail as { readonly run_id: RunId }).run_id };
      return { became: "refusal", fault: error.fault };
    }
  }

  async #submit(tenant: Tenant, run: RunId, row: ScheduleRow, { due_at }: Firing): Promise<RunId> {
    const { plan, principal, context, mode, deadline_ms, queue, priority } = await this.#order(tenant, run, row.order);
    const options = {
      principal,
      context,
      queue,
      priority,
      requestKey: `${run}:${due_at}`,
      correlationId: run,
      ...(mode !== null && { mode }),
      ...(deadline_ms !== null && { deadlineMs: deadline_ms }),
    };
    const checked = readPlan(this.#ports, plan, context, this.#strict);
    return (await submit(this.#ports, this.#holds, checked, principal, options)).id;
  }

  async #order(tenant: Tenant, run: RunId, position: number): Promise<Order> {
    const { store } = this.#ports;
    const journal = new Journal(tenant, run);
    const found = await store.events(tenant, run, Math.max(0, position - 2), position === 1 ? 1 : 2);
    const stored = found.at(-1);
    if (stored?.position !== position) throw journal.broken(position);
    journal.assertIntact([stored], position === 1 ? GENESIS : (found[0]?.hash ?? GENESIS), position - 1);
    const event = await journal.open<ScheduleEvent>(stored, store);
    if (event.type !== "schedule.set") throw journal.broken(position);
    return event.order;
  }

  /** Appends what a command becomes, judged by the schedule as it is; whoever loses judges anew. */
  async #record(
    tenant: Tenant,
    run: RunId,
    command: ScheduleCommand,
    claim: Claim | null,
  ): Promise<ScheduleRow | Fault | null> {
    for (;;) {
      const head = await this.#ports.store.head(tenant, run);
      const stored = await this.#ports.store.row(tenant, "setting", run);
      const before = stored && (JSON.parse(stored.row) as ScheduleRow);
      const event = decideSchedule(before, command);
      if (event === null || "code" in event) return event ?? before;
      const position = (head?.position ?? 0) + 1;
      const sealed = new Journal(tenant, run).seal(event, position, head?.hash ?? GENESIS);
      if (sealed.blob !== null) await this.#ports.store.putBlob(tenant, sealed.blob.hash, sealed.blob.bytes);
      const after = evolveSchedule(before, event, position);
      const entry: Entry = {
        tenant,
        run,
        expect: { position: position - 1, epoch: claim?.epoch ?? null },
        events: [sealed.event],
        puts: schedulePuts(run, after),
        charges: [],
        checks: [],
        flush: "hard",
      };
      const landing = await appendOnce(this.#ports, entry);
      if (landing.landed) return after;
      if (landing.why !== "position") return null; // Someone else has claimed it, and goes on from here.
    }
  }
}

interface Late {
  readonly late: boolean;
}

type Wish =
  Exclude<ScheduleCommand, { type: "fire" }> extends infer Each
    ? Each extends object
      ? Omit<Each, "now">
      : never
    : never;

/** What a submission takes and each of many cannot have, or can do nothing with. */
function flawInOptions(schedule: string, options: SubmitOptions): string | null {
  if (!isName(schedule)) return "its name must be 1 to 200 printable characters";
  if (options.mode === "dry_run") return "nothing would come of its runs in mode dry_run; use simulate";
  const stray = ["requestKey", "correlationId", "traceId", "reads"].find((name) => name in options);
  return stray === undefined ? null : `there is no option ${stray}: every run of it has its own`;
}

/** Read by then, so it is JSON: nothing is lost by saying so. */
function asJson(plan: unknown): Json {
  const checked = checkJson(plan, planLimits);
  if (!checked.ok) throw new FaultError(fault("PLAN_INVALID", "the plan is not JSON"));
  return checked.value;
}

/** A schedule is a journal of its own, which is claimed like a run. */
function journalOf(schedule: string): RunId {
  return `sch_${digestOf("writ/schedule/v1", schedule).slice(0, 32)}` as RunId;
}

export function isSchedule(journal: RunId): boolean {
  return journal.startsWith("sch_");
}
