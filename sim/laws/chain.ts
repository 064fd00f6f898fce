import { createHash } from "node:crypto";
import type { RunId, Tenant } from "../../src/core/id.ts";
import type { StoredEvent } from "../../src/core/store.ts";

/** I5: the place of the first event whose hash does not cover its run, its place, its predecessor and its body. As the design says it. */
export function unchained(tenant: Tenant, run: RunId, events: readonly StoredEvent[]): number | null {
  let previous: Buffer = Buffer.alloc(32);
  for (const { position, type, v, at, body, hash } of events) {
    const parts = [
      "\u0001writ/event/v1",
      ...[tenant, run].flatMap((name) => [number(Buffer.byteLength(name), 4), name]),
      number(position, 8),
      previous,
      number(Buffer.byteLength(type), 2),
      type,
      number(v, 2),
      number(at, 8),
      sha256([`\u0000${body}`]),
    ];
    const expected = sha256(parts);
    if (!expected.equals(hash)) return position;
    previous = expected;
  }
  return null;
}

function sha256(parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function number(value: number, bytes: 2 | 4 | 8): Buffer {
  const whole = Buffer.alloc(8);
  whole.writeBigUInt64BE(BigInt(value));
  return whole.subarray(8 - bytes);
}
