import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Tenant } from "../../src/core/id.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { database } from "../postgres/database.ts";
import { actor, hang } from "../scenarios/cast.ts";
import { bot } from "../scenarios/stage.ts";

const made = database();
const dist = (file: string) => pathToFileURL(join(import.meta.dirname, "..", "..", "dist", file)).href;

/**
 * A worker whose tool costs 100 of the 1000 that the tenant has for the month. It says to the witness that it was called; every other
 * call acts at once, the others when they are let go.
 */
const program = `
import { appendFileSync, existsSync } from "node:fs";
import { createEngine, defineTool } from "${dist("index.js")}";
import { postgres } from "${dist("postgres.js")}";
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
await createEngine({
  store: postgres(url, { leaseMs: 4000 }),
  tools: [send],
  tenants: { acme: { mode: "auto_exec" } },
  budgets: [{ unit: "usd_micros", limit: 1000, per: "tenant-month" }],
});
`;

/** The witness writes; whoever waits leaves the machine to the workers. */
async function until(folder: string, happened: () => boolean): Promise<void> {
  const changes = watch(folder);
  if (happened()) return;
  for await (const _ of changes) if (happened()) return;
}

describe("a budget that many processes on Postgres share", () => {
  it("lets ten of a hundred calls through, though one of four workers is killed in the middle", async () => {
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
    const orders = await createEngine({ store, tools: [actor("send", hang).tool], tenants, work: false });
    onTestFinished(() => orders.close());
    const plan = { steps: [{ step_id: "a", name: "send", payload: {} }] };
    const runs = await Promise.all(Array.from({ length: 100 }, () => orders.submit(plan, { principal: bot })));
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
    // Who is in doubt and has acted is counted among the effects already.
    const inDoubtWithEffect = effects.length - done;
    expect(effects.length + doubted - inDoubtWithEffect).toBe(10);
    expect(states.filter((state) => state === "rejected")).toHaveLength(90);

    const tallies = await store.tallies("acme" as Tenant, "budget/", 10);
    expect(tallies.filter(({ tally }) => tally.startsWith("budget/")).map(({ used }) => used)).toEqual([1000]);
    expect(await orders.audit({ principal: bot })).toMatchObject({ runs: 100, broken: [], tallies: [] });
  });
});
