import { hash } from "node:crypto";
import { EVENT_VERSION, type Event } from "../../core/event/event.ts";
import type { SignalSent } from "../../core/event/signal.ts";
import type { BackupEvent } from "../../core/settings/backup.ts";
import type { HaltEvent } from "../../core/settings/halt.ts";

import type { NamedSessionEvent } from "../../core/settings/named-session.ts";
import type { ProjectLockEvent } from "../../core/settings/project-lock.ts";

import type { RetentionEvent } from "../../core/settings/retention-events.ts";
import type { ScheduleEvent } from "../../core/settings/schedule.ts";
import type { PolicyEvent } from "../../core/settings/tenant-policies.ts";
import type { SealedEvent, Store, StoredEvent } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Digest, RunId, Tenant } from "../../core/values/ids.ts";

/** Everything that is written into journals: of runs, signals, schedules, policies, halts, projects and retentions. */
export type JournalEvent =
  | Event
  | SignalSent
  | ScheduleEvent
  | PolicyEvent
  | HaltEvent
  | ProjectLockEvent
  | NamedSessionEvent
  | RetentionEvent
  | BackupEvent;

/** Larger bodies are stored as blobs, addressed by content. */
const INLINE_BODY_MAX = 64 * 1024;

/** The bytes of a sealed event besides prefix and type: position, previous hash, type length; version, time, body hash. */
const FIXED_BYTES = 8 + 32 + 2 + (2 + 8 + 32);

/** The previous hash of the first event of a journal. */
export const GENESIS_HASH = new Uint8Array(32);

/**
 * Encodes and decodes the events of one journal, and chains them by hash. The hash of an event covers its run, position, previous
 * hash and the hash of its body, so a body can be erased and the chain still verifies.
 */
export class JournalCodec {
  readonly #tenant: Tenant;
  readonly #run: RunId;
  readonly #prefix: Buffer;
  /** A reused buffer for the bytes to hash: allocating a new one would take as long as hashing. */
  #room: Buffer;
  /** The part of the buffer that events of the current type use. */
  #type = "";
  #bytes: Buffer;

  constructor(tenant: Tenant, run: RunId) {
    this.#tenant = tenant;
    this.#run = run;
    this.#prefix = Buffer.concat([Buffer.from("\u0001writ/event/v1"), lengthPrefixed(tenant), lengthPrefixed(run)]);
    this.#room = Buffer.concat([this.#prefix], this.#prefix.length + FIXED_BYTES + 64);
    this.#bytes = this.#bytesFor("");
  }

  seal(event: JournalEvent, position: number, previous: Uint8Array): SealedWithBlob {
    const { type, at } = event;
    const whole = JSON.stringify({ ...event, type: undefined, at: undefined }); // Undefined fields are not written; copying the rest would be slower.
    const blob = whole.length > INLINE_BODY_MAX ? this.#blob(whole) : null;
    const body = blob === null ? whole : JSON.stringify({ $blob: blob.hash, bytes: blob.bytes.length });
    const v = EVENT_VERSION;
    const hash = this.#hash({ position, type, v, at }, bodyHashText(body), previous);
    return { event: { position, type, v, at, body, hash: Buffer.from(hash, "binary") }, blob };
  }

  /** Returns the hash as a binary string, which is twice as fast as a new buffer. */
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
    const most = start + FIXED_BYTES + 3 * type.length;
    if (this.#room.length < most) this.#room = Buffer.concat([this.#prefix], most);
    this.#type = type;
    const name = this.#room.writeUInt16BE(type.length, start + 40);
    return this.#room.subarray(0, name + this.#room.write(type, name) + 42);
  }

  /** Returns whether an event is unchanged and follows `previous`. An erased body is checked by its stored hash. */
  isIntact(stored: StoredEvent, previous: Uint8Array): boolean {
    const body = stored.body === null ? stored.body_hash && textOf(stored.body_hash) : bodyHashText(stored.body);
    if (body?.length !== 32 || previous.length !== 32) return false;
    return equalsBytes(this.#hash(stored, body, previous), stored.hash);
  }

  /** Throws CHAIN_BROKEN unless the events are unchanged and follow each other from `previous` on. */
  assertIntact(events: readonly StoredEvent[], previous: Uint8Array, after = 0): void {
    let last = previous;
    let position = after;
    for (const stored of events) {
      position += 1;
      if (stored.position !== position || !this.isIntact(stored, last)) throw this.chainBrokenError(position);
      last = stored.hash;
    }
  }

  /** Returns the error for an event that is missing or changed. */
  chainBrokenError(position: number): FaultError {
    const message = `event ${position} of run ${this.#run} is not what was written; audit the run and restore it from a backup`;
    return new FaultError(fault("CHAIN_BROKEN", message));
  }

  /** Returns the name of a blob: a digest of its content and run, so that it can be erased with the run's bodies. */
  blobName(bytes: Uint8Array): Digest {
    return hash("sha256", Buffer.concat([this.#prefix, bytes])) as Digest;
  }

  #blob(body: string): EventBlob {
    const bytes = Buffer.from(body);
    return { hash: this.blobName(bytes), bytes };
  }

  /** Decodes an event; reads its body from a blob if needed. */
  async open<Kind extends JournalEvent = Event>(stored: StoredEvent, store: Store): Promise<Kind> {
    return this.openInline<Kind>(stored) ?? reviveEvent<Kind>(stored, await this.#fetched(stored, store));
  }

  /** Decodes an event whose body is inline. Null: the body is in a blob. */
  openInline<Kind extends JournalEvent = Event>(stored: StoredEvent): Kind | null {
    const { body } = stored;
    if (body === null) {
      throw new FaultError(
        fault("RUN_NOT_FOUND", "the events of this run were erased by retention; only its hashes and receipts remain"),
      );
    }
    return isBlobReference(body) ? null : reviveEvent<Kind>(stored, body);
  }

  async #fetched({ position, body }: StoredEvent, store: Store): Promise<string> {
    const name = body === null ? null : blobNameIn(body);
    const bytes = name === null ? null : await store.blob(this.#tenant, name);
    if (bytes === null)
      throw new FaultError(
        fault("CHAIN_BROKEN", `the blob ${name} of event ${position} is gone; restore it from a backup`),
      );
    if (this.blobName(bytes) !== name) throw this.chainBrokenError(position);
    return Buffer.from(bytes).toString("utf8");
  }
}

/** A sealed event, and the blob that must be stored before it. */
export interface SealedWithBlob {
  readonly event: SealedEvent;
  readonly blob: EventBlob | null;
}

export interface EventBlob {
  readonly hash: Digest;
  readonly bytes: Uint8Array;
}

function isBlobReference(body: string): boolean {
  return body.startsWith('{"$blob":');
}

/** Returns the name of the blob that contains a body. Null: the body is inline. */
export function blobNameIn(body: string): Digest | null {
  return isBlobReference(body) ? (JSON.parse(body) as { readonly $blob: Digest }).$blob : null;
}

export function hashBody(body: string): Uint8Array {
  return Buffer.from(bodyHashText(body), "binary");
}

function bodyHashText(body: string): string {
  return sha256(`\u0000${body}`);
}

function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "binary");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("binary");
}

/** Returns whether a binary string equals these bytes. */
function equalsBytes(text: string, bytes: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) !== bytes[at]) return false;
  return text.length === bytes.length;
}

function reviveEvent<Kind extends JournalEvent>(stored: StoredEvent, body: string): Kind {
  if (stored.v > EVENT_VERSION) {
    throw new FaultError(
      fault(
        "STORE_NEWER",
        `event ${stored.position} has version ${stored.v}, this engine reads ${EVENT_VERSION}; upgrade it`,
      ),
    );
  }
  // Sets the fields on the parsed object: a copy would take half the time of parsing.
  const event = JSON.parse(body) as { type: string; at: number };
  event.type = stored.type;
  event.at = stored.at;
  return event as Kind;
}

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Writes eight bytes, big-endian. A safe integer needs no BigInt. */
function writeNumber(bytes: Buffer, value: number, at: number): number {
  const low = bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  return bytes.writeUInt32BE(value % 2 ** 32, low);
}
