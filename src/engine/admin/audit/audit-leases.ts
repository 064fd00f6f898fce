import type { RunClaims } from "../../../core/store/store.ts";
import type { RunId } from "../../../core/values/ids.ts";
import type { AuditReport } from "../../api/engine-api.ts";
import { JournalCodec, type JournalEvent } from "../../journal/journal-codec.ts";
import { LIST_PAGE_SIZE } from "../../journal/store-listing.ts";
import type { AuditedStore } from "./explain-row.ts";
import { isRunJournal, openEvents } from "./rows-of-events.ts";

type UnexplainedRow = AuditReport["rows"][number];
type Marker = RunClaims["markers"][number];

/** A journal of a batch, with its readable events. */
export interface LeaseAuditJournal {
  readonly run: RunId;
  readonly events: readonly JournalEvent[];
  /** True if no event was erased and none is broken. */
  readonly isWhole: boolean;
}

/**
 * Compares leases and send markers with the journals. They are not facts of a run, so its journal does not determine
 * them; it determines which of them are impossible.
 */
export class LeaseAudit {
  readonly #audited: AuditedStore;
  readonly #found: UnexplainedRow[] = [];
  /** The claims of all runs up to this one were checked. */
  #after = "";

  constructor(audited: AuditedStore) {
    this.#audited = audited;
  }

  /** Checks the claims of the runs up to the last one of a batch. They are read after the journals, so none is older. */
  async addBatch(journals: readonly LeaseAuditJournal[]): Promise<void> {
    const claims = await this.#readUpTo(journals.at(-1)?.run ?? null, journals.length + 1);
    const batch = new Map(journals.map((journal) => [journal.run, journal]));
    for (const claimed of claims.values()) {
      const journal = batch.get(claimed.run);
      if (journal === undefined) await this.#checkRunless(claimed);
      else await this.#checkClaimed(claimed, journal);
    }
    for (const journal of journals) if (!claims.has(journal.run)) this.#checkUnclaimed(journal);
  }

  /** Checks the claims after the last journal, and returns all problems. */
  async end(): Promise<readonly UnexplainedRow[]> {
    for (const claimed of (await this.#readUpTo(null, LIST_PAGE_SIZE)).values()) await this.#checkRunless(claimed);
    return this.#found;
  }

  /** Reads the claims up to a run; null: to the end. */
  async #readUpTo(last: RunId | null, pageSize: number): Promise<ReadonlyMap<RunId, RunClaims>> {
    const { store, tenant } = this.#audited;
    const found = new Map<RunId, RunClaims>();
    for (;;) {
      const page = await store.claims(tenant, this.#after, pageSize);
      for (const claimed of page) {
        if (last !== null && isAfter(claimed.run, last)) break;
        found.set(claimed.run, claimed);
        this.#after = claimed.run;
      }
      if (page.length < pageSize || this.#after !== page.at(-1)?.run) break;
    }
    this.#after = last ?? this.#after;
    return found;
  }

  /** A run whose acceptance was refused may have been claimed once. Any other claim belongs to a run. */
  async #checkRunless(claimed: RunClaims): Promise<void> {
    const { store, tenant } = this.#audited;
    const { run, epoch, markers, sent } = claimed;
    const isUnused = (epoch ?? 0) <= 1 && markers.length === 0 && sent === 0;
    if (isUnused || (await store.head(tenant, run)) !== null) return; // The run was accepted since, or never.
    this.#report(markers.length === 0 ? "lease" : "marker", run, "its run does not exist");
  }

  async #checkClaimed({ run, epoch, lease, markers, sent }: RunClaims, journal: LeaseAuditJournal): Promise<void> {
    const shown = lastTakenEpoch(journal.events);
    if ((epoch ?? 0) < shown)
      this.#report("lease", run, `its epoch is ${epoch ?? 0}, and the journal shows epoch ${shown}`);
    if (lease !== null && lease.epoch !== epoch)
      this.#report("lease", run, `its epoch is ${lease.epoch}, and that of its run is ${epoch}`);
    if (lease !== null && lease.worker === null)
      this.#report("lease", run, "no worker holds it, and it is not released");
    if (markers.length !== sent)
      this.#report("marker", run, `${sent} send markers were written, and ${markers.length} are there`);
    if (!journal.isWhole || !isRunJournal(run)) return;
    const acts = startedActs(journal.events);
    const isStarted = ({ step, attempt }: Marker) => acts.has(attemptName(step, attempt));
    // The run may have started more acts after its journal was read.
    const latest = markers.every(isStarted) ? acts : startedActs(await this.#readEvents(run));
    for (const { step, attempt, epoch: marked } of markers) {
      const key = `${run} ${attemptName(step, attempt)}`;
      if (!latest.has(attemptName(step, attempt))) this.#report("marker", key, "its attempt never started");
      else if (marked < 1 || marked > (epoch ?? 0))
        this.#report("marker", key, `its epoch is ${marked}, and that of its run is ${epoch ?? 0}`);
    }
    this.#checkReturnedActs(run, acts, markers);
  }

  #checkReturnedActs(run: RunId, acts: ReadonlyMap<string, StartedAct>, markers: readonly Marker[]): void {
    const written = new Set(markers.map(({ step, attempt }) => attemptName(step, attempt)));
    for (const [name, { boot, returned }] of acts)
      if (returned && boot === this.#audited.store.boot && !written.has(name))
        this.#report("marker", `${run} ${name}`, "its tool was called, and the marker is missing");
  }

  async #readEvents(run: RunId): Promise<readonly JournalEvent[]> {
    const { store, tenant } = this.#audited;
    return openEvents(store, new JournalCodec(tenant, run), await store.events(tenant, run, 0));
  }

  #checkUnclaimed({ run, events, isWhole }: LeaseAuditJournal): void {
    const [accepted, ...others] = events;
    // The run of a held request is accepted together with its gate.
    const later = isHeldRequest(accepted) ? others.slice(1) : others;
    if (isWhole && isRunJournal(run) && later.some(isByWorker))
      this.#report("lease", run, "a worker executed its run, and no lease shows it");
  }

  #report(table: "lease" | "marker", key: string, what: string): void {
    this.#found.push({ table, key, what });
  }
}

/** Compares names by their bytes, as databases do. */
function isAfter(run: RunId, other: RunId): boolean {
  return Buffer.compare(Buffer.from(run), Buffer.from(other)) > 0;
}

/** Only a worker that holds the run starts, parks and holds calls. */
function isByWorker({ type }: JournalEvent): boolean {
  return type === "step.started" || type === "step.parked" || type === "gate.opened" || type === "run.taken";
}

function isHeldRequest(accepted: JournalEvent | undefined): boolean {
  return accepted?.type === "run.accepted" && accepted.plan?.steps[0]?.kind === "verb";
}

function lastTakenEpoch(events: readonly JournalEvent[]): number {
  let epoch = 0;
  for (const event of events) if (event.type === "run.taken") epoch = Math.max(epoch, event.epoch);
  return epoch;
}

interface StartedAct {
  readonly boot: string;
  /** True if the call returned a value, so that the tool was called. */
  readonly returned: boolean;
}

function startedActs(events: readonly JournalEvent[]): ReadonlyMap<string, StartedAct> {
  const acts = new Map<string, StartedAct>();
  for (const event of events) {
    // Work that a host does itself has a marker, too.
    if (event.type === "step.started" && (event.ledger !== null || event.external !== undefined))
      acts.set(attemptName(event.step_id, event.attempt), { boot: event.boot, returned: false });
    if (event.type !== "step.succeeded" || event.ledger === undefined) continue;
    const name = attemptName(event.step_id, event.attempt);
    const act = acts.get(name);
    if (act !== undefined) acts.set(name, { ...act, returned: true });
  }
  return acts;
}

function attemptName(step: string, attempt: number): string {
  return `${step} ${attempt}`;
}
