import { createHash } from "node:crypto";
import type { StoredEvent } from "../../src/core/store/store.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";

/**
 * I5: returns the position of the first event whose hash does not cover its run, position, predecessor and body, or
 * null. Computed from the design, not with the code of the engine.
 */
export function findChainBreak(tenant: Tenant, run: RunId, events: readonly StoredEvent[]): number | null {
  let previous: Buffer = Buffer.alloc(32);
  for (const { position, type, v, at, body, hash } of events) {
    const parts = [
      "\u0001writ/event/v1",
      ...[tenant, run].flatMap((name) => [encodeNumber(Buffer.byteLength(name), 4), name]),
      encodeNumber(position, 8),
      previous,
      encodeNumber(Buffer.byteLength(type), 2),
      type,
      encodeNumber(v, 2),
      encodeNumber(at, 8),
      sha256Of([`\u0000${body}`]),
    ];
    const expected = sha256Of(parts);
    if (!expected.equals(hash)) return position;
    previous = expected;
  }
  return null;
}

function sha256Of(parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function encodeNumber(value: number, bytes: 2 | 4 | 8): Buffer {
  const whole = Buffer.alloc(8);
  whole.writeBigUInt64BE(BigInt(value));
  return whole.subarray(8 - bytes);
}
