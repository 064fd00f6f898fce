import type { FileWrite, StoreBytes, WriteBatch, WriteRecorder } from "./write-recorder.ts";

/** A state that a crash can leave: the files after some of the writes, and the size of the world log by then. */
export interface WritePrefix {
  readonly name: string;
  readonly files: StoreBytes;
  /** The size of the world log in bytes. */
  readonly worldSize: number;
  /** True: the power was cut, so the boot id changes and unsynced writes may be lost. */
  readonly power: boolean;
}

/**
 * Returns every state that a crash during a recorded process can leave. After each write: a kill, with the smallest and
 * the largest possible world log. After each transaction also: a power cut before the next sync, with a world log that
 * may be far ahead of the disk. And each write half done.
 */
export function* writePrefixes(recorder: WriteRecorder, finalWorldSize: number): Generator<WritePrefix> {
  const { batches } = recorder;
  let files = recorder.first;
  yield* boundaryStates("0", files, {
    least: recorder.initialWorldSize,
    most: batches[0]?.before ?? 0,
    unsynced: worldSizeBeforeNextSync(batches, 0, finalWorldSize),
  });
  let count = 0;
  for (const [index, batch] of batches.entries()) {
    for (const [position, write] of batch.writes.entries()) {
      count += 1;
      const torn = applyTornWrite(write, files, count);
      if (torn !== null) yield { name: `${count} torn`, files: torn, worldSize: batch.before, power: false };
      files = applyWrite(files, write);
      if (position < batch.writes.length - 1) yield { name: `${count}`, files, worldSize: batch.after, power: false };
    }
    const most = batches[index + 1]?.before ?? finalWorldSize;
    yield* boundaryStates(`${count}`, files, {
      least: batch.after,
      most,
      unsynced: worldSizeBeforeNextSync(batches, index + 1, finalWorldSize),
    });
  }
}

interface WorldSizeBounds {
  readonly least: number;
  readonly most: number;
  /** The largest possible world log before the next sync ends. */
  readonly unsynced: number;
}

function* boundaryStates(
  name: string,
  files: StoreBytes,
  { least, most, unsynced }: WorldSizeBounds,
): Generator<WritePrefix> {
  yield { name, files, worldSize: least, power: false };
  if (most !== least) yield { name: `${name} late`, files, worldSize: most, power: false };
  yield { name: `${name} power`, files, worldSize: unsynced, power: true };
}

function worldSizeBeforeNextSync(batches: readonly WriteBatch[], from: number, finalWorldSize: number): number {
  return batches.slice(from).find(({ synced }) => synced)?.before ?? finalWorldSize;
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
