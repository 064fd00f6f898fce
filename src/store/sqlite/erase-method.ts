import { assertStorableNames } from "../../core/store/append-conditions.ts";
import type { Erasure, Store } from "../../core/store/store.ts";
import { NO_LIMIT, readRunEvents } from "./event-reads.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import type { SqliteStatements } from "./statements.ts";

/**
 * Makes the method that erases bodies. It reads and hashes them before its transaction, which keeps other processes
 * waiting: until they are erased, events do not change.
 */
export function eraseMethod({ statements, group, read }: SqliteContext): Store["erase"] {
  return async (what, hashOf) => {
    assertStorableNames(what.tenant, what.run, ...what.blobs);
    const found = read(() => hashBodies(statements, what, hashOf));
    // The code awaits only a locked file. Otherwise the erasure would lose its order among the calls of this turn.
    const bodies = found instanceof Promise ? await found : found;
    return group.join("hard", () => eraseRun(statements, what, bodies, hashOf));
  };
}

/** The hashes of the bodies to erase, by position, and the position of the last event. */
interface HashedBodies {
  readonly hashes: ReadonlyMap<number, Uint8Array>;
  readonly last: number;
}

function hashBodies(
  statements: SqliteStatements,
  { tenant, run, keep }: Erasure,
  hashOf: (body: string) => Uint8Array,
): HashedBodies {
  const keptPositions = new Set(keep);
  const events = readRunEvents(statements, tenant, run, { after: 0, most: NO_LIMIT });
  const hashes = new Map<number, Uint8Array>();
  for (const { position, body } of events)
    if (body !== null && !keptPositions.has(position)) hashes.set(position, hashOf(body));
  return { hashes, last: events.at(-1)?.position ?? 0 };
}

function eraseRun(
  statements: SqliteStatements,
  what: Erasure,
  read: HashedBodies,
  hashOf: (body: string) => Uint8Array,
): number | null {
  const { tenant, run, position, blobs } = what;
  if ((statements.head.get(tenant, run)?.[0] ?? 0) !== position) return null;
  for (const hash of blobs) statements.dropBlob.run(tenant, hash);
  const journal = statements.journal.get(tenant, run)?.[0] ?? null;
  // Events that were appended after the first read.
  const { hashes } = read.last === position ? read : hashBodies(statements, what, hashOf);
  let erased = 0;
  for (const [at, hash] of hashes) erased += Number(statements.eraseBody.run(journal, at, hash).changes);
  return erased;
}
