import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { FaultError } from "../../../src/core/values/fault.ts";
import { migrate } from "../../../src/store/postgres/migrate.ts";
import { loadPgDriver } from "../../../src/store/postgres/pg-driver.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import {
  assertLands,
  claimRun,
  runA,
  runB,
  stepA,
  tenantA,
  workerA,
  workerB,
} from "../../../src/testing/store-contract/contract-rule.ts";
import { startPostgres } from "./postgres-server.ts";

describe("Postgres with a killed backend", () => {
  it("recovers as the same server with another boot id", async () => {
    // The server writes only what a commit waits for.
    const { url, stop } = await startPostgres({ wal_writer_delay: "10000", deadlock_timeout: "10000" });
    onTestFinished(stop);
    for (const text of ["create role owner login", "create role app login", "create database writ owner owner"])
      await queryOnce(url, text);
    const writUrl = (username: string): string => Object.assign(new URL(url), { username, pathname: "writ" }).href;
    await migrate(writUrl("owner"), { grant: "app" });
    const store = await postgres(writUrl("app"));
    onTestFinished(() => store.close());
    const { boot } = store;
    await assertLands(store, { flush: "hard" });
    const claim = await claimRun(store, workerA);
    await store.mark(claim, stepA, 1);
    assert.equal(await store.marked(tenantA, runA, stepA, 1, boot), "yes");
    await assertLands(store, { run: runB, flush: "hard" });
    await assertLands(store, { run: runB, at: 1, flush: "soft" });
    const last = await claimRun(store, workerA, runB);
    await assertLands(store, { run: runB, at: 2, flush: "soft" });

    const started = "select pg_postmaster_start_time()::text";
    const before = await queryOnce(url, started);
    await crash(url);
    await queryUntilAnswered(url, started);
    await waitForRecovery(store);
    assert.equal(await queryUntilAnswered(url, started), before, "the start time of the server does not change");
    // New markers name the new boot, also before the first lookup of a marker.
    while (store.boot === boot) await store.head(tenantA, runA);

    // An answer of no would repeat an act whose marker is lost.
    assert.equal(await store.marked(tenantA, runA, stepA, 1, boot), "unknown");
    assert.notEqual(store.boot, boot);
    // An epoch is assigned once, although its holder lives and the server crashed.
    assert.deepEqual(await store.renew(claim.worker, [claim, last]), []);
    await store.release(last);
    assert.equal((await claimRun(store, workerB, runB)).epoch, last.epoch + 1);
    // Hard entries survive, with what was written before them. The server may have written the last soft entry, too.
    assert.equal((await store.head(tenantA, runA))?.position, 1);
    assert.ok([2, 3].includes((await store.head(tenantA, runB))?.position ?? 0));
  });
});

async function queryOnce(url: string, text: string): Promise<unknown> {
  const client = new (loadPgDriver().Client)({
    connectionString: url,
    application_name: "test",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<readonly [unknown]>({ text, rowMode: "array" })).rows[0]?.[0];
  } finally {
    await client.end().catch(() => {});
  }
}

/** Repeats the query until the server accepts connections again. */
async function queryUntilAnswered(url: string, text: string): Promise<unknown> {
  for (;;) {
    try {
      return await queryOnce(url, text);
    } catch {
      // The server is restarting and fails in several ways.
    }
  }
}

async function crash(url: string): Promise<void> {
  const client = new (loadPgDriver().Client)({
    connectionString: url,
    application_name: "victim",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  const ended = new Promise<void>((resolve) => client.on("end", () => resolve()));
  client.on("error", () => {});
  await client.connect();
  const { rows } = await client.query<readonly [number]>({ text: "select pg_backend_pid()", rowMode: "array" });
  process.kill(rows[0]?.[0] ?? Number.NaN, "SIGKILL");
  await ended;
}

/** Waits for the recovery. Until then every call fails with STORE_FAILED. */
async function waitForRecovery(store: Store): Promise<void> {
  for (;;) {
    try {
      await store.head(tenantA, runA);
      return;
    } catch (error) {
      assert.ok(error instanceof FaultError && error.fault.code === "STORE_FAILED", String(error));
    }
  }
}
