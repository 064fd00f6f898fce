import type { Bytes, Tape, Turn, Write } from "./tape.ts";

/** A state that a crash can leave: the files as they are after some of the writes, and how much the world had seen by then. */
export interface Prefix {
  readonly name: string;
  readonly files: Bytes;
  /** In bytes of the world's record. */
  readonly seen: number;
  /** The machine went down with the process: it is another boot, and what was not synced may be gone. */
  readonly power: boolean;
}

/**
 * Every state that dying during a taped life can leave. After each write: the process was killed there, when the world had
 * seen as little or as much as it can have. After each transaction also: the power was cut some time before the next sync, so
 * the world may be far ahead of what is on the disk. And each write half done.
 */
export function* prefixesOf(tape: Tape, ended: number): Generator<Prefix> {
  const { turns } = tape;
  let files = tape.first;
  yield* boundary("0", files, { least: tape.begun, most: turns[0]?.before ?? 0, unsynced: nextSync(turns, 0, ended) });
  let count = 0;
  for (const [index, turn] of turns.entries()) {
    for (const [place, write] of turn.writes.entries()) {
      count += 1;
      const torn = tornWrite(write, files, count);
      if (torn !== null) yield { name: `${count} torn`, files: torn, seen: turn.before, power: false };
      files = applied(files, write);
      if (place < turn.writes.length - 1) yield { name: `${count}`, files, seen: turn.after, power: false };
    }
    const most = turns[index + 1]?.before ?? ended;
    yield* boundary(`${count}`, files, { least: turn.after, most, unsynced: nextSync(turns, index + 1, ended) });
  }
}

interface Bounds {
  readonly least: number;
  readonly most: number;
  /** What the world can have seen before the next sync has ended. */
  readonly unsynced: number;
}

function* boundary(name: string, files: Bytes, { least, most, unsynced }: Bounds): Generator<Prefix> {
  yield { name, files, seen: least, power: false };
  if (most !== least) yield { name: `${name} late`, files, seen: most, power: false };
  yield { name: `${name} power`, files, seen: unsynced, power: true };
}

function nextSync(turns: readonly Turn[], from: number, ended: number): number {
  return turns.slice(from).find(({ synced }) => synced)?.before ?? ended;
}

function applied(files: Bytes, write: Write): Bytes {
  const old = files[write.file] ?? Buffer.alloc(0);
  if ("end" in write) return { ...files, [write.file]: old.subarray(0, write.end) };
  const now = Buffer.alloc(Math.max(old.length, write.at + write.bytes.length));
  old.copy(now);
  write.bytes.copy(now, write.at);
  return { ...files, [write.file]: now };
}

/** A write that did not get to its end, in one of three ways. Null: this one is never alone on its way to the disk. */
function tornWrite(write: Write, files: Bytes, count: number): Bytes | null {
  // Before there is a log, SQLite guards the page with a journal, which is not on the tape.
  if ("end" in write || (files.wal === null && write.file === "db")) return null;
  const { bytes } = write;
  const half = bytes.length >> 1;
  switch (count % 3) {
    case 0:
      return applied(files, { ...write, bytes: bytes.subarray(0, half) });
    case 1:
      return applied(files, { ...write, bytes: bytes.subarray(0, Math.min(24, half)) });
    default:
      return applied(files, { ...write, bytes: Buffer.concat([bytes.subarray(0, half), Buffer.alloc(half)]) });
  }
}
