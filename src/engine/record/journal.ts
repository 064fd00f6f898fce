import { hash } from "node:crypto";
import type { ClosureEvent } from "../../core/closure.ts";
import { EVENT_VERSION, type Event } from "../../core/event.ts";
import { FaultError, fault } from "../../core/fault.ts";
import type { HaltEvent } from "../../core/halt.ts";
import type { Digest, RunId, Tenant } from "../../core/id.ts";
import type { PolicyEvent } from "../../core/policy-journal.ts";
import type { SignalSent } from "../../core/signal.ts";
import type { SealedEvent, Store, StoredEvent } from "../../core/store.ts";
import type { ScheduleEvent } from "../../core/time/schedule.ts";

/** What is written into journals: the facts of runs, signals that nobody had waited for yet, and the facts of schedules. */
export type Recorded = Event | SignalSent | ScheduleEvent | PolicyEvent | HaltEvent | ClosureEvent;

/** Bodies above this go to the blob table, by content. */
const INLINE_BODY_MAX = 64 * 1024;

/** Position, predecessor and the length of the type before it; version, time and the hash of the body behind it. */
const AROUND_TYPE = 8 + 32 + 2 + (2 + 8 + 32);

/** The hash that the first event of a run is chained to. */
export const GENESIS = new Uint8Array(32);

/**
 * Turns events into bytes and back, and chains them: an event's hash covers its run, its place, its predecessor and the hash
 * of its body, so a body can be erased and the chain still verifies.
 */
export class Journal {
  readonly #tenant: Tenant;
  readonly #run: RunId;
  readonly #prefix: Buffer;
  /** Where the bytes of an event are put together: making room anew would take as long as hashing them. */
  #room: Buffer;
  /** What of the room events of that type take. */
  #type = "";
  #bytes: Buffer;

  constructor(tenant: Tenant, run: RunId) {
    this.#tenant = tenant;
    this.#run = run;
    this.#prefix = Buffer.concat([Buffer.from("\u0001writ/event/v1"), lengthFirst(tenant), lengthFirst(run)]);
    this.#room = Buffer.concat([this.#prefix], this.#prefix.length + AROUND_TYPE + 64);
    this.#bytes = this.#bytesFor("");
  }

  seal(event: Recorded, position: number, previous: Uint8Array): Sealed {
    const { type, at } = event;
    const whole = JSON.stringify({ ...event, type: undefined, at: undefined }); // Not written, and a copy of the rest takes longer.
    const blob = whole.length > INLINE_BODY_MAX ? this.#blob(whole) : null;
    const body = blob === null ? whole : JSON.stringify({ $blob: blob.hash, bytes: blob.bytes.length });
    const v = EVENT_VERSION;
    const hash = this.#hash({ position, type, v, at }, bodyText(body), previous);
    return { event: { position, type, v, at, body, hash: Buffer.from(hash, "binary") }, blob };
  }

  /** The hash of an event, as a text with a character for each byte: as bytes of their own it would take twice as long. */
  #hash({ position, type, v, at }: Omit<SealedEvent, "body" | "hash">, body: string, previous: Uint8Array): string {
    if (type !== this.#type) this.#bytes = this.#bytesFor(type);
    const bytes = this.#bytes;
    const start = this.#prefix.length;
    writeNumber(bytes, position, start);
    bytes.set(previous, start + 8);
    const end = bytes.writeUInt16BE(v, bytes.length - 42);
    writeNumber(bytes, at, end);
    bytes.write(body, end + 8, "binary");
    return sha256(bytes);
  }

  #bytesFor(type: string): Buffer {
    const start = this.#prefix.length;
    const most = start + AROUND_TYPE + 3 * type.length;
    if (this.#room.length < most) this.#room = Buffer.concat([this.#prefix], most);
    this.#type = type;
    const name = this.#room.writeUInt16BE(type.length, start + 40);
    return this.#room.subarray(0, name + this.#room.write(type, name) + 42);
  }

  /** Whether an event is what was written after `previous`. What was erased answers with the hash that was kept of it. */
  isIntact(stored: StoredEvent, previous: Uint8Array): boolean {
    const body = stored.body === null ? stored.body_hash && textOf(stored.body_hash) : bodyText(stored.body);
    if (body?.length !== 32 || previous.length !== 32) return false;
    return spells(this.#hash(stored, body, previous), stored.hash);
  }

  /** Throws CHAIN_BROKEN unless these follow each other from `previous` on: nobody acts on a journal that was changed. */
  assertIntact(events: readonly StoredEvent[], previous: Uint8Array, after = 0): void {
    let last = previous;
    let position = after;
    for (const stored of events) {
      position += 1;
      if (stored.position !== position || !this.isIntact(stored, last)) throw this.broken(position);
      last = stored.hash;
    }
  }

  /** What to say of an event that is gone or is not what was written. */
  broken(position: number): FaultError {
    const message = `event ${position} of run ${this.#run} is not what was written; audit the run and restore it from a backup`;
    return new FaultError(fault("CHAIN_BROKEN", message));
  }

  /** A blob is named by its content and its run, so that it can go when the run's bodies go. */
  blobName(bytes: Uint8Array): Digest {
    return hash("sha256", Buffer.concat([this.#prefix, bytes])) as Digest;
  }

  #blob(body: string): Blob {
    const bytes = Buffer.from(body);
    return { hash: this.blobName(bytes), bytes };
  }

  /** Reads an event back, from its blob where that is where its body is. */
  async open<Kind extends Recorded = Event>(stored: StoredEvent, store: Store): Promise<Kind> {
    return this.opened<Kind>(stored) ?? revive<Kind>(stored, await this.#fetched(stored, store));
  }

  /** Reads an event back at once; null if its body is in a blob. */
  opened<Kind extends Recorded = Event>(stored: StoredEvent): Kind | null {
    const { body } = stored;
    if (body === null) {
      throw new FaultError(
        fault("RUN_NOT_FOUND", "the events of this run were erased by retention; only its hashes and receipts remain"),
      );
    }
    return isBlob(body) ? null : revive<Kind>(stored, body);
  }

  async #fetched({ position, body }: StoredEvent, store: Store): Promise<string> {
    const name = body === null ? null : blobIn(body);
    const bytes = name === null ? null : await store.blob(this.#tenant, name);
    if (bytes === null)
      throw new FaultError(
        fault("CHAIN_BROKEN", `the blob ${name} of event ${position} is gone; restore it from a backup`),
      );
    if (this.blobName(bytes) !== name) throw this.broken(position);
    return Buffer.from(bytes).toString("utf8");
  }
}

/** An event as the store keeps it, and what has to be kept before it. */
export interface Sealed {
  readonly event: SealedEvent;
  readonly blob: Blob | null;
}

export interface Blob {
  readonly hash: Digest;
  readonly bytes: Uint8Array;
}

function isBlob(body: string): boolean {
  return body.startsWith('{"$blob":');
}

/** The name of the blob that holds a body; null if the body is all there is. */
export function blobIn(body: string): Digest | null {
  return isBlob(body) ? (JSON.parse(body) as { readonly $blob: Digest }).$blob : null;
}

export function bodyHash(body: string): Uint8Array {
  return Buffer.from(bodyText(body), "binary");
}

function bodyText(body: string): string {
  return sha256(`\u0000${body}`);
}

function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "binary");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("binary");
}

/** Whether a text has exactly one character for each of these bytes. */
function spells(text: string, bytes: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) !== bytes[at]) return false;
  return text.length === bytes.length;
}

function revive<Kind extends Recorded>(stored: StoredEvent, body: string): Kind {
  if (stored.v > EVENT_VERSION) {
    throw new FaultError(
      fault(
        "STORE_NEWER",
        `event ${stored.position} has version ${stored.v}, this engine reads ${EVENT_VERSION}; upgrade it`,
      ),
    );
  }
  // Into the object that was just made: a copy takes half as long again as reading it.
  const event = JSON.parse(body) as { type: string; at: number };
  event.type = stored.type;
  event.at = stored.at;
  return event as Kind;
}

function lengthFirst(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Eight bytes, big end first: a safe integer never needs a BigInt. */
function writeNumber(bytes: Buffer, value: number, at: number): number {
  const low = bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  return bytes.writeUInt32BE(value % 2 ** 32, low);
}
