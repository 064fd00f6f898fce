import { hash } from "node:crypto";
import { EVENT_VERSION, type Event, type SignalSent } from "../core/event.ts";
import { FaultError, fault } from "../core/fault.ts";
import type { Digest, RunId, Tenant } from "../core/id.ts";
import type { SealedEvent, Store, StoredEvent } from "../core/store.ts";

/** What is written into journals: the facts of runs, and signals that nobody had waited for yet. */
export type Recorded = Event | SignalSent;

/** Bodies above this go to the blob table, by content. */
const INLINE_BODY_MAX = 64 * 1024;

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

  constructor(tenant: Tenant, run: RunId) {
    this.#tenant = tenant;
    this.#run = run;
    this.#prefix = Buffer.concat([Buffer.from("\u0001writ/event/v1"), lengthFirst(tenant), lengthFirst(run)]);
  }

  seal(event: Recorded, position: number, previous: Uint8Array): Sealed {
    const { type, at, ...rest } = event;
    const whole = JSON.stringify(rest);
    const blob = whole.length > INLINE_BODY_MAX ? this.#blob(whole) : null;
    const body = blob === null ? whole : JSON.stringify({ $blob: blob.hash, bytes: blob.bytes.length });
    const v = EVENT_VERSION;
    const hash = this.hash({ position, type, v, at }, bodyHash(body), previous);
    return { event: { position, type, v, at, body, hash }, blob };
  }

  hash(
    { position, type, v, at }: Omit<SealedEvent, "body" | "hash">,
    body: Uint8Array,
    previous: Uint8Array,
  ): Uint8Array {
    const start = this.#prefix.length;
    const bytes = Buffer.allocUnsafe(start + 2 * 32 + 22 + type.length * 3);
    this.#prefix.copy(bytes);
    let end = writeNumber(bytes, position, start);
    bytes.set(previous, end);
    end = bytes.writeUInt16BE(type.length, end + 32);
    end += bytes.write(type, end, "utf8");
    end = bytes.writeUInt16BE(v, end);
    end = writeNumber(bytes, at, end);
    bytes.set(body, end);
    return sha256(bytes.subarray(0, end + 32));
  }

  /** Whether an event is what was written after `previous`. What was erased answers with the hash that was kept of it. */
  isIntact(stored: StoredEvent, previous: Uint8Array): boolean {
    const body = stored.body === null ? stored.body_hash : bodyHash(stored.body);
    return body !== null && Buffer.compare(this.hash(stored, body, previous), stored.hash) === 0;
  }

  /** Throws CHAIN_BROKEN unless these follow each other from `previous` on: nobody acts on a journal that was changed. */
  assertIntact(events: readonly StoredEvent[], previous: Uint8Array, after = 0): void {
    let last = previous;
    for (const [index, stored] of events.entries()) {
      if (stored.position !== after + index + 1 || !this.isIntact(stored, last)) throw this.broken(after + index + 1);
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
    if (stored.body === null) {
      throw new FaultError(
        fault("RUN_NOT_FOUND", "the events of this run were erased by retention; only its hashes and receipts remain"),
      );
    }
    const name = blobIn(stored.body);
    if (name === null) return revive<Kind>(stored, stored.body);
    const bytes = await store.blob(this.#tenant, name);
    if (bytes === null)
      throw new FaultError(
        fault("CHAIN_BROKEN", `the blob ${name} of event ${stored.position} is gone; restore it from a backup`),
      );
    if (this.blobName(bytes) !== name) throw this.broken(stored.position);
    return revive<Kind>(stored, Buffer.from(bytes).toString("utf8"));
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

/** The name of the blob that holds a body; null if the body is all there is. */
export function blobIn(body: string): Digest | null {
  return body.startsWith('{"$blob":') ? (JSON.parse(body) as { readonly $blob: Digest }).$blob : null;
}

export function bodyHash(body: string): Uint8Array {
  return sha256(`\u0000${body}`);
}

/** By way of a text: a digest that comes as a buffer of its own takes twice as long. */
function sha256(data: string | Uint8Array): Uint8Array {
  return Buffer.from(hash("sha256", data, "binary"), "binary");
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
  return { type: stored.type, at: stored.at, ...JSON.parse(body) } as Kind;
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
