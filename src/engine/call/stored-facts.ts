import type { LedgerFact, Proposal, ReusableOutcome, ReuseTerms } from "../../core/call/proposal.ts";
import { receiptOf } from "../../core/call/receipt.ts";
import type { Event } from "../../core/event/event.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { childEndSignal } from "../../core/run/child-run-notices.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { awaitsSignal } from "../../core/run/step.ts";
import { stepPrincipal } from "../../core/run/step-principal.ts";
import type { Store } from "../../core/store/store.ts";
import type { LedgerRow, OutcomeRow } from "../../core/store/tables.ts";
import type { Tool } from "../../core/tool/tool.ts";
import type { Digest, EffectKey, StepId, Tenant } from "../../core/values/ids.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { loadEventAt, readEventPages } from "../journal/load-run.ts";
import { readSignalFact } from "../journal/signal-box.ts";
import { digestOfParts } from "../ports/digest.ts";
import { earnedTrustForCall } from "../rules/read-earned-trust.ts";
import type { CallPorts } from "./call-ports.ts";
import { childRunId } from "./child-run-port.ts";

/** Returns the proposal with facts from the store: its ledger row, the row of its signal, or an output to reuse. */
export async function withStoredFacts(ports: CallPorts, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  if (stepKinds[step.spec.kind].startsRun) {
    const signal = childEndSignal(childRunId(run.id, step.spec.step_id));
    return { ...proposal, signal: await readSignalFact(ports, run.tenant, { signal }) };
  }
  if (awaitsSignal(step)) return { ...proposal, signal: await readSignalFact(ports, run.tenant, proposal.input) };
  const key = proposal.call?.key;
  if (key != null) {
    const record = await earnedTrustForCall(ports, run, proposal);
    const { same: _, ...own } = proposal; // Its row may have changed, too.
    return { ...own, record, ledger: await readLedgerFact(ports, run, key) };
  }
  const terms = reuseTermsFor(ports, run, step, proposal, ports.policies.of(run)?.version ?? null);
  return terms === null || step.spec.cache_policy === "refresh"
    ? proposal
    : { ...proposal, reusable: await readReusableOutcome(ports, run, terms) };
}

/** Returns the ledger row of a key and its receipt, or null if there is none. */
export async function readLedgerFact({ store }: CallPorts, run: Run, key: string): Promise<LedgerFact | null> {
  const stored = await store.row(run.tenant, "ledger", key);
  if (stored === null) return null;
  const row = JSON.parse(stored.row) as LedgerRow;
  const proof = row.receipt === null ? null : await loadEventAt(store, run.tenant, row.run_id, row.receipt);
  const receipt = proof && receiptOf(proof);
  if (receipt === null || receipt.key !== null) return { version: stored.version, row, receipt, sighting: null };
  const readKey = { ...receipt, key: await readEffectKey(store, run.tenant, row, receipt.step_id) };
  return { version: stored.version, row, receipt: readKey, sighting: null };
}

/** Returns the key of an act whose receipt does not name it, from the events before the receipt. Null: erased. */
async function readEffectKey(
  store: Store,
  tenant: Tenant,
  { run_id, receipt }: LedgerRow,
  step: StepId,
): Promise<EffectKey | null> {
  const journal = new JournalCodec(tenant, run_id);
  let key: EffectKey | null = null;
  for await (const page of readEventPages(store, tenant, run_id)) {
    for (const stored of page) {
      if (stored.position >= (receipt ?? 0)) return key;
      if (stored.type !== "step.started" || stored.body === null) continue;
      const event = await journal.open<Extract<Event, { type: "step.started" }>>(stored, store);
      if (event.step_id === step) key = event.call.key;
    }
  }
  return key;
}

/** Outcome types that can be reused without a time limit: texts, not facts that grow old. */
const REUSABLE_OUTCOME_TYPES = /^(draft|review|summary|alignment)(\.|$)/i;

/** Returns the terms under which equal calls may reuse the output of this call, or null. */
export function reuseTermsFor(
  ports: CallPorts,
  run: Run,
  step: Step,
  { call }: Pick<Proposal, "call">,
  policy: string | null,
): ReuseTerms | null {
  const { spec, pin } = step;
  if (spec.cache_policy === "never" || call === null || call.key !== null || pin === null) return null;
  const tool = ports.toolbox.pinned(spec.name, pin);
  if (tool === null) return null; // It was removed or replaced while the call ran.
  if (tool.redact.length > 0) return null; // The stored output is redacted.
  const ttlMs = tool.cacheTtlMs;
  const safe = tool.effect === "pure" || (spec.outcome !== null && REUSABLE_OUTCOME_TYPES.test(spec.outcome.type));
  if (ttlMs === null && (spec.cache_policy === "ttl_only" || !safe)) return null;
  const tags = [...spec.policy_tags].sort().join(",");
  const made = [
    run.tenant,
    spec.name,
    pin.version,
    pin.schema_hash,
    call.digest,
    tags,
    run.mode,
    spec.outcome?.type ?? "",
    spec.outcome?.status ?? "",
    ...(isShared(step, tool) ? [] : [stepPrincipal(run, step).id]),
    ...(policy === null ? [] : [policy]), // Other rules may not allow the same output.
  ];
  return {
    key: digestOfParts("writ/reuse/v2", isShared(step, tool) ? "tenant" : "principal", ...made) as Digest,
    ttlMs,
  };
}

/** A handler that a caller gave with its call answers only that caller: it may do something else than the tool. */
function isShared({ cause }: Step, { cacheShare }: Tool): boolean {
  return cacheShare === "tenant" && !(cause?.by === "agent" && cause.handler !== undefined);
}

async function readReusableOutcome(
  ports: CallPorts,
  run: Run,
  { key, ttlMs }: ReuseTerms,
): Promise<ReusableOutcome | null> {
  const query = { table: "outcome", where: { field: "reuse_key", equals: key }, order: "newest", limit: 1 } as const;
  const [stored] = await ports.store.list(run.tenant, query);
  if (stored === undefined) return null;
  const row = JSON.parse(stored.row) as OutcomeRow;
  if (ttlMs !== null && ports.clock.now() >= row.at + ttlMs) return null;
  const made = await loadEventAt(ports.store, run.tenant, row.run_id, row.position);
  if (made?.type !== "step.succeeded") return null;
  return { output: made.output, reused: { run: row.run_id, step: row.step_id, at: row.at, differs: null } };
}
