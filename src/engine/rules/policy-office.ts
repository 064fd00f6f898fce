import type { Language } from "../../core/expression.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { RunId, Tenant } from "../../core/id.ts";
import type { JsonObject } from "../../core/json/json.ts";
import { evolvePolicies, noPolicies, type PolicyEvent, policyPut } from "../../core/policy-journal.ts";
import type { Principal } from "../../core/principal.ts";
import type { PolicyRow } from "../../core/rows.ts";
import type { Entry } from "../../core/store.ts";
import { type PolicyScope, readPolicy } from "../../policy/read-policy.ts";
import type { As, PolicyPlace, TenantPolicies } from "../api.ts";
import type { Ports } from "../ports.ts";
import { assertName, principalOf } from "../principal.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { policyJournal, storedPolicies } from "./policies.ts";

/** The policies that a tenant has put on record: one journal, of which each fact is a version of one row. */
export class PolicyOffice implements TenantPolicies {
  readonly #ports: Ports;
  readonly #language: Language;

  constructor(ports: Ports, language: Language) {
    this.#ports = ports;
    this.#language = language;
  }

  async set(document: unknown, { principal }: As): Promise<void> {
    const who = decider(principal);
    const read = readPolicy(document, this.#language);
    const reasons = read.ok
      ? read.policy.scope.tenant === who.tenant
        ? []
        : [`/scope/tenant: is ${who.tenant}, or it is not for you to set`]
      : read.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
    if (!read.ok || reasons.length > 0)
      throw new FaultError(fault("POLICY_INVALID", `the policy was not set: ${reasons.join("; ")}`, { reasons }));
    const { name, scope } = read.policy;
    await this.#record(who, (by, at) => ({
      type: "policy.set",
      at,
      by,
      place: placeOf(name, scope),
      document: read.policy.document,
    }));
  }

  async remove(name: string, { principal, project, session }: As & PolicyPlace): Promise<void> {
    const who = decider(principal);
    assertName(name, "the name of a policy");
    const scope = { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
    const place = placeOf(name, scope);
    await this.#record(who, (by, at, { policies }) =>
      policies.some((each) => each.place === place) ? { type: "policy.removed", at, by, place } : null,
    );
  }

  async list({ principal }: As): Promise<readonly JsonObject[]> {
    const { documents } = await storedPolicies(this.#ports.store, principalOf(principal).tenant);
    return documents;
  }

  /** Appends a fact, judged by the policies as they are; whoever loses judges anew. */
  async #record(
    { id, tenant }: Principal,
    fact: (by: string, at: PolicyEvent["at"], row: PolicyRow) => PolicyEvent | null,
  ): Promise<void> {
    const { store, clock } = this.#ports;
    const run = policyJournal;
    for (;;) {
      const head = await store.head(tenant, run);
      const stored = await store.row(tenant, "setting", run);
      const before = stored === null ? noPolicies : (JSON.parse(stored.row) as PolicyRow);
      const event = fact(id, clock.now(), before);
      if (event === null) throw new FaultError(fault("NOT_POSSIBLE", "there is no such policy; nothing was removed"));
      if (await this.#appended(tenant, event, before, head ?? { position: 0, hash: GENESIS })) break;
    }
    await this.#ports.policies.readAnew(tenant);
  }

  async #appended(
    tenant: Tenant,
    event: PolicyEvent,
    before: PolicyRow,
    head: { readonly position: number; readonly hash: Uint8Array },
  ): Promise<boolean> {
    const run: RunId = policyJournal;
    const position = head.position + 1;
    const { event: sealed, blob } = new Journal(tenant, run).seal(event, position, head.hash);
    if (blob !== null) await this.#ports.store.putBlob(tenant, blob.hash, blob.bytes);
    const entry: Entry = {
      tenant,
      run,
      expect: { position: head.position, epoch: null },
      events: [sealed],
      puts: [policyPut(run, evolvePolicies(before, event, position), position)],
      charges: [],
      checks: [],
      flush: "hard",
    };
    return (await appendOnce(this.#ports, entry)).landed;
  }
}

/** Where a document stands among its tenant's, so that another one of that name and place takes its turn. */
function placeOf(name: string, { project, session }: PolicyScope): string {
  return JSON.stringify([name, project ?? null, session ?? null]);
}

/** Rules are made by people: what a model or a program says has no say in what it may do. */
function decider(given: As["principal"]): Principal {
  const principal = principalOf(given);
  if (principal.kind === "person") return principal;
  const message = `${principal.kind} ${principal.id} cannot change a policy; only a person can`;
  throw new FaultError(fault("AUTH_FORBIDDEN", message));
}
