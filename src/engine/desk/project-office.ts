import { type ClosureEvent, closurePut, decideClosure, unclosed } from "../../core/closure.ts";
import type { Event } from "../../core/event.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { Instant, RunId, StepId, Tenant } from "../../core/id.ts";
import type { Closure, ClosureRow } from "../../core/rows.ts";
import { projectKey } from "../../core/run.ts";
import type { Told } from "../../core/state/kept.ts";
import type { Entry } from "../../core/store.ts";
import type { Checkpoints, Engine } from "../api.ts";
import type { As, CallResult, Reasoned } from "../asking.ts";
import type { Ports } from "../ports.ts";
import { isName, principalOf } from "../principal.ts";
import { reasonOf } from "../reason.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { eventAt } from "../record/load.ts";
import { closureJournal } from "../rules/halt-board.ts";
import { Pages, Trail } from "./past.ts";
import type { ProjectDesk, ProjectVersion } from "./project-api.ts";

/** So many versions are told unless more are asked for. */
const PAGE = 50;

/** Whether a project is open, on record in a journal of its own; and what its runs made of its state, told from theirs. */
export class ProjectOffice implements ProjectDesk {
  readonly #ports: Ports;
  readonly #hands: Hands;

  constructor(ports: Ports, hands: Hands) {
    this.#ports = ports;
    this.#hands = hands;
  }

  async history(
    project: string,
    { principal, limit = PAGE, before = Number.POSITIVE_INFINITY }: Parameters<ProjectDesk["history"]>[1],
  ): Promise<readonly ProjectVersion[]> {
    const { tenant } = principalOf(principal);
    const { store } = this.#ports;
    const key = projectKey(named(project));
    const row = await store.row(tenant, "project", key);
    const trail = new Trail(store, tenant, row === null ? null : JSON.parse(row.row));
    const [pages, births] = [new Pages(store, tenant), new Map<RunId, Birth | null>()];
    const versions: ProjectVersion[] = [];
    while (trail.upon !== null) {
      const { told } = await trail.next();
      for (const one of told.toReversed()) {
        if (one.project !== key || versions.length >= limit) return versions;
        if (one.version < before) versions.push(await this.#version(tenant, one, { pages, births }));
      }
    }
    return versions;
  }

  async #version(tenant: Tenant, { version, at, point, patch }: Told, { pages, births }: Read) {
    const { run_id } = point;
    const { store } = this.#ports;
    const event = await pages.eventAt(point);
    if (!births.has(run_id)) births.set(run_id, birthOf(await eventAt(store, tenant, run_id, 1)));
    const birth = births.get(run_id) ?? null;
    return versionOf({ version, at, run_id, patch }, event, birth);
  }

  async revert(project: string, version: number, options: Parameters<ProjectDesk["revert"]>[2]): Promise<CallResult> {
    const { principal, session } = options;
    const place = { project, ...(session !== undefined && { session }) };
    const state = await this.#hands.state({ principal, version, ...place });
    return this.#hands.load(state.snapshot({ tag: `version ${version}` }), { ...options, ...place });
  }

  async close(project: string, options: Reasoned & { readonly as: Closure["how"] }): Promise<void> {
    const { as: how } = options;
    if (how !== "locked" && how !== "archived")
      throw new FaultError(fault("INVALID_INPUT", "a project is closed as locked or as archived; say one of them"));
    await this.#record(project, options, (by, at, reason) => ({ type: "project.closed", at, by, reason, how }));
  }

  async open(project: string, options: Reasoned): Promise<void> {
    await this.#record(project, options, (by, at, reason) => ({ type: "project.opened", at, by, reason }));
  }

  async closure(project: string, { principal }: As): Promise<Closure | null> {
    return (await this.#row(principalOf(principal).tenant, closureJournal(named(project)))).closure;
  }

  async #row(tenant: Tenant, journal: RunId): Promise<ClosureRow> {
    const stored = await this.#ports.store.row(tenant, "setting", journal);
    return stored === null ? unclosed : (JSON.parse(stored.row) as ClosureRow);
  }

  /** Appends a fact, judged by the project as it is; whoever loses judges anew. */
  async #record(project: string, options: Reasoned, wish: Wish): Promise<void> {
    const { id, kind, tenant } = principalOf(options.principal);
    if (kind !== "person") {
      const message = `${kind} ${id} cannot close or open a project; only a person can`;
      throw new FaultError(fault("AUTH_FORBIDDEN", message));
    }
    const { store, clock } = this.#ports;
    const run = closureJournal(named(project));
    const reason = reasonOf(options);
    for (;;) {
      const { position, hash } = (await store.head(tenant, run)) ?? { position: 0, hash: GENESIS };
      const event = decideClosure(await this.#row(tenant, run), wish(id, clock.now(), reason));
      if (event === null) return;
      if ("code" in event) throw new FaultError(event);
      const entry: Entry = {
        tenant,
        run,
        expect: { position, epoch: null },
        events: [new Journal(tenant, run).seal(event, position + 1, hash).event],
        puts: [closurePut(run, event, position + 1)],
        charges: [],
        checks: [],
        flush: "hard",
      };
      if ((await appendOnce(this.#ports, entry)).landed) return this.#ports.halts.readAnew({ tenant, project });
    }
  }
}

/** What going back is done with. */
interface Hands extends Pick<Engine, "state"> {
  readonly load: Checkpoints["load"];
}

type Wish = (by: string, at: Instant, reason: string) => ClosureEvent;

/** What has been read of the journals so far. */
interface Read {
  readonly pages: Pages;
  readonly births: Map<RunId, Birth | null>;
}

type Birth = Extract<Event, { type: "run.accepted" }>;

/** Null: retention has taken it. */
function birthOf(event: Event | null): Birth | null {
  return event?.type === "run.accepted" ? event : null;
}

function versionOf(
  told: Pick<ProjectVersion, "version" | "at" | "run_id" | "patch">,
  event: Event | null,
  birth: Birth | null,
): ProjectVersion {
  const type = event?.type ?? "step.succeeded";
  if (event !== null && "by" in event && typeof event.by === "string")
    return { ...told, step_id: null, tool: null, by: event.by, type };
  const step_id = event !== null && "step_id" in event ? (event.step_id as StepId) : null;
  const tool = birth?.plan?.steps.find((step) => step.step_id === step_id)?.name ?? null;
  return { ...told, step_id, tool, by: birth?.principal.id ?? "", type };
}

function named(project: string): string {
  if (isName(project)) return project;
  throw new FaultError(fault("INVALID_INPUT", "the name of a project must be 1 to 200 printable characters"));
}
