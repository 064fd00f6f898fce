import { describe, expect, it } from "vitest";
import { batchCall, batchOf } from "../src/store/postgres/batch.ts";
import { bytes, longs, texts } from "../src/store/postgres/binary-array.ts";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { acme, ana, claimed, entry, globex, hire, landed, order, row } from "../src/testing/store-contract/law.ts";
import { database } from "./postgres/database.ts";
import { schemaOf } from "./postgres/schema.ts";
import { filesBelow } from "./source.ts";

const tenantTables = ["blob", "due", "event", "head", "lease", "marker", "need", "rows", "tally"];

const tables = new RegExp(`\\bwrit\\.(?:${tenantTables.join("|")})\\b`);

/** Beside these nothing may look across tenants: what is due, of whomever, and when the next is. */
const acrossTenants = ["claim_due", "claim_needed", "next_due"];

describe("the schema of Postgres", () => {
  const made = database();

  it("is the one that is written down", async () => {
    await expect(await schemaOf(made)).toMatchFileSnapshot("../src/store/postgres/schema.sql");
  });

  it("has the tenant first in every key and every unique index", async () => {
    const indexes = await made.query<[string, string]>(
      `select c.relname, a.attname from pg_index i join pg_class c on c.oid = i.indrelid
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indisunique and c.relnamespace = 'writ'::regnamespace order by 1`,
    );
    expect(indexes.filter(([, first]) => first !== "tenant")).toEqual([
      ["boot", "singular"],
      ["migration", "number"],
    ]);
    expect(indexes.filter(([, first]) => first === "tenant").map(([table]) => table)).toEqual(tenantTables);
  });

  it("has the tenant in every statement, once for each table that is named", async () => {
    const functions = await made.query<[string, string]>(
      "select proname, prosrc from pg_proc where pronamespace = 'writ'::regnamespace order by proname",
    );
    const careless = functions.filter(([, source]) => statementsOf(source).some(isCareless)).map(([name]) => name);
    expect(careless).toEqual(acrossTenants);
  });

  it.each([
    "select 1 from writ.head where run = of_run",
    "update writ.rows r set row = x.row from unnest(k) x where r.key = x.key",
    "insert into writ.event (run, position) values (1, 2)",
    "select 1 from writ.head h join writ.event e on e.run = h.run where h.tenant = for_tenant",
  ])("would catch %s", (statement) => {
    expect(isCareless(statement)).toBe(true);
  });

  it("is reached by its functions and in no other way", () => {
    const files = filesBelow("src/store/postgres").filter(({ path }) => path.endsWith(".ts"));
    const others = files.filter(({ path, text }) => tables.test(text) && !path.endsWith("/migrate.ts"));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it("finds what is there by the whole of its key, also while the tables are empty and nothing is known of them", async () => {
    const ledger = (was: number | null) => [{ table: "ledger", key: "k", was, row: row({}) }] as const;
    const timer = (due: string | null) => ({ table: "timer", key: order, was: "any", row: due }) as const;
    const charges = [{ tally: "usd", amount: 1, limit: 9 }];
    const checks = [{ table: "setting", key: "s", was: null }] as const;
    const batches = [
      [entry({}), entry({ run: order, puts: [...ledger(null), timer(row({ due_at: 1 }))], charges, checks })],
      [entry({ at: 1 }), entry({ run: order, at: 1 })],
      [entry({ at: 2 }), entry({ run: order, at: 2, puts: [...ledger(1), timer(null)], charges })],
      [entry({ at: 2 }), entry({ run: order, at: 2, puts: ledger(1) })],
    ];
    const [runs, ones] = [texts([hire, order]), longs([1, 1])];
    const tenants = texts([acme, acme]);
    const plans = await made.plansOf([
      ...batches.map((entries) => batchCall(batchOf(entries))),
      { name: "mark", values: [acme, runs, ones, texts(["a", "b"]), ones] },
      { name: "renew", values: [tenants, runs, texts(["ana", "bob"]), ones, 1000, null] },
      { name: "release", values: [acme, runs, texts(["ana", "bob"]), ones] },
      { name: "positions", values: [tenants, runs] },
      { name: "rows_of", values: [acme, texts(["ledger", "timer"]), texts(["k", order])] },
      { name: "erase", values: [acme, hire, 3, longs([1, 2]), bytes([Buffer.of(1), Buffer.of(2)]), texts(["h"])] },
    ]);
    const scans = plans.flatMap((plan) => [
      ...plan.replaceAll('"', "").matchAll(/Scan .*\bon (\w+)[^\n]*\n\s*(\S.*)/g),
    ]);
    const ofTables = scans.filter(([, table = ""]) => tenantTables.includes(table));
    expect(new Set(ofTables.map(([, table]) => table)).size).toBeGreaterThan(5);
    expect(ofTables.filter(([, table = "", how = ""]) => !isByKey(table, how)).map(([text]) => text)).toEqual([]);
    expect(plans.filter((plan) => /Hash Join|Merge Join/.test(plan))).toEqual([]);
  });
});

describe("the tenants of one Postgres", () => {
  const made = database();

  it("are guarded by policies that hold for the owner, too", async () => {
    const open = await made.query<[string]>(
      `select relname from pg_class where relnamespace = 'writ'::regnamespace and relkind = 'r'
       and not (relrowsecurity and relforcerowsecurity) order by 1`,
    );
    expect(open.flat()).toEqual(["boot", "migration"]);
  });

  it("are served by a role that owns nothing, bypasses nothing and deletes no event", async () => {
    const [role] = await made.query<[boolean, boolean, boolean]>(
      `select rolsuper, rolbypassrls, exists (select from pg_class where relnamespace = 'writ'::regnamespace and relowner = r.oid)
       from pg_roles r where rolname = 'writ_test_app'`,
    );
    expect(role).toEqual([false, false, false]);
    const rights = await made.query<[string, string]>(
      `select table_name, string_agg(privilege_type, ' ' order by privilege_type) from information_schema.role_table_grants
       where grantee = 'writ_test_app' and table_schema = 'writ' and table_name in ('event', 'migration') group by 1 order by 1`,
    );
    expect(rights).toEqual([
      ["event", "INSERT SELECT"],
      ["migration", "SELECT"],
    ]);
  });

  it("are claimed for by functions of the owner that tell only what was claimed, and when", async () => {
    const definers = await made.query<[string, string]>(
      `select proname, pg_get_function_result(oid) from pg_proc
       where pronamespace = 'writ'::regnamespace and prosecdef order by 1`,
    );
    expect(definers).toEqual([
      ["claim_due", "TABLE(tenant text, run text, epoch bigint)"],
      ["claim_needed", "TABLE(tenant text, run text, epoch bigint)"],
      ["next_due", "TABLE(now_ms bigint, due bigint)"],
    ]);
  });

  it("do not see each other, whatever a statement forgets to ask", async () => {
    const store = await postgres(made.url);
    const timer = { table: "timer", key: hire, was: "any", row: row({ due_at: 1, needs: ["a@1"] }) } as const;
    await landed(store, { puts: [timer], charges: [{ tally: "usd", amount: 1, limit: null }] });
    await landed(store, { tenant: globex, puts: [timer], charges: [{ tally: "usd", amount: 1, limit: null }] });
    await store.mark(await claimed(store, ana), "send" as never, 1);
    await store.putBlob(acme, "ab" as never, new Uint8Array(1));
    await store.close();
    const seen = async (tenant: string) =>
      (
        await made.asApp(
          `begin; set local writ.tenant = '${tenant}'; select ${tenantTables
            .map((table) => `(select count(*)::integer from writ.${table})`)
            .join(", ")}; commit`,
        )
      )[0];
    expect(await seen("")).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(await seen("acme")).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(await seen("globex")).toEqual([0, 1, 1, 1, 0, 0, 1, 1, 1]);
    // Only the owner's own functions may say that they are claiming.
    const claiming = "begin; set local writ.claiming = 'yes'; select count(*)::integer from writ.head; commit";
    expect(await made.asApp(claiming)).toEqual([[0]]);
    const theirs = "begin; set local writ.tenant = 'acme'; insert into writ.tally values ('globex', 'eur', 1); commit";
    await expect(made.asApp(theirs)).rejects.toThrow("row-level security");
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
  tally: ["tenant", "tally"],
};

/** Whether an index is asked for nothing less than one row. */
function isByKey(table: string, condition: string): boolean {
  return (
    condition.startsWith("Index Cond:") && keys[table]?.every((column) => condition.includes(`(${column} = `)) === true
  );
}

/** Comments and texts of their own aside, what stands between two semicolons. */
function statementsOf(source: string): readonly string[] {
  return source.replaceAll(/--.*$/gm, "").split(";");
}

/** Names more tables of tenants than it compares or writes tenants. */
function isCareless(statement: string): boolean {
  const named = statement.match(new RegExp(tables, "g")) ?? [];
  const tenants = statement.match(/\btenant = |\(tenant, |\btenant = \$1/g) ?? [];
  return named.length > tenants.length;
}
