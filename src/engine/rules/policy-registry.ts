import type { Policy } from "../../core/call/guard.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import type { Run } from "../../core/run/run.ts";
import { evolvePolicies, noPolicies, type PolicyEvent } from "../../core/settings/tenant-policies.ts";
import type { Check, Store } from "../../core/store/store.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, Tenant } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { CompiledPolicy } from "../../policy/compiled-policy.ts";
import { denyAllPolicy } from "../../policy/deny-all-policy.ts";
import { type PolicyDocument, type PolicyScope, parsePolicy } from "../../policy/parser/parse-policy.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { policyJournal } from "../journal/journal-names.ts";
import { digestOfJson } from "../ports/digest.ts";
import type { RulesPorts } from "./rules-ports.ts";

/** The policies of the engine, and those that tenants have stored. Selects by tenant, project and session of a run. */
export class PolicyRegistry {
  readonly #parts: readonly PolicyDocument[];
  readonly #ports: RulesPorts;
  readonly #language: ExpressionLanguage;
  /** Compiled policies by tenant, project and session. */
  readonly #compiled = new Map<string, Policy | null>();
  readonly #stored = new Map<Tenant, StoredPolicies>();
  readonly #reading = new Map<Tenant, Promise<void>>();
  /** A policy in the place of the stored one with its name and scope. Null: there is none. */
  readonly #draft: PolicyDocument | null;

  constructor(
    parts: readonly PolicyDocument[],
    ports: RulesPorts,
    language: ExpressionLanguage,
    draft: PolicyDocument | null = null,
  ) {
    this.#parts = parts;
    this.#ports = ports;
    this.#language = language;
    this.#draft = draft;
  }

  /** Returns a registry that judges as if the draft was stored. */
  withDraft(draft: PolicyDocument): PolicyRegistry {
    return new PolicyRegistry(this.#parts, this.#ports, this.#language, draft);
  }

  /**
   * Reads a tenant's stored policies if the cached ones are old, or another process has written. Null: they are fresh. The append that starts an act
   * also checks the row, so no act starts under old policies.
   */
  refreshIfStale(tenant: Tenant): Promise<void> | null {
    const { store, clock } = this.#ports;
    const known = this.#stored.get(tenant);
    if (known === undefined || known.changes !== store.changes()) return this.refresh(tenant);
    const since = clock.now() - known.at;
    return since >= 0 && since < waitTimes.policyCacheMs ? null : this.refresh(tenant);
  }

  /** Reads a tenant's stored policies. Concurrent callers share one read. */
  refresh(tenant: Tenant): Promise<void> {
    const current = this.#reading.get(tenant);
    if (current !== undefined) return current;
    const reading = this.#read(tenant).finally(() => this.#reading.delete(tenant));
    this.#reading.set(tenant, reading);
    return reading;
  }

  async #read(tenant: Tenant): Promise<void> {
    const { store, clock } = this.#ports;
    const at = clock.now();
    const changes = store.changes();
    const known = this.#stored.get(tenant);
    const row = await store.row(tenant, "setting", policyJournal);
    if (known !== undefined && known.version === (row?.version ?? 0)) {
      this.#stored.set(tenant, { ...known, at, changes });
      return;
    }
    const { version, documents } = row === null ? NO_STORED_POLICIES : await loadTenantPolicies(store, tenant);
    if (documents.length > 0) await this.#language.load();
    this.#compiled.clear();
    const rowChecks = [policyRowCheck(version)];
    this.#stored.set(tenant, { at, changes, version, rowChecks, ...parsePolicies(documents, this.#language) });
  }

  /** Returns the checks for the tenant's policy row as it was last read, even if there is no policy. */
  rowChecks(tenant: Tenant): readonly Check[] {
    return this.#stored.get(tenant)?.rowChecks ?? UNREAD_ROW_CHECKS;
  }

  /** Returns whether there may be a policy for runs of the tenant, as it was last read. */
  hasAny(tenant: Tenant): boolean {
    return this.#parts.length > 0 || this.#draft !== null || (this.#stored.get(tenant)?.version ?? 0) > 0;
  }

  /** Returns the policy for a run. Null: no rule applies. */
  of({ tenant, project, session }: Pick<Run, "tenant" | "project" | "session">): Policy | null {
    const stored = this.#stored.get(tenant) ?? null;
    if (!this.hasAny(tenant)) return null;
    const place = JSON.stringify([tenant, project, session]);
    const known = this.#compiled.get(place);
    if (known !== undefined) return known;
    const where = { tenant, ...(project !== null && { project }), ...(session !== null && { session }) };
    const made = compilePolicy(where, [...this.#parts, ...withDraft(stored?.parts ?? [], this.#draft)], stored);
    if (this.#compiled.size >= CACHED_PLACES_MAX) this.#compiled.clear();
    this.#compiled.set(place, made);
    return made;
  }
}

/** A tenant's stored policies as they were read. */
interface StoredPolicies {
  readonly at: Instant;
  /** The changes of the store before the policies were read. */
  readonly changes: number | null;
  /** The version of the row. 0: there was no row. */
  readonly version: number;
  /** The check of the row, in a list: every start of a call has it. */
  readonly rowChecks: readonly Check[];
  readonly parts: readonly PolicyDocument[];
  /** Why a policy cannot be parsed. Null: all can. */
  readonly flaw: string | null;
}

const NO_STORED_POLICIES = { version: 0, documents: [] };

/** Reads a tenant's policy journal. The n-th event is version n. */
export async function loadPolicyEvents(store: Store, tenant: Tenant): Promise<readonly PolicyEvent[]> {
  const stored = await store.events(tenant, policyJournal, 0);
  const journal = new JournalCodec(tenant, policyJournal);
  journal.assertIntact(stored, GENESIS_HASH, 0);
  return Promise.all(stored.map((event) => journal.open<PolicyEvent>(event, store)));
}

/** Reads a tenant's current policies, and the number of events in their journal. */
export async function loadTenantPolicies(
  store: Store,
  tenant: Tenant,
): Promise<{ readonly version: number; readonly documents: readonly JsonObject[] }> {
  const events = await loadPolicyEvents(store, tenant);
  const row = events.reduce((before, event, index) => evolvePolicies(before, event, index + 1), noPolicies);
  const documents = row.policies.flatMap(({ position }) => {
    const event = events[position - 1];
    return event?.type === "policy.set" ? [event.document] : [];
  });
  return { version: events.length, documents };
}

/** Parses stored policies. A policy of another version of this program that cannot be parsed refuses every call. */
function parsePolicies(
  documents: readonly JsonObject[],
  language: ExpressionLanguage,
): Pick<StoredPolicies, "parts" | "flaw"> {
  const read = documents.map((document) => parsePolicy(document, language));
  const parts = read.flatMap((each) => (each.ok ? [each.policy] : []));
  const wrong = documents.filter((_, index) => read[index]?.ok === false).map(({ name }) => String(name));
  return { parts, flaw: wrong.length === 0 ? null : `the stored policy ${wrong.join(", ")} cannot be read` };
}

/** Returns the stored policies with the draft in the place of the one that it replaces. */
function withDraft(stored: readonly PolicyDocument[], draft: PolicyDocument | null): readonly PolicyDocument[] {
  if (draft === null) return stored;
  const place = policyPlace(draft.name, draft.scope);
  return [...stored.filter(({ name, scope }) => policyPlace(name, scope) !== place), draft];
}

/** Returns the key of a policy. A policy with the same name and scope replaces it. */
export function policyPlace(name: string, { project, session }: PolicyScope): string {
  return JSON.stringify([name, project ?? null, session ?? null]);
}

function compilePolicy(
  place: PolicyScope,
  all: readonly PolicyDocument[],
  stored: StoredPolicies | null,
): Policy | null {
  const parts = all.filter(({ scope }) => isWithin(place, scope));
  const version = `pol_${digestOfJson(parts.map(({ document }) => document as Json)).slice(0, 32)}`;
  const read = stored?.rowChecks ?? UNREAD_ROW_CHECKS;
  if (stored !== null && stored.flaw !== null) return denyAllPolicy(version, "policies", stored.flaw, read);
  return parts.length === 0 ? null : new CompiledPolicy(version, parts, read);
}

/** Returns the check for the policy row. A missing row cannot be locked, so it is glanced at. */
function policyRowCheck(version: number): Check {
  return version > 0
    ? { table: "setting", key: policyJournal, was: version }
    : { table: "setting", key: policyJournal, was: null, glance: "own" };
}

/** The checks of a row that was never read. No row has this version. */
const UNREAD_ROW_CHECKS: readonly Check[] = [{ table: "setting", key: policyJournal, was: -1, glance: "own" }];

/** Returns whether a scope covers a place. */
function isWithin(place: PolicyScope, scope: PolicyScope): boolean {
  return (["tenant", "project", "session"] as const).every(
    (name) => scope[name] === undefined || scope[name] === place[name],
  );
}

/** Cached places. */
const CACHED_PLACES_MAX = 1000;

/** Parses the policies in the engine's options. Throws if one is invalid. */
export function readEnginePolicies(
  documents: readonly unknown[],
  language: ExpressionLanguage,
): readonly PolicyDocument[] {
  const read = documents.map((document) => parsePolicy(document, language));
  const reasons = read.flatMap((each, index) =>
    each.ok ? [] : each.reasons.map(({ path, message }) => `policies/${index}${path}: ${message}`),
  );
  const parts = read.flatMap((each) => (each.ok ? [each.policy] : []));
  const names = parts.map(({ name, scope }) => JSON.stringify([name, scope.tenant, scope.project, scope.session]));
  const twice = parts.filter((_, index) => names.indexOf(names[index] as string) !== index);
  reasons.push(
    ...twice.map(({ name }) => `two policies with the same scope are called ${name}; give each its own name`),
  );
  if (reasons.length === 0) return parts;
  throw new FaultError(fault("POLICY_INVALID", `the engine was not opened: ${reasons.join("; ")}`, { reasons }));
}
