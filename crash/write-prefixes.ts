import type { FileWrite, Moment, StoreBytes, WriteBatch, WriteRecorder } from "./write-recorder.ts";

/** A state that a crash can leave: the files after some of the writes, and the files beside the store by then. */
export interface WritePrefix extends Moment {
  readonly name: string;
  readonly files: StoreBytes;
  /** True: the power was cut, so the boot id changes, and unsynced writes and the lock files are lost. */
  readonly power: boolean;
}

/**
 * Returns every state that a crash during a recorded process can leave. After each write: a kill, with the smallest and
 * the largest possible world log. After each transaction also: a power cut before the next sync, with a world log that
 * may be far ahead of the disk. And each write half done.
 */
export function* writePrefixes(recorder: WriteRecorder, end: Moment): Generator<WritePrefix> {
  const { batches } = recorder;
  let files = recorder.first;
  yield* boundaryStates("0", files, {
    earliest: recorder.start,
    latest: batches[0]?.before ?? end,
    unsynced: momentBeforeNextSync(batches, 0, end),
  });
  let count = 0;
  for (const [index, batch] of batches.entries()) {
    for (const [position, write] of batch.writes.entries()) {
      count += 1;
      const torn = applyTornWrite(write, files, count);
      if (torn !== null) yield { name: `${count} torn`, files: torn, ...batch.before, power: false };
      files = applyWrite(files, write);
      if (position < batch.writes.length - 1) yield { name: `${count}`, files, ...batch.after, power: false };
    }
    yield* boundaryStates(`${count}`, files, {
      earliest: batch.after,
      latest: batches[index + 1]?.before ?? end,
      unsynced: momentBeforeNextSync(batches, index + 1, end),
    });
  }
}

/** The moments at which a crash can leave the files between two batches. */
interface MomentBounds {
  readonly earliest: Moment;
  readonly latest: Moment;
  /** The last moment before the next sync ends. */
  readonly unsynced: Moment;
}

function* boundaryStates(
  name: string,
  files: StoreBytes,
  { earliest, latest, unsynced }: MomentBounds,
): Generator<WritePrefix> {
  yield { name, files, ...earliest, power: false };
  if (!isSameMoment(earliest, latest)) yield { name: `${name} late`, files, ...latest, power: false };
  yield { name: `${name} power`, files, worldSize: unsynced.worldSize, lockFiles: [], power: true };
}

function isSameMoment(left: Moment, right: Moment): boolean {
  return left.worldSize === right.worldSize && left.lockFiles.join("/") === right.lockFiles.join("/");
}

function momentBeforeNextSync(batches: readonly WriteBatch[], from: number, end: Moment): Moment {
  return batches.slice(from).find(({ synced }) => synced)?.before ?? end;
}

function applyWrite(files: StoreBytes, write: FileWrite): StoreBytes {
  const old = files[write.file] ?? Buffer.alloc(0);
  if ("end" in write) return { ...files, [write.file]: old.subarray(0, write.end) };
  const now = Buffer.alloc(Math.max(old.length, write.at + write.bytes.length));
  old.copy(now);
  write.bytes.copy(now, write.at);
  return { ...files, [write.file]: now };
}

/** Applies an incomplete write, in one of three forms. Null: this write is never incomplete by itself. */
function applyTornWrite(write: FileWrite, files: StoreBytes, count: number): StoreBytes | null {
  // Without a log, SQLite protects the page with a rollback journal, which is not recorded.
  if ("end" in write || (files.wal === null && write.file === "db")) return null;
  const { bytes } = write;
  const half = bytes.length >> 1;
  switch (count % 3) {
    case 0:
      return applyWrite(files, { ...write, bytes: bytes.subarray(0, half) });
    case 1:
      return applyWrite(files, { ...write, bytes: bytes.subarray(0, Math.min(24, half)) });
    default:
      return applyWrite(files, { ...write, bytes: Buffer.concat([bytes.subarray(0, half), Buffer.alloc(half)]) });
  }
}
