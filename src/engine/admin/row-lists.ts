import { mayVote, toVote } from "../../core/approval/approval-demand.ts";
import { judgeVerb, NO_FACTS, verbReach } from "../../core/approval/judge-verb.ts";
import { isSamePerson } from "../../core/approval/person-key.ts";
import { type Principal, stateBounds } from "../../core/approval/principal.ts";
import type { Verb } from "../../core/approval/verb-rules.ts";
import { listedStatuses } from "../../core/run/listed-statuses.ts";
import { summarizeRun } from "../../core/run/summarize-run.ts";
import { rowTag } from "../../core/store/row-tags.ts";
import type { DoubtRow, GateRow, OutcomeRow, RunRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import type { GateView, UnreadableGate } from "../api/engine-api.ts";
import type {
  DoubtListOptions,
  DoubtView,
  GateListOptions,
  ListOptions,
  ListPage,
  OutcomeListOptions,
  OutcomeView,
  RunListOptions,
  UnreadableDoubt,
} from "../api/list-api.ts";
import { readPageOptions } from "../api/read-page-options.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { requestLimits } from "../api/request-limits.ts";
import { idPrefix } from "../ports/system-ports.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { loadDoubtViews } from "./doubt-views.ts";
import { loadGateViews } from "./gate-and-cost-reports.ts";
import { assertFilters, countList, type ListSearch, readListPage, toListPage } from "./list-page.ts";

const gateStatuses = ["open", "approved", "rejected", "expired", "closed", "consumed"];

/** Lists runs, gates, acts in doubt and outcomes. Rows that the principal may not read are neither listed nor counted. */
export class RowLists {
  readonly #ports: WorkerPorts;
  readonly #leasedRuns: LeasedRuns;

  constructor(ports: WorkerPorts, leasedRuns: LeasedRuns) {
    this.#ports = ports;
    this.#leasedRuns = leasedRuns;
  }

  async runs(options: RunListOptions): Promise<ListPage<RunRow>> {
    const principal = readPrincipal(options.principal);
    const { status, project, session, agent, tool, label, parent, by, waitingFor, decidable = false } = options;
    if (status !== undefined && !(listedStatuses as readonly string[]).includes(status))
      throw new FaultError(fault("INVALID_INPUT", `status must be one of ${listedStatuses.join(", ")}`));
    const filters = { project, session, agent, parent };
    const named = { ...filters, tool, label, by, waitingFor };
    assertFilters(named);
    const tags = [
      ...(status === undefined ? [] : [status === "rejected" ? rowTag("ended_as", status) : rowTag("status", status)]),
      ...ownTags(principal, "runs", "principal", by),
      ...tagsOf({ ...filters, tools: tool, labels: label, waiting_for: waitingFor }),
      ...(decidable ? [rowTag("waiting_for", "approval")] : []),
    ];
    assertFlag("decidable", decidable);
    // A rejected run is stored as failed.
    const isListed = (row: RunRow) => status !== "failed" || row.ended_as === undefined;
    const search: ListSearch<RunRow> = {
      table: "run",
      tags,
      ...readPageOptions(options, "run_"),
      ...keyBounds("run", options),
      ...(status === "failed" && { keeps: isListed }),
      ...(decidable && { keeps: (row: RunRow) => isListed(row) && this.#hasDecidableGate(principal, row) }),
    };
    if (decidable && options.count) throw uncountable();
    const { rows, next } = await readListPage(this.#ports.store, principal.tenant, search);
    const shown = rows.map((row) => this.#withLiveSummary(principal, row));
    return toListPage(shown, next, await this.#count(principal, options, search, "failed"));
  }

  /** A run that this process executes shows its counts and its cost of now. */
  #withLiveSummary({ tenant }: Principal, row: RunRow): RunRow {
    const { ended_as, status } = row;
    const shown = { ...row, status: ended_as ?? status };
    const run = row.final ? undefined : this.#leasedRuns.get(tenant, row.run_id)?.run;
    if (run === undefined || run.position === 0) return shown;
    const { updated_at: _at, tools, waiting_for, spent, ...counts } = summarizeRun(run, this.#ports.clock.now());
    return {
      ...shown,
      ...counts,
      ...(tools.length > 0 && { tools }),
      ...(Object.keys(spent).length > 0 && { spent }),
      ...(waiting_for.length > 0 && { waiting_for }),
    };
  }

  async gates(options: GateListOptions): Promise<ListPage<GateView | UnreadableGate>> {
    const principal = readPrincipal(options.principal);
    const { status = "open", runId, tool, project, session, by, decidable = false } = options;
    if (!gateStatuses.includes(status))
      throw new FaultError(fault("INVALID_INPUT", `status must be one of ${gateStatuses.join(", ")}`));
    assertFlag("decidable", decidable);
    assertFilters({ runId, tool, project, session, by });
    const search: ListSearch<GateRow> = {
      table: "gate",
      tags: [
        rowTag("status", status),
        ...ownTags(principal, "gates", "requester", by),
        ...tagsOf({ run_id: runId, tool }),
      ],
      ...readPageOptions(options, "gate_"),
      ...keyBounds("gate", options),
      ...(decidable && !mayDecide(principal) && { keeps: () => false }),
      ...((project ?? session) !== undefined && { keeps: (row: GateRow) => this.#isOfRun(principal, row, options) }),
    };
    const { rows, next } = await readListPage(this.#ports.store, principal.tenant, search);
    const views = await loadGateViews(this.#ports, principal.tenant, rows);
    const listed = decidable ? views.filter((view, index) => this.#isDecidable(principal, view, rows[index])) : views;
    if (decidable && options.count) throw uncountable();
    return toListPage(listed, next, await this.#count(principal, options, search));
  }

  async #hasDecidableGate(principal: Principal, { run_id }: RunRow): Promise<boolean> {
    if (!mayDecide(principal)) return false;
    const tags = [rowTag("status", "open"), rowTag("run_id", run_id)];
    const search: ListSearch<GateRow> = { table: "gate", tags, limit: requestLimits.list };
    const { rows } = await readListPage(this.#ports.store, principal.tenant, search);
    const views = await loadGateViews(this.#ports, principal.tenant, rows);
    return views.some((view, index) => this.#isDecidable(principal, view, rows[index]));
  }

  /** The row of a gate names no project or session; that of its run does. */
  async #isOfRun({ tenant }: Principal, { run_id }: GateRow, { project, session }: GateListOptions): Promise<boolean> {
    const stored = await this.#ports.store.row(tenant, "run", run_id);
    const run = stored === null ? null : (JSON.parse(stored.row) as RunRow);
    return (project === undefined || run?.project === project) && (session === undefined || run?.session === session);
  }

  #isDecidable(principal: Principal, view: GateView | UnreadableGate, row: GateRow | undefined): boolean {
    const now = this.#ports.clock.now();
    if (row === undefined || "fault" in view || row.expires_at <= now || !mayDecide(principal)) return false;
    if (view.votes.some(({ by }) => isSamePerson(by, principal.id))) return false;
    const { requester, opened_at } = row;
    return mayVote({ demand: view.demand, requester, opened_at }, toVote(principal, now));
  }

  async inDoubt(options: DoubtListOptions): Promise<ListPage<DoubtView | UnreadableDoubt>> {
    const principal = readPrincipal(options.principal);
    const { runId, tool, project, session, by, waitingFor } = options;
    assertFilters({ runId, tool, project, session, by, waitingFor });
    const search: ListSearch<DoubtRow> = {
      table: "doubt",
      tags: [
        ...ownTags(principal, "inDoubt", "requester", by),
        ...tagsOf({ run_id: runId, tool, project, session, waiting_for: waitingFor }),
      ],
      ...readPageOptions(options, "run_"),
    };
    const { rows, next } = await readListPage(this.#ports.store, principal.tenant, search);
    const views = await loadDoubtViews(this.#ports, principal.tenant, rows);
    return toListPage(views, next, await this.#count(principal, options, search));
  }

  async outcomes(options: OutcomeListOptions): Promise<ListPage<OutcomeView>> {
    const principal = readPrincipal(options.principal);
    const { runId, type, status, tool, project, by } = options;
    assertFilters({ runId, type, status, tool, project, by });
    const search: ListSearch<OutcomeRow> = {
      table: "outcome",
      tags: [
        ...ownTags(principal, "outcomes", "requester", by),
        ...tagsOf({ run_id: runId, type, status, tool, project }),
      ],
      ...readPageOptions(options, "out_"),
    };
    const { rows, next } = await readListPage(this.#ports.store, principal.tenant, search);
    const views = rows.map(({ reuse_key: _key, position: _position, ...view }) => view);
    return toListPage(views, next, await this.#count(principal, options, search));
  }

  async #count<Row>(
    { tenant }: Principal,
    { count = false, ...options }: ListOptions & { readonly status?: string },
    search: ListSearch<Row>,
    mixed?: string,
  ): Promise<number | null> {
    assertFlag("count", count);
    if (!count) return null;
    const { store } = this.#ports;
    if (mixed === undefined || options.status !== mixed) return countList(store, tenant, search);
    // The rows of rejected runs are among those of failed ones.
    const { keeps: _keeps, ...all } = search;
    const rejected = { ...all, tags: [...search.tags, rowTag("ended_as", "rejected")] };
    return (await countList(store, tenant, all)) - (await countList(store, tenant, rejected));
  }
}

function assertFlag(name: string, value: unknown): void {
  if (typeof value !== "boolean") throw new FaultError(fault("INVALID_INPUT", `${name} must be true or false`));
}

function uncountable(): FaultError {
  return new FaultError(
    fault("INVALID_INPUT", "a list of what the principal can decide cannot be counted; leave out count"),
  );
}

function mayDecide(principal: Principal): boolean {
  return judgeVerb(principal, "approve", NO_FACTS) === null;
}

/** Returns the tag of the principal whose rows are listed: the one asked for, and the reader itself if it sees no other. */
function ownTags(principal: Principal, verb: Verb, field: string, by: string | undefined): readonly string[] {
  const isRestricted = verb !== "gates" && stateBounds(principal).length > 0;
  const own = verbReach(principal, verb) !== "tenant" || isRestricted ? [rowTag(field, principal.id)] : [];
  const asked = by === undefined ? [] : [rowTag(field, by)];
  return [...new Set([...own, ...asked])];
}

function tagsOf(fields: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(fields).flatMap(([field, value]) => (value === undefined ? [] : [rowTag(field, value)]));
}

/** The id of a run or a gate begins with its time. */
function keyBounds(
  prefix: "run" | "gate",
  { from, to }: { readonly from?: number; readonly to?: number },
): { readonly from?: string; readonly to?: string } {
  for (const [name, time] of [
    ["from", from],
    ["to", to],
  ] as const)
    if (time !== undefined && !(Number.isSafeInteger(time) && time >= 0))
      throw new FaultError(fault("INVALID_INPUT", `${name} must be a time in milliseconds since 1970`));
  return {
    ...(from !== undefined && { from: idPrefix(prefix, from as Instant) }),
    ...(to !== undefined && { to: idPrefix(prefix, to as Instant) }),
  };
}
