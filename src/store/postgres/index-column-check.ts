import { defaultQueue } from "../../core/store/select-fairly.ts";
import type { RowName, Store } from "../../core/store/store.ts";
import type { Table } from "../../core/store/tables.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import { indexColumns, listedFields } from "./append-batch.ts";
import type { FunctionCaller } from "./function-caller.ts";
import { findWrongTags } from "./postgres-searches.ts";

type CopyColumns = readonly [
  kind: Table,
  key: string,
  row: string,
  status: string | null,
  run_id: string | null,
  reuse_key: string | null,
  due_at: string | null,
  at: number | null,
  queue: string | null,
  rank: number | null,
  needs: string | null,
];

/** Rows per read. */
const PAGE_SIZE = 500;

/** Compares rows with the columns that indexes use, and timer rows with the queues of due runs and of needs. */
export function indexColumnCheck(calls: FunctionCaller): Pick<Store, "wrongCopies"> {
  return {
    wrongCopies: async (tenant) => {
      const wrong: RowName[] = [];
      for await (const columns of readCopies(calls, tenant))
        if (!isSameCopy(columns)) wrong.push({ table: columns[0], key: columns[1] });
      const untimed = await calls<readonly [RunId]>({ name: "untimed", values: [tenant, PAGE_SIZE] });
      const tagged = await findWrongTags(calls, tenant);
      return [...wrong, ...untimed.map(([key]) => ({ table: "timer", key }) as const), ...tagged];
    },
  };
}

async function* readCopies(calls: FunctionCaller, tenant: Tenant): AsyncIterable<CopyColumns> {
  for (let after: readonly [string, string] = ["", ""]; ; ) {
    const page = await calls<CopyColumns>({ name: "row_copies", values: [tenant, ...after, PAGE_SIZE] });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return;
    after = [last[0], last[1]];
  }
}

function isSameCopy([table, key, row, ...copies]: CopyColumns): boolean {
  try {
    const fields = listedFields({ table, key, was: "any", row });
    const indexes = indexColumns.map((name) => (fields[name] == null ? null : JSON.stringify(fields[name])));
    const { due_at: at = null, queue = defaultQueue, priority = 0, needs = [] } = table === "timer" ? fields : {};
    const rank = 0 - Number(priority);
    const due = at === null ? [null, null, null] : [at, queue, rank];
    const needed = (needs as readonly string[]).toSorted().map((need) => [need, queue, rank]);
    const expected = [...indexes, ...due, needed.length === 0 ? null : needed];
    const needsText = copies[7];
    return JSON.stringify(expected) === JSON.stringify([...copies.slice(0, 7), needsText && JSON.parse(needsText)]);
  } catch {
    return true; // The row is not JSON. It equals no fold, which the audit reports.
  }
}
