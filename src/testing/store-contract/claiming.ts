import assert from "node:assert/strict";
import type { Instant, RunId, Tenant } from "../../core/id.ts";
import type { TimerRow } from "../../core/rows.ts";
import type { Claim, ClaimTerms, Store } from "../../core/store.ts";
import type { FakeClock } from "../clock.ts";
import { acme, ana, bob, claimed, dueAt, globex, hire, type Law, land, landed, leaseMs, order, row } from "./law.ts";

export const claiming: readonly Law[] = [
  {
    title: "says how long a claim holds without being renewed",
    holds: async (store) => assert.equal(store.leaseMs, leaseMs),
  },
  {
    title: "gives every claim a greater epoch, also to the same worker and after a release",
    holds: async (store) => {
      const first = await claimed(store, ana);
      const second = await claimed(store, ana);
      await store.release(second);
      const third = await claimed(store, bob);
      assert.deepEqual({ ...second }, { tenant: acme, run: hire, worker: ana, epoch: second.epoch });
      assert.ok(first.epoch > 0 && second.epoch > first.epoch && third.epoch > second.epoch);
    },
  },
  {
    title: "refuses a run that another worker holds, until its lease is over",
    holds: async (store, clock) => {
      await claimed(store, ana);
      clock.advance(leaseMs - 1);
      assert.equal(await store.claim(bob, acme, hire), null);
      clock.advance(1);
      await claimed(store, bob);
    },
  },
  {
    title: "gives a run to one of many workers that ask at once",
    holds: async (store) => {
      const workers = ["w1", "w2", "w3", "w4", "w5"];
      const claims = await Promise.all(workers.map((worker) => store.claim(worker as never, acme, hire)));
      assert.equal(claims.filter((claim) => claim !== null).length, 1);
    },
  },
  {
    title: "gives a run to who asks for it while its first entry is under way",
    holds: async (store, clock) => {
      const timer = { table: "timer", key: hire, was: "any", row: dueAt(clock.now()) } as const;
      const beginning = landed(store, { puts: [timer] });
      const [claim] = await Promise.all([store.claim(ana, acme, hire), beginning]);
      assert.deepEqual({ ...claim }, { tenant: acme, run: hire, worker: ana, epoch: 1 });
      assert.equal(await store.claim(bob, acme, hire), null);
      assert.deepEqual(await store.claimDue(bob, 9), []);
      await landed(store, { at: 1, epoch: claim?.epoch ?? null });
      const [holding] = await store.holdings(acme, "", 9);
      assert.equal(holding?.since, clock.now());
      assert.equal(holding?.until, clock.now() + leaseMs);
    },
  },
  {
    title: "gives a run with a greater epoch to who asks for it while an entry is under way that does not begin it",
    holds: async (store) => {
      const first = await claimed(store, ana);
      const [landing, second] = await Promise.all([land(store, {}), store.claim(ana, acme, hire)]);
      assert.deepEqual(landing, { landed: true });
      await store.release(second ?? first);
      const [late, third] = await Promise.all([land(store, {}), store.claim(bob, acme, hire)]);
      assert.equal(late.landed, false);
      assert.ok(first.epoch < Number(second?.epoch) && Number(second?.epoch) < Number(third?.epoch));
    },
  },
  {
    title: "holds the same run apart in two tenants",
    holds: async (store) => {
      await claimed(store, ana);
      assert.notEqual(await store.claim(bob, globex, hire), null);
      assert.equal(await store.claim(bob, acme, hire), null);
    },
  },
  {
    title: "keeps a renewed lease alive, and says which claims are lost",
    holds: async (store, clock) => {
      const held = await claimed(store, ana);
      const lost = await claimed(store, ana, order);
      clock.advance(leaseMs - 1);
      assert.deepEqual(await store.renew([held]), []);
      clock.advance(leaseMs - 1);
      assert.equal(await store.claim(bob, acme, hire), null);
      await claimed(store, bob, order);
      const answer = await store.renew([held, lost]);
      assert.deepEqual(
        answer.map(({ run }) => run),
        [order],
      );
      assert.equal(await store.claim(ana, acme, order), null);
    },
  },
  {
    title: "renews a lease that ran out while nobody wanted the run",
    holds: async (store, clock) => {
      const claim = await claimed(store, ana);
      clock.advance(leaseMs * 3);
      assert.deepEqual(await store.renew([claim]), []);
      assert.equal(await store.claim(bob, acme, hire), null);
    },
  },
  {
    title: "knows from whom a run was taken, and that nobody lost one that was given back",
    holds: async (store, clock) => {
      await timers(store, clock, { [hire]: 0, [order]: 0 });
      const first = await claimed(store, ana);
      assert.equal(await store.predecessor(first), null);
      clock.advance(leaseMs);
      const second = await claimed(store, bob);
      assert.deepEqual(await store.renew([second]), []);
      assert.equal(await store.predecessor(second), ana);
      assert.equal(await store.predecessor(first), null);
      const again = await claimed(store, bob);
      assert.equal(await store.predecessor(again), bob);
      await store.release(again);
      const third = await claimed(store, ana);
      assert.equal(await store.predecessor(third), null);
      clock.advance(leaseMs);
      const due = await store.claimDue(bob, 9);
      const from = await Promise.all(due.map((claim) => store.predecessor(claim)));
      assert.deepEqual(Object.fromEntries(due.map(({ run }, at) => [run, from[at]])), { [hire]: ana, [order]: null });
    },
  },
  {
    title: "counts a released claim as lost",
    holds: async (store) => {
      const claim = await claimed(store, ana);
      await store.release(claim);
      assert.equal((await store.renew([claim])).length, 1);
      await claimed(store, bob);
    },
  },
  {
    title: "ignores the release of a claim whose epoch has moved",
    holds: async (store) => {
      const first = await claimed(store, ana);
      await claimed(store, ana);
      await store.release(first);
      assert.equal(await store.claim(bob, acme, hire), null);
    },
  },
  {
    title: "hands out the runs whose timer is due, the longest due first, up to a limit",
    holds: async (store, clock) => {
      const at = await timers(store, clock, { "run-c": 10, "run-a": 20, "run-b": 20, "run-d": 31 });
      clock.advance(30);
      assert.equal(await store.nextDue(), at + 31);
      assert.deepEqual(await due(store, 2), ["run-c", "run-a"]);
      assert.deepEqual(await due(store, 2), ["run-b"]);
      clock.advance(1);
      assert.equal(await store.nextDue(), null);
      assert.deepEqual(await due(store, 2), ["run-d"]);
    },
  },
  {
    title: "hands out due runs of every tenant",
    holds: async (store, clock) => {
      await timers(store, clock, { [hire]: 2 }, acme);
      await timers(store, clock, { [hire]: 1 }, globex);
      clock.advance(5);
      const claims = await store.claimDue(ana, 9);
      assert.deepEqual(
        claims.map(({ tenant }) => tenant),
        [globex, acme],
      );
      assert.ok(claims.every(({ worker, epoch }) => worker === ana && epoch > 0));
    },
  },
  {
    title: "hands out no run that is held, by whomever, until its lease is over or given back",
    holds: async (store, clock) => {
      await timers(store, clock, { [hire]: 0, [order]: 0 });
      const claim = await claimed(store, ana);
      await claimed(store, bob, order);
      assert.deepEqual(await due(store, 9), []);
      await store.release(claim);
      assert.deepEqual(await due(store, 9), [hire]);
      clock.advance(leaseMs);
      assert.deepEqual((await due(store, 9)).toSorted(), [hire, order]);
    },
  },
  {
    title: "fences the former holder of a due run that was handed out",
    holds: async (store, clock) => {
      await timers(store, clock, { [hire]: 0 });
      const late = await claimed(store, ana);
      clock.advance(leaseMs);
      const [claim] = await store.claimDue(bob, 1);
      assert.ok(claim !== undefined && claim.epoch > late.epoch);
      assert.equal((await store.renew([late])).length, 1);
    },
  },
  {
    title: "lets tenants take turns: one with many due runs does not keep another waiting",
    holds: async (store, clock) => {
      await timers(store, clock, { a: 0, b: 0, c: 0, d: 0, e: 0 }, acme);
      await timers(store, clock, { y: 7, z: 8 }, globex);
      clock.advance(9);
      assert.deepEqual(await due(store, 3), ["a", "y", "b"]);
      assert.deepEqual(await due(store, 9), ["c", "z", "d", "e"]);
    },
  },
  {
    title: "hands out the run of the highest priority first, within its tenant",
    holds: async (store, clock) => {
      await queued(store, clock, { low: { priority: -1 }, usual: {}, high: { priority: 9 }, urgent: { priority: 10 } });
      await timers(store, clock, { other: 5 }, globex);
      clock.advance(9);
      assert.deepEqual(await due(store, 9), ["urgent", "other", "high", "usual", "low"]);
    },
  },
  {
    title: "hands out runs of the queues that are asked for, and of all if none is",
    holds: async (store, clock) => {
      await queued(store, clock, { a: { queue: "mail" }, b: { queue: "print" }, c: {}, d: { queue: "mail" } });
      assert.deepEqual(await due(store, 9, { queues: ["print", "fax"] }), ["b"]);
      assert.deepEqual(await due(store, 9, { queues: ["default"] }), ["c"]);
      assert.deepEqual(await due(store, 1, { queues: [] }), []);
      assert.deepEqual(await due(store, 9), ["a", "d"]);
    },
  },
  {
    title: "moves a run to the queue and priority that its timer was last given",
    holds: async (store, clock) => {
      await queued(store, clock, { [hire]: { queue: "mail", priority: 3 }, [order]: {} });
      const moved = dueAt(clock.now());
      await landed(store, { at: 1, puts: [{ table: "timer", key: hire, was: "any", row: moved }] });
      assert.deepEqual(await due(store, 9, { queues: ["mail"] }), []);
      assert.deepEqual(await due(store, 9), [hire, order].toSorted());
    },
  },
  {
    title:
      "hands out no more of a queue than its limit leaves, whoever holds them, until a lease is over or given back",
    holds: async (store, clock) => {
      const mail = { queue: "mail" };
      await queued(store, clock, { a: mail, b: mail, c: mail, d: mail, e: {} });
      const terms = { perQueue: { mail: 2 } };
      assert.deepEqual(await due(store, 1, terms), ["a"]);
      assert.deepEqual(await store.claimDue(bob, 9, terms).then(runsOf), ["b", "e"]);
      assert.deepEqual(await due(store, 9, terms), []);
      const [held] = await store.holdings(acme, "", 1);
      assert.ok(held !== undefined);
      await store.release({ tenant: acme, run: held.run, worker: held.worker, epoch: held.epoch });
      assert.deepEqual(await due(store, 9, terms), ["a"]);
      clock.advance(leaseMs);
      assert.deepEqual((await due(store, 9, terms)).toSorted(), ["a", "b", "e"]);
      assert.deepEqual(await due(store, 9), ["c", "d"]);
    },
  },
  {
    title: "lets no full queue use up the turns that its tenant has elsewhere",
    holds: async (store, clock) => {
      const mail = { queue: "mail", priority: 5 };
      await queued(store, clock, { a: mail, b: mail, c: mail, d: mail, e: {}, f: {} });
      const terms = { perQueue: { mail: 1 } };
      assert.deepEqual(await due(store, 2, terms), ["a", "e"]);
      assert.deepEqual(await due(store, 2, { ...terms, perTenant: 3 }), ["f"]);
    },
  },
  {
    title: "lets no full queue use up the turns that its tenant has elsewhere, though nothing is due",
    holds: async (store, clock) => {
      const needs = { due_at: null, needs: ["a@1"] };
      const mail = { queue: "mail", priority: 5, ...needs };
      await queued(store, clock, { a: mail, b: mail, c: mail, e: needs, f: needs });
      const terms = { offers: ["a@1"], perQueue: { mail: 1 } };
      assert.deepEqual(await due(store, 2, terms), ["a", "e"]);
    },
  },
  {
    title: "hands out no more of a tenant than its limit leaves",
    holds: async (store, clock) => {
      await timers(store, clock, { a: 0, b: 0, c: 0 }, acme);
      await timers(store, clock, { y: 0, z: 0 }, globex);
      await claimed(store, bob, "held" as RunId);
      assert.deepEqual(await due(store, 9, { perTenant: 2 }), ["a", "y", "z"]);
      assert.deepEqual(await due(store, 9, { perTenant: 2 }), []);
      assert.deepEqual(await due(store, 9, { perTenant: 3, queues: ["default"] }), ["b"]);
    },
  },
  {
    title: "hands out a run that needs something to whoever offers it, after what is due, and to others when it is due",
    holds: async (store, clock) => {
      const soon = (clock.now() + 10) as Instant;
      await queued(store, clock, {
        mail: { due_at: null, needs: ["a@1", "notice"] },
        fax: { due_at: soon, needs: ["b@1"] },
        plain: {},
      });
      assert.deepEqual(await due(store, 9, { offers: ["c@1"] }), ["plain"]);
      assert.deepEqual(await due(store, 9), []);
      assert.equal(await store.nextDue(), soon);
      assert.deepEqual(await due(store, 9, { offers: ["notice", "b@1"] }), ["fax", "mail"]);
      assert.deepEqual(await due(store, 9, { offers: ["notice", "b@1"] }), []);
      clock.advance(leaseMs);
      assert.deepEqual((await due(store, 9)).toSorted(), ["fax", "plain"]);
      assert.deepEqual(await due(store, 9, { offers: ["a@1"], queues: ["print"] }), []);
      assert.deepEqual(await due(store, 9, { offers: ["a@1"], perTenant: 2 }), []);
      assert.deepEqual(await due(store, 9, { offers: ["a@1"], perTenant: 3 }), ["mail"]);
    },
  },
  {
    title: "forgets what a run needed",
    holds: async (store, clock) => {
      await queued(store, clock, {
        [hire]: { due_at: null, needs: ["a@1"] },
        [order]: { due_at: null, needs: ["a@1"] },
      });
      const timer = { table: "timer", key: hire, was: "any" } as const;
      await landed(store, { at: 1, puts: [{ ...timer, row: row({ due_at: null, needs: ["b@1"] }) }] });
      await landed(store, { run: order, at: 1, puts: [{ ...timer, key: order, row: null }] });
      assert.deepEqual(await due(store, 9, { offers: ["a@1"] }), []);
      assert.deepEqual(await due(store, 9, { offers: ["b@1"] }), [hire]);
    },
  },
  {
    title: "says who holds which run of a tenant, of what queue, since when and for how long",
    holds: async (store, clock) => {
      await queued(store, clock, { [hire]: { queue: "mail" } });
      const first = clock.now();
      await store.claimDue(ana, 1);
      clock.advance(5);
      const claim = await claimed(store, bob, order);
      await store.claim(ana, globex, hire);
      const held = { run: hire, worker: ana, epoch: 1, queue: "mail", since: first, until: first + leaseMs };
      const other = { run: order, worker: bob, epoch: 1, queue: null, since: first + 5, until: first + 5 + leaseMs };
      assert.deepEqual(await store.holdings(acme, "", 9), [held, other]);
      assert.deepEqual(await store.holdings(acme, "", 1), [held]);
      assert.deepEqual(await store.holdings(acme, hire, 9), [other]);
      clock.advance(leaseMs - 5);
      await store.renew([claim]);
      assert.deepEqual(await store.holdings(acme, "", 9), [{ ...other, until: clock.now() + leaseMs }]);
      await store.release(claim);
      assert.deepEqual(await store.holdings(acme, "", 9), []);
    },
  },
  {
    title: "forgets a timer that was removed or moved",
    holds: async (store, clock) => {
      const at = await timers(store, clock, { [hire]: 1, [order]: 1 });
      await landed(store, { at: 1, puts: [{ table: "timer", key: hire, was: "any", row: null }] });
      await landed(store, {
        run: order,
        at: 1,
        puts: [{ table: "timer", key: order, was: "any", row: dueAt(at + 50) }],
      });
      clock.advance(10);
      assert.deepEqual(await due(store, 9), []);
      assert.equal(await store.nextDue(), at + 50);
    },
  },
];

/** Gives each run one event and a timer that falls due so many milliseconds from now; answers with now. */
async function timers(
  store: Store,
  clock: FakeClock,
  inMs: Readonly<Record<string, number>>,
  tenant: Tenant = acme,
): Promise<number> {
  const now = clock.now();
  for (const [run, ms] of Object.entries(inMs)) {
    const puts = [{ table: "timer", key: run, was: "any", row: dueAt(now + ms) }] as const;
    await landed(store, { tenant, run: run as RunId, puts });
  }
  return now;
}

/** Gives each run a timer that is due, in a queue and with a priority. */
async function queued(
  store: Store,
  clock: FakeClock,
  places: Readonly<Record<string, Partial<TimerRow>>>,
): Promise<void> {
  for (const [run, place] of Object.entries(places)) {
    const timer = { table: "timer", key: run, was: "any", row: row({ due_at: clock.now(), ...place }) } as const;
    await landed(store, { run: run as RunId, puts: [timer] });
  }
}

async function due(store: Store, limit: number, terms?: ClaimTerms): Promise<readonly string[]> {
  return runsOf(await store.claimDue(ana, limit, terms));
}

function runsOf(claims: readonly Claim[]): readonly string[] {
  return claims.map(({ run }) => run);
}
