import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Timers } from "../../src/core/ports/clock.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../src/testing/fake-clock.ts";
import { anaPerson, botAgent } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });

/** The clock stands still and no timer fires, so nothing is noticed by its age or by a poll. */
async function openTwo() {
  const folder = mkdtempSync(join(tmpdir(), "writ-changes-"));
  const never: Timers = { after: () => () => {} };
  const clock = fakeClock();
  const put = scriptedTool(
    "put",
    ({ input, context }) => {
      context.slice(stock).set(String(input.what), 1);
      return {};
    },
    { effect: "writes" },
  );
  const look = scriptedTool(
    "look",
    ({ context }) =>
      context
        .slice(stock)
        .all()
        .map(([key]) => key),
    { effect: "pure" },
  );
  const open = () =>
    createEngine({
      store: openSqlite(join(folder, "writ.db"), { clock, timers: never, stopwatch: () => clock.now() }),
      timers: never,
      tools: [put.tool, look.tool],
      slices: [stock],
      tenants: { acme: { mode: "auto_exec" } },
    });
  const [here, there] = [await open(), await open()];
  onTestFinished(async () => {
    await Promise.all([here.close(), there.close()]);
    rmSync(folder, { recursive: true });
  });
  const call = async (engine: typeof here, name: string, payload = {}) => {
    const plan = { steps: [{ step_id: "a", name, payload }] };
    const run = await engine.submit(plan, { principal: botAgent, project: "shop" });
    return (await run.result()).steps.a;
  };
  return { here, there, call };
}

it("the state that another process of a SQLite file wrote is read at once", async () => {
  const { here, there, call } = await openTwo();
  expect(await call(here, "look")).toMatchObject({ output: [] });
  await call(there, "put", { what: "ink" });
  expect(await call(here, "look")).toMatchObject({ output: ["ink"] });
  await call(there, "put", { what: "pen" });
  expect(await call(here, "look")).toMatchObject({ output: ["ink", "pen"] });
});

it("a halt that another process of a SQLite file sets stops the next call, also one that does not act", async () => {
  const { here, there, call } = await openTwo();
  expect(await call(here, "look")).toMatchObject({ state: "succeeded" });
  await there.halts.set({ principal: anaPerson, reason: "stop" });
  expect(await call(here, "look")).toMatchObject({ state: "waiting" });
});

it("a policy that another process of a SQLite file stores judges the next call, also one that does not act", async () => {
  const { here, there, call } = await openTwo();
  expect(await call(here, "look")).toMatchObject({ state: "succeeded" });
  const rules = [{ id: "no", kind: "deny", on: { tools: ["look"] } }];
  await there.policies.set(
    { schema_version: "1.0", name: "house", scope: { tenant: "acme" }, rules },
    { principal: anaPerson },
  );
  expect(await call(here, "look")).toMatchObject({ state: "rejected" });
});
