import type { RunId, Tenant } from "../../core/id.ts";
import { isObject, type Json } from "../../core/json/json.ts";
import type { BoxVersion } from "../../core/parking.ts";
import type { SignalFact } from "../../core/proposal.ts";
import type { SignalRow } from "../../core/rows.ts";
import { signalPuts } from "../../core/rows-of.ts";
import type { SignalSent } from "../../core/signal.ts";
import type { Entry } from "../../core/store.ts";
import { digestOf } from "../digest.ts";
import type { Ports } from "../ports.ts";
import { appendOnce } from "../record/append-once.ts";
import { GENESIS, Journal } from "../record/journal.ts";
import { RowLost } from "../record/mailbox.ts";

/** Puts a signal into its box. Throws RowLost if the box is another one by now. */
export async function keepIn(
  ports: Ports,
  tenant: Tenant,
  box: BoxVersion,
  { signal_id, payload, by, request }: Pick<SignalSent, "signal_id" | "payload" | "by" | "request">,
): Promise<void> {
  const run = journalOf(box.key);
  const head = await ports.store.head(tenant, run);
  const position = head?.position ?? 0;
  const after = { ...box, version: box.version + 1, sent: position + 1 };
  const at = ports.clock.now();
  const event: SignalSent = { type: "signal.sent", at, signal_id, box: after, payload, by, request };
  const sealed = new Journal(tenant, run).seal(event, position + 1, head?.hash ?? GENESIS);
  if (sealed.blob !== null) await ports.store.putBlob(tenant, sealed.blob.hash, sealed.blob.bytes);
  const entry: Entry = {
    tenant,
    run,
    expect: { position, epoch: null },
    events: [sealed.event],
    puts: signalPuts(after, run, request),
    charges: [],
    checks: [],
    flush: "hard",
  };
  const landing = await appendOnce(ports, entry);
  if (!landing.landed) throw new RowLost(landing);
}

/** What a wait needs to know: what was sent before it began to wait. */
export async function signalFact(ports: Ports, tenant: Tenant, input: Json): Promise<SignalFact | null> {
  const key = isObject(input) ? input.signal : undefined;
  if (typeof key !== "string") return null; // Refused for what it is, before anyone asks for it.
  const box = await boxOf(ports, tenant, key);
  return { box, next: box.sent > box.taken ? await oldest(ports, tenant, box) : null };
}

/** The one after those that were taken. */
async function oldest({ store }: Ports, tenant: Tenant, { key, taken }: BoxVersion): Promise<SignalSent | null> {
  const run = journalOf(key);
  const before = Math.max(0, taken - 1);
  const found = await store.events(tenant, run, before, taken + 1 - before);
  const stored = found.at(-1);
  if (stored?.position !== taken + 1) return null;
  const journal = new Journal(tenant, run);
  journal.assertIntact([stored], taken === 0 ? GENESIS : (found[0]?.hash ?? GENESIS), taken);
  return journal.open<SignalSent>(stored, store);
}

export async function boxOf({ store }: Ports, tenant: Tenant, key: string): Promise<BoxVersion> {
  const stored = await store.row(tenant, "signal", key);
  if (stored === null) return { key, version: 0, sent: 0, taken: 0, waiters: [] };
  const { sent, taken, waiters } = JSON.parse(stored.row) as SignalRow;
  return { key, version: stored.version, sent, taken, waiters };
}

/** A box is a journal of its own, so that a signal is on the record before anyone has read it. */
function journalOf(key: string): RunId {
  return `sig_${digestOf("writ/signal/v1", key).slice(0, 32)}` as RunId;
}

export function isBox(journal: RunId): boolean {
  return journal.startsWith("sig_");
}
