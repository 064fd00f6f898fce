import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Tenant } from "../../../src/core/values/ids.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { builtModule } from "../../repo/repository-path.ts";
import { testDatabase } from "../../store/postgres/test-database.ts";
import { anaPerson, botAgent } from "../engine-fixture.ts";
import { neverAnswers, scriptedTool } from "../scripted-tool.ts";

const made = testDatabase();

/**
 * A worker whose tool costs 100 of the 1000 that the tenant has for the month. It says to the witness that it was called; every other
 * call acts at once, the others when the test releases them.
 */
const program = `
import { appendFileSync, existsSync } from "node:fs";
import { createEngine, defineTool } from "${builtModule("index.js")}";
import { postgres } from "${builtModule("postgres.js")}";
const { url, folder } = JSON.parse(process.argv[2]);
const tell = (what, key) => appendFileSync(folder + "/witness", what + " " + process.pid + " " + key + "\\n");
let calls = 0;
const send = defineTool({
  name: "send", effect: "acts", input: { type: "object" }, output: {}, timeoutMs: 600000, cost: { usd_micros: 100 },
  run: async (_, { key }) => {
    const atOnce = calls++ % 2 === 0;
    if (atOnce) tell("effect", key);
    tell("called", key);
    while (!existsSync(folder + "/go")) await new Promise((resolve) => setTimeout(resolve, 10));
    if (!atOnce) tell("effect", key);
    return {};
  },
});
const engine = await createEngine({
  store: postgres(url, { leaseMs: 4000 }),
  tools: [send],
  tenants: { acme: { mode: "auto_exec" } },
  budgets: [{ unit: "usd_micros", limit: 1000, per: "tenant-month" }],
});
await engine.serve();
`;

/** Waits for changes in the folder instead of polling, which would take CPU time from the workers. */
async function until(folder: string, happened: () => boolean): Promise<void> {
  const changes = watch(folder);
  if (happened()) return;
  for await (const _ of changes) if (happened()) return;
}

describe("budget of many processes on Postgres", () => {
  it("admits ten of a hundred calls, though one of four workers is killed in the middle", async () => {
    await made.empty();
    const folder = mkdtempSync(join(tmpdir(), "writ-budget-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "worker.mjs"), program);
    writeFileSync(join(folder, "witness"), "");
    const witness = (what: string) => {
      const lines = readFileSync(join(folder, "witness"), "utf8").trim().split("\n");
      return lines.filter((line) => line.startsWith(what)).map((line) => line.split(" ") as [string, string, string]);
    };
    const store = await postgres(made.url);
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const orders = await createEngine({
      store,
      tools: [scriptedTool("send", neverAnswers).tool],
      tenants,
      work: false,
    });
    onTestFinished(() => orders.close());
    const plan = { steps: [{ step_id: "a", name: "send", payload: {} }] };
    const runs = await Promise.all(Array.from({ length: 100 }, () => orders.submit(plan, { principal: botAgent })));
    const task = JSON.stringify({ url: made.url, folder });
    const workers: readonly ChildProcess[] = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [join(folder, "worker.mjs"), task], { stdio: "inherit" }),
    );
    onTestFinished(() => {
      for (const worker of workers) worker.kill("SIGKILL");
    });
    await until(folder, () => witness("called").length >= 5);
    const victims = witness("called").map(([, pid]) => Number(pid));
    workers.find(({ pid }) => pid === victims.at(-1))?.kill("SIGKILL");
    writeFileSync(join(folder, "go"), "");

    const results = await Promise.all(runs.map((run) => run.result()));
    const states = results.map(({ steps }) => steps.a?.state);
    const effects = witness("effect").map(([, , key]) => key);
    expect(new Set(effects).size).toBe(effects.length);
    expect(effects.length).toBeLessThanOrEqual(10);
    const doubted = states.filter((state) => state === "in_doubt").length;
    const done = states.filter((state) => state === "succeeded").length;
    expect(doubted).toBeGreaterThan(0);
    // An act in doubt that happened is already counted among the effects.
    const inDoubtWithEffect = effects.length - done;
    expect(effects.length + doubted - inDoubtWithEffect).toBe(10);
    expect(states.filter((state) => state === "rejected")).toHaveLength(90);

    const tallies = await store.tallies("acme" as Tenant, "budget/", 10);
    expect(tallies.filter(({ tally }) => tally.startsWith("budget/")).map(({ used }) => used)).toEqual([1000]);
    expect(await orders.audit({ principal: anaPerson })).toMatchObject({ runs: 100, broken: [], tallies: [] });
  });
});
