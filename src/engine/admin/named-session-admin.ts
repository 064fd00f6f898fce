import {
  decideNamedSession,
  evolveNamedSession,
  isSessionOpen,
  type NamedSessionEvent,
  namedSessionPut,
} from "../../core/settings/named-session.ts";
import type { Entry } from "../../core/store/store.ts";
import type { NamedSessionRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Tenant } from "../../core/values/ids.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { NamedSessions, SessionPlace } from "../api/named-sessions-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import { appendOnce } from "../journal/append-once.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { namedSessionJournal } from "../journal/journal-names.ts";
import { readNamedSession } from "../journal/named-session-row.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Opens and closes sessions by name. Each has a journal of its own. */
export class NamedSessionAdmin implements NamedSessions {
  readonly #ports: WorkerPorts;

  constructor(ports: WorkerPorts) {
    this.#ports = ports;
  }

  async open({ principal, session, project }: Parameters<NamedSessions["open"]>[0]): Promise<NamedSessionRow> {
    const { id: by, tenant } = readPrincipal(principal);
    const now = this.#ports.clock.now();
    const place = readPlace(session ?? this.#ports.newId("ses", now), { ...(project !== undefined && { project }) });
    await this.#record(tenant, place, { type: "session.opened", at: now, by, ...place });
    return (await this.#row(tenant, place)) as NamedSessionRow;
  }

  async exists(session: string, { principal, ...given }: Parameters<NamedSessions["exists"]>[1]): Promise<boolean> {
    return isSessionOpen(await this.#row(readPrincipal(principal).tenant, readPlace(session, given)));
  }

  async close(session: string, options: Parameters<NamedSessions["close"]>[1]): Promise<boolean> {
    const { id: by, tenant } = readPrincipal(options.principal);
    const reason = readReason(options);
    const at = this.#ports.clock.now();
    return this.#record(tenant, readPlace(session, options), { type: "session.closed", at, by, reason });
  }

  /** Returns the principal that has opened the session, or null. */
  async openedBy(
    session: string,
    { principal, ...given }: Parameters<NamedSessions["exists"]>[1],
  ): Promise<string | null> {
    return (await this.#row(readPrincipal(principal).tenant, readPlace(session, given)))?.opened_by ?? null;
  }

  #row(tenant: Tenant, { project, session }: Place): Promise<NamedSessionRow | null> {
    return readNamedSession(this.#ports.store, tenant, project, session);
  }

  /** Decides on the current session and appends the event. Decides again if another append came first. */
  async #record(tenant: Tenant, place: Place, request: NamedSessionEvent): Promise<boolean> {
    const { store } = this.#ports;
    const run = namedSessionJournal(place.project, place.session);
    for (;;) {
      const { position, hash } = (await store.head(tenant, run)) ?? { position: 0, hash: GENESIS_HASH };
      const row = await this.#row(tenant, place);
      const event = decideNamedSession(row, request);
      if (event === null) return false;
      const entry: Entry = {
        tenant,
        run,
        expect: { position, epoch: null },
        events: [new JournalCodec(tenant, run).seal(event, position + 1, hash).event],
        puts: [namedSessionPut(run, evolveNamedSession(row, event), position + 1)],
        charges: [],
        checks: [],
        flush: "hard",
      };
      if ((await appendOnce(this.#ports, entry)).landed) return true;
    }
  }
}

interface Place {
  readonly session: string;
  readonly project: string | null;
}

function readPlace(session: unknown, { project }: SessionPlace): Place {
  if (!isName(session)) throw new FaultError(fault("INVALID_INPUT", `session must be ${nameRule}`));
  if (project !== undefined && !isName(project))
    throw new FaultError(fault("INVALID_INPUT", `project must be ${nameRule}`));
  return { session, project: project ?? null };
}
