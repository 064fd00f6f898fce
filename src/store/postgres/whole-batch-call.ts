import { rowVersionAfter } from "../../core/store/check-entry.ts";
import type { Entry, Put } from "../../core/store/store.ts";
import {
  type AppendBatch,
  compareText,
  indexValues,
  listedFields,
  lockedChecks,
  timerValues,
  unlockedCheckValues,
} from "./append-batch.ts";
import { byteArray, int4Array, int8Array, textArray } from "./binary-array.ts";
import type { FunctionCall } from "./function-caller.ts";

/**
 * Makes the call for a batch that lands whole or not at all; nearly every batch lands. Returns null if an entry
 * charges, or has a condition on a row that it does not write.
 */
export function wholeBatchCall({ entries, claims }: AppendBatch): FunctionCall | null {
  const [first] = entries;
  if (first === undefined || !entries.every(canAppendAll)) return null;
  const puts = entries
    .flatMap((entry) => entry.puts)
    .toSorted((left, right) => compareText(left.table, right.table) || compareText(left.key, right.key));
  const newRuns = entries.filter(({ expect }) => expect.position === 0);
  return {
    name: "append_all",
    writes: true,
    isValue: true,
    values: [
      ...unlockedCheckValues(entries),
      first.tenant,
      // A claim is never soft: after a crash that loses it, its epoch would be assigned again.
      claims.workers.size === 0 && entries.every(({ flush }) => flush === "soft"),
      ...advanceValues(entries.filter(({ expect }) => expect.position > 0)),
      ...headValues(newRuns),
      textArray(newRuns.map(({ run }) => claims.workers.get(run) ?? null)),
      claims.leaseMs,
      claims.now,
      ...updateValues(puts.filter(({ row, was }) => row !== null && was !== null)),
      ...insertValues(puts.filter(({ row, was }) => row !== null && was === null)),
      ...rowKeyValues(puts.filter(({ row }) => row === null)),
      ...timerChangeValues(puts.filter(({ table }) => table === "timer")),
      ...eventValues(entries),
    ],
  };
}

/** True if the entry has events, no charges, no locked checks, no timer of another run and no conditional delete. */
function canAppendAll({ run, expect, events, puts, checks, charges }: Entry): boolean {
  if (events.length === 0 || charges.length > 0 || lockedChecks(checks).length > 0) return false;
  if (expect.position === 0 && expect.epoch !== null) return false; // A run that does not exist has no lease.
  return puts.every(
    ({ table, key, row, was }) => (table !== "timer" || key === run) && (row !== null || was === "any"),
  );
}

function advanceValues(entries: readonly Entry[]): FunctionCall["values"] {
  const [runs, ...heads] = headValues(entries);
  return [
    runs as FunctionCall["values"][number],
    int8Array(entries.map(({ expect }) => expect.position)),
    int8Array(entries.map(({ expect }) => expect.epoch)),
    ...heads,
  ];
}

function headValues(entries: readonly Entry[]): FunctionCall["values"] {
  return [
    textArray(entries.map(({ run }) => run)),
    int8Array(entries.map(({ expect, events }) => expect.position + events.length)),
    byteArray(entries.map(({ events }) => events.at(-1)?.hash ?? null)),
  ];
}

function updateValues(puts: readonly Put[]): FunctionCall["values"] {
  const [tables, keys, ...rest] = insertValues(puts);
  return [tables, keys, int8Array(puts.map(rowVersionAfter)), ...rest] as FunctionCall["values"];
}

function insertValues(puts: readonly Put[]): FunctionCall["values"] {
  return [...rowKeyValues(puts), textArray(puts.map(({ row }) => row)), ...indexValues(puts.map(listedFields))];
}

function rowKeyValues(puts: readonly Put[]): FunctionCall["values"] {
  return [textArray(puts.map(({ table }) => table)), textArray(puts.map(({ key }) => key))];
}

function timerChangeValues(timers: readonly Put[]): FunctionCall["values"] {
  const changes = timers.map((put) => ({ run: put.key, fields: listedFields(put) }));
  const set = changes.filter(({ fields }) => typeof fields.due_at === "number");
  const stopped = changes.filter(({ fields }) => typeof fields.due_at !== "number");
  return [
    textArray(set.map(({ run }) => run)),
    ...timerValues(set.map(({ fields }) => fields)),
    textArray(stopped.map(({ run }) => run)),
  ];
}

function eventValues(entries: readonly Entry[]): FunctionCall["values"] {
  const all = entries.flatMap(({ run, events }) => events.map((event) => ({ ...event, run })));
  return [
    textArray(all.map(({ run }) => run)),
    int8Array(all.map(({ position }) => position)),
    textArray(all.map(({ type }) => type)),
    int4Array(all.map(({ v }) => v)),
    int8Array(all.map(({ at }) => at)),
    textArray(all.map(({ body }) => body)),
    byteArray(all.map(({ hash }) => hash)),
  ];
}
