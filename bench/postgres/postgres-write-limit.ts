import { byteArray, int8Array, textArray } from "../../src/store/postgres/binary-array.ts";
import type { Client } from "../../src/store/postgres/pg-driver.ts";
import { measureTime } from "../measure-time.ts";
import { benchPrincipal, type Workload } from "../workload.ts";
import { groupWrites, recordStepRows, type StepWrite, type WriteGroup } from "../write-limit.ts";
import type { BenchServer } from "./bench-server.ts";

/**
 * Writes the same least as on SQLite in as few round trips as possible: one statement per step or per group of
 * concurrent steps, on two connections, without conditions and row-level security.
 */
export async function timePostgresLimit(server: BenchServer, workload: Workload): Promise<number> {
  await server.empty();
  const groups = groupWrites(workload, await recordStepRows(workload));
  const connections = workload.atOnce === 1 ? 1 : 2;
  const clients = await Promise.all(Array.from({ length: connections }, () => server.connect()));
  try {
    return await measureTime(async () => {
      for (const group of groups)
        await Promise.all(
          clients.map((client, connection) => writeGroup(client, laneShare(group, connection, connections))),
        );
    });
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

function laneShare(group: WriteGroup, connection: number, connections: number): WriteGroup {
  return { ...group, writes: group.writes.filter((_, at) => at % connections === connection) };
}

async function writeGroup(client: Client, { writes, acts }: WriteGroup): Promise<void> {
  if (acts) await client.query({ name: "ledger", text: ledgerText, values: ledgerValues(writes) });
  await client.query({ name: acts ? "act" : "step", text: acts ? actText : stepText, values: stepValues(writes) });
}

const rowSource =
  "unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bytea[], $8::text[], $9::text[])";
const rowColumns = "g (run, position, type, at, body, hash, key, row)";

const ledgerText = `insert into writ.rows (tenant, kind, key, version, row)
  select $1, 'ledger', g.key, 1, g.row from unnest($2::text[], $3::text[]) g (key, row)`;

const stepText = `with e as (
    insert into writ.event (tenant, run, position, type, v, at, body, hash)
    select $1, g.run, g.position, g.type, 1, g.at, g.body, g.hash from ${rowSource} ${rowColumns})
  insert into writ.head as h (tenant, run, position, hash) select $1, g.run, g.position, g.hash from ${rowSource} ${rowColumns}
  on conflict (tenant, run) do update set position = excluded.position, hash = excluded.hash`;

// An upsert by key: an update with a join is planned as a scan of all rows of the tenant.
const actText = stepText.replace(
  ")\n  insert into writ.head",
  `), l as (
    insert into writ.rows (tenant, kind, key, version, row) select $1, 'ledger', g.key, 2, g.row from ${rowSource} ${rowColumns}
    on conflict (tenant, kind, key) do update set version = excluded.version, row = excluded.row)
  insert into writ.head`,
);

function ledgerValues(writes: readonly StepWrite[]) {
  return [
    benchPrincipal.tenant,
    textArray(writes.map(({ key }) => key)),
    textArray(writes.map(({ ledger }) => ledger?.before ?? "")),
  ];
}

function stepValues(writes: readonly StepWrite[]) {
  return [
    benchPrincipal.tenant,
    textArray(writes.map(({ run }) => run)),
    int8Array(writes.map(({ event }) => event.position)),
    textArray(writes.map(({ event }) => event.type)),
    int8Array(writes.map(({ event }) => event.at)),
    textArray(writes.map(({ event }) => event.body)),
    byteArray(writes.map(({ event }) => event.hash)),
    textArray(writes.map(({ key }) => key)),
    textArray(writes.map(({ ledger }) => ledger?.after ?? "")),
  ];
}
