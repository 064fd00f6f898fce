import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { RunId, Tenant, WorkerId } from "../../src/core/values/ids.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { emptyTestDatabase } from "../store/postgres/test-database.ts";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

describe("command line on Postgres", () => {
  const made = emptyTestDatabase();
  const cwd = newProjectFolder();
  afterAll(() => rmSync(cwd, { recursive: true }));
  const asked = async (...args: readonly string[]) => {
    const { exit, out } = await runCli(cwd, ...args, "--json");
    return { exit, ...JSON.parse(out) };
  };

  it("reports a store that needs migration, migrates it, and then has nothing to do", async () => {
    expect(await asked("runs", "--store", made.ownerUrl)).toMatchObject({ exit: 6, fault: { code: "STORE_OLDER" } });
    const migrate = () => asked("migrate", "--store", made.ownerUrl, "--grant", "writ_test_app");
    const first = await migrate();
    expect(first).toMatchObject({ exit: 0, version: first.applied.length });
    expect(first.applied.length).toBeGreaterThan(0);
    expect(await migrate()).toEqual({ ...first, applied: [] });
    expect(await asked("runs", "--store", made.url)).toMatchObject({ exit: 0, runs: [] });

    const held = await asked("run", "plan.json", "--store", made.url);
    expect(held).toMatchObject({ exit: 3, gates: [{ tool: "note.send" }] });
    const approved = await asked("approve", held.gates[0].gate_id, "--store", made.url);
    expect(approved.exit).toBe(0);
    await asked("resume", held.run_id, "--store", made.url); // If approving has not already carried it out.
    expect(await asked("show", held.run_id, "--store", made.url)).toMatchObject({ exit: 0, status: "completed" });
    expect(readFileSync(join(cwd, "witness.txt"), "utf8")).toBe("note\n");
  });

  it("prints workers and their runs", async () => {
    expect(await asked("workers", "--store", made.url)).toMatchObject({ exit: 0, workers: [], waiting: [] });
    const store = await postgres(made.url);
    await store.claim("wrk_1" as WorkerId, "demo" as Tenant, "run_1" as RunId);
    await store.close();
    const { workers } = await asked("workers", "--store", made.url, "--tenant", "demo");
    expect(workers).toMatchObject([{ worker: "wrk_1", runs: [{ run_id: "run_1", queue: null }] }]);
    const { out } = await runCli(cwd, "workers", "--store", made.url, "--tenant", "demo");
    expect(out).toMatch(/wrk_1 .* run_1 .*since .*until /s);
  });

  it("prints no password in a command line", async () => {
    const url = made.url.replace("writ_test_app:writ_test_app@", "writ_test_app:hush@");
    const { err, out } = await runCli(cwd, "show", "run_nope", "--store", url);
    expect(err + out).not.toContain("hush");
  });
});
