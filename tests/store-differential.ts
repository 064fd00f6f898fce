import assert from "node:assert/strict";
import fc from "fast-check";
import type { Epoch, RunId, StepId, Tenant, WorkerId } from "../src/core/id.ts";
import { indexed, type Table, tables } from "../src/core/rows.ts";
import type { Check, Claim, ClaimTerms, Entry, Erasure, Put, Query, Store } from "../src/core/store.ts";
import type { MemoryStore } from "../src/store/memory/memory-store.ts";
import type { Dump } from "../src/store/memory/tables.ts";
import type { FakeClock } from "../src/testing/clock.ts";
import { event, hashOf } from "../src/testing/store-contract/law.ts";

/** When the stores that are compared begin. */
export const start = 1_000;

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
      fc.integer({ min: 0, max: 20 }).map((tenths) => start + tenths * 100),
      { nil: null, freq: 6 },
    ),
    needs: fc.constantFrom(undefined, ["a@1"], ["b@1", "notice"]),
    reuse_key: fc.constantFrom(null, "same", "other"),
    queue: fc.constantFrom(undefined, "mail", "print"),
    priority: fc.constantFrom(undefined, -1, 5),
    text: fc.string({ unit: "binary", maxLength: 8 }),
  })
  .map((fields) => JSON.stringify(fields));

/** An entry, as far as it does not depend on what the store holds. */
interface Wish {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly offset: number;
  readonly epoch: string;
  readonly events: number;
  readonly puts: readonly { readonly table: Table; readonly key: string; readonly was: unknown }[];
  readonly checks: Wish["puts"];
  readonly charges: Entry["charges"];
  readonly flush: Entry["flush"];
}

const wish: fc.Arbitrary<Wish> = fc.record({
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

const indexes = tables.flatMap((table) => (indexed[table] ?? []).map((field) => ({ table, field })));
const whereOf = fc
  .tuple(fc.constantFrom(...indexes), fc.constantFrom<string | number>("open", "run-1", "same", start + 3))
  .map(([{ table, field }, equals]) => ({ table, where: { field, equals } }));
const query = fc
  .tuple(
    fc.oneof(fc.record({ table: anyTable }), whereOf),
    fc.record({ after: keys }, { requiredKeys: [] }),
    fc.record({ order: fc.constantFrom("oldest", "newest"), limit: fc.integer({ min: 0, max: 4 }) }),
  )
  .map(([which, from, shape]): Query => ({ ...which, ...from, ...shape }));

type Act =
  | { readonly do: "append"; readonly wishes: readonly Wish[] }
  | { readonly do: "claim"; readonly worker: WorkerId; readonly tenant: Tenant; readonly run: RunId }
  | { readonly do: "claimDue"; readonly worker: WorkerId; readonly limit: number; readonly terms: ClaimTerms }
  | { readonly do: "renew" }
  | { readonly do: "release"; readonly nth: number }
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

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("append"),
      wishes: fc.array(wish, { minLength: 1, maxLength: 4 }),
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
  { weight: 1, arbitrary: fc.record({ do: fc.constant("renew") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release"), nth: fc.nat(5) }) },
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

/** What is done in one turn of the event loop, what is asked after it, and how much time passes then. */
export interface Turn {
  readonly acts: readonly Act[];
  readonly asks: readonly { readonly tenant: Tenant; readonly query: Query }[];
  readonly passesMs: number;
}

export const turn: fc.Arbitrary<Turn> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  asks: fc.array(fc.record({ tenant: tenants, query }), { maxLength: 2 }),
  passesMs: fc.constantFrom(0, 100, 500, 3000),
});

/** Whether a store answers and holds the same as memory, to the last byte, whatever is done to both. */
export async function assertAlike(numRuns: number, open: () => Promise<Pair>): Promise<void> {
  const turns = fc.array(turn, { minLength: 1, maxLength: 25 });
  const alike = fc.asyncProperty(turns, async (taken) => {
    const pair = await open();
    try {
      await compare(pair, taken);
    } finally {
      await pair.close();
    }
  });
  await fc.assert(alike, { numRuns });
}

export interface Pair {
  readonly memory: MemoryStore;
  readonly other: Store;
  readonly clock: FakeClock;
  /** Everything the other store holds, seen by another connection, in the form of the memory store's dump. */
  dump(): Dump | Promise<Dump>;
  /** How the acts of one turn come: those of a store that keeps their order, at once. */
  readonly acts: "at once" | "one by one";
  close(): Promise<void>;
}

/** Does the same to both and holds them against each other after every turn. */
async function compare({ memory, other, clock, dump, acts: how }: Pair, turns: readonly Turn[]): Promise<void> {
  const claims: Claim[] = [];
  for (const { acts, asks, passesMs } of turns) {
    const ready = await Promise.all(acts.map((one) => prepared(memory, claims, one)));
    const expected = await Promise.all(ready.map((run) => run(memory)));
    assert.deepEqual(normal(await answersOf(other, ready, how)), normal(expected));
    assert.deepEqual(await dump(), memory.dump());
    for (const { tenant, query } of asks) {
      assert.deepEqual(normal(await other.list(tenant, query)), await memory.list(tenant, query));
    }
    for (const tenant of everyTenant) {
      assert.deepEqual(await other.runs(tenant, "", 9), await memory.runs(tenant, "", 9));
      assert.deepEqual(await other.tallies(tenant, "", 9), await memory.tallies(tenant, "", 9));
      assert.deepEqual(await other.holdings(tenant, "", 9), await memory.holdings(tenant, "", 9));
    }
    assert.equal(await other.nextDue(), await memory.nextDue());
    claims.push(...expected.flat().filter(isClaim));
    clock.advance(passesMs);
  }
}

async function answersOf(store: Store, acts: readonly Asked[], how: Pair["acts"]): Promise<readonly unknown[]> {
  if (how === "at once") return Promise.all(acts.map((act) => act(store)));
  const answers: unknown[] = [];
  for (const act of acts) answers.push(await act(store));
  return answers;
}

/** Something that is asked of a store, and may be asked of several. */
export type Asked = (store: Store) => Promise<unknown>;

/** An act with everything looked up, so that both stores are asked for exactly the same. */
export async function prepared(memory: Store, claims: readonly Claim[], one: Act): Promise<Asked> {
  switch (one.do) {
    case "append": {
      const entries = await entriesOf(memory, claims, one.wishes);
      return (store) => store.append(entries);
    }
    case "claim":
      return (store) => store.claim(one.worker, one.tenant, one.run);
    case "claimDue":
      return (store) => store.claimDue(one.worker, one.limit, one.terms);
    case "renew": {
      const all = [...claims];
      return (store) => store.renew(all);
    }
    case "release": {
      const claim = claims.at(-one.nth - 1);
      return async (store) => claim && store.release(claim);
    }
    case "mark": {
      const claim = claims.at(-one.nth - 1);
      return async (store) => claim && store.mark(claim, "send" as StepId, one.attempt);
    }
    case "erase": {
      const { tenant, run, offset, keep } = one;
      const position = Math.max(0, ((await memory.head(tenant, run))?.position ?? 0) + offset);
      return (store) => store.erase({ tenant, run, position, keep, blobs: [] }, hashOf);
    }
    case "putBlob":
      return (store) => store.putBlob(one.tenant, Buffer.from(one.bytes).toString("hex") as never, one.bytes);
  }
}

/** Entries that mostly fit the store as it is and each other, and sometimes do not. */
async function entriesOf(memory: Store, claims: readonly Claim[], wishes: readonly Wish[]): Promise<readonly Entry[]> {
  const positions = new Map<string, number>();
  const entries: Entry[] = [];
  for (const { tenant, run, offset, epoch, events, puts, checks, charges, flush } of wishes) {
    const name = `${tenant} ${run}`;
    const reached = positions.get(name) ?? (await memory.head(tenant, run))?.position ?? 0;
    const position = Math.max(0, reached + offset);
    positions.set(name, reached + events);
    const sealed = Array.from({ length: events }, (_, index) => event(position + index + 1));
    const latest = claims.filter((claim) => claim.tenant === tenant && claim.run === run).at(-1)?.epoch ?? null;
    const expected = epoch === "none" ? null : epoch === "stale" ? (((latest ?? 0) - 1) as Epoch) : latest;
    entries.push({
      tenant,
      run,
      expect: { position, epoch: expected },
      events: sealed,
      puts: (await Promise.all(puts.map((put) => asItIs(memory, tenant, put)))) as Put[],
      checks: (await Promise.all(checks.map((check) => asItIs(memory, tenant, check)))) as Check[],
      charges,
      flush,
    });
  }
  return entries;
}

async function asItIs(memory: Store, tenant: Tenant, wanted: { table: Table; key: string; was: unknown }) {
  if (wanted.was !== "as it is") return wanted;
  return { ...wanted, was: (await memory.row(tenant, wanted.table, wanted.key))?.version ?? null };
}

export function isClaim(answer: unknown): answer is Claim {
  return typeof answer === "object" && answer !== null && "epoch" in answer;
}

/** Without the differences that are none: prototypes, and which class the bytes come in. */
export function normal(answer: unknown): unknown {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString("hex");
  if (Array.isArray(answer)) return answer.map(normal);
  if (typeof answer !== "object" || answer === null) return answer ?? null;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, normal(value)]));
}
