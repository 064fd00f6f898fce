import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import { FaultError } from "../src/core/fault.ts";
import type { Store } from "../src/core/store.ts";
import { createEngine } from "../src/engine/engine.ts";
import { type PostgresOptions, postgres } from "../src/store/postgres/postgres-store.ts";
import { acme, ana, claimed, entry, event, hire, land, landed, order } from "../src/testing/store-contract/law.ts";
import { database } from "./postgres/database.ts";
import type { Passage } from "./postgres/passage.ts";
import { proxyTo } from "./postgres/proxy.ts";
import { actor } from "./scenarios/cast.ts";

const made = database();

async function opened(options: PostgresOptions = {}): Promise<{ readonly store: Store; readonly proxy: Passage }> {
  await made.empty();
  const proxy = await proxyTo(made.url);
  const store = await postgres(proxy.url, options);
  onTestFinished(() => store.close());
  return { store, proxy };
}

describe("a commit whose answer is lost", () => {
  it.each([
    ["one entry", [entry({ at: 1 })]],
    ["one entry with conditions", [entry({ at: 1, puts: [{ table: "ledger", key: "k", was: null, row: "{}" }] })]],
    ["one entry of two events", [entry({ at: 1, events: [event(2), event(3)] })]],
  ])("is unknown, and the same again finds %s there", async (_, entries) => {
    const { store, proxy } = await opened();
    await landed(store, {});
    const cut = proxy.cut("landed");
    await assert.rejects(store.append(entries), hasCode("STORE_UNKNOWN"));
    await cut;
    const [again] = await store.append(entries);
    assert.ok(again?.landed === false && again.why === "position" && again.hash !== null);
    assert.deepEqual([...again.hash], [...(entries[0]?.events[0]?.hash ?? [])]);
  });

  it("is unknown, and the same again lands if the server never heard of it", async () => {
    const { store, proxy } = await opened();
    const cut = proxy.cut("not landed");
    await assert.rejects(land(store, {}), hasCode("STORE_UNKNOWN"));
    await cut;
    await landed(store, {});
    assert.equal((await store.events(acme, hire, 0)).length, 1);
  });

  it.each([
    ["finds it there", true],
    ["lands", false],
  ])("is waited for as long as the server works on it, and then the same again %s", async (_, commits) => {
    const { store, proxy } = await opened();
    await landed(store, {});
    const cut = proxy.cut("landing late");
    await assert.rejects(land(store, { at: 1 }), hasCode("STORE_UNKNOWN"));
    await cut;
    const again = land(store, { at: 1 });
    await waiting();
    proxy.release(commits);
    const landing = await again;
    assert.equal(landing.landed, !commits);
    if (!landing.landed) assert.deepEqual(landing.why === "position" && [...(landing.hash ?? [])], [...event(2).hash]);
    assert.equal((await store.events(acme, hire, 0)).length, 2);
  });

  it("is unknown to everyone who shared it, and each finds out", async () => {
    const { store, proxy } = await opened();
    await Promise.all([landed(store, {}), landed(store, { run: order })]);
    // Two lanes take one each; the third and fourth wait and travel together.
    const runs = ["a", "b", "c", "d"].map((run) => `run-${run}` as never);
    await Promise.all(runs.map((run) => landed(store, { run })));
    for (const how of ["landed", "not landed"] as const) {
      const at = (await store.head(acme, runs[0] as never))?.position ?? 0;
      const cut = proxy.cut(how);
      const asked = await Promise.allSettled(runs.map((run) => land(store, { run, at })));
      await cut;
      const lost = asked.filter(({ status }) => status === "rejected").length;
      assert.ok(lost > 0);
      for (const [index, answer] of asked.entries()) {
        if (answer.status === "fulfilled") continue;
        assert.ok(hasCode("STORE_UNKNOWN")(answer.reason));
        const again = await land(store, { run: runs[index] as never, at });
        assert.equal(again.landed, how === "not landed");
      }
      for (const run of runs) assert.equal((await store.head(acme, run))?.position, at + 1);
    }
  });

  /** The server knows of a transaction that waits for another one's lock. */
  async function waiting(): Promise<void> {
    const blocked =
      "select count(*)::integer from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'writ'";
    for (;;) if (((await made.query<[number]>(blocked))[0]?.[0] ?? 0) > 0) return;
  }
});

describe("an engine whose connection is cut as it commits", () => {
  const moments = ["the run is accepted", "the act is started", "the act has ended"];
  const cuts = moments.flatMap((moment, nth) => [
    [moment, "landed", nth] as const,
    [moment, "not landed", nth] as const,
  ]);

  it.each(cuts)("when %s (%s) acts once and comes to its end", async (_, how, nth) => {
    const { store, proxy } = await opened();
    const { calls, tool } = actor("send", () => ({ id: 1 }));
    const engine = await createEngine({ store, tools: [tool], tenants: { acme: { mode: "auto_exec" } } });
    const cut = proxy.cut(how, nth);
    const plan = { steps: [{ step_id: "a", name: "send" }] };
    const run = await engine.submit(plan, { principal: { id: "bot", kind: "agent", tenant: "acme" } });
    const { status, steps } = await run.finished();
    await cut;
    assert.deepEqual([status, steps.a?.state, calls.length], ["completed", "succeeded", 1]);
    const events = (await store.events(acme, run.run_id as never, 0)).map(({ type }) => type);
    assert.equal(new Set(events).size, events.length);
    await engine.close();
  });
});

describe("a server that goes away and comes back", () => {
  it("is not noticed by whoever reads, claims or marks after it", async () => {
    const { store } = await opened();
    await landed(store, {});
    const claim = await claimed(store, ana);
    const end = () =>
      made.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'writ' and datname = current_database()",
      );
    await end();
    assert.equal((await store.head(acme, hire))?.position, 1);
    await end();
    assert.deepEqual(await store.renew([claim]), []);
    await end();
    assert.equal(await store.mark(claim, "send" as never, 1), true);
  });

  it("is told while it is away, and nothing was written", async () => {
    const { store, proxy } = await opened();
    await landed(store, {});
    proxy.close();
    await assert.rejects(store.head(acme, hire), hasCode("STORE_FAILED"));
    await assert.rejects(
      untilKnown(() => land(store, { at: 1 })),
      hasCode("STORE_FAILED"),
    );
    proxy.open();
    await landed(store, { at: 1 });
  });

  /** The first to notice may have sent its entry already. */
  async function untilKnown<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      return hasCode("STORE_UNKNOWN")(error) ? untilKnown(ask) : Promise.reject(error);
    }
  }
});

function hasCode(code: string) {
  return (error: unknown) => error instanceof FaultError && error.fault.code === code;
}
