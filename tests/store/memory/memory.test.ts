import { describe, expect, it } from "vitest";
import type { Tool } from "../../../src/core/tool/tool.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { memory } from "../../../src/memory.ts";
import { defineTool } from "../../../src/schema/define-tool.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { storeContract } from "../../../src/testing/store-contract/store-contract.ts";

describe("store of writ/memory", () => {
  for (const { title, check } of storeContract(async (setting) => memory(setting))) it(title, check);
});

const person = { id: "ana", kind: "person", tenant: "acme" } as const;
const agent = { id: "bot", kind: "agent", tenant: "acme" } as const;

describe.each([
  { name: "memory()", open: () => memory() },
  { name: 'sqlite(":memory:")', open: () => openSqlite(":memory:") },
])("engine on $name", ({ open }) => {
  it("holds an act, runs it once after the approval, and holds a repeat of another run", async () => {
    const sent: string[] = [];
    const mail: Tool = defineTool({
      name: "mail",
      version: "1",
      effect: "acts",
      identity: ["to"],
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      output: { type: "string" },
      run: async ({ to }: { to: string }) => {
        sent.push(to);
        return "sent";
      },
    });
    const engine = await createEngine({ store: open(), tools: [mail] });
    const held = await engine.call("mail", { to: "bo@acme.com" }, { principal: agent });
    expect(held.step.state).toBe("waiting_approval");
    const [gate] = await engine.gates({ principal: person });
    await engine.approve(gate?.gate_id ?? "", { principal: person });
    const run = await engine.run(held.run_id, { principal: person });
    expect((await run.finished()).status).toBe("completed");
    const again = await engine.call("mail", { to: "bo@acme.com" }, { principal: agent, requestKey: "again" });
    expect([again.step.state, sent]).toEqual(["waiting_approval", ["bo@acme.com"]]);
    expect((await engine.audit({ principal: person })).broken).toEqual([]);
    await engine.close();
  });
});
