import assert from "node:assert/strict";
import { describe, it, onTestFinished } from "vitest";
import { FaultError } from "../../src/core/fault.ts";
import type { Store } from "../../src/core/store.ts";
import { driver } from "../../src/store/postgres/driver.ts";
import { migrate } from "../../src/store/postgres/migrate.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { acme, ana, bob, claimed, hire, landed, order, send } from "../../src/testing/store-contract/law.ts";
import { startPostgres } from "../postgres/server.ts";

describe("a Postgres whose backend is killed", () => {
  it("recovers as the same server, and does not pass for the same boot", async () => {
    // Nothing is written but what a commit waits for.
    const { url, stop } = await startPostgres({ wal_writer_delay: "10000", deadlock_timeout: "10000" });
    onTestFinished(stop);
    await migrate(url);
    const store = await postgres(url);
    onTestFinished(() => store.close());
    const { boot } = store;
    await landed(store, { flush: "hard" });
    const claim = await claimed(store, ana);
    await store.mark(claim, send, 1);
    assert.equal(await store.marked(acme, hire, send, 1, boot), "yes");
    await landed(store, { run: order, flush: "hard" });
    await landed(store, { run: order, at: 1, flush: "soft" });
    const last = await claimed(store, ana, order);
    await landed(store, { run: order, at: 2, flush: "soft" });

    const started = "select pg_postmaster_start_time()::text";
    const before = await asked(url, started);
    await crash(url);
    await askedAgain(url, started);
    await recovered(store);
    assert.equal(await askedAgain(url, started), before, "the server does not say that it crashed");
    // What is started from now on names the boot of now, though nobody has looked for a marker yet.
    while (store.boot === boot) await store.head(acme, hire);

    // Had it said no, an act whose marker is lost would be called again.
    assert.equal(await store.marked(acme, hire, send, 1, boot), "unknown");
    assert.notEqual(store.boot, boot);
    // An epoch is given out once, though its holder lives and the server has crashed.
    assert.deepEqual(await store.renew([claim, last]), []);
    await store.release(last);
    assert.equal((await claimed(store, bob, order)).epoch, last.epoch + 1);
    // Hard is hard, and soft was only as good as the server's memory.
    assert.equal((await store.head(acme, hire))?.position, 1);
    assert.equal((await store.head(acme, order))?.position, 2);
  });
});

async function asked(url: string, text: string): Promise<unknown> {
  const client = new (driver().Client)({
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

/** The store may have been answered just before the server noticed. */
async function askedAgain(url: string, text: string): Promise<unknown> {
  for (;;) {
    try {
      return await asked(url, text);
    } catch {
      // It is on its way back, and says so in many ways.
    }
  }
}

async function crash(url: string): Promise<void> {
  const victim = new (driver().Client)({
    connectionString: url,
    application_name: "victim",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  const gone = new Promise<void>((resolve) => victim.on("end", () => resolve()));
  victim.on("error", () => {});
  await victim.connect();
  const { rows } = await victim.query<readonly [number]>({ text: "select pg_backend_pid()", rowMode: "array" });
  process.kill(rows[0]?.[0] ?? Number.NaN, "SIGKILL");
  await gone;
}

/** Until then whoever asks is told that it failed, and nothing else. */
async function recovered(store: Store): Promise<void> {
  for (;;) {
    try {
      await store.head(acme, hire);
      return;
    } catch (error) {
      assert.ok(error instanceof FaultError && error.fault.code === "STORE_FAILED", String(error));
    }
  }
}
