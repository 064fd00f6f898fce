import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, type EngineFixture, type SqlRow } from "./engine-fixture.ts";
import { neverAnswers, scriptedTool } from "./scripted-tool.ts";

const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });

const hourly = { principal: anaPerson, runAs: botAgent, cron: "0 * * * *" };

/** Fills every table of a store: ended and waiting runs, gates, signals, a schedule, settings, notices, states, blobs. */
export async function fillStore(stage: EngineFixture): Promise<void> {
  const look = scriptedTool("look", ({ context }) => context.cost({ usd_micros: 5 }) ?? { text: "x".repeat(70_000) }, {
    effect: "reads",
  });
  const pay = scriptedTool("pay", ({ context }) => context.notice("paid", {}) ?? { id: context.key }, {
    identity: ["invoice"],
    onDuplicate: "reuse",
  });
  const write = scriptedTool("write", ({ context }) => context.slice(notes).append("sown") ?? { ok: true }, {
    effect: "writes",
  });
  const stuck = scriptedTool("stuck", neverAnswers);
  const lost = scriptedTool("lost", () => Promise.reject(new Error("the line is dead")));
  const tools = [look.tool, pay.tool, write.tool, stuck.tool, lost.tool];
  const engine = await stage.open({ tools, slices: [notes] });
  const outcome = { type: "Summary.Birds", status: "final" };
  const steps = [
    { step_id: "look", name: "look", outcome },
    { step_id: "pay", name: "pay", payload: { invoice: 1 }, depends_on: ["look"] },
    { step_id: "write", name: "write", depends_on: ["pay"] },
  ];
  const submit = { principal: botAgent, project: "garden" };
  await (await engine.submit({ steps }, { ...submit, requestKey: "one" })).result();
  const held = [{ step_id: "pay", name: "pay", payload: { invoice: 2 }, gate: "human_confirm" }];
  await (await engine.submit({ steps: held }, { ...submit, requestKey: "two" })).result();
  await engine.submit({ steps: [{ step_id: "w", kind: "wait", payload: { signal: "go" } }] }, submit);
  await engine.submit({ steps: [{ step_id: "stuck", name: "stuck" }] }, submit);
  await (await engine.submit({ steps: [{ step_id: "lost", name: "lost" }] }, submit)).result();
  await talk(engine);
  await engine.signal("stored", 1, { principal: botAgent, id: "told" });
  await engine.schedules.set("hourly", { steps: held }, hourly);
  await engine.policies.set(
    { schema_version: "1.0", name: "house", rules: [], scope: { tenant: "acme" } },
    { principal: anaPerson },
  );
  await engine.projects.close("shed", { principal: anaPerson, as: "locked", reason: "painting" });
  await engine.halts.set({ principal: anaPerson, reason: "a drill" });
  await stage.advance(100);
  await stage.crash();
}

/** An open run with a model call, an act whose answer was delivered, a held call, and a call that a host began. */
async function talk(engine: Engine): Promise<void> {
  const given = { principal: botAgent, project: "garden", session: "chat", title: "Birds", labels: ["spring"] };
  const run = await engine.openRun(given);
  const messages = [{ role: "user", content: "Which birds are here?" }];
  const answer = { choices: [{ message: { role: "assistant", content: "Robins." }, finish_reason: "stop" }] };
  await run.recordModelCall({ model: "m", messages }, () => answer);
  await run.callTool({ id: "1", tool: "pay", input: { invoice: 3 } });
  await run.markDelivered("1", { to: "editor" });
  await run.callTool({ id: "2", tool: "lost", input: {} });
  await run.beginCall({ id: "3", tool: "look", input: {} });
}

/** The columns that name a row; all others, and `tenant`, are data. */
const keyColumns: Readonly<Record<string, readonly string[]>> = {
  event: ["run", "position"],
  head: ["run"],
  lease: ["run"],
  marker: ["run", "step", "attempt"],
  sent: ["run"],
  due: ["run"],
  need: ["run", "need"],
  tally: ["tally"],
  blob: ["hash"],
  rows: ["kind", "key"],
  tag: ["kind", "tag", "key"],
};

export interface TamperedTable {
  readonly name: string;
  readonly columns: readonly TamperedColumn[];
  readonly keys: readonly string[];
  /** A finding about a row contains the value of one of these columns. */
  readonly names: readonly string[];
  readonly rows: readonly SqlRow[];
}

export interface TamperedColumn {
  readonly name: string;
  readonly type: "text" | "number" | "bytes";
}

/** The tables of a store that hold data of tenants. */
export class TamperedStore {
  readonly #stage: EngineFixture;
  readonly #isPostgres: boolean;
  readonly tables: readonly TamperedTable[];

  private constructor(stage: EngineFixture, isPostgres: boolean, tables: readonly TamperedTable[]) {
    this.#stage = stage;
    this.#isPostgres = isPostgres;
    this.tables = tables;
  }

  /** Keeps a copy of every table, which `restore` puts back. */
  static async of(stage: EngineFixture, isPostgres: boolean): Promise<TamperedStore> {
    const tables: TamperedTable[] = [];
    if (isPostgres) await stage.sql("drop schema if exists kept cascade; create schema kept");
    for (const name of await tableNames(stage, isPostgres)) {
      const columns = await columnsOf(stage, name, isPostgres);
      await stage.sql(
        isPostgres
          ? `create table kept.${name} as table writ.${name}`
          : `create table kept_${name} as select * from ${name}`,
      );
      if (name === "event" && !isPostgres) tables.push(await eventLog(stage, columns));
      else {
        const rows = await stage.sql(`select * from ${isPostgres ? `writ.${name}` : name} where tenant = 'acme'`);
        const keys = keyColumns[name] ?? ["key"];
        tables.push({ name, columns, keys, names: keys, rows });
      }
    }
    return new TamperedStore(stage, isPostgres, tables);
  }

  async update({ name, keys }: TamperedTable, row: SqlRow, column: TamperedColumn): Promise<void> {
    await this.#stage.sql(
      `update ${this.#named(name)} set ${column.name} = ${this.#changed(row, column, keys.includes(column.name) ? 1000 : 1)} where ${where(keys, row)}`,
    );
  }

  async remove({ name, keys }: TamperedTable, row: SqlRow): Promise<void> {
    await this.#stage.sql(`delete from ${this.#named(name)} where ${where(keys, row)}`);
  }

  /** Inserts a copy of a row under another key. */
  async insert({ name, columns, keys }: TamperedTable, row: SqlRow): Promise<void> {
    const last = keys.at(-1) as string;
    const values = columns.map((column) => (column.name === last ? this.#changed(row, column, 1000) : column.name));
    const names = columns.map((column) => column.name).join(", ");
    const table = this.#named(name);
    await this.#stage.sql(
      `insert into ${table} (${names}) select ${values.join(", ")} from ${table} where ${where(keys, row)}`,
    );
  }

  /** Puts every row back that a change of this table can have changed: a trigger copies the needs of timer rows. */
  async restore({ name }: Pick<TamperedTable, "name">): Promise<void> {
    const quiet = this.#isPostgres ? "set session_replication_role = replica; " : "";
    const names = name === "rows" ? ["rows", "need", "head", "tag"] : [name];
    const steps = names.map((each) => {
      const kept = this.#isPostgres ? `kept.${each}` : `kept_${each}`;
      return `delete from ${this.#named(each)}; insert into ${this.#named(each)} select * from ${kept}`;
    });
    await this.#stage.sql(`${quiet}${steps.join("; ")}`);
  }

  #named(name: string): string {
    return this.#isPostgres ? `writ.${name}` : name;
  }

  #changed(row: SqlRow, { name, type }: TamperedColumn, by = 1): string {
    const bytes = this.#isPostgres ? "'forged'::bytea" : "cast('forged' as blob)";
    if (type === "bytes") return bytes;
    if (type === "number") return row[name] === null ? String(by) : `${name} + ${by}`;
    if (name === "row") return "row || ' '"; // An index of SQLite refuses a row that is not JSON.
    return row[name] === null ? "'forged'" : `${name} || 'x'`;
  }
}

function where(keys: readonly string[], row: SqlRow): string {
  const equals = (key: string) => `${key} = '${String(row[key]).replaceAll("'", "''")}'`;
  return ["tenant", ...keys].map((key) => (row[key] === null ? `${key} is null` : equals(key))).join(" and ");
}

/** In SQLite only the first event of a journal names its run. The order of the appends (seq) is not a fact. */
async function eventLog(stage: EngineFixture, columns: readonly TamperedColumn[]): Promise<TamperedTable> {
  const rows = await stage.sql(
    `select event.*, first.run as run_of_journal from event
     join event as first on first.journal = event.journal and first.tenant = 'acme' order by event.seq`,
  );
  const changed = columns.filter(({ name }) => name !== "seq");
  return { name: "event", columns: changed, keys: ["journal", "position"], names: ["run_of_journal"], rows };
}

/** The tables that hold no facts of tenants. */
const withoutTenant: readonly string[] = ["boot", "migration", "outdated", "worker"];

async function tableNames(stage: EngineFixture, isPostgres: boolean): Promise<readonly string[]> {
  const found = await stage.sql(
    isPostgres
      ? "select tablename as name from pg_tables where schemaname = 'writ' order by 1"
      : "select name from sqlite_master where type = 'table' order by 1",
  );
  return found.map(({ name }) => String(name)).filter((name) => !withoutTenant.includes(name));
}

async function columnsOf(stage: EngineFixture, table: string, isPostgres: boolean): Promise<readonly TamperedColumn[]> {
  const found = await stage.sql(
    isPostgres
      ? `select column_name as name, data_type as type from information_schema.columns where table_schema = 'writ' and table_name = '${table}' order by ordinal_position`
      : `select name, lower(type) as type from pragma_table_info('${table}')`,
  );
  return found.map(({ name, type }) => {
    const kind = type === "text" ? "text" : type === "blob" || type === "bytea" ? "bytes" : "number";
    return { name: String(name), type: kind };
  });
}
