import { describe, expect, it } from "vitest";
import { appendCall, createBatch } from "../../../src/store/postgres/append-batch.ts";
import { byteArray, int8Array, textArray } from "../../../src/store/postgres/binary-array.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import {
  assertLands,
  buildEntry,
  claimRun,
  rowJson,
  runA,
  runB,
  tenantA,
  tenantB,
  workerA,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { repositoryPath } from "../../repo/repository-path.ts";
import { readFilesIn } from "../../repo/source-files.ts";
import { schemaText } from "./schema-text.ts";
import { testDatabase } from "./test-database.ts";

const tenantTables = [
  "blob",
  "due",
  "event",
  "head",
  "lease",
  "marker",
  "need",
  "outdated",
  "rows",
  "sent",
  "tag",
  "tally",
];

const tables = new RegExp(`\\bwrit\\.(?:${tenantTables.join("|")})\\b`);

/** Only these functions may read across tenants: they claim due runs and find the next due time. */
const acrossTenants = ["claim_due", "claim_needed", "next_due", "outdated_runs"];

/** These tables belong to no tenant. The application's role cannot read the workers. */
const sharedTables = ["boot", "migration", "worker"];

describe("Postgres schema", () => {
  const database = testDatabase();

  it("equals schema.sql", async () => {
    await expect(await schemaText(database)).toMatchFileSnapshot(repositoryPath("src/store/postgres/schema.sql"));
  });

  it("has the tenant first in every key and every unique index", async () => {
    const indexes = await database.query<[string, string]>(
      `select c.relname, a.attname from pg_index i join pg_class c on c.oid = i.indrelid
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indisunique and c.relnamespace = 'writ'::regnamespace order by 1`,
    );
    expect(indexes.filter(([, first]) => first !== "tenant")).toEqual([
      ["boot", "singular"],
      ["migration", "number"],
      ["worker", "id"],
    ]);
    expect(indexes.filter(([, first]) => first === "tenant").map(([table]) => table)).toEqual(tenantTables);
  });

  it("has the tenant in every statement, once for each named table", async () => {
    const functions = await database.query<[string, string]>(
      "select proname, prosrc from pg_proc where pronamespace = 'writ'::regnamespace order by proname",
    );
    const unscoped = functions.filter(([, source]) => statementsOf(source).some(isUnscoped)).map(([name]) => name);
    expect(unscoped).toEqual(acrossTenants);
  });

  it.each([
    "select 1 from writ.head where run = of_run",
    "update writ.rows r set row = x.row from unnest(k) x where r.key = x.key",
    "insert into writ.event (run, position) values (1, 2)",
    "select 1 from writ.head h join writ.event e on e.run = h.run where h.tenant = for_tenant",
  ])("would catch %s", (statement) => {
    expect(isUnscoped(statement)).toBe(true);
  });

  it("is used only through its functions", () => {
    const files = readFilesIn("src/store/postgres").filter(({ path }) => path.endsWith(".ts"));
    const others = files.filter(({ path, text }) => tables.test(text) && !/\/migrat(?:e\.ts$|ions\/)/.test(path));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it("is read by complete keys, also while tables are empty and without statistics", async () => {
    const ledger = (was: number | null) => [{ table: "ledger", key: "k", was, row: rowJson({}) }] as const;
    const timer = (due: string | null) => ({ table: "timer", key: runB, was: "any", row: due }) as const;
    const run = (status: string) => [{ table: "run", key: runA, was: "any", row: rowJson({ status }) }] as const;
    const charges = [{ tally: "usd", amount: 1, limit: 9 }];
    const checks = [{ table: "setting", key: "s", was: null }] as const;
    const batches = [
      [
        buildEntry({ puts: run("open") }),
        buildEntry({ run: runB, puts: [...ledger(null), timer(rowJson({ due_at: 1 }))], charges, checks }),
      ],
      [buildEntry({ at: 1 }), buildEntry({ run: runB, at: 1 })],
      [
        buildEntry({ at: 2, puts: run("done") }),
        buildEntry({ run: runB, at: 2, puts: [...ledger(1), timer(null)], charges }),
      ],
      [buildEntry({ at: 2 }), buildEntry({ run: runB, at: 2, puts: ledger(1) })],
    ];
    const [runs, ones] = [textArray([runA, runB]), int8Array([1, 1])];
    const tenants = textArray([tenantA, tenantA]);
    const plans = await database.plansOf([
      ...batches.map((entries) => appendCall(createBatch(entries))),
      { name: "mark", values: [tenantA, runs, textArray(["ana", "bob"]), ones, textArray(["a", "b"]), ones] },
      { name: "renew", values: [tenants, runs, textArray(["ana", "bob"]), ones, 1000, null] },
      { name: "release", values: [tenantA, runs, textArray(["ana", "bob"]), ones, 1000, null] },
      { name: "ask", values: [tenantA, runA, "cem", 1000, null] },
      { name: "withdraw_ask", values: [tenantA, runA, "cem"] },
      { name: "held_runs", values: [tenants, runs, textArray(["ana", "bob"]), ones, null] },
      { name: "rows_of", values: [tenantA, textArray(["ledger", "timer"]), textArray(["k", runB])] },
      {
        name: "erase",
        values: [tenantA, runA, 3, int8Array([1, 2]), byteArray([Buffer.of(1), Buffer.of(2)]), textArray(["h"])],
      },
    ]);
    const scans = plans.flatMap((plan) => [
      ...plan.replaceAll('"', "").matchAll(/Scan .*\bon (\w+)[^\n]*\n\s*(\S.*)/g),
    ]);
    const ofTables = scans.filter(([, table = ""]) => tenantTables.includes(table));
    expect(new Set(ofTables.map(([, table]) => table)).size).toBeGreaterThan(5);
    expect(ofTables.map(([, table]) => table)).toContain("tag");
    expect(ofTables.filter(([, table = "", how = ""]) => !isByKey(table, how)).map(([text]) => text)).toEqual([]);
    expect(plans.filter((plan) => /Hash Join|Merge Join/.test(plan))).toEqual([]);
  });
});

describe("tenants of one Postgres", () => {
  const database = testDatabase();

  it("are isolated by policies that bind the owner too", async () => {
    const open = await database.query<[string]>(
      `select relname from pg_class where relnamespace = 'writ'::regnamespace and relkind = 'r'
       and not (relrowsecurity and relforcerowsecurity) order by 1`,
    );
    expect(open.flat()).toEqual(sharedTables);
  });

  it("have an owner that is no superuser and bypasses nothing", async () => {
    const owners = await database.query(
      `select distinct rolname, rolsuper, rolbypassrls from pg_class c join pg_roles r on r.oid = c.relowner
       where c.relnamespace = 'writ'::regnamespace`,
    );
    expect(owners).toEqual([["writ_test_owner", false, false]]);
  });

  it("are served by a role that owns nothing, bypasses nothing and deletes no event", async () => {
    const [role] = await database.query<[boolean, boolean, boolean]>(
      `select rolsuper, rolbypassrls, exists (select from pg_class where relnamespace = 'writ'::regnamespace and relowner = r.oid)
       from pg_roles r where rolname = 'writ_test_app'`,
    );
    expect(role).toEqual([false, false, false]);
    const rights = await database.query<[string, string]>(
      `select table_name, string_agg(privilege_type, ' ' order by privilege_type) from information_schema.role_table_grants
       where grantee = 'writ_test_app' and table_schema = 'writ' and table_name in ('event', 'migration') group by 1 order by 1`,
    );
    expect(rights).toEqual([
      ["event", "INSERT SELECT"],
      ["migration", "SELECT"],
    ]);
  });

  it("are claimed by functions of the owner that return only claims, times and facts about workers", async () => {
    const definers = await database.query<[string, string]>(
      `select proname, pg_get_function_result(oid) from pg_proc
       where pronamespace = 'writ'::regnamespace and prosecdef order by 1`,
    );
    expect(definers).toEqual([
      ["claim_due", "TABLE(tenant text, run text, epoch bigint)"],
      ["claim_needed", "TABLE(tenant text, run text, epoch bigint)"],
      ["forget_worker", "void"],
      ["next_due", "TABLE(now_ms bigint, due bigint)"],
      ["note_worker", "text[]"],
      ["offers_elsewhere", "text[]"],
      ["outdated_runs", "TABLE(tenant text, run text)"],
      ["retire_worker", "void"],
      ["workers", "TABLE(id text, rules text, offers text, about text)"],
    ]);
  });

  it("do not see each other's rows, even if a statement omits the tenant", async () => {
    const store = await postgres(database.url);
    const timer = { table: "timer", key: runA, was: "any", row: rowJson({ due_at: 1, needs: ["a@1"] }) } as const;
    const run = { table: "run", key: runA, was: "any", row: rowJson({ status: "open" }) } as const;
    const charges = [{ tally: "usd", amount: 1, limit: null }];
    await assertLands(store, { puts: [timer, run], charges });
    await assertLands(store, { tenant: tenantB, puts: [timer, run], charges });
    await store.mark(await claimRun(store, workerA), "send" as never, 1);
    await store.putBlob(tenantA, "ab" as never, new Uint8Array(1));
    await store.close();
    const countRows = async (tenant: string) =>
      (
        await database.asApp(
          `begin; set local writ.tenant = '${tenant}'; select ${tenantTables
            .map((table) => `(select count(*)::integer from writ.${table})`)
            .join(", ")}; commit`,
        )
      )[0];
    expect(await countRows("")).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(await countRows("acme")).toEqual([1, 1, 1, 1, 1, 1, 1, 0, 2, 1, 1, 1]);
    expect(await countRows("globex")).toEqual([0, 1, 1, 1, 0, 0, 1, 0, 2, 0, 1, 1]);
    // The search path of the claiming functions has an effect only inside functions of the owner.
    const claiming =
      "begin; set local search_path = pg_catalog, pg_temp; select count(*)::integer from writ.head; commit";
    expect(await database.asApp(claiming)).toEqual([[0]]);
    const theirs = "begin; set local writ.tenant = 'acme'; insert into writ.tally values ('globex', 'eur', 1); commit";
    await expect(database.asApp(theirs)).rejects.toThrow("row-level security");
  });
});

const keys: Readonly<Record<string, readonly string[]>> = {
  blob: ["tenant", "hash"],
  due: ["tenant", "run"],
  event: ["tenant", "run", "position"],
  head: ["tenant", "run"],
  lease: ["tenant", "run"],
  marker: ["tenant", "run", "step", "attempt"],
  rows: ["tenant", "kind", "key"],
  tag: ["tenant", "kind", "tag", "key"],
  tally: ["tenant", "tally"],
};

/** True if the condition selects at most one row by a complete key, or one for each value of its last column. */
function isByKey(table: string, condition: string): boolean {
  const columns = keys[table] ?? [];
  const isEqual = (column: string, at: number) =>
    condition.includes(`(${column} = `) && (at === columns.length - 1 || !condition.includes(`(${column} = ANY`));
  return condition.startsWith("Index Cond:") && columns.length > 0 && columns.every(isEqual);
}

/** Returns the statements of a function, without comments. */
function statementsOf(source: string): readonly string[] {
  return source.replaceAll(/--.*$/gm, "").split(";");
}

/** True if a statement names more tenant tables than tenants. */
function isUnscoped(statement: string): boolean {
  const named = statement.match(new RegExp(tables, "g")) ?? [];
  const tenants = statement.match(/\btenant = |\(tenant, |\btenant = \$1/g) ?? [];
  return named.length > tenants.length;
}
