import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const principal = anaPerson;
const scope = { tenant: principal.tenant };
const policyOf = (rules: readonly object[], name = "house") => ({ schema_version: "1.0", name, scope, rules });
const deny = { id: "no-mail", kind: "deny", on: { tools: ["mail"] }, reason: "closed" };
const ask = { id: "ask", kind: "approval", on: { tools: ["mail"] } };
const plan = { steps: [{ step_id: "a", name: "mail", payload: { to: "ana" } }] };

describe.each(storeKinds)("stored policies, on $name", ({ newFixture }) => {
  it("have versions, with who changed them, when and why", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [] });
    await engine.policies.set(policyOf([]), { principal, reason: "first" });
    await engine.policies.set(policyOf([deny], "other"), { principal });
    await engine.policies.set(policyOf([deny]), { principal, reason: "second" });
    expect(await engine.policies.get("house", { principal })).toMatchObject({
      version: 3,
      by: principal.id,
      reason: "second",
      document: policyOf([deny]),
    });
    await engine.policies.remove("house", { principal });
    const all = await engine.policies.history({ principal });
    expect(all.map(({ version, name, document }) => [version, name, document === null])).toEqual([
      [4, "house", true],
      [3, "house", false],
      [2, "other", false],
      [1, "house", false],
    ]);
    expect((await engine.policies.history({ principal, limit: 1, before: 4 })).map(({ version }) => version)).toEqual([
      3,
    ]);
    expect(await rejectedFault(engine.policies.get("house", { principal }))).toMatchObject({ code: "NOT_POSSIBLE" });
    expect(await rejectedFault(engine.policies.history({ principal, limit: 201 }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("are stored only in the place of the version that was read", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [] });
    await engine.policies.set(policyOf([]), { principal, ifVersion: 0 });
    const conflict = await rejectedFault(engine.policies.set(policyOf([deny]), { principal, ifVersion: 0 }));
    expect(conflict).toMatchObject({ code: "NOT_POSSIBLE", detail: { version: 1 } });
    await engine.policies.set(policyOf([deny]), { principal, ifVersion: 1 });
    await rejectedFault(engine.policies.set(policyOf([]), { principal, ifVersion: 1 }));
    expect((await engine.policies.get("house", { principal })).document).toEqual(policyOf([deny]));
    expect(await rejectedFault(engine.policies.set(policyOf([]), { principal, ifVersion: -1 }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("judge calls beside a draft, and store and call nothing", async () => {
    const stage = newFixture();
    const { tool, calls } = scriptedTool("mail", () => ({}));
    const mode = { tenants: { [principal.tenant]: { mode: "auto_exec" } } } as const;
    const engine = await stage.open({ tools: [tool], ...mode });
    await engine.policies.set(policyOf([ask]), { principal });
    const run = await engine.submit(plan, { principal: botAgent, project: "p" });
    await run.result();
    await engine.reject((await engine.gates({ principal }))[0]?.gate_id as string, { principal });
    await run.result();
    const before = await stage.dump();
    const judged = await engine.policies.test(policyOf([deny]), {
      principal,
      recorded: 5,
      calls: [
        { tool: "mail", input: { to: "bo" }, as: { id: "x", kind: "agent" } },
        { tool: "nothing", input: {} },
      ],
    });
    const verdicts = judged.map(({ by, now, draft, recorded }) => [by, now.says, draft.says, recorded?.run_id]);
    expect(verdicts).toEqual([
      ["x", "hold", "refuse", undefined],
      [principal.id, "unknown", "unknown", undefined],
      ["bot", "hold", "refuse", run.run_id],
    ]);
    expect(judged[2]).toMatchObject({ input: { to: "ana" }, project: "p", draft: { rule: "tenant/house/no-mail" } });
    expect(await stage.dump()).toEqual(before);
    expect(calls).toHaveLength(0);
    expect(await rejectedFault(engine.policies.test({ name: 1 }, { principal }))).toMatchObject({
      code: "POLICY_INVALID",
    });
    expect(await rejectedFault(engine.policies.test(policyOf([]), { principal, recorded: 51 }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });
});
