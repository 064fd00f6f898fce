import type { Charge, Entry, Put, SealedEvent } from "../../core/store/store.ts";
import { indexedRowFields } from "../../core/store/tables.ts";
import { lockedChecks, withUnlockedChecks } from "./append-batch.ts";
import type { FunctionCall } from "./function-caller.ts";

/**
 * Makes the call for the most common entry: one more event, with at most one conditional row and one charge. It passes
 * scalars, because arrays of one element cost twice as much. Returns null for any other entry.
 */
export function singleEntryCall(entry: Entry): FunctionCall | null {
  const { tenant, run, expect, events, puts, checks, charges, flush } = entry;
  const [event] = events;
  const [put] = puts;
  const [charge] = charges;
  const isPlain = events.length === 1 && puts.length <= 1 && lockedChecks(checks).length === 0 && charges.length <= 1;
  if (!isPlain || event === undefined || expect.position === 0 || (put !== undefined && !isUnindexedUpdate(put)))
    return null;
  return withUnlockedChecks([entry], {
    name: "append_one",
    writes: true,
    isValue: true,
    values: [
      tenant,
      flush === "soft",
      run,
      expect.position,
      expect.epoch,
      ...eventValues(event),
      ...putValues(put),
      ...chargeValues(charge),
    ],
  });
}

/** True if the put writes a row of a table without indexed fields. */
function isUnindexedUpdate({ table, was, row }: Put): boolean {
  return was !== "any" && row !== null && indexedRowFields[table] === undefined;
}

function eventValues({ type, v, at, body, hash }: SealedEvent): FunctionCall["values"] {
  return [type, v, at, body, Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength)];
}

function putValues(put: Put | undefined): FunctionCall["values"] {
  return put === undefined ? [null, null, null, null] : [put.table, put.key, put.was, put.row];
}

function chargeValues(charge: Charge | undefined): FunctionCall["values"] {
  return charge === undefined ? [null, null, null] : [charge.tally, charge.amount, charge.limit];
}
