import { versionAfter } from "../../core/judge.ts";
import type { Entry, Put } from "../../core/store.ts";
import { type Batch, compare, fieldsOf, glanceValues, indexValues, promised, timerValues } from "./batch.ts";
import { bytes, integers, longs, texts } from "./binary-array.ts";
import type { Call } from "./calls.ts";

/**
 * The call for a batch of which everything is expected to land, as nearly always; if it does not, nothing has. Null if a condition of
 * it is not one of what it writes.
 */
export function wholeCall({ entries, claims }: Batch): Call | null {
  const [first] = entries;
  if (first === undefined || !entries.every(isWritten)) return null;
  const puts = entries
    .flatMap((entry) => entry.puts)
    .toSorted((left, right) => compare(left.table, right.table) || compare(left.key, right.key));
  const begins = entries.filter(({ expect }) => expect.position === 0);
  return {
    name: "append_all",
    writes: true,
    isValue: true,
    values: [
      ...glanceValues(entries),
      first.tenant,
      // A claim is never soft: an epoch that a crash takes back would be given out again.
      claims.workers.size === 0 && entries.every(({ flush }) => flush === "soft"),
      ...movingValues(entries.filter(({ expect }) => expect.position > 0)),
      ...headValues(begins),
      texts(begins.map(({ run }) => claims.workers.get(run) ?? null)),
      claims.leaseMs,
      claims.now,
      ...overValues(puts.filter(({ row, was }) => row !== null && was !== null)),
      ...newValues(puts.filter(({ row, was }) => row !== null && was === null)),
      ...goneValues(puts.filter(({ row }) => row === null)),
      ...dueValues(puts.filter(({ table }) => table === "timer")),
      ...eventValues(entries),
    ],
  };
}

/** It tells something, charges nothing, checks nothing that it does not write, and is timed by no one else. */
function isWritten({ run, expect, events, puts, checks, charges }: Entry): boolean {
  if (events.length === 0 || charges.length > 0 || promised(checks).length > 0) return false;
  if (expect.position === 0 && expect.epoch !== null) return false; // Nobody holds what has not begun.
  return puts.every(
    ({ table, key, row, was }) => (table !== "timer" || key === run) && (row !== null || was === "any"),
  );
}

function movingValues(entries: readonly Entry[]): Call["values"] {
  const [runs, ...heads] = headValues(entries);
  return [
    runs as Call["values"][number],
    longs(entries.map(({ expect }) => expect.position)),
    longs(entries.map(({ expect }) => expect.epoch)),
    ...heads,
  ];
}

function headValues(entries: readonly Entry[]): Call["values"] {
  return [
    texts(entries.map(({ run }) => run)),
    longs(entries.map(({ expect, events }) => expect.position + events.length)),
    bytes(entries.map(({ events }) => events.at(-1)?.hash ?? null)),
  ];
}

function overValues(puts: readonly Put[]): Call["values"] {
  const [tables, keys, ...rest] = newValues(puts);
  return [tables, keys, longs(puts.map(versionAfter)), ...rest] as Call["values"];
}

function newValues(puts: readonly Put[]): Call["values"] {
  return [...goneValues(puts), texts(puts.map(({ row }) => row)), ...indexValues(puts.map(fieldsOf))];
}

function goneValues(puts: readonly Put[]): Call["values"] {
  return [texts(puts.map(({ table }) => table)), texts(puts.map(({ key }) => key))];
}

function dueValues(timers: readonly Put[]): Call["values"] {
  const timed = timers.map((put) => ({ run: put.key, fields: fieldsOf(put) }));
  const set = timed.filter(({ fields }) => typeof fields.due_at === "number");
  const stopped = timed.filter(({ fields }) => typeof fields.due_at !== "number");
  return [
    texts(set.map(({ run }) => run)),
    ...timerValues(set.map(({ fields }) => fields)),
    texts(stopped.map(({ run }) => run)),
  ];
}

function eventValues(entries: readonly Entry[]): Call["values"] {
  const all = entries.flatMap(({ run, events }) => events.map((event) => ({ ...event, run })));
  return [
    texts(all.map(({ run }) => run)),
    longs(all.map(({ position }) => position)),
    texts(all.map(({ type }) => type)),
    integers(all.map(({ v }) => v)),
    longs(all.map(({ at }) => at)),
    texts(all.map(({ body }) => body)),
    bytes(all.map(({ hash }) => hash)),
  ];
}
