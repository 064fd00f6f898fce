import type { Principal } from "../../core/approval/principal.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import { evolvePolicies, noPolicies, type PolicyEvent, policyPut } from "../../core/settings/tenant-policies.ts";
import type { Check, Entry, Head } from "../../core/store/store.ts";
import type { PolicyRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import { type PolicyDocument, type PolicyScope, parsePolicy } from "../../policy/parser/parse-policy.ts";
import type { PolicyPlaceOptions, TenantPolicies } from "../api/policy-api.ts";
import { assertName, readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { PrincipalOptions, ReasonOptions } from "../api/request-options.ts";
import { appendOnce } from "../journal/append-once.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { policyJournal } from "../journal/journal-names.ts";
import { isLanded, type JudgedRequest } from "../journal/judged-request.ts";
import { findRequested, requestField } from "../journal/requested-event.ts";
import { loadTenantPolicies } from "../rules/policy-registry.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Stores, removes and lists a tenant's policies in one journal. Each event is a version of one row. */
export class PolicyAdmin implements TenantPolicies {
  readonly #ports: WorkerPorts;
  readonly #language: ExpressionLanguage;

  constructor(ports: WorkerPorts, language: ExpressionLanguage) {
    this.#ports = ports;
    this.#language = language;
  }

  async set(document: unknown, options: ReasonOptions & JudgedRequest): Promise<void> {
    const who = readPrincipal(options.principal);
    const why = { ...recordedReason(options), ...requestField(options) };
    await this.#language.load();
    const { name, scope, document: valid } = this.read(document, who);
    await this.#record(who, options, (by, at) => ({
      type: "policy.set",
      at,
      by,
      ...why,
      place: policyPlace(name, scope),
      document: valid,
    }));
  }

  /** Reads a policy of the tenant. Throws POLICY_INVALID with all reasons. */
  read(document: unknown, who: Principal): PolicyDocument {
    const read = parsePolicy(document, this.#language);
    const reasons = read.ok
      ? read.policy.scope.tenant === who.tenant
        ? []
        : [`/scope/tenant: must be ${who.tenant}, the tenant of the principal`]
      : read.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
    if (!read.ok || reasons.length > 0)
      throw new FaultError(fault("POLICY_INVALID", `the policy was not set: ${reasons.join("; ")}`, { reasons }));
    return read.policy;
  }

  async remove(name: string, options: ReasonOptions & PolicyPlaceOptions & JudgedRequest): Promise<void> {
    const { project, session } = options;
    const who = readPrincipal(options.principal);
    const why = { ...recordedReason(options), ...requestField(options) };
    assertName(name, "the name of a policy");
    const scope = { ...(project !== undefined && { project }), ...(session !== undefined && { session }) };
    const place = policyPlace(name, scope);
    await this.#record(who, options, (by, at, { policies }) =>
      policies.some((each) => each.place === place) ? { type: "policy.removed", at, by, ...why, place } : null,
    );
  }

  async list({ principal }: PrincipalOptions): Promise<readonly JsonObject[]> {
    const { documents } = await loadTenantPolicies(this.#ports.store, readPrincipal(principal).tenant);
    return documents;
  }

  /** Decides on the current policies and appends the event. Decides again if another append came first. */
  async #record(
    { id, tenant }: Principal,
    requested: JudgedRequest,
    fact: (by: string, at: PolicyEvent["at"], row: PolicyRow) => PolicyEvent | null,
  ): Promise<void> {
    const { store, clock } = this.#ports;
    const run = policyJournal;
    for (;;) {
      const head = await store.head(tenant, run);
      if ((await findRequested(store, tenant, run, requested)) !== null) break;
      const stored = await store.row(tenant, "setting", run);
      const before = stored === null ? noPolicies : (JSON.parse(stored.row) as PolicyRow);
      const event = fact(id, clock.now(), before);
      if (event === null) {
        const message =
          "there is no policy of that name and scope; nothing was removed; list the policies to see which there are";
        throw new FaultError(fault("NOT_POSSIBLE", message));
      }
      if (await this.#appended(tenant, event, before, { ...(head ?? NO_HEAD), checks: requested.checks ?? [] })) break;
    }
    await this.#ports.policies.refresh(tenant);
  }

  async #appended(
    tenant: Tenant,
    event: PolicyEvent,
    before: PolicyRow,
    head: Head & { readonly checks: readonly Check[] },
  ): Promise<boolean> {
    const run: RunId = policyJournal;
    const position = head.position + 1;
    const { event: sealed, blob } = new JournalCodec(tenant, run).seal(event, position, head.hash);
    if (blob !== null) await this.#ports.store.putBlob(tenant, blob.hash, blob.bytes);
    const entry: Entry = {
      tenant,
      run,
      expect: { position: head.position, epoch: null },
      events: [sealed],
      puts: [policyPut(run, evolvePolicies(before, event, position), position)],
      charges: [],
      checks: head.checks,
      flush: "hard",
    };
    return isLanded(await appendOnce(this.#ports, entry));
  }
}

const NO_HEAD = { position: 0, hash: GENESIS_HASH };

/** Returns the key of a policy. A policy with the same name and scope replaces it. */
function policyPlace(name: string, { project, session }: PolicyScope): string {
  return JSON.stringify([name, project ?? null, session ?? null]);
}

function recordedReason(options: ReasonOptions): { readonly reason?: string } {
  const reason = readReason(options);
  return reason === "" ? {} : { reason };
}
