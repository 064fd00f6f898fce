import { describe, expect, it } from "vitest";
import { actor, eventsOf } from "./cast.ts";
import { ana, bot, places, type Stage } from "./stage.ts";

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
const mails = () => actor("mail.send", () => ({ sent: true }), { identity: ["to"] });
const asks = () => actor("ask", () => ({}), { effect: "reads", tags: ["paid"], cost: { credits: 40 } });

/** What rules count; that somebody was told of it is counted beside. */
async function used(stage: Stage): Promise<Readonly<Record<string, number>>> {
  const tallies = await stage.store().tallies("acme" as never, "", 100);
  const counted = tallies.filter(({ tally }) => /^[^/]+\/[^/@]+@/.test(tally));
  return Object.fromEntries(counted.map(({ tally, used }) => [tally, used]));
}

describe.each(places)("a limit that is a rule, on $name", ({ newStage }) => {
  it("lets so many calls through and puts the next off, by its name, until its window is over", async () => {
    const stage = newStage();
    const { tool, calls } = mails();
    const engine = await stage.open({ tools: [tool], policies: [document([mailing(1)])] });
    await engine.call("mail.send", { to: "a" }, { principal: bot });
    const run = await engine.submit(one("mail.send", { to: "b" }), { principal: bot });
    await run.result();
    expect((await run.now()).steps.a).toMatchObject({ state: "waiting" });
    expect(calls).toHaveLength(1);
    const [put] = await eventsOf(run, "step.parked");
    expect(put?.on).toMatchObject({ for: "rate", rule: "global/house/mails" });
    await stage.pass(60_000);
    expect((await stage.rest(run)).status).toBe("completed");
    expect(Object.values(await used(stage))).toEqual([1, 1]);
    expect(await engine.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
  });

  it("counts what it is for and nothing else, and is not in the way of what it is not for", async () => {
    const stage = newStage();
    const [mail, ask] = [mails(), asks()];
    const engine = await stage.open({ tools: [mail.tool, ask.tool], policies: [document([mailing(1), spending(50)])] });
    await engine.call("mail.send", { to: "a" }, { principal: bot });
    expect(await used(stage)).toEqual({ "rate/calls@global/house/mails/tenant-minute/2023-11-14T22:13": 1 });
    await engine.call("ask", {}, { principal: bot });
    expect(await used(stage)).toMatchObject({ "budget/credits@global/house/money/user-day/2023-11-14/bot": 40 });
    expect(Object.keys(await used(stage))).toHaveLength(2);
  });

  it("refuses what it has no more for, on the record: rule, reason and the policy that it stood in", async () => {
    const stage = newStage();
    const { tool, calls } = asks();
    const engine = await stage.open({ tools: [tool], policies: [document([spending(50, { reason: "not today" })])] });
    await engine.call("ask", {}, { principal: bot });
    const run = await engine.submit(one("ask"), { principal: bot });
    await run.result();
    expect(await eventsOf(run, "step.rejected")).toMatchObject([
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
    expect(await engine.budgets({ principal: bot })).toMatchObject([
      { rule: "global/house/money", used: 40, left: 10 },
    ]);
  });

  it("is not used up by what is denied, held or turned down", async () => {
    const stage = newStage();
    const { tool } = mails();
    const rules = [
      mailing(5),
      { id: "no", kind: "deny", on: { tools: ["mail.*"] }, when: "input.to == 'eve'" },
      { id: "ask", kind: "approval", on: { tools: ["mail.*"] }, when: "input.to == 'bob'" },
    ];
    const engine = await stage.open({ tools: [tool], policies: [document(rules)] });
    await (await engine.submit(one("mail.send", { to: "eve" }), { principal: bot })).result();
    const held = await engine.submit(one("mail.send", { to: "bob" }), { principal: bot });
    const { gates } = await held.result();
    expect(await used(stage)).toEqual({});
    await engine.reject(gates[0]?.gate_id as string, { principal: ana, reason: "no" });
    await held.result();
    expect(await used(stage)).toEqual({});
  });

  it("holds together with every other: a lower layer only tightens, and one of a project counts only there", async () => {
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
      (await (await engine.submit(one("ask"), { principal: bot, project })).result()).steps.a;
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

  it("refuses where its condition cannot be answered", async () => {
    const { tool, calls } = mails();
    const engine = await newStage().open({
      tools: [tool],
      policies: [document([mailing(5, { when: "input.amount > 1" })])],
    });
    const run = await engine.submit(one("mail.send", { to: "a" }), { principal: bot });
    await run.result();
    expect(await eventsOf(run, "step.rejected")).toMatchObject([
      { rule: "global/house/mails", fault: { code: "POLICY_DENIED" } },
    ]);
    expect(calls).toHaveLength(0);
  });

  it("is the one of now when a held step goes on", async () => {
    const stage = newStage();
    const { tool, calls } = mails();
    const acme = { scope: { tenant: "acme" } };
    const ask = { id: "ask", kind: "approval" };
    const engine = await stage.open({ tools: [tool] });
    await engine.policies.set(document([ask], acme), { principal: ana });
    const held = await engine.submit(one("mail.send", { to: "a" }), { principal: bot });
    const { gates } = await held.result();
    const none = { id: "none", kind: "budget", unit: "calls", limit: 0, per: "tenant-day" };
    await engine.policies.set(document([ask, none], acme), { principal: ana });
    await engine.approve(gates[0]?.gate_id as string, { principal: ana });
    await held.result();
    expect(await eventsOf(held, "step.rejected")).toMatchObject([{ rule: "tenant/house/none" }]);
    expect(calls).toHaveLength(0);
  });

  it("goes on counting where it was when its number changes", async () => {
    const stage = newStage();
    const { tool } = asks();
    const acme = { scope: { tenant: "acme" } };
    const engine = await stage.open({ tools: [tool] });
    await engine.policies.set(document([spending(80)], acme), { principal: ana });
    await engine.call("ask", {}, { principal: bot });
    await engine.policies.set(document([spending(60)], acme), { principal: ana });
    const run = await engine.submit(one("ask"), { principal: bot });
    await run.result();
    expect(await eventsOf(run, "step.rejected")).toMatchObject([{ fault: { detail: { limit: 60, used: 40 } } }]);
  });
});
