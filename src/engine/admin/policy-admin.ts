import type { Principal } from "../../core/approval/principal.ts";
import type { ExpressionLanguage } from "../../core/ports/expression.ts";
import { evolvePolicies, noPolicies, type PolicyEvent, policyPut } from "../../core/settings/tenant-policies.ts";
import type { Check, Entry, Head } from "../../core/store/store.ts";
import type { PolicyRow } from "../../core/store/tables.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import { type PolicyDocument, parsePolicy } from "../../policy/parser/parse-policy.ts";
import type {
  JudgedSample,
  PolicyPlaceOptions,
  PolicyTestOptions,
  PolicyVersion,
  SetPolicyOptions,
  TenantPolicies,
} from "../api/policy-api.ts";
import { assertName, readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import { requestLimits } from "../api/request-limits.ts";
import type { PrincipalOptions, ReasonOptions } from "../api/request-options.ts";
import { appendOnce } from "../journal/append-once.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import { GENESIS_HASH, JournalCodec } from "../journal/journal-codec.ts";
import { policyJournal } from "../journal/journal-names.ts";
import { isLanded, type JudgedRequest } from "../journal/judged-request.ts";
import { loadPolicyEvents, loadTenantPolicies, policyPlace } from "../rules/policy-registry.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { judgeSamples } from "./judge-samples.ts";

/** Stores, removes and lists a tenant's policies in one journal. Each event is a version of one row. */
export class PolicyAdmin implements TenantPolicies {
  readonly #ports: WorkerPorts;
  readonly #language: ExpressionLanguage;

  constructor(ports: WorkerPorts, language: ExpressionLanguage) {
    this.#ports = ports;
    this.#language = language;
  }

  async set(document: unknown, options: SetPolicyOptions & JudgedRequest): Promise<void> {
    const who = readPrincipal(options.principal);
    const why = { ...recordedReason(options), ...requestField(options) };
    await this.#language.load();
    const { name, scope, document: valid } = this.read(document, who);
    const place = policyPlace(name, scope);
    await this.#record(who, options, (by, at, row) => {
      assertVersion(row, place, options.ifVersion);
      return { type: "policy.set", at, by, ...why, place, document: valid };
    });
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
      throw new FaultError(fault("POLICY_INVALID", `the policy is not valid: ${reasons.join("; ")}`, { reasons }));
    return read.policy;
  }

  async remove(name: string, options: ReasonOptions & PolicyPlaceOptions & JudgedRequest): Promise<void> {
    const who = readPrincipal(options.principal);
    const why = { ...recordedReason(options), ...requestField(options) };
    const place = readPlace(name, options);
    await this.#record(who, options, (by, at, { policies }) =>
      policies.some((each) => each.place === place) ? { type: "policy.removed", at, by, ...why, place } : null,
    );
  }

  async list({ principal }: PrincipalOptions): Promise<readonly JsonObject[]> {
    const { documents } = await loadTenantPolicies(this.#ports.store, readPrincipal(principal).tenant);
    return documents;
  }

  async get(name: string, options: PrincipalOptions & PolicyPlaceOptions): Promise<PolicyVersion> {
    const { tenant } = readPrincipal(options.principal);
    const place = readPlace(name, options);
    const events = await loadPolicyEvents(this.#ports.store, tenant);
    const version = events.findLastIndex((event) => event.place === place) + 1;
    const event = events[version - 1];
    if (event?.type === "policy.set") return toPolicyVersion(event, version);
    throw noSuchPolicy();
  }

  async history({
    principal,
    limit = HISTORY_PAGE_SIZE,
    before = Number.MAX_SAFE_INTEGER,
  }: Parameters<TenantPolicies["history"]>[0]): Promise<readonly PolicyVersion[]> {
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > requestLimits.policyVersions)
      throw new FaultError(
        fault("INVALID_INPUT", `limit must be a whole number, 1 to ${requestLimits.policyVersions}`),
      );
    if (!Number.isSafeInteger(before) || before < 1)
      throw new FaultError(fault("INVALID_INPUT", "before must be a version from the list"));
    const events = await loadPolicyEvents(this.#ports.store, readPrincipal(principal).tenant);
    const versions = events.map((event, index) => toPolicyVersion(event, index + 1));
    return versions
      .slice(0, before - 1)
      .toReversed()
      .slice(0, limit);
  }

  async test(document: unknown, options: PolicyTestOptions): Promise<readonly JudgedSample[]> {
    await this.#language.load();
    const draft = this.read(document, readPrincipal(options.principal));
    return judgeSamples(this.#ports, draft, options);
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
      if ((await findRequestExecution(store, tenant, run, requested)) !== null) break;
      const stored = await store.row(tenant, "setting", run);
      const before = stored === null ? noPolicies : (JSON.parse(stored.row) as PolicyRow);
      const event = fact(id, clock.now(), before);
      if (event === null) throw noSuchPolicy();
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

/** The default number of changes that `history` returns. */
const HISTORY_PAGE_SIZE = 50;

function noSuchPolicy(): FaultError {
  const message = "there is no policy of that name and scope; list the policies to see which there are";
  return new FaultError(fault("NOT_POSSIBLE", message));
}

function readPlace(name: string, { project, session }: PolicyPlaceOptions): string {
  assertName(name, "the name of a policy");
  return policyPlace(name, { ...(project !== undefined && { project }), ...(session !== undefined && { session }) });
}

const NO_HEAD = { position: 0, hash: GENESIS_HASH };

/** Throws if the place has another version than the one that a request replaces. */
function assertVersion({ policies }: PolicyRow, place: string, expected: number | undefined): void {
  if (expected === undefined) return;
  if (!Number.isSafeInteger(expected) || expected < 0)
    throw new FaultError(fault("INVALID_INPUT", "ifVersion must be a version of the policy, or 0 if it must be new"));
  const found = policies.find((each) => each.place === place)?.position ?? 0;
  if (found === expected) return;
  const message = `the policy has version ${found}, not ${expected}: it was changed meanwhile; read it again and repeat the change`;
  throw new FaultError(fault("NOT_POSSIBLE", message, { version: found }));
}

function toPolicyVersion(event: PolicyEvent, version: number): PolicyVersion {
  const [name, project, session] = JSON.parse(event.place) as [string, string | null, string | null];
  const { at, by, reason = "" } = event;
  const document = event.type === "policy.set" ? event.document : null;
  return { version, at, by, reason, name, project, session, document };
}

function recordedReason(options: ReasonOptions): { readonly reason?: string } {
  const reason = readReason(options);
  return reason === "" ? {} : { reason };
}
