import { indexed } from "../../core/rows.ts";
import type { Charge, Entry, Put, SealedEvent } from "../../core/store.ts";
import { heeding, promised } from "./batch.ts";
import type { Call } from "./calls.ts";

/**
 * The call for an entry that does what most do: one more event, and at most one conditional row and one charge. Scalars, because a
 * set of one costs twice as much. Null for any other entry.
 */
export function singleCall(entry: Entry): Call | null {
  const { tenant, run, expect, events, puts, checks, charges, flush } = entry;
  const [event] = events;
  const [put] = puts;
  const [charge] = charges;
  const isPlain = events.length === 1 && puts.length <= 1 && promised(checks).length === 0 && charges.length <= 1;
  if (!isPlain || event === undefined || expect.position === 0 || (put !== undefined && !isSimple(put))) return null;
  return heeding([entry], {
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

/** A row that is not asked for by anything but its key. */
function isSimple({ table, was, row }: Put): boolean {
  return was !== "any" && row !== null && indexed[table] === undefined;
}

function eventValues({ type, v, at, body, hash }: SealedEvent): Call["values"] {
  return [type, v, at, body, Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength)];
}

function putValues(put: Put | undefined): Call["values"] {
  return put === undefined ? [null, null, null, null] : [put.table, put.key, put.was, put.row];
}

function chargeValues(charge: Charge | undefined): Call["values"] {
  return charge === undefined ? [null, null, null] : [charge.tally, charge.amount, charge.limit];
}
