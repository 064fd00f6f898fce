import assert from "node:assert/strict";
import type { Epoch, Instant, RunId, StepId, Tenant, WorkerId } from "../../core/id.ts";
import type { Charge, Check, Claim, Entry, Landing, Put, SealedEvent, Store } from "../../core/store.ts";
import type { FakeClock } from "../clock.ts";

/** One rule of the port, and how to see that a store keeps it. */
export interface Law {
  readonly title: string;
  holds(store: Store, clock: FakeClock): Promise<void>;
}

export const leaseMs = 30_000;

export const acme = "acme" as Tenant;
export const globex = "globex" as Tenant;
export const hire = "run-hire" as RunId;
export const order = "run-order" as RunId;
export const ana = "ana" as WorkerId;
export const bob = "bob" as WorkerId;
export const send = "send" as StepId;

interface Wish {
  readonly tenant?: Tenant;
  readonly run?: RunId;
  /** How many events the run has before this entry. */
  readonly at?: number;
  readonly epoch?: Epoch | null;
  readonly events?: readonly SealedEvent[];
  readonly puts?: readonly Put[];
  readonly charges?: readonly Charge[];
  readonly checks?: readonly Check[];
  readonly flush?: "hard" | "soft";
}

/** An entry with one event and no conditions but its position, unless wished otherwise. */
export function entry(wish: Wish = {}): Entry {
  const { tenant = acme, run = hire, at = 0, epoch = null, flush = "soft" } = wish;
  const { events = [event(at + 1)], puts = [], charges = [], checks = [] } = wish;
  return { tenant, run, expect: { position: at, epoch }, events, puts, charges, checks, flush };
}

export function event(position: number, body = `{"said":"hello ${position}"}`): SealedEvent {
  return { position, type: "step.succeeded", v: 1, at: (1000 + position) as Instant, body, hash: hashOf(body) };
}

/** Any 32 bytes that follow from the text will do: a store never looks into a hash. */
export function hashOf(text: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => (text.length * 7 + text.charCodeAt(index % text.length)) % 256);
}

/** Appends one entry by itself. */
export async function land(store: Store, wish: Wish): Promise<Landing> {
  const [landing] = await store.append([entry(wish)]);
  assert.ok(landing !== undefined, "append answers once for each entry");
  return landing;
}

export async function landed(store: Store, wish: Wish): Promise<void> {
  assert.deepEqual(await land(store, wish), { landed: true });
}

export async function claimed(store: Store, worker: WorkerId = ana, run: RunId = hire): Promise<Claim> {
  const claim = await store.claim(worker, acme, run);
  assert.ok(claim !== null, `${worker} can claim ${run}`);
  return claim;
}

/** A row as JSON text. Stores look into rows only for the fields that are indexed. */
export function row(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields);
}

export function dueAt(due: number): string {
  return row({ due_at: due });
}
