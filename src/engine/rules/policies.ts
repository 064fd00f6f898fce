import type { Language } from "../../core/expression.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { Policy } from "../../core/guard.ts";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { Json, JsonObject } from "../../core/json/json.ts";
import { evolvePolicies, noPolicies, type PolicyEvent } from "../../core/policy-journal.ts";
import type { Run } from "../../core/run.ts";
import type { Check, Store } from "../../core/store.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type PolicyPart, type PolicyScope, readPolicy } from "../../policy/read-policy.ts";
import { refusesAll } from "../../policy/refuses-all.ts";
import { RuleBook } from "../../policy/rule-book.ts";
import { digestOfJson } from "../digest.ts";
import { GENESIS, Journal } from "../record/journal.ts";

/** The policies of an engine and those that its tenants have on record. Which are for a run depends on where it is, and on nothing else. */
export class Policies {
  readonly #parts: readonly PolicyPart[];
  readonly #doors: Doors;
  readonly #language: Language;
  /** By place. There are as many as places that runs are in. */
  readonly #books = new Map<string, Policy | null>();
  readonly #stored = new Map<Tenant, Stored>();
  readonly #reading = new Map<Tenant, Promise<void>>();

  constructor(parts: readonly PolicyPart[], doors: Doors, language: Language) {
    this.#parts = parts;
    this.#doors = doors;
    this.#language = language;
  }

  /**
   * Reads a tenant's own policies if that was long ago; null: it was not. What acts relies on the row it was judged by, or on there
   * being none, so that a change is met there at once; this is for all else.
   */
  reading(tenant: Tenant): Promise<void> | null {
    const { clock } = this.#doors;
    const since = clock.now() - (this.#stored.get(tenant)?.at ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < FRESH_MS ? null : this.readAnew(tenant);
  }

  /** Reads a tenant's own policies: once for all who want to know at the same time. */
  readAnew(tenant: Tenant): Promise<void> {
    const under = this.#reading.get(tenant);
    if (under !== undefined) return under;
    const reading = this.#read(tenant).finally(() => this.#reading.delete(tenant));
    this.#reading.set(tenant, reading);
    return reading;
  }

  async #read(tenant: Tenant): Promise<void> {
    const { store, clock } = this.#doors;
    const at = clock.now();
    const known = this.#stored.get(tenant);
    const row = await store.row(tenant, "setting", policyJournal);
    if (known !== undefined && known.version === (row?.version ?? 0)) {
      this.#stored.set(tenant, { ...known, at });
      return;
    }
    const { version, documents } = row === null ? NOTHING : await storedPolicies(store, tenant);
    this.#books.clear();
    this.#stored.set(tenant, { at, version, ...partsOf(documents, this.#language) });
  }

  /** The row of a tenant as it was read last, though nothing may be on it. */
  asRead(tenant: Tenant): readonly Check[] {
    return [checkOf(this.#stored.get(tenant) ?? null)];
  }

  /** The rules that are in force for a run; null: there are none. */
  of({ tenant, project, session }: Pick<Run, "tenant" | "project" | "session">): Policy | null {
    const stored = this.#stored.get(tenant) ?? null;
    if (this.#parts.length === 0 && (stored === null || stored.version === 0)) return null;
    const place = JSON.stringify([tenant, project, session]);
    const known = this.#books.get(place);
    if (known !== undefined) return known;
    const where = { tenant, ...(project !== null && { project }), ...(session !== null && { session }) };
    const made = bookOf(where, [...this.#parts, ...(stored?.parts ?? [])], stored);
    if (this.#books.size >= PLACES_MAX) this.#books.clear();
    this.#books.set(place, made);
    return made;
  }
}

interface Doors {
  readonly store: Store;
  readonly clock: Clock;
}

/** A tenant's own policies as they were read. */
interface Stored {
  readonly at: Instant;
  /** Of the row; 0: there was none. */
  readonly version: number;
  readonly parts: readonly PolicyPart[];
  /** Why one of them cannot be read; null: all can. */
  readonly flaw: string | null;
}

/** So long what was read is taken for what is. */
const FRESH_MS = 1000;

const NOTHING = { version: 0, documents: [] };

/** One for each tenant. */
export const policyJournal = "pol_tenant" as RunId;

export function isPolicyJournal(journal: RunId): boolean {
  return journal === policyJournal;
}

/** What a tenant's journal of policies adds up to, and how many facts it has. */
export async function storedPolicies(
  store: Store,
  tenant: Tenant,
): Promise<{ readonly version: number; readonly documents: readonly JsonObject[] }> {
  const stored = await store.events(tenant, policyJournal, 0);
  const journal = new Journal(tenant, policyJournal);
  journal.assertIntact(stored, GENESIS, 0);
  const events = await Promise.all(stored.map((event) => journal.open<PolicyEvent>(event, store)));
  const row = events.reduce((before, event, index) => evolvePolicies(before, event, index + 1), noPolicies);
  const documents = row.policies.flatMap(({ position }) => {
    const event = events[position - 1];
    return event?.type === "policy.set" ? [event.document] : [];
  });
  return { version: events.length, documents };
}

/** A policy that was put on record by another version of this program, and that this one cannot read, lets nothing pass. */
function partsOf(documents: readonly JsonObject[], language: Language): Pick<Stored, "parts" | "flaw"> {
  const read = documents.map((document) => readPolicy(document, language));
  const parts = read.flatMap((each) => (each.ok ? [each.policy] : []));
  const wrong = documents.filter((_, index) => read[index]?.ok === false).map(({ name }) => String(name));
  return { parts, flaw: wrong.length === 0 ? null : `what is on record as policy ${wrong.join(", ")} cannot be read` };
}

function bookOf(place: PolicyScope, all: readonly PolicyPart[], stored: Stored | null): Policy | null {
  const theirs = all.filter(({ scope }) => scope.tenant === undefined || scope.tenant === place.tenant);
  const parts = theirs.filter(({ scope }) => isWithin(place, scope));
  const version = `pol_${digestOfJson(parts.map(({ document }) => document as Json)).slice(0, 32)}`;
  const read = [checkOf(stored)];
  if (stored !== null && stored.flaw !== null) return refusesAll(version, "policies", stored.flaw, read);
  // Where sessions have rules, one that has none is not free of them: nobody knows it.
  const isStranger = place.session !== undefined && !parts.some(({ scope }) => scope.session !== undefined);
  if (isStranger && theirs.some(({ scope }) => scope.session !== undefined))
    return refusesAll(version, "session", `no policy knows the session ${place.session}`, read);
  return parts.length === 0 ? null : new RuleBook(version, parts, read);
}

/** Where there is none yet, a glance: nothing could be locked. What nobody has read has no version that a row could have. */
function checkOf(stored: Stored | null): Check {
  const row = { table: "setting", key: policyJournal } as const;
  if (stored !== null && stored.version > 0) return { ...row, was: stored.version };
  return { ...row, was: stored === null ? -1 : null, glance: "own" };
}

/** Whether a place is one that a scope is for. */
function isWithin(place: PolicyScope, scope: PolicyScope): boolean {
  return (["tenant", "project", "session"] as const).every(
    (name) => scope[name] === undefined || scope[name] === place[name],
  );
}

/** So many are remembered; sessions come and go. */
const PLACES_MAX = 1000;

/** Reads the documents that an engine is opened with. One that cannot be read keeps it from being opened. */
export function readPolicies(documents: readonly unknown[], language: Language): readonly PolicyPart[] {
  const read = documents.map((document) => readPolicy(document, language));
  const reasons = read.flatMap((each, index) =>
    each.ok ? [] : each.reasons.map(({ path, message }) => `policies/${index}${path}: ${message}`),
  );
  const parts = read.flatMap((each) => (each.ok ? [each.policy] : []));
  const names = parts.map(({ name, scope }) => JSON.stringify([name, scope.tenant, scope.project, scope.session]));
  const twice = parts.filter((_, index) => names.indexOf(names[index] as string) !== index);
  reasons.push(...twice.map(({ name }) => `two policies of one place are called ${name}; give each its own name`));
  if (reasons.length === 0) return parts;
  throw new FaultError(fault("POLICY_INVALID", `the engine was not opened: ${reasons.join("; ")}`, { reasons }));
}
