import { assertStorableNames } from "../../core/store/check-entry.ts";
import type { Erasure, Store } from "../../core/store/store.ts";
import { readRunEvents } from "./event-reads.ts";
import type { SqliteContext } from "./sqlite-context.ts";
import type { SqliteStatements } from "./statements.ts";

/**
 * Makes the method that erases bodies. It reads and hashes them before its transaction, which keeps other processes
 * waiting: until they are erased, events do not change.
 */
export function eraseMethod({ statements, events, group, read }: SqliteContext): Store["erase"] {
  return async (what, hashOf) => {
    assertStorableNames(what.tenant, what.run, ...what.blobs);
    const found = read(() => hashBodies(statements, what, hashOf));
    // The code awaits only a locked file. Otherwise the erasure would lose its order among the calls of this turn.
    const bodies = found instanceof Promise ? await found : found;
    return group.join("hard", () => {
      events.flush();
      return eraseRun(statements, what, bodies, hashOf);
    });
  };
}

/** The hashes of the bodies to erase, by position. */
interface HashedBodies {
  readonly hashes: ReadonlyMap<number, Uint8Array>;
  /** False: some events were not appended yet. */
  readonly isWhole: boolean;
}

function hashBodies(
  statements: SqliteStatements,
  { tenant, run, position: end, keep }: Erasure,
  hashOf: (body: string) => Uint8Array,
): HashedBodies {
  const keptPositions = new Set(keep);
  let first = 1;
  while (first <= end && keptPositions.has(first)) first += 1;
  let last = end;
  while (last >= first && keptPositions.has(last)) last -= 1;
  const events =
    last < first ? [] : readRunEvents(statements, tenant, run, { after: first - 1, most: last - first + 1 });
  const hashes = new Map<number, Uint8Array>();
  for (const { position, body } of events)
    if (body !== null && !keptPositions.has(position)) hashes.set(position, hashOf(body));
  return { hashes, isWhole: last < first || events.at(-1)?.position === last };
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
  const { hashes } = read.isWhole ? read : hashBodies(statements, what, hashOf);
  let erased = 0;
  for (const [at, hash] of hashes) erased += Number(statements.eraseBody.run(journal, at, hash).changes);
  return erased;
}
