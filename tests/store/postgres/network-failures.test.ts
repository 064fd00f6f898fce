import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { type PostgresOptions, postgres } from "../../../src/store/postgres/postgres-store.ts";
import {
  appendEntry,
  assertLands,
  buildEntry,
  buildEvent,
  claimRun,
  runA,
  runB,
  tenantA,
  workerA,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { scriptedTool } from "../../engine/scripted-tool.ts";
import type { CuttingProxy } from "./cutting-proxy.ts";
import { testDatabase } from "./test-database.ts";
import { startTestProxy } from "./test-proxy.ts";

const database = testDatabase();

async function openStore(
  options: PostgresOptions = {},
): Promise<{ readonly store: Store; readonly proxy: CuttingProxy }> {
  await database.empty();
  const proxy = await startTestProxy(database.url);
  const store = await postgres(proxy.url, options);
  onTestFinished(() => store.close());
  return { store, proxy };
}

describe("commit whose answer is lost", () => {
  it.each([
    ["one entry", [buildEntry({ at: 1 })]],
    ["one entry with conditions", [buildEntry({ at: 1, puts: [{ table: "ledger", key: "k", was: null, row: "{}" }] })]],
    ["one entry of two events", [buildEntry({ at: 1, events: [buildEvent(2), buildEvent(3)] })]],
  ])("is STORE_UNKNOWN, and the same append finds %s", async (_, entries) => {
    const { store, proxy } = await openStore();
    await assertLands(store, {});
    const cut = proxy.cut("landed");
    await assert.rejects(store.append(entries), hasCode("STORE_UNKNOWN"));
    await cut;
    const [again] = await store.append(entries);
    assert.ok(again?.landed === false && again.why === "position" && again.hash !== null);
    assert.deepEqual([...again.hash], [...(entries[0]?.events[0]?.hash ?? [])]);
  });

  it("is STORE_UNKNOWN, and the same append lands if the server never received it", async () => {
    const { store, proxy } = await openStore();
    const cut = proxy.cut("not landed");
    await assert.rejects(appendEntry(store, {}), hasCode("STORE_UNKNOWN"));
    await cut;
    await assertLands(store, {});
    assert.equal((await store.events(tenantA, runA, 0)).length, 1);
  });

  it.each([
    ["finds it there", true],
    ["lands", false],
  ])("is waited for while the server works on it, and then the same append %s", async (_, commits) => {
    const { store, proxy } = await openStore();
    await assertLands(store, {});
    const cut = proxy.cut("landing late");
    await assert.rejects(appendEntry(store, { at: 1 }), hasCode("STORE_UNKNOWN"));
    await cut;
    const again = appendEntry(store, { at: 1 });
    await waitForBlocked(again);
    proxy.release(commits);
    const landing = await again;
    assert.equal(landing.landed, !commits);
    if (!landing.landed)
      assert.deepEqual(landing.why === "position" && [...(landing.hash ?? [])], [...buildEvent(2).hash]);
    assert.equal((await store.events(tenantA, runA, 0)).length, 2);
  });

  it("is STORE_UNKNOWN for every caller of the batch, and each finds out", async () => {
    const { store, proxy } = await openStore();
    await Promise.all([assertLands(store, {}), assertLands(store, { run: runB })]);
    // Two connections take one entry each; the third and fourth entries wait and are sent together.
    const runs = ["a", "b", "c", "d"].map((run) => `run-${run}` as never);
    await Promise.all(runs.map((run) => assertLands(store, { run })));
    for (const how of ["landed", "not landed"] as const) {
      const at = (await store.head(tenantA, runs[0] as never))?.position ?? 0;
      const cut = proxy.cut(how);
      const results = await Promise.allSettled(runs.map((run) => appendEntry(store, { run, at })));
      await cut;
      const lost = results.filter(({ status }) => status === "rejected").length;
      assert.ok(lost > 0);
      for (const [index, answer] of results.entries()) {
        if (answer.status === "fulfilled") continue;
        assert.ok(hasCode("STORE_UNKNOWN")(answer.reason));
        const again = await appendEntry(store, { run: runs[index] as never, at });
        assert.equal(again.landed, how === "not landed");
      }
      for (const run of runs) assert.equal((await store.head(tenantA, run))?.position, at + 1);
    }
  });

  /** Waits until a transaction on the server waits for a lock. The append is answered if the server ended the other one. */
  async function waitForBlocked(append: Promise<unknown>): Promise<void> {
    let isAnswered = false;
    const answered = () => {
      isAnswered = true;
    };
    append.then(answered, answered);
    // Other test files use other databases of the same server.
    const blocked = `select count(*)::integer from pg_stat_activity
      where wait_event_type = 'Lock' and application_name = 'writ' and datname = current_database()`;
    while (!isAnswered) if (((await database.query<[number]>(blocked))[0]?.[0] ?? 0) > 0) return;
  }
});

describe("engine whose connection is cut during a commit", () => {
  const points = ["the run is accepted", "the act is started", "the act has ended"];
  const cuts = points.flatMap((point, nth) => [[point, "landed", nth] as const, [point, "not landed", nth] as const]);

  it.each(cuts)("when %s (%s) acts once and finishes the run", async (_, how, nth) => {
    const { store, proxy } = await openStore();
    const { calls, tool } = scriptedTool("send", () => ({ id: 1 }));
    const engine = await createEngine({ store, tools: [tool], tenants: { acme: { mode: "auto_exec" } } });
    const cut = proxy.cut(how, nth);
    const plan = { steps: [{ step_id: "a", name: "send" }] };
    const run = await engine.submit(plan, { principal: { id: "bot", kind: "agent", tenant: "acme" } });
    const { status, steps } = await run.finished();
    await cut;
    assert.deepEqual([status, steps.a?.state, calls.length], ["completed", "succeeded", 1]);
    const events = (await store.events(tenantA, run.run_id as never, 0)).map(({ type }) => type);
    assert.equal(new Set(events).size, events.length);
    await engine.close();
  });
});

describe("server that stops and returns", () => {
  it("is not noticed by later reads, claims and markers", async () => {
    const { store } = await openStore();
    await assertLands(store, {});
    const claim = await claimRun(store, workerA);
    const end = () =>
      database.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'writ' and datname = current_database()",
      );
    await end();
    assert.equal((await store.head(tenantA, runA))?.position, 1);
    await end();
    assert.deepEqual(await store.renew(claim.worker, [claim]), []);
    await end();
    assert.equal(await store.mark(claim, "send" as never, 1), true);
  });

  it("is reported while it is down, and nothing is written", async () => {
    const { store, proxy } = await openStore();
    await assertLands(store, {});
    proxy.close();
    await assert.rejects(store.head(tenantA, runA), hasCode("STORE_FAILED"));
    await assert.rejects(
      retryUnknown(() => appendEntry(store, { at: 1 })),
      hasCode("STORE_FAILED"),
    );
    proxy.open();
    await assertLands(store, { at: 1 });
  });

  /** The first failing append may already be sent, so its outcome is unknown and it is tried again. */
  async function retryUnknown<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      return hasCode("STORE_UNKNOWN")(error) ? retryUnknown(work) : Promise.reject(error);
    }
  }
});

function hasCode(code: string) {
  return (error: unknown) => error instanceof FaultError && error.fault.code === code;
}
