import assert from "node:assert/strict";
import { type RowSearch, SEARCH_ROWS_MAX } from "../../core/store/row-search.ts";
import { rowTag } from "../../core/store/row-tags.ts";
import type { FoundRows, Put, Store } from "../../core/store/store.ts";
import type { RunId } from "../../core/values/ids.ts";
import { assertLands, type ContractRule, rowJson, runA, tenantA, tenantB } from "./contract-rule.ts";

const newest = { table: "run", tags: [], order: "newest", limit: 10 } as const;

function putRun(key: string, fields: Readonly<Record<string, unknown>> | null): Put {
  return { table: "run", key, was: "any", row: fields === null ? null : rowJson(fields) };
}

const keysIn = ({ rows }: FoundRows): readonly string[] => rows.map(({ key }) => key);

async function search(store: Store, more: Partial<RowSearch>): Promise<FoundRows> {
  return store.search(tenantA, { ...newest, ...more });
}

const tagged = (...pairs: readonly (readonly [string, string])[]) =>
  pairs.map(([field, value]) => rowTag(field, value));

export const searchRules: readonly ContractRule[] = [
  {
    title: "finds rows by one tag or several, in both orders, and only those of the tenant",
    assertHolds: async (store) => {
      const rows = [
        putRun("r1", { status: "open", project: "p", labels: ["a", "b"] }),
        putRun("r2", { status: "open", labels: ["b"] }),
        putRun("r3", { status: "ended", project: "p" }),
      ];
      await assertLands(store, { puts: rows });
      await assertLands(store, { tenant: tenantB, puts: [putRun("r9", { status: "open" })] });
      const found = async (more: Partial<RowSearch>) => keysIn(await search(store, more));
      assert.deepEqual(await found({}), ["r3", "r2", "r1"]);
      assert.deepEqual(await found({ tags: tagged(["status", "open"]) }), ["r2", "r1"]);
      assert.deepEqual(await found({ tags: tagged(["labels", "b"]), order: "oldest" }), ["r1", "r2"]);
      assert.deepEqual(await found({ tags: tagged(["labels", "b"], ["project", "p"], ["status", "open"]) }), ["r1"]);
      assert.deepEqual(await found({ tags: tagged(["project", "q"]) }), []);
      assert.deepEqual(await found({ tags: tagged(["status", "ended"], ["labels", "b"]) }), []);
      const count = (tags: readonly string[], most = 9) => store.count(tenantA, { table: "run", tags }, most);
      assert.deepEqual(
        [
          await count([]),
          await count(tagged(["status", "open"])),
          await count(tagged(["labels", "b"], ["project", "p"])),
        ],
        [3, 2, 1],
      );
      assert.equal(await count([], 2), 2);
    },
  },
  {
    title: "follows each change of a row, and forgets a removed one",
    assertHolds: async (store) => {
      await assertLands(store, { puts: [putRun("r1", { status: "open", tools: ["mail", "page"] })] });
      await assertLands(store, { at: 1, puts: [putRun("r1", { status: "ended", tools: ["page"] })] });
      const found = async (field: string, value: string) =>
        keysIn(await search(store, { tags: tagged([field, value]) })).length;
      assert.deepEqual(
        [await found("status", "open"), await found("status", "ended"), await found("tools", "mail")],
        [0, 1, 0],
      );
      assert.deepEqual(await store.wrongCopies(tenantA), []);
      await assertLands(store, { at: 2, puts: [putRun("r1", null)] });
      assert.deepEqual([await found("tools", "page"), keysIn(await search(store, {})).length], [0, 0]);
      await assertLands(store, { at: 3, puts: [putRun("r1", { status: "open" })] });
      assert.equal(await found("status", "open"), 1);
      assert.deepEqual(await store.wrongCopies(tenantA), []);
    },
  },
  {
    title: "pages by a cursor that later rows do not move, between two keys",
    assertHolds: async (store) => {
      const rows = (from: number, to: number) =>
        Array.from({ length: to - from + 1 }, (_, at) => putRun(`r${from + at}`, { status: "open" }));
      await assertLands(store, { puts: rows(1, 5) });
      const tags = tagged(["status", "open"]);
      for (const by of [{}, { tags }]) {
        const first = await search(store, { ...by, limit: 2 });
        assert.deepEqual([keysIn(first), first.next], [["r5", "r4"], "r4"]);
        const second = await search(store, { ...by, limit: 2, after: "r4" });
        assert.deepEqual([keysIn(second), second.next], [["r3", "r2"], "r2"]);
        const last = await search(store, { ...by, limit: 2, after: "r2" });
        assert.deepEqual([keysIn(last), last.next], [["r1"], null]);
        const up = await search(store, { ...by, order: "oldest", after: "r2", limit: 9 });
        assert.deepEqual([keysIn(up), up.next], [["r3", "r4", "r5"], null]);
        const between = await search(store, { ...by, from: "r2", to: "r4" });
        assert.deepEqual(keysIn(between), ["r3", "r2"]);
        const limited = await search(store, { ...by, from: "r2", to: "r5", after: "r4", limit: 1 });
        assert.deepEqual([keysIn(limited), limited.next], [["r3"], "r3"]);
      }
      await assertLands(store, { at: 1, puts: rows(6, 8) });
      assert.deepEqual(keysIn(await search(store, { tags, limit: 2, after: "r4" })), ["r3", "r2"]);
      assert.equal(await store.count(tenantA, { table: "run", tags, from: "r2", to: "r7" }, 99), 5);
    },
  },
  {
    title: "finds every row although each search reads a limited number of index entries",
    assertHolds: async (store) => {
      const numbers = Array.from({ length: SEARCH_ROWS_MAX + 200 }, (_, at) => `r${String(at).padStart(6, "0")}`);
      const [rare] = numbers as [string];
      // Both tags have too many rows to be compared.
      const puts = numbers.map((key) => putRun(key, { status: "open", project: key === rare ? "p" : `q${key}` }));
      const others = numbers.map((key) => putRun(`s${key}`, { status: "ended", project: "p" }));
      for (const [at, part] of [puts, others].entries())
        await assertLands(store, { run: `${runA}${at}` as RunId, puts: part });
      const found: string[] = [];
      let searches = 0;
      for (let after: string | null = "t"; after !== null; searches += 1) {
        const page: FoundRows = await search(store, { tags: tagged(["status", "open"], ["project", "p"]), after });
        found.push(...keysIn(page));
        after = page.next;
      }
      assert.deepEqual(found, [rare]);
      assert.ok(searches <= 3, `${searches} searches`);
    },
  },
];
