import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { anaPerson, botAgent } from "./engine-fixture.ts";
import { scriptedTool } from "./scripted-tool.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });

/** Opens an engine on a file, and lists what it reads from the store. */
async function openListed(behaviour: Parameters<typeof scriptedTool>[1]) {
  const folder = mkdtempSync(join(tmpdir(), "writ-reads-"));
  const real = openSqlite(join(folder, "writ.db"));
  const reads: string[] = [];
  const store: Store = {
    ...real,
    head: (tenant, run) => {
      reads.push("head");
      return real.head(tenant, run);
    },
    row: (tenant, table, key) => {
      reads.push(table);
      return real.row(tenant, table, key);
    },
  };
  const engine = await createEngine({
    store,
    tools: [scriptedTool("put", behaviour, { effect: "writes" }).tool],
    slices: [stock],
    tenants: { acme: { mode: "auto_exec" } },
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });
  const plan = { steps: [{ step_id: "a", name: "put" }] };
  const submit = () => engine.submit(plan, { principal: botAgent, project: "shop" });
  return { engine, reads, submit };
}

it("a run that ends in the turn of its acceptance reads neither its head nor the state that this process wrote", async () => {
  const { engine, reads, submit } = await openListed(({ context }) => {
    const slice = context.slice(stock);
    slice.set("n", Number(slice.get("n") ?? 0) + 1);
    return {};
  });
  expect((await (await submit()).result()).status).toBe("completed");
  reads.splice(0);
  expect((await (await submit()).result()).status).toBe("completed");
  expect(reads).toEqual([]);
  expect((await engine.state({ principal: botAgent, project: "shop" })).slice(stock).get("n")).toBe(2);
});

it("a result that is asked for in a later turn is that of the run as it is then", async () => {
  let works = false;
  const { engine, submit } = await openListed(() => {
    if (!works) throw new Error("no");
    return {};
  });
  const run = await submit();
  expect((await run.result()).status).toBe("failed");
  works = true;
  await engine.resume(run.run_id, { principal: anaPerson });
  await expect.poll(async () => (await run.result()).status).toBe("completed");
});
