import assert from "node:assert/strict";
import type { AppendResult, Charge, Check, Claim, Entry, Put, SealedEvent, Store } from "../../core/store/store.ts";
import type { Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/values/ids.ts";
import type { FakeClock } from "../fake-clock.ts";

/** One rule of the store contract, with its check. */
export interface ContractRule {
  readonly title: string;
  /** Absent: the rule applies to every store. */
  readonly leasesEnd?: "by_time" | "by_eviction";
  /** `loseWorker` ends the leases of a worker as its death does, and perhaps those of others. */
  assertHolds(store: Store, clock: FakeClock, loseWorker: (worker: WorkerId) => Promise<void>): Promise<void>;
}

export const contractLeaseMs = 30_000;

export const tenantA = "acme" as Tenant;
export const tenantB = "globex" as Tenant;
export const runA = "run-hire" as RunId;
export const runB = "run-order" as RunId;
export const workerA = "ana" as WorkerId;
export const workerB = "bob" as WorkerId;
export const stepA = "send" as StepId;

interface EntryOptions {
  readonly tenant?: Tenant;
  readonly run?: RunId;
  /** The number of events that the run has before this entry. */
  readonly at?: number;
  readonly epoch?: Epoch | null;
  readonly events?: readonly SealedEvent[];
  readonly puts?: readonly Put[];
  readonly charges?: readonly Charge[];
  readonly checks?: readonly Check[];
  readonly flush?: "hard" | "soft";
}

/** Makes an entry, by default with one event and no condition except its position. */
export function buildEntry(options: EntryOptions = {}): Entry {
  const { tenant = tenantA, run = runA, at = 0, epoch = null, flush = "soft" } = options;
  const { events = [buildEvent(at + 1)], puts = [], charges = [], checks = [] } = options;
  return { tenant, run, expect: { position: at, epoch }, events, puts, charges, checks, flush };
}

export function buildEvent(position: number, body = `{"said":"hello ${position}"}`): SealedEvent {
  return { position, type: "step.succeeded", v: 1, at: (1000 + position) as Instant, body, hash: fakeHash(body) };
}

/** Returns 32 bytes computed from the text. A store never interprets a hash. */
export function fakeHash(text: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => (text.length * 7 + text.charCodeAt(index % text.length)) % 256);
}

/** Appends one entry by itself. */
export async function appendEntry(store: Store, options: EntryOptions): Promise<AppendResult> {
  const [landing] = await store.append([buildEntry(options)]);
  assert.ok(landing !== undefined, "append returns one result per entry");
  return landing;
}

export async function assertLands(store: Store, options: EntryOptions): Promise<void> {
  assert.deepEqual(await appendEntry(store, options), { landed: true });
}

export async function claimRun(store: Store, worker: WorkerId = workerA, run: RunId = runA): Promise<Claim> {
  const claim = await store.claim(worker, tenantA, run);
  assert.ok(claim !== null, `${worker} can claim ${run}`);
  return claim;
}

/** Makes a row as JSON text. Stores read only its indexed fields. */
export function rowJson(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields);
}

export function timerJson(due: number): string {
  return rowJson({ due_at: due });
}
