import type { SignalFact } from "../../core/call/proposal.ts";
import type { SignalSent } from "../../core/event/signal.ts";
import type { SignalBoxVersion } from "../../core/event/step-parking.ts";
import { signalPuts } from "../../core/evolve/event-rows.ts";
import type { Entry } from "../../core/store/store.ts";
import type { SignalRow } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import { digestOfParts } from "../ports/digest.ts";
import { ConditionFailedError } from "./append-errors.ts";
import { appendOnce } from "./append-once.ts";
import { GENESIS_HASH, JournalCodec } from "./journal-codec.ts";
import type { JournalPorts } from "./journal-ports.ts";

/** Stores a signal in its box. Throws if the box has changed since it was read. */
export async function storeSignal(
  ports: JournalPorts,
  tenant: Tenant,
  box: SignalBoxVersion,
  { signal_id, payload, by, request }: Pick<SignalSent, "signal_id" | "payload" | "by" | "request">,
): Promise<void> {
  const run = signalJournal(box.key);
  const head = await ports.store.head(tenant, run);
  const position = head?.position ?? 0;
  const after = { ...box, version: box.version + 1, sent: position + 1 };
  const at = ports.clock.now();
  const event: SignalSent = { type: "signal.sent", at, signal_id, box: after, payload, by, request };
  const sealed = new JournalCodec(tenant, run).seal(event, position + 1, head?.hash ?? GENESIS_HASH);
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
  if (!landing.landed) throw new ConditionFailedError(landing);
}

/** Reads the signal box that a step waits for, and its oldest untaken signal. */
export async function readSignalFact(ports: JournalPorts, tenant: Tenant, input: Json): Promise<SignalFact | null> {
  const key = isJsonObject(input) ? input.signal : undefined;
  if (typeof key !== "string") return null; // The guards refuse such a step.
  const box = await readSignalBox(ports, tenant, key);
  return { box, next: box.sent > box.taken ? await readOldestSignal(ports, tenant, box) : null };
}

/** Reads the oldest signal that no step has taken. */
async function readOldestSignal(
  { store }: JournalPorts,
  tenant: Tenant,
  { key, taken }: SignalBoxVersion,
): Promise<SignalSent | null> {
  const run = signalJournal(key);
  const before = Math.max(0, taken - 1);
  const found = await store.events(tenant, run, before, taken + 1 - before);
  const stored = found.at(-1);
  if (stored?.position !== taken + 1) return null;
  const journal = new JournalCodec(tenant, run);
  journal.assertIntact([stored], taken === 0 ? GENESIS_HASH : (found[0]?.hash ?? GENESIS_HASH), taken);
  return journal.open<SignalSent>(stored, store);
}

export async function readSignalBox({ store }: JournalPorts, tenant: Tenant, key: string): Promise<SignalBoxVersion> {
  const stored = await store.row(tenant, "signal", key);
  if (stored === null) return { key, version: 0, sent: 0, taken: 0, waiters: [] };
  const { sent, taken, waiters } = JSON.parse(stored.row) as SignalRow;
  return { key, version: stored.version, sent, taken, waiters };
}

/** Each signal key has its own journal, so a signal is recorded before a step takes it. */
function signalJournal(key: string): RunId {
  return `sig_${digestOfParts("writ/signal/v1", key).slice(0, 32)}` as RunId;
}

export function isSignalJournal(journal: RunId): boolean {
  return journal.startsWith("sig_");
}
