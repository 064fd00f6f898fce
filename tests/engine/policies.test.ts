import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const cfo = { ...anaPerson, id: "bea", roles: ["cfo"] };
const sends = () => scriptedTool("mail.send", () => ({ id: "m1" }));
const reads = () => scriptedTool("crm.read", () => ({ host: "evil.example" }), { effect: "reads", tags: ["pii"] });
const house = (rules: readonly object[], more: object = {}) => ({
  schema_version: "1.0",
  name: "house",
  rules,
  ...more,
});
const asks = (role?: string) =>
  house([{ id: "ask", kind: "approval", on: { effects: ["acts"] }, ...(role && { role }) }]);
const deny = house([{ id: "no-mail", kind: "deny", on: { tools: ["mail.*"] }, reason: "nobody mails today" }]);
const one = { steps: [{ step_id: "send", name: "mail.send", payload: { to: "ana", amount: 7 } }] };

async function gateOf(engine: Engine): Promise<string> {
  const [gate] = await engine.gates({ principal: anaPerson });
  return gate?.gate_id as string;
}

describe.each(storeKinds)("policy, on $name", ({ newFixture: newStage }) => {
  it("refuses a denied call, records it and calls nothing", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [deny] });
    const run = await engine.submit(one, { principal: botAgent });
    expect((await run.result()).status).toBe("failed");
    const [refused] = await collectEvents(run, "step.rejected");
    expect(refused).toMatchObject({
      rule: "global/house/no-mail",
      fault: { code: "POLICY_DENIED", message: "policy global/house/no-mail: nobody mails today" },
      basis: {
        policy: expect.stringMatching(/^pol_[0-9a-f]{32}$/),
        objections: [{ rule: "global/house/no-mail", says: "refuse", reason: "nobody mails today" }],
      },
    });
    expect(calls).toHaveLength(0);
  });

  it("is recorded by version with every call it admits", async () => {
    const [mail, crm] = [sends(), reads()];
    const small = house([{ id: "small", kind: "require", expression: "tool.name != 'x'" }]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [small] });
    const run = await engine.submit(
      { steps: [{ step_id: "read", name: "crm.read", payload: {} }, ...one.steps] },
      { principal: botAgent },
    );
    expect((await run.result()).status).toBe("completed");
    const [started] = await collectEvents(run, "step.started");
    const [read, sent] = await collectEvents(run, "step.succeeded");
    const basis = { passed: ["global/house/small"], objections: [], policy: started?.basis?.policy };
    expect(started?.basis).toEqual(basis);
    expect([read, sent].filter((event) => event?.basis !== undefined)).toMatchObject([{ step_id: "read", basis }]);
  });

  it("holds for a role: only a person with the role decides", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [asks("cfo")] });
    const run = await engine.submit(one, { principal: botAgent });
    await run.result();
    const gate = await gateOf(engine);
    expect((await rejectedFault(engine.approve(gate, { principal: anaPerson }))).code).toBe("AUTH_FORBIDDEN");
    expect(calls).toHaveLength(0);
    await engine.approve(gate, { principal: cfo });
    expect((await run.result()).status).toBe("completed");
  });

  it.each([
    ["the same stands", asks(), "completed", 1],
    ["a milder one stands", house([]), "completed", 1],
    ["a stricter one holds anew", asks("cfo"), "partial", 0],
    ["one that denies refuses", deny, "failed", 0],
  ] as const)("is evaluated again when a held step continues: %s", async (_, policy, status, times) => {
    const stage = newStage();
    const { tool, calls } = sends();
    const before = await stage.open({ tools: [tool], policies: [asks()] });
    const { run_id } = await before.submit(one, { principal: botAgent });
    await (await before.run(run_id, { principal: botAgent })).result();
    await before.close();
    // This engine executes no runs, so the approved call does not continue under the old policy.
    const office = await stage.open({ tools: [tool], policies: [asks()], work: false });
    await office.approve(await gateOf(office), { principal: anaPerson });
    await office.close();
    const after = await stage.open({ tools: [tool], policies: [policy] });
    const run = await after.run(run_id, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe(status);
    expect(calls).toHaveLength(times);
    const gates = await collectEvents(run, "gate.opened");
    expect(gates.map(({ demand }) => demand.role)).toEqual(status === "partial" ? [null, "cfo"] : [null]);
  });

  it("sees bound values, not the plan's text", async () => {
    const [mail, crm] = [sends(), reads()];
    const hosts = house([
      { id: "hosts", kind: "parameter", on: { tools: ["mail.*"] }, path: "/to", must: { equals: "ana" } },
    ]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [hosts] });
    const bound = { ...one.steps[0], bindings: { "/to": { step: "read", path: "/host" } } };
    const plan = { steps: [{ step_id: "read", name: "crm.read", payload: {} }, bound] };
    const { steps } = await (await engine.submit(plan, { principal: botAgent })).result();
    expect(steps.send).toMatchObject({
      state: "rejected",
      fault: { message: expect.stringContaining('/to must equal "ana"') },
    });
    expect(mail.calls).toHaveLength(0);
  });

  it("holds an outgoing call after a private read, and not before", async () => {
    const [mail, crm] = [sends(), reads()];
    const flow = house([{ id: "leak", kind: "flow", on: { effects: ["external_send"] }, after: { tags: ["pii"] } }]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [flow] });
    const first = await engine.submit(one, { principal: botAgent });
    expect((await first.result()).status).toBe("completed");
    const read = { step_id: "read", name: "crm.read", payload: {} };
    const later = { ...one.steps[0], payload: { to: "bob" }, depends_on: ["read"] };
    const leak = await engine.submit({ steps: [read, later] }, { principal: botAgent });
    const { gates } = await leak.result();
    expect(gates).toMatchObject([{ step_id: "send" }]);
    expect(mail.calls).toHaveLength(1);
    await engine.approve(gates[0]?.gate_id as string, { principal: anaPerson });
    expect((await leak.result()).status).toBe("completed");
  });

  it("is not bypassed by a caller's confirmation", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [asks("cfo")] });
    const payload = { to: "ana", confirmed: true, approved: true, role: "cfo" };
    const plan = { steps: [{ step_id: "send", name: "mail.send", payload, gate: "none" }] };
    const run = await engine.submit(plan, { principal: botAgent, context: { confirmed: true, policy: "off" } });
    expect((await run.result()).gates).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it("of a tenant, project or session applies to its runs only, in addition to those above", async () => {
    const { tool, calls } = sends();
    const scoped = (scope: object, path: string) =>
      house([{ id: "p", kind: "parameter", path, must: { exists: true } }], { scope });
    const engine = await newStage().open({
      tools: [tool],
      policies: [
        scoped({}, "/to"),
        scoped({ tenant: "acme" }, "/a"),
        scoped({ tenant: "acme", project: "crm" }, "/b"),
        scoped({ tenant: "acme", project: "crm", session: "s1" }, "/c"),
        scoped({ tenant: "other" }, "/x"),
      ],
    });
    const rulesFor = async (place: object) => {
      const plan = { steps: [{ step_id: "send", name: "mail.send", payload: {} }] };
      const run = await engine.submit(plan, { principal: botAgent, ...place });
      await run.result();
      const [refused] = await collectEvents(run, "step.rejected");
      return refused?.basis?.objections.map(({ rule }) => rule);
    };
    expect(await rulesFor({})).toEqual(["global/house/p", "tenant/house/p"]);
    expect(await rulesFor({ project: "crm" })).toEqual(["global/house/p", "tenant/house/p", "project/house/p"]);
    expect(await rulesFor({ project: "hr" })).toEqual(["global/house/p", "tenant/house/p"]);
    const whole = ["global/house/p", "tenant/house/p", "project/house/p", "session/house/p"];
    expect(await rulesFor({ project: "crm", session: "s1" })).toEqual(whole);
    expect(await rulesFor({ project: "crm", session: "s2" })).toEqual(whole.slice(0, 3));
    expect(await rulesFor({ session: "s1" })).toEqual(whole.slice(0, 2));
    const stranger = { ...botAgent, tenant: "other" };
    expect(await rulesFor({ principal: stranger })).toEqual(["global/house/p", "tenant/house/p"]);
    expect(calls).toHaveLength(0);
  });

  it("is reported by a simulation, which writes nothing", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool], policies: [asks("cfo")] });
    const before = await stage.dump();
    const { acts } = await engine.simulate(one, { principal: botAgent });
    expect(acts).toMatchObject([{ step_id: "send", needs_approval: true }]);
    expect(await stage.dump()).toEqual(before);
  });

  it("limits a principal and its runs to granted capabilities", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool] });
    const capabilities = [{ tools: { allow: ["*"], deny: ["mail.*"] } }];
    const run = await engine.submit(one, { principal: { ...botAgent, capabilities } });
    expect((await run.result()).steps.send).toMatchObject({ state: "rejected", fault: { code: "AUTH_FORBIDDEN" } });
    expect(calls).toHaveLength(0);
    for (const wrong of [
      [{ tool: {} }],
      [{ tools: { allows: [] } }],
      [{ max_actions: -1 }],
      [{ tools: { deny: "x" } }],
      {},
    ]) {
      const principal = { ...botAgent, capabilities: wrong as never };
      expect((await rejectedFault(engine.submit(one, { principal }))).code).toBe("AUTH_FORBIDDEN");
    }
  });
});

describe("createEngine", () => {
  it("refuses an unreadable policy and two policies of one name", async () => {
    const [place] = storeKinds;
    const open = (policies: readonly unknown[]) => place?.newFixture().open({ tools: [], policies }) as Promise<Engine>;
    expect(await rejectedFault(open([house([{ id: "x", kind: "deny", on: { tool: "x" } }]), {}]))).toMatchObject({
      code: "POLICY_INVALID",
      detail: {
        reasons: [
          "policies/0/rules/0/on/tool: no such field; did you mean tools?",
          'policies/1/schema_version: must be "1.0"',
          "policies/1/name: is required: the name of the policy in the record",
        ],
      },
    });
    expect((await rejectedFault(open([house([]), house([])]))).message).toContain(
      "two policies with the same scope are called house",
    );
    expect((await rejectedFault(open("x" as never))).code).toBe("CONFIG_INVALID");
  });
});

describe.each(storeKinds)("recorded policy of a tenant, on $name", ({ newFixture: newStage }) => {
  const mine = (rules: readonly object[], scope: object = {}) => house(rules, { scope: { tenant: "acme", ...scope } });
  const no = [{ id: "no", kind: "deny", on: { tools: ["mail.*"] } }];
  const to = (name: string) => ({ steps: [{ step_id: "send", name: "mail.send", payload: { to: name } }] });

  it("applies at once, is listed, replaced and removed, and the record names the person", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    const status = async (name: string) =>
      (await (await engine.submit(to(name), { principal: botAgent })).result()).status;
    expect(await status("a")).toBe("completed");
    await engine.policies.set(mine(no), { principal: anaPerson });
    expect(await engine.policies.list({ principal: anaPerson })).toEqual([mine(no)]);
    expect(await status("b")).toBe("failed");
    await engine.policies.set(mine([]), { principal: anaPerson });
    await engine.policies.set(mine(no, { project: "crm" }), { principal: anaPerson });
    expect(await engine.policies.list({ principal: anaPerson })).toHaveLength(2);
    expect(await status("c")).toBe("completed");
    const inProject = await engine.submit(to("d"), { principal: botAgent, project: "crm" });
    expect((await inProject.result()).status).toBe("failed");
    await engine.policies.remove("house", { principal: anaPerson, project: "crm" });
    expect(await engine.policies.list({ principal: anaPerson })).toEqual([mine([])]);
    expect((await rejectedFault(engine.policies.remove("house", { principal: anaPerson, project: "crm" }))).code).toBe(
      "NOT_POSSIBLE",
    );
    expect(calls).toHaveLength(2);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("survives a crash and applies in other processes", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const first = await stage.open({ tools: [tool] });
    await first.policies.set(mine(no), { principal: anaPerson });
    await stage.crash();
    const second = await stage.open({ tools: [tool] });
    expect((await (await second.submit(to("a"), { principal: botAgent })).result()).status).toBe("failed");
    expect(calls).toHaveLength(0);
  });

  it("that changes during a call is applied before the act", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    await worker.policies.set(mine([]), { principal: anaPerson });
    expect((await (await worker.submit(to("a"), { principal: botAgent })).result()).status).toBe("completed");
    // The worker has just read what is in force, and does not look again for a while.
    await office.policies.set(mine(no), { principal: anaPerson });
    const run = await worker.submit(to("b"), { principal: botAgent });
    expect((await run.result()).status).toBe("failed");
    expect(calls).toHaveLength(1);
    expect(await collectEvents(run, "step.started")).toEqual([]);
    expect(await collectEvents(run, "step.rejected")).toMatchObject([{ rule: "tenant/house/no" }]);
  });

  it.each([
    ["of a tenant", 0, {}, []],
    ["of a project", 1, { project: "crm" }, []],
    ["beside those of the engine", 0, {}, [house([])]],
  ])("that is the first %s is applied before the act", async (_, others, place, policies) => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool], policies });
    const office = await stage.open({ tools: [tool], policies, work: false });
    if (others > 0) await worker.policies.set(mine(no, { project: "other" }), { principal: anaPerson });
    const where = { principal: botAgent, ...place };
    expect((await (await worker.submit(to("a"), where)).result()).status).toBe("completed");
    await office.policies.set(mine(no, place), { principal: anaPerson });
    const run = await worker.submit(to("b"), where);
    expect((await run.result()).status).toBe("failed");
    expect(calls).toHaveLength(1);
    expect(await collectEvents(run, "step.started")).toEqual([]);
  });

  it("of one session changes no other session, while it is in force and after it is removed", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool] });
    const status = async (session: string, nth: number) =>
      (await (await engine.submit(to(`${session}${nth}`), { principal: botAgent, session })).result()).status;
    expect([await status("mine", 1), await status("other", 1)]).toEqual(["completed", "completed"]);
    await engine.policies.set(mine([{ id: "no", kind: "deny" }], { session: "mine" }), { principal: anaPerson });
    expect([await status("mine", 2), await status("other", 2)]).toEqual(["failed", "completed"]);
    await engine.policies.remove("house", { principal: anaPerson, session: "mine" });
    expect([await status("mine", 3), await status("other", 3)]).toEqual(["completed", "completed"]);
    expect(calls).toHaveLength(5);
  });

  it("applies to calls that do not act within a second", async () => {
    const stage = newStage();
    const crm = reads();
    const worker = await stage.open({ tools: [crm.tool] });
    const office = await stage.open({ tools: [crm.tool], work: false });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    const status = async () => (await (await worker.submit(read, { principal: botAgent })).result()).status;
    expect(await status()).toBe("completed");
    await office.policies.set(mine([{ id: "no", kind: "deny" }]), { principal: anaPerson });
    await stage.advance(1000);
    expect(await status()).toBe("failed");
    expect(crm.calls).toHaveLength(1);
  });

  it("is set by a person, for the own tenant, as a whole", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    expect((await rejectedFault(engine.policies.set(mine(no), { principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    expect((await rejectedFault(engine.policies.remove("house", { principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    for (const wrong of [house(no), house(no, { scope: { tenant: "other" } }), mine([{ id: "x" }]), null])
      expect((await rejectedFault(engine.policies.set(wrong, { principal: anaPerson }))).code).toBe("POLICY_INVALID");
    expect(await engine.policies.list({ principal: anaPerson })).toEqual([]);
    expect(await stage.dump()).toEqual(before);
  });

  it("of another tenant does not apply", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    const eve = { ...anaPerson, id: "eve", tenant: "other" };
    await engine.policies.set(house(no, { scope: { tenant: "other" } }), { principal: eve });
    expect(await engine.policies.list({ principal: anaPerson })).toEqual([]);
    expect((await (await engine.submit(to("a"), { principal: botAgent })).result()).status).toBe("completed");
  });

  it("decides whether a recorded outcome may be reused", async () => {
    const stage = newStage();
    const crm = scriptedTool("crm.read", () => ({ n: 1 }), {
      effect: "reads",
      cache: "use_if_safe",
      cacheTtlMs: 60_000,
    });
    const engine = await stage.open({ tools: [crm.tool] });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    const asked = async () => {
      await (await engine.submit(read, { principal: botAgent })).result();
      return crm.calls.length;
    };
    const outcome = { steps: [{ ...read.steps[0], outcome: { type: "summary", status: "final" } }] };
    const made = async () => {
      await (await engine.submit(outcome, { principal: botAgent })).result();
      return crm.calls.length;
    };
    expect(await asked()).toBeGreaterThan(0);
    const once = await made();
    expect(await made()).toBe(once);
    await engine.policies.set(mine([]), { principal: anaPerson });
    expect(await made()).toBe(once + 1);
    expect(await made()).toBe(once + 1);
  });
});

describe.each(storeKinds)("precondition of a tool, on $name", ({ newFixture: newStage }) => {
  const precondition = (expression: string) => ({ preconditions: [{ id: "small", expression }] });

  it("refuses calls for which it is false, and records it", async () => {
    const { tool, calls } = scriptedTool("mail.send", () => ({}), precondition("input.amount < 10"));
    const engine = await newStage().open({ tools: [tool] });
    const status = async (amount: number) => {
      const plan = { steps: [{ step_id: "send", name: "mail.send", payload: { amount } }] };
      const run = await engine.submit(plan, { principal: botAgent });
      await run.result();
      return (await collectEvents(run, "step.rejected")).map(({ rule, fault }) => [rule, fault.code]);
    };
    expect(await status(9)).toEqual([]);
    expect(await status(10)).toEqual([["tool_conditions/small", "PRECONDITION_FAILED"]]);
    expect(calls).toHaveLength(1);
  });

  it("that cannot be parsed prevents opening the engine", async () => {
    const { tool } = scriptedTool("mail.send", () => ({}), precondition("process.env"));
    expect(await rejectedFault(newStage().open({ tools: [tool] }))).toMatchObject({ code: "TOOL_INVALID" });
    expect(() => scriptedTool("mail.send", () => ({}), { preconditions: [{ id: "a b", expression: "true" }] })).toThrow(
      "preconditions must be at most 32 of { id, expression, state }",
    );
  });
});
