import assert from "node:assert/strict";
import fc from "fast-check";
import type { Check, Claim, ClaimTerms, Entry, Erasure, Put, Query, Store } from "../../src/core/store/store.ts";
import { indexedRowFields, type Table, tables } from "../../src/core/store/tables.ts";
import type { Epoch, RunId, StepId, Tenant, WorkerId } from "../../src/core/values/ids.ts";
import type { MemoryStore } from "../../src/store/memory/memory-store.ts";
import type { TableDump } from "../../src/store/memory/memory-tables.ts";
import type { FakeClock } from "../../src/testing/fake-clock.ts";
import { buildEvent, fakeHash } from "../../src/testing/store-contract/contract-rule.ts";

/** The time at which compared stores start. */
export const startOfTime = 1_000;

const everyTenant = ["acme" as Tenant, "globex" as Tenant];
const tenants = fc.constantFrom(...everyTenant);
const runs = fc.constantFrom("run-1" as RunId, "run-2" as RunId);
const workers = fc.constantFrom("ana" as WorkerId, "bob" as WorkerId);
const keys = fc.constantFrom("run-1", "run-2", "ключ", "😀", "\uff5e", "'; --");
const anyTable = fc.constantFrom(...tables);
const wrong = <Value>(value: Value) => ({ weight: 1, arbitrary: fc.constant(value) });
const offset = fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, wrong(-1), wrong(1));
const was = fc.oneof({ weight: 20, arbitrary: fc.constant("as it is") }, wrong(null), wrong(0), wrong(1), wrong("any"));

const rowText = fc
  .record({
    status: fc.constantFrom("open", "closed"),
    run_id: runs,
    due_at: fc.option(
      fc.integer({ min: 0, max: 20 }).map((tenths) => startOfTime + tenths * 100),
      { nil: null, freq: 6 },
    ),
    needs: fc.constantFrom(undefined, ["a@1"], ["b@1", "notice"]),
    reuse_key: fc.constantFrom(null, "same", "other"),
    queue: fc.constantFrom(undefined, "mail", "print"),
    priority: fc.constantFrom(undefined, -1, 5),
    text: fc.string({ unit: "binary", maxLength: 8 }),
  })
  .map((fields) => JSON.stringify(fields));

/** The part of an entry that does not depend on the content of the store. */
interface PlannedEntry {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly offset: number;
  readonly epoch: string;
  readonly events: number;
  readonly puts: readonly { readonly table: Table; readonly key: string; readonly was: unknown }[];
  readonly checks: PlannedEntry["puts"];
  readonly charges: Entry["charges"];
  readonly flush: Entry["flush"];
}

const plannedEntry: fc.Arbitrary<PlannedEntry> = fc.record({
  tenant: tenants,
  run: runs,
  offset,
  epoch: fc.oneof({ weight: 20, arbitrary: fc.constantFrom("none", "current") }, wrong("stale")),
  events: fc.integer({ min: 0, max: 3 }),
  puts: fc.uniqueArray(
    fc.record({ table: anyTable, key: keys, was, row: fc.option(rowText, { nil: null, freq: 4 }) }),
    { maxLength: 3, selector: ({ table, key }) => `${table} ${key}` },
  ),
  checks: fc.array(fc.record({ table: anyTable, key: keys, was: was.filter((value) => value !== "any") }), {
    maxLength: 1,
  }),
  charges: fc.array(
    fc.record({
      tally: fc.constantFrom("usd", "calls"),
      amount: fc.integer({ min: -200, max: 900 }).map((cents) => cents / 100),
      limit: fc.option(fc.constantFrom(20, 100), { nil: null }),
    }),
    { maxLength: 3 },
  ),
  flush: fc.constantFrom("hard", "soft"),
});

const indexes = tables.flatMap((table) => (indexedRowFields[table] ?? []).map((field) => ({ table, field })));
const whereOf = fc
  .tuple(fc.constantFrom(...indexes), fc.constantFrom<string | number>("open", "run-1", "same", startOfTime + 3))
  .map(([{ table, field }, equals]) => ({ table, where: { field, equals } }));
const query = fc
  .tuple(
    fc.oneof(fc.record({ table: anyTable }), whereOf),
    fc.record({ after: keys }, { requiredKeys: [] }),
    fc.record({ order: fc.constantFrom("oldest", "newest"), limit: fc.integer({ min: 0, max: 4 }) }),
  )
  .map(([which, from, shape]): Query => ({ ...which, ...from, ...shape }));

type StoreAct =
  | { readonly do: "append"; readonly planned: readonly PlannedEntry[] }
  | { readonly do: "claim"; readonly worker: WorkerId; readonly tenant: Tenant; readonly run: RunId }
  | { readonly do: "claimDue"; readonly worker: WorkerId; readonly limit: number; readonly terms: ClaimTerms }
  | { readonly do: "renew"; readonly worker: WorkerId }
  | { readonly do: "release"; readonly nth: number }
  | { readonly do: "ask"; readonly worker: WorkerId; readonly tenant: Tenant; readonly run: RunId }
  | { readonly do: "mark"; readonly nth: number; readonly attempt: number }
  | ({ readonly do: "erase"; readonly offset: number } & Pick<Erasure, "tenant" | "run" | "keep">)
  | { readonly do: "putBlob"; readonly tenant: Tenant; readonly bytes: Uint8Array };

const terms = fc.constantFrom<ClaimTerms>(
  {},
  { queues: ["mail"] },
  { perQueue: { mail: 1 } },
  { perTenant: 2 },
  { offers: ["notice"] },
  { offers: ["a@1", "b@1"], perQueue: { mail: 1 }, perTenant: 2 },
  { queues: ["mail", "default"], perQueue: { default: 2, mail: 3 }, perTenant: 3 },
);

const storeAct: fc.Arbitrary<StoreAct> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("append"),
      planned: fc.array(plannedEntry, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("claim"), worker: workers, tenant: tenants, run: runs }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("claimDue"),
      worker: workers,
      limit: fc.integer({ min: 0, max: 5 }),
      terms,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("renew"), worker: workers }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release"), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("ask"), worker: workers, tenant: tenants, run: runs }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("mark"), nth: fc.nat(5), attempt: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("erase"),
      tenant: tenants,
      run: runs,
      offset,
      keep: fc.array(fc.integer({ min: 1, max: 9 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("putBlob"),
      tenant: tenants,
      bytes: fc.uint8Array({ maxLength: 9 }),
    }),
  },
);

/**
 * The calls of one turn of the event loop, the queries after it, the worker that is evicted then, and the time that
 * passes.
 */
export interface ComparisonTurn {
  readonly evicts: WorkerId | null;
  readonly acts: readonly StoreAct[];
  readonly queries: readonly { readonly tenant: Tenant; readonly query: Query }[];
  readonly passesMs: number;
}

export const anyTurn: fc.Arbitrary<ComparisonTurn> = fc.record({
  acts: fc.array(storeAct, { minLength: 1, maxLength: 4 }),
  queries: fc.array(fc.record({ tenant: tenants, query }), { maxLength: 2 }),
  evicts: fc.option(workers, { nil: null, freq: 2 }),
  passesMs: fc.constantFrom(0, 100, 500, 3000),
});

/** Asserts that a store returns and holds exactly the same as the memory store after random calls. */
export async function assertStoresAgree(numRuns: number, open: () => Promise<StorePair>): Promise<void> {
  const turns = fc.array(anyTurn, { minLength: 1, maxLength: 25 });
  const agree = fc.asyncProperty(turns, async (sampledTurns) => {
    const pair = await open();
    try {
      await compare(pair, sampledTurns);
    } finally {
      await pair.close();
    }
  });
  await fc.assert(agree, { numRuns });
}

export interface StorePair {
  readonly memory: MemoryStore;
  readonly other: Store;
  readonly clock: FakeClock;
  /** Returns the content of the other store, read on another connection, in the form of the memory store's dump. */
  dump(): TableDump | Promise<TableDump>;
  /** Evicts a worker from the other store, if its leases end by eviction. */
  evict?(worker: WorkerId): void;
  /** `at once` for a store that keeps the order of concurrent calls. */
  readonly acts: "at once" | "one by one";
  close(): Promise<void>;
}

/** Makes the same calls on both stores and compares them after every turn. */
async function compare(
  { memory, other, clock, dump, evict, acts: how }: StorePair,
  turns: readonly ComparisonTurn[],
): Promise<void> {
  const claims: Claim[] = [];
  for (const { acts, queries, evicts, passesMs } of turns) {
    const ready = await Promise.all(acts.map((one) => prepareCall(memory, claims, one)));
    const expected = await Promise.all(ready.map((run) => run(memory)));
    assert.deepEqual(normalizedAnswer(await runCalls(other, ready, how)), normalizedAnswer(expected));
    assert.deepEqual(await dump(), memory.dump());
    for (const { tenant, query } of queries) {
      assert.deepEqual(normalizedAnswer(await other.list(tenant, query)), await memory.list(tenant, query));
    }
    for (const tenant of everyTenant) {
      assert.deepEqual(await other.runs(tenant, "", 9), await memory.runs(tenant, "", 9));
      assert.deepEqual(await other.tallies(tenant, "", 9), await memory.tallies(tenant, "", 9));
      assert.deepEqual(await other.holdings(tenant, "", 9), await memory.holdings(tenant, "", 9));
    }
    assert.equal(await other.nextDue(), await memory.nextDue());
    claims.push(...expected.flat().filter(isClaim));
    assert.deepEqual(await other.heldRuns(claims), await memory.heldRuns(claims));
    if (evicts !== null && evict !== undefined) {
      memory.evict(evicts);
      evict(evicts);
    }
    clock.advance(passesMs);
  }
}

async function runCalls(store: Store, acts: readonly StoreCall[], how: StorePair["acts"]): Promise<readonly unknown[]> {
  if (how === "at once") return Promise.all(acts.map((act) => act(store)));
  const answers: unknown[] = [];
  for (const act of acts) answers.push(await act(store));
  return answers;
}

/** A call that can be made on any store. */
export type StoreCall = (store: Store) => Promise<unknown>;

/** Resolves the arguments of a call first, so that both stores get exactly the same call. */
export async function prepareCall(memory: Store, claims: readonly Claim[], one: StoreAct): Promise<StoreCall> {
  switch (one.do) {
    case "append": {
      const entries = await buildEntries(memory, claims, one.planned);
      return (store) => store.append(entries);
    }
    case "claim":
      return (store) => store.claim(one.worker, one.tenant, one.run);
    case "claimDue":
      return (store) => store.claimDue(one.worker, one.limit, one.terms);
    case "renew": {
      const own = claims.filter(({ worker }) => worker === one.worker);
      return (store) => store.renew(one.worker, own);
    }
    case "release": {
      const claim = claims.at(-one.nth - 1);
      return async (store) => claim && store.release(claim);
    }
    case "ask":
      return (store) => store.ask(one.worker, one.tenant, one.run);
    case "mark": {
      const claim = claims.at(-one.nth - 1);
      return async (store) => claim && store.mark(claim, "send" as StepId, one.attempt);
    }
    case "erase": {
      const { tenant, run, offset, keep } = one;
      const position = Math.max(0, ((await memory.head(tenant, run))?.position ?? 0) + offset);
      return (store) => store.erase({ tenant, run, position, keep, blobs: [] }, fakeHash);
    }
    case "putBlob":
      return (store) => store.putBlob(one.tenant, Buffer.from(one.bytes).toString("hex") as never, one.bytes);
  }
}

/** Builds entries whose conditions mostly hold, and sometimes do not. */
async function buildEntries(
  memory: Store,
  claims: readonly Claim[],
  planned: readonly PlannedEntry[],
): Promise<readonly Entry[]> {
  const positions = new Map<string, number>();
  const entries: Entry[] = [];
  for (const { tenant, run, offset, epoch, events, puts, checks, charges, flush } of planned) {
    const name = `${tenant} ${run}`;
    const reached = positions.get(name) ?? (await memory.head(tenant, run))?.position ?? 0;
    const position = Math.max(0, reached + offset);
    positions.set(name, reached + events);
    const sealed = Array.from({ length: events }, (_, index) => buildEvent(position + index + 1));
    const latest = claims.filter((claim) => claim.tenant === tenant && claim.run === run).at(-1)?.epoch ?? null;
    const expected = epoch === "none" ? null : epoch === "stale" ? (((latest ?? 0) - 1) as Epoch) : latest;
    entries.push({
      tenant,
      run,
      expect: { position, epoch: expected },
      events: sealed,
      puts: (await Promise.all(puts.map((put) => currentVersion(memory, tenant, put)))) as Put[],
      checks: (await Promise.all(checks.map((check) => currentVersion(memory, tenant, check)))) as Check[],
      charges,
      flush,
    });
  }
  return entries;
}

async function currentVersion(memory: Store, tenant: Tenant, wanted: { table: Table; key: string; was: unknown }) {
  if (wanted.was !== "as it is") return wanted;
  return { ...wanted, was: (await memory.row(tenant, wanted.table, wanted.key))?.version ?? null };
}

export function isClaim(answer: unknown): answer is Claim {
  return typeof answer === "object" && answer !== null && "epoch" in answer;
}

/** Removes irrelevant differences: prototypes and the class of byte arrays. */
export function normalizedAnswer(answer: unknown): unknown {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString("hex");
  if (Array.isArray(answer)) return answer.map(normalizedAnswer);
  if (typeof answer !== "object" || answer === null) return answer ?? null;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, normalizedAnswer(value)]));
}
