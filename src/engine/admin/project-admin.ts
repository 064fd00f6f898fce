import type { Event } from "../../core/event/event.ts";
import { projectKey } from "../../core/run/run.ts";
import {
  decideProjectLock,
  type ProjectLockEvent,
  projectLockPut,
  unlockedProject,
} from "../../core/settings/project-lock.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import type { RecordedVersion } from "../../core/state/version-bundle.ts";
import type { Entry } from "../../core/store/store.ts";
import type { ProjectLock, ProjectLockRow, ProjectRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, StepId, Tenant } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { Engine } from "../api/engine-api.ts";
import type { PageOptions } from "../api/list-api.ts";
import type { ProjectApi, ProjectVersion, ProjectView } from "../api/project-api.ts";
import { readPageOptions } from "../api/read-page-options.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "../api/request-options.ts";
import { appendOnce } from "../journal/append-once.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { projectLockJournal } from "../journal/journal-names.ts";
import { isLanded, type JudgedRequest } from "../journal/judged-request.ts";
import { type AcceptedEvent, plannedTool, RunAcceptedEvents } from "../journal/run-accepted-events.ts";
import { EventPageCache, StateHistoryReader } from "../state/state-history.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The default number of versions that `history` returns. */
const HISTORY_PAGE_SIZE = 50;

/** Opens, closes and reverts projects, and lists their versions. Each project has a journal for opening and closing. */
export class ProjectAdmin implements ProjectApi {
  readonly #ports: WorkerPorts;
  readonly #engine: RevertPorts;

  constructor(ports: WorkerPorts, engine: RevertPorts) {
    this.#ports = ports;
    this.#engine = engine;
  }

  async list(options: PrincipalOptions & PageOptions): Promise<readonly ProjectView[]> {
    const { tenant } = readPrincipal(options.principal);
    const { limit, after = "" } = readPageOptions(options);
    const first = projectKey("");
    const query = { table: "project", order: "oldest", after: projectKey(after), limit } as const;
    const rows = await this.#ports.store.list(tenant, query);
    const named = rows.filter(({ key }) => key.startsWith(first));
    return Promise.all(
      named.map(async ({ key, version, row }) => {
        const project = key.slice(first.length);
        const { closure } = await this.#row(tenant, projectLockJournal(project));
        return { project, version, run_id: (JSON.parse(row) as ProjectRow).run_id, closure };
      }),
    );
  }

  async history(
    project: string,
    { principal, limit = HISTORY_PAGE_SIZE, before = Number.POSITIVE_INFINITY }: Parameters<ProjectApi["history"]>[1],
  ): Promise<readonly ProjectVersion[]> {
    const { tenant } = readPrincipal(principal);
    const { store } = this.#ports;
    const key = projectKey(checkProjectName(project));
    const row = await store.row(tenant, "project", key);
    const reader = new StateHistoryReader(store, tenant, row === null ? null : JSON.parse(row.row));
    const cache = { pages: new EventPageCache(store, tenant), acceptedEvents: new RunAcceptedEvents(store, tenant) };
    const versions: ProjectVersion[] = [];
    while (reader.base !== null) {
      const { versions: recorded } = await reader.readNext();
      for (const one of recorded.toReversed()) {
        if (one.project !== key || versions.length >= limit) return versions;
        if (one.version < before) versions.push(await this.#version(one, cache));
      }
    }
    return versions;
  }

  async #version({ version, at, point, patch }: RecordedVersion, { pages, acceptedEvents }: HistoryCache) {
    const { run_id } = point;
    const event = await pages.eventAt(point);
    return toProjectVersion({ version, at, run_id, patch }, event, await acceptedEvents.read(run_id));
  }

  async revert(project: string, version: number, options: Parameters<ProjectApi["revert"]>[2]): Promise<CallResult> {
    const { principal, session } = options;
    const place = { project, ...(session !== undefined && { session }) };
    const state = await this.#engine.state({ principal, version, ...place });
    return this.#engine.load(state.snapshot({ tags: { version: String(version) } }), { ...options, ...place });
  }

  async close(
    project: string,
    options: ReasonOptions & JudgedRequest & { readonly as: ProjectLock["how"] },
  ): Promise<void> {
    const { as: how } = options;
    if (how !== "locked" && how !== "archived")
      throw new FaultError(fault("INVALID_INPUT", "as must be locked or archived"));
    await this.#record(project, options, (by, at, reason) => ({ type: "project.closed", at, by, reason, how }));
  }

  async open(project: string, options: ReasonOptions & JudgedRequest): Promise<void> {
    await this.#record(project, options, (by, at, reason) => ({ type: "project.opened", at, by, reason }));
  }

  async closure(project: string, { principal }: PrincipalOptions): Promise<ProjectLock | null> {
    return (await this.#row(readPrincipal(principal).tenant, projectLockJournal(checkProjectName(project)))).closure;
  }

  async #row(tenant: Tenant, journal: RunId): Promise<ProjectLockRow> {
    const stored = await this.#ports.store.row(tenant, "setting", journal);
    return stored === null ? unlockedProject : (JSON.parse(stored.row) as ProjectLockRow);
  }

  /** Decides on the current project and appends the event. Decides again if another append came first. */
  async #record(project: string, options: ReasonOptions & JudgedRequest, make: MakeLockEvent): Promise<void> {
    const { id, tenant } = readPrincipal(options.principal);
    const { store, clock } = this.#ports;
    const run = projectLockJournal(checkProjectName(project));
    const reason = readReason(options);
    for (;;) {
      const { position, hash } = (await store.head(tenant, run)) ?? { position: 0, hash: GENESIS_HASH };
      if ((await findRequestExecution(store, tenant, run, options)) !== null) break;
      const request = { ...make(id, clock.now(), reason), ...requestField(options) };
      const event = decideProjectLock(await this.#row(tenant, run), request);
      if (event === null) return;
      if ("code" in event) throw new FaultError(event);
      const entry: Entry = {
        tenant,
        run,
        expect: { position, epoch: null },
        events: [new JournalCodec(tenant, run).seal(event, position + 1, hash).event],
        puts: [projectLockPut(run, event, position + 1)],
        charges: [],
        checks: options.checks ?? [],
        flush: "hard",
      };
      if (isLanded(await appendOnce(this.#ports, entry))) break;
    }
    await this.#ports.halts.refresh({ tenant, project });
  }
}

/** The parts of the engine that `revert` uses. */
interface RevertPorts extends Pick<Engine, "state"> {
  readonly load: (snapshot: Snapshot, options: SubmitOptions) => Promise<CallResult>;
}

type MakeLockEvent = (by: string, at: Instant, reason: string) => ProjectLockEvent;

/** Events that were read while listing versions. */
interface HistoryCache {
  readonly pages: EventPageCache;
  readonly acceptedEvents: RunAcceptedEvents;
}

function toProjectVersion(
  version: Pick<ProjectVersion, "version" | "at" | "run_id" | "patch">,
  event: Event | null,
  accepted: AcceptedEvent | null,
): ProjectVersion {
  const type = event?.type ?? "step.succeeded";
  if (event !== null && "by" in event && typeof event.by === "string")
    return { ...version, step_id: null, tool: null, by: event.by, type };
  const step_id = event !== null && "step_id" in event ? (event.step_id as StepId) : null;
  const tool = plannedTool(accepted, step_id);
  return { ...version, step_id, tool, by: accepted?.principal.id ?? "", type };
}

function checkProjectName(project: string): string {
  if (isName(project)) return project;
  throw new FaultError(fault("INVALID_INPUT", `project must be ${nameRule}`));
}
