import { bytes, longs, texts } from "../../src/store/postgres/binary-array.ts";
import type { Client } from "../../src/store/postgres/driver.ts";
import { rowsOf, type Turn, turnsOf, type Write } from "../limit.ts";
import { timed } from "../timed.ts";
import { principal, type Workload } from "../workload.ts";
import type { Place } from "./place.ts";

/**
 * The same least as on SQLite, in as few round trips: one statement for each step, or one for all that are under way together,
 * on two connections. No conditions, no tenants to be kept apart.
 */
export async function limitTime(place: Place, workload: Workload): Promise<number> {
  await place.empty();
  const turns = turnsOf(workload, await rowsOf(workload));
  const lanes = workload.atOnce === 1 ? 1 : 2;
  const clients = await Promise.all(Array.from({ length: lanes }, () => place.connect()));
  try {
    return await timed(async () => {
      for (const turn of turns)
        await Promise.all(clients.map((client, lane) => land(client, share(turn, lane, lanes))));
    });
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

function share(turn: Turn, lane: number, lanes: number): Turn {
  return { ...turn, writes: turn.writes.filter((_, at) => at % lanes === lane) };
}

async function land(client: Client, { writes, acts }: Turn): Promise<void> {
  if (acts) await client.query({ name: "ledger", text: ledgerText, values: ledgerValues(writes) });
  await client.query({ name: acts ? "act" : "step", text: acts ? actText : stepText, values: stepValues(writes) });
}

const given =
  "unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bytea[], $8::text[], $9::text[])";
const columns = "g (run, position, type, at, body, hash, key, row)";

const ledgerText = `insert into writ.rows (tenant, kind, key, version, row)
  select $1, 'ledger', g.key, 1, g.row from unnest($2::text[], $3::text[]) g (key, row)`;

const stepText = `with e as (
    insert into writ.event (tenant, run, position, type, v, at, body, hash)
    select $1, g.run, g.position, g.type, 1, g.at, g.body, g.hash from ${given} ${columns})
  insert into writ.head as h (tenant, run, position, hash) select $1, g.run, g.position, g.hash from ${given} ${columns}
  on conflict (tenant, run) do update set position = excluded.position, hash = excluded.hash`;

// By its key, as an insert that meets what is there: an update of what is joined is planned as a walk over all that the tenant has.
const actText = stepText.replace(
  ")\n  insert into writ.head",
  `), l as (
    insert into writ.rows (tenant, kind, key, version, row) select $1, 'ledger', g.key, 2, g.row from ${given} ${columns}
    on conflict (tenant, kind, key) do update set version = excluded.version, row = excluded.row)
  insert into writ.head`,
);

function ledgerValues(writes: readonly Write[]) {
  return [
    principal.tenant,
    texts(writes.map(({ key }) => key)),
    texts(writes.map(({ ledger }) => ledger?.before ?? "")),
  ];
}

function stepValues(writes: readonly Write[]) {
  return [
    principal.tenant,
    texts(writes.map(({ run }) => run)),
    longs(writes.map(({ event }) => event.position)),
    texts(writes.map(({ event }) => event.type)),
    longs(writes.map(({ event }) => event.at)),
    texts(writes.map(({ event }) => event.body)),
    bytes(writes.map(({ event }) => event.hash)),
    texts(writes.map(({ key }) => key)),
    texts(writes.map(({ ledger }) => ledger?.after ?? "")),
  ];
}
