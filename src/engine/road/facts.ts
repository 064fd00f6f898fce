import { endSignal } from "../../core/child.ts";
import type { Event } from "../../core/event.ts";
import type { Digest, Instant } from "../../core/id.ts";
import type { Json } from "../../core/json/json.ts";
import type { LedgerFact, Proposal, ReusableOutcome, ReuseTerms } from "../../core/proposal.ts";
import type { LedgerRow, OutcomeRow } from "../../core/rows.ts";
import type { Run, Step } from "../../core/run.ts";
import { awaitsSignal } from "../../core/step.ts";
import { digestOf } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { signalFact } from "../post/boxes.ts";
import { eventAt } from "../record/load.ts";
import { recordFor } from "../rules/trust.ts";
import { childOf } from "./kin.ts";

/** Fetches what judging a proposal needs from elsewhere: the ledger's row for its key, an outcome that could stand in for it. */
export async function withFacts(ports: Ports, run: Run, step: Step, proposal: Proposal): Promise<Proposal> {
  if (step.spec.kind === "run") {
    const signal = endSignal(childOf(run.id, step.spec.step_id));
    return { ...proposal, signal: await signalFact(ports, run.tenant, { signal }) };
  }
  if (awaitsSignal(step)) return { ...proposal, signal: await signalFact(ports, run.tenant, proposal.input) };
  const key = proposal.call?.key;
  if (key != null) {
    const record = await recordFor(ports, run, proposal);
    return { ...proposal, record, ledger: await ledgerFact(ports, run, key) };
  }
  const terms = reuseTerms(ports, run, step, proposal, ports.policies.of(run)?.version ?? null);
  return terms === null ? proposal : { ...proposal, reusable: await reusable(ports, run, terms) };
}

async function ledgerFact({ store }: Ports, run: Run, key: string): Promise<LedgerFact | null> {
  const stored = await store.row(run.tenant, "ledger", key);
  if (stored === null) return null;
  const row = JSON.parse(stored.row) as LedgerRow;
  const proof = row.receipt === null ? null : await eventAt(store, run.tenant, row.run_id, row.receipt);
  return { version: stored.version, row, receipt: proof && receiptOf(proof), sighting: null };
}

function receiptOf(proof: Event): { readonly output: Json; readonly at: Instant } | null {
  if (proof.type === "step.succeeded") return { output: proof.output, at: proof.at };
  if (proof.type === "step.settled" && proof.settled.as === "happened")
    return { output: proof.settled.output, at: proof.at };
  return null;
}

/** The outcomes a plan may be answered with again: made for reading, not facts that grow old. */
const SAFE_TYPES = /^(draft|review|summary|alignment)(\.|$)/i;

/** Under which terms this call's outcome may be shared with equal calls; null: not at all. */
export function reuseTerms(
  ports: Ports,
  run: Run,
  { spec, pin }: Step,
  { call }: Proposal,
  policy: string | null,
): ReuseTerms | null {
  const tool = ports.toolbox.get(spec.name);
  if (spec.cache_policy === "never" || tool === undefined || call === null || call.key !== null || pin === null)
    return null;
  if (tool.redact.length > 0) return null; // What was stored is not what was answered.
  const ttlMs = tool.cacheTtlMs;
  const safe = tool.effect === "pure" || (spec.outcome !== null && SAFE_TYPES.test(spec.outcome.type));
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
    ...(policy === null ? [] : [policy]), // What was made under other rules might not be made, or not shown, under these.
  ];
  return { key: digestOf("writ/reuse/v1", ...made) as Digest, ttlMs };
}

async function reusable(ports: Ports, run: Run, { key, ttlMs }: ReuseTerms): Promise<ReusableOutcome | null> {
  const query = { table: "outcome", where: { field: "reuse_key", equals: key }, order: "newest", limit: 1 } as const;
  const [stored] = await ports.store.list(run.tenant, query);
  if (stored === undefined) return null;
  const row = JSON.parse(stored.row) as OutcomeRow;
  if (ttlMs !== null && ports.clock.now() >= row.at + ttlMs) return null;
  const made = await eventAt(ports.store, run.tenant, row.run_id, row.position);
  if (made?.type !== "step.succeeded") return null;
  return { output: made.output, reused: { run: row.run_id, step: row.step_id, at: row.at, differs: null } };
}
