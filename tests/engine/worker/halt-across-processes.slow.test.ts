import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../../src/engine/engine.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { builtModule } from "../../repo/repository-path.ts";
import { testDatabase } from "../../store/postgres/test-database.ts";
import { anaPerson, botAgent } from "../engine-fixture.ts";
import { collectEvents, neverAnswers, scriptedTool } from "../scripted-tool.ts";

const made = testDatabase();

/** A worker whose tool says to the witness that it acted. */
const program = `
import { appendFileSync } from "node:fs";
import { createEngine, defineTool } from "${builtModule("index.js")}";
import { postgres } from "${builtModule("postgres.js")}";
const { url, folder, queue } = JSON.parse(process.argv[2]);
const send = defineTool({
  name: "send", effect: "acts", input: { type: "object" }, output: {},
  run: async (_, { key }) => {
    appendFileSync(folder + "/witness", process.pid + " " + key + "\\n");
    await new Promise((resolve) => setTimeout(resolve, 100));
    return {};
  },
});
const engine = await createEngine({
  store: postgres(url, { leaseMs: 4000 }),
  tools: [send],
  tenants: { acme: { mode: "auto_exec" } },
  worker: { queues: [queue] },
});
setInterval(() => {}, 60_000); // An engine with nothing to do keeps no process alive.
await engine.serve();
`;

/** Waits for changes in the folder instead of polling, which would take CPU time from the workers. */
async function until(folder: string, happened: () => boolean): Promise<void> {
  const changes = watch(folder);
  if (happened()) return;
  for await (const _ of changes) if (happened()) return;
}

const queues = ["a", "b", "c"];
const STEPS = 12;
const RUNS = 6;

describe("halt of many processes on Postgres", () => {
  it.each([
    ["a tenant", { principal: anaPerson }],
    ["everything", { principal: { ...anaPerson, roles: ["operator"] }, everything: true }],
  ] as const)(
    "over %s: no worker starts an act a second later, and each act is done once after the lift",
    async (_, what) => {
      await made.empty();
      const folder = mkdtempSync(join(tmpdir(), "writ-halt-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, "worker.mjs"), program);
      writeFileSync(join(folder, "witness"), "");
      const witness = () => readFileSync(join(folder, "witness"), "utf8").split("\n").filter(Boolean);
      const store = await postgres(made.url);
      const tenants = { acme: { mode: "auto_exec" } } as const;
      const office = await createEngine({
        store,
        tools: [scriptedTool("send", neverAnswers).tool],
        tenants,
        work: false,
      });
      onTestFinished(() => office.close());
      const steps = Array.from({ length: STEPS }, (_, nth) => ({
        step_id: `s${nth}`,
        name: "send",
        payload: { nth },
        depends_on: nth === 0 ? [] : [`s${nth - 1}`],
      }));
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, nth) =>
          office.submit({ steps }, { principal: botAgent, queue: queues[nth % queues.length] as string }),
        ),
      );
      const workers: ChildProcess[] = [];
      const begin = (queue: string) => {
        const task = JSON.stringify({ url: made.url, folder, queue });
        workers.push(spawn(process.execPath, [join(folder, "worker.mjs"), task], { stdio: "inherit" }));
      };
      for (const queue of queues) begin(queue);
      onTestFinished(() => {
        for (const worker of workers) worker.kill("SIGKILL");
      });
      const pids = () => new Set(witness().map((line) => line.split(" ")[0]));
      await until(folder, () => pids().size === queues.length);
      await office.halts.set({ ...what, reason: "stop" });
      const [halt] = await office.halts.list({ principal: anaPerson });

      // At rest, each of them, and nothing goes on by itself.
      const results = await Promise.all(runs.map((run) => run.result()));
      expect(results.map(({ blocked_on }) => blocked_on.map(({ reason_code }) => reason_code))).toEqual(
        runs.map(() => ["HALTED"]),
      );
      const begun = (await Promise.all(runs.map((run) => collectEvents(run, "step.started")))).flat();
      expect(begun.filter(({ at }) => at > Number(halt?.at) + 1000)).toEqual([]);
      expect(witness()).toHaveLength(begun.length);
      expect(begun.length).toBeLessThan(STEPS * RUNS);

      workers[0]?.kill("SIGKILL");
      begin(queues[0] as string);
      await office.halts.lift(what);
      await Promise.all(runs.map((run) => run.finished()));
      const keys = witness().map((line) => line.split(" ")[1]);
      expect(new Set(keys).size).toBe(STEPS * RUNS);
      expect(keys).toHaveLength(STEPS * RUNS);
      expect((await office.audit({ principal: anaPerson })).broken).toEqual([]);
    },
  );
});
