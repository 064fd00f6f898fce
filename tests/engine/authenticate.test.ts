import { describe, expect, it } from "vitest";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { scriptedTool } from "./scripted-tool.ts";

const plan = { steps: [{ step_id: "a", name: "send" }] };
const credentials: Readonly<Record<string, { readonly id: string; readonly kind: "agent" | "person" }>> = {
  "key-of-bot": { id: "bot", kind: "agent" },
  "key-of-ana": { id: "ana", kind: "person" },
};

async function openEngine(authenticate = async (credential: string) => credentials[credential] ?? null) {
  const send = scriptedTool("send", [() => ({ id: 1 })]);
  const engine = await createEngine({
    store: memoryStore(),
    tools: [send.tool],
    authenticate: async (credential) => {
      const found = await authenticate(credential);
      return found === null ? null : { ...found, tenant: "acme" };
    },
  });
  return { engine, send };
}

describe("an engine that authenticates", () => {
  it("accepts the principals that it has authenticated, and decides as them", async () => {
    const { engine, send } = await openEngine();
    const bot = await engine.authenticate({ credential: "key-of-bot" });
    const ana = await engine.authenticate({ credential: "key-of-ana" });
    const run = await engine.submit(plan, { principal: bot });
    const { gates } = await run.result();
    await engine.approve(gates[0]?.gate_id as string, { principal: ana });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
    await engine.close();
  });

  it("refuses a principal that a program writes down itself, copies or changes", async () => {
    const { engine, send } = await openEngine();
    const bot = await engine.authenticate({ credential: "key-of-bot" });
    const run = await engine.submit(plan, { principal: bot });
    const { gates } = await run.result();
    const gate = gates[0]?.gate_id as string;
    const forged = [
      { id: "ana", kind: "person", tenant: "acme" } as const,
      { ...bot },
      { ...bot, kind: "person" } as const,
    ];
    for (const principal of forged)
      await expect(engine.approve(gate, { principal })).rejects.toMatchObject({ fault: { code: "AUTH_REQUIRED" } });
    expect(() => Object.assign(bot, { kind: "person" })).toThrow(TypeError);
    await expect(engine.approve(gate, { principal: bot })).rejects.toMatchObject({ fault: { code: "AUTH_FORBIDDEN" } });
    expect(send.calls).toHaveLength(0);
    await engine.close();
  });

  it.each(["runs", "gates", "inDoubt", "outcomes", "workers", "audit", "backups", "retentions"] as const)(
    "refuses %s to a principal that it has not authenticated",
    async (verb) => {
      const { engine } = await openEngine();
      const principal = { id: "ana", kind: "person", tenant: "acme" } as const;
      const use = async () => void (await engine[verb]({ principal }));
      await expect(use()).rejects.toMatchObject({
        fault: { code: "AUTH_REQUIRED" },
      });
      await engine.close();
    },
  );

  it("refuses a credential that is unknown, or cannot be checked", async () => {
    const { engine } = await openEngine();
    const code = { fault: { code: "AUTH_REQUIRED" } };
    await expect(engine.authenticate({ credential: "guess" })).rejects.toMatchObject(code);
    await engine.close();
    const broken = await openEngine(async () => {
      throw new Error("the directory is down");
    });
    await expect(broken.engine.authenticate({ credential: "key-of-ana" })).rejects.toMatchObject(code);
    await broken.engine.close();
  });

  it("is made by the option: without it, there is nothing to authenticate with", async () => {
    const engine = await createEngine({ store: memoryStore(), tools: [] });
    await expect(engine.authenticate({ credential: "x" })).rejects.toMatchObject({ fault: { code: "NOT_POSSIBLE" } });
    await engine.close();
    const wrong = { store: memoryStore(), authenticate: "yes" as never };
    await expect(createEngine(wrong)).rejects.toThrow("authenticate must be a function");
  });
});
