import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

const document = (rules: readonly object[], more: object = {}) => ({
  schema_version: "1.0",
  name: "house",
  rules,
  ...more,
});
const mailing = (calls: number, more: object = {}) => ({
  id: "mails",
  kind: "rate",
  on: { tools: ["mail.*"] },
  calls,
  per: "tenant-minute",
  ...more,
});
const spending = (limit: number, more: object = {}) => ({
  id: "money",
  kind: "budget",
  on: { tags: ["paid"] },
  unit: "credits",
  limit,
  per: "user-day",
  ...more,
});
const one = (name: string, payload: object = {}) => ({ steps: [{ step_id: "a", name, payload }] });
const mails = () => scriptedTool("mail.send", () => ({ sent: true }), { identity: ["to"] });
const asks = () => scriptedTool("ask", () => ({}), { effect: "reads", tags: ["paid"], cost: { credits: 40 } });

/** Returns the tallies of rules, without the tallies of alerts. */
async function used(stage: EngineFixture): Promise<Readonly<Record<string, number>>> {
  const tallies = await stage.store().tallies("acme" as never, "", 100);
  const counted = tallies.filter(({ tally }) => /^[^/]+\/[^/@]+@/.test(tally));
  return Object.fromEntries(counted.map(({ tally, used }) => [tally, used]));
}

describe.each(storeKinds)("limit in a policy, on $name", ({ newFixture: newStage }) => {
  it("admits up to its number and parks the next call until its window ends, under its name", async () => {
    const stage = newStage();
    const { tool, calls } = mails();
    const engine = await stage.open({ tools: [tool], policies: [document([mailing(1)])] });
    await engine.call("mail.send", { to: "a" }, { principal: botAgent });
    const run = await engine.submit(one("mail.send", { to: "b" }), { principal: botAgent });
    await run.result();
    expect((await run.now()).steps.a).toMatchObject({ state: "waiting" });
    expect(calls).toHaveLength(1);
    const [put] = await collectEvents(run, "step.parked");
    expect(put?.on).toMatchObject({ for: "rate", rule: "global/house/mails" });
    await stage.advance(60_000);
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(Object.values(await used(stage))).toEqual([1, 1]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
  });

  it("counts only matching calls and does not affect others", async () => {
    const stage = newStage();
    const [mail, ask] = [mails(), asks()];
    const engine = await stage.open({ tools: [mail.tool, ask.tool], policies: [document([mailing(1), spending(50)])] });
    await engine.call("mail.send", { to: "a" }, { principal: botAgent });
    expect(await used(stage)).toEqual({ "rate/calls@global/house/mails/tenant-minute/2023-11-14T22:13": 1 });
    await engine.call("ask", {}, { principal: botAgent });
    expect(await used(stage)).toMatchObject({ "budget/credits@global/house/money/user-day/2023-11-14/bot": 40 });
    expect(Object.keys(await used(stage))).toHaveLength(2);
  });

  it("records a refusal with rule, reason and policy version", async () => {
    const stage = newStage();
    const { tool, calls } = asks();
    const engine = await stage.open({ tools: [tool], policies: [document([spending(50, { reason: "not today" })])] });
    await engine.call("ask", {}, { principal: botAgent });
    const run = await engine.submit(one("ask"), { principal: botAgent });
    await run.result();
    expect(await collectEvents(run, "step.rejected")).toMatchObject([
      {
        rule: "global/house/money",
        fault: {
          code: "BUDGET_EXCEEDED",
          message: expect.stringContaining("50 credits per user-day (policy global/house/money: not today)"),
          detail: { limit: 50, used: 40, asked: 40 },
        },
        basis: { policy: expect.stringMatching(/^pol_/), passed: ["global/house/money"] },
      },
    ]);
    expect(calls).toHaveLength(1);
    expect(await engine.budgets({ principal: botAgent })).toMatchObject([
      { rule: "global/house/money", used: 40, left: 10 },
    ]);
  });

  it("is not charged for denied, held or rejected calls", async () => {
    const stage = newStage();
    const { tool } = mails();
    const rules = [
      mailing(5),
      { id: "no", kind: "deny", on: { tools: ["mail.*"] }, when: "input.to == 'eve'" },
      { id: "ask", kind: "approval", on: { tools: ["mail.*"] }, when: "input.to == 'bob'" },
    ];
    const engine = await stage.open({ tools: [tool], policies: [document(rules)] });
    await (await engine.submit(one("mail.send", { to: "eve" }), { principal: botAgent })).result();
    const held = await engine.submit(one("mail.send", { to: "bob" }), { principal: botAgent });
    const { gates } = await held.result();
    expect(await used(stage)).toEqual({});
    await engine.reject(gates[0]?.gate_id as string, { principal: anaPerson, reason: "no" });
    await held.result();
    expect(await used(stage)).toEqual({});
  });

  it("applies together with every other: a lower layer only tightens, and a project's applies only there", async () => {
    const stage = newStage();
    const { tool, calls } = asks();
    const acme = { tenant: "acme" };
    const policies = [
      document([spending(100)]),
      document([spending(50, { per: "tenant-day" })], { scope: { ...acme, project: "a/b" } }),
      document([spending(1000, { per: "tenant-day" })], { scope: { ...acme, project: "c" } }),
    ];
    const engine = await stage.open({ tools: [tool], policies });
    const tried = async (project: string) =>
      (await (await engine.submit(one("ask"), { principal: botAgent, project })).result()).steps.a;
    expect(await tried("a/b")).toMatchObject({ state: "succeeded" });
    expect(await tried("a/b")).toMatchObject({ fault: { message: expect.stringContaining("project/house/money") } });
    expect(await tried("c")).toMatchObject({ state: "succeeded" });
    expect(await tried("c")).toMatchObject({ fault: { message: expect.stringContaining("global/house/money") } });
    expect(calls).toHaveLength(2);
    expect(await used(stage)).toMatchObject({
      "budget/credits@project(a%2Fb)/house/money/tenant-day/2023-11-14": 40,
      "budget/credits@project(c)/house/money/tenant-day/2023-11-14": 40,
    });
  });

  it("refuses where its condition cannot be evaluated", async () => {
    const { tool, calls } = mails();
    const engine = await newStage().open({
      tools: [tool],
      policies: [document([mailing(5, { when: "input.amount > 1" })])],
    });
    const run = await engine.submit(one("mail.send", { to: "a" }), { principal: botAgent });
    await run.result();
    expect(await collectEvents(run, "step.rejected")).toMatchObject([
      { rule: "global/house/mails", fault: { code: "POLICY_DENIED" } },
    ]);
    expect(calls).toHaveLength(0);
  });

  it("is the current one when a held step continues", async () => {
    const stage = newStage();
    const { tool, calls } = mails();
    const acme = { scope: { tenant: "acme" } };
    const ask = { id: "ask", kind: "approval" };
    const engine = await stage.open({ tools: [tool] });
    await engine.policies.set(document([ask], acme), { principal: anaPerson });
    const held = await engine.submit(one("mail.send", { to: "a" }), { principal: botAgent });
    const { gates } = await held.result();
    const none = { id: "none", kind: "budget", unit: "calls", limit: 0, per: "tenant-day" };
    await engine.policies.set(document([ask, none], acme), { principal: anaPerson });
    await engine.approve(gates[0]?.gate_id as string, { principal: anaPerson });
    await held.result();
    expect(await collectEvents(held, "step.rejected")).toMatchObject([{ rule: "tenant/house/none" }]);
    expect(calls).toHaveLength(0);
  });

  it("keeps its count when its number changes", async () => {
    const stage = newStage();
    const { tool } = asks();
    const acme = { scope: { tenant: "acme" } };
    const engine = await stage.open({ tools: [tool] });
    await engine.policies.set(document([spending(80)], acme), { principal: anaPerson });
    await engine.call("ask", {}, { principal: botAgent });
    await engine.policies.set(document([spending(60)], acme), { principal: anaPerson });
    const run = await engine.submit(one("ask"), { principal: botAgent });
    await run.result();
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ fault: { detail: { limit: 60, used: 40 } } }]);
  });
});
