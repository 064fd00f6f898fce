import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api.ts";
import { actor, eventsOf, faultOf } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const cfo = { ...ana, id: "bea", roles: ["cfo"] };
const sends = () => actor("mail.send", () => ({ id: "m1" }));
const reads = () => actor("crm.read", () => ({ host: "evil.example" }), { effect: "reads", tags: ["pii"] });
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
  const [gate] = await engine.gates({ principal: ana });
  return gate?.gate_id as string;
}

describe.each(places)("a policy, on $name", ({ newStage }) => {
  it("refuses what it denies, on the record, and nothing is called", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [deny] });
    const run = await engine.submit(one, { principal: bot });
    expect((await run.result()).status).toBe("failed");
    const [refused] = await eventsOf(run, "step.rejected");
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

  it("is pinned in what it let pass, whether that acts or not", async () => {
    const [mail, crm] = [sends(), reads()];
    const small = house([{ id: "small", kind: "require", expression: "tool.name != 'x'" }]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [small] });
    const run = await engine.submit(
      { steps: [{ step_id: "read", name: "crm.read", payload: {} }, ...one.steps] },
      { principal: bot },
    );
    expect((await run.result()).status).toBe("completed");
    const [started] = await eventsOf(run, "step.started");
    const [read, sent] = await eventsOf(run, "step.succeeded");
    const basis = { passed: ["global/house/small"], objections: [], policy: started?.basis?.policy };
    expect(started?.basis).toEqual(basis);
    expect([read, sent].filter((event) => event?.basis !== undefined)).toMatchObject([{ step_id: "read", basis }]);
  });

  it("holds for a role: who lacks it does not decide, and who has it does", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [asks("cfo")] });
    const run = await engine.submit(one, { principal: bot });
    await run.result();
    const gate = await gateOf(engine);
    expect((await faultOf(engine.approve(gate, { principal: ana }))).code).toBe("AUTH_FORBIDDEN");
    expect(calls).toHaveLength(0);
    await engine.approve(gate, { principal: cfo });
    expect((await run.result()).status).toBe("completed");
  });

  it.each([
    ["the same stands", asks(), "completed", 1],
    ["a milder one stands", house([]), "completed", 1],
    ["a stricter one holds anew", asks("cfo"), "partial", 0],
    ["one that denies refuses", deny, "failed", 0],
  ] as const)("is asked again when a held step goes on: %s", async (_, policy, status, times) => {
    const stage = newStage();
    const { tool, calls } = sends();
    const before = await stage.open({ tools: [tool], policies: [asks()] });
    const { run_id } = await before.submit(one, { principal: bot });
    await (await before.run(run_id, { principal: bot })).result();
    await before.close();
    // The yes is said where nobody works, so that nothing goes on under the old policy.
    const office = await stage.open({ tools: [tool], policies: [asks()], work: false });
    await office.approve(await gateOf(office), { principal: ana });
    await office.close();
    const after = await stage.open({ tools: [tool], policies: [policy] });
    const run = await after.run(run_id, { principal: bot });
    expect((await stage.rest(run)).status).toBe(status);
    expect(calls).toHaveLength(times);
    const gates = await eventsOf(run, "gate.opened");
    expect(gates.map(({ demand }) => demand.role)).toEqual(status === "partial" ? [null, "cfo"] : [null]);
  });

  it("sees what is bound to a call, and not what the plan says of it", async () => {
    const [mail, crm] = [sends(), reads()];
    const hosts = house([
      { id: "hosts", kind: "parameter", on: { tools: ["mail.*"] }, path: "/to", must: { equals: "ana" } },
    ]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [hosts] });
    const bound = { ...one.steps[0], bindings: { "/to": { step: "read", path: "/host" } } };
    const plan = { steps: [{ step_id: "read", name: "crm.read", payload: {} }, bound] };
    const { steps } = await (await engine.submit(plan, { principal: bot })).result();
    expect(steps.send).toMatchObject({
      state: "rejected",
      fault: { message: expect.stringContaining('/to must equal "ana"') },
    });
    expect(mail.calls).toHaveLength(0);
  });

  it("holds what would go out after something private was read, and not before", async () => {
    const [mail, crm] = [sends(), reads()];
    const flow = house([{ id: "leak", kind: "flow", on: { effects: ["external_send"] }, after: { tags: ["pii"] } }]);
    const engine = await newStage().open({ tools: [mail.tool, crm.tool], policies: [flow] });
    const first = await engine.submit(one, { principal: bot });
    expect((await first.result()).status).toBe("completed");
    const read = { step_id: "read", name: "crm.read", payload: {} };
    const later = { ...one.steps[0], payload: { to: "bob" }, depends_on: ["read"] };
    const leak = await engine.submit({ steps: [read, later] }, { principal: bot });
    const { gates } = await leak.result();
    expect(gates).toMatchObject([{ step_id: "send" }]);
    expect(mail.calls).toHaveLength(1);
    await engine.approve(gates[0]?.gate_id as string, { principal: ana });
    expect((await leak.result()).status).toBe("completed");
  });

  it("is not got around by a caller who says that all is confirmed", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool], policies: [asks("cfo")] });
    const payload = { to: "ana", confirmed: true, approved: true, role: "cfo" };
    const plan = { steps: [{ step_id: "send", name: "mail.send", payload, gate: "none" }] };
    const run = await engine.submit(plan, { principal: bot, context: { confirmed: true, policy: "off" } });
    expect((await run.result()).gates).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it("of a tenant, a project or a session is for their runs only, and adds to those above", async () => {
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
      const run = await engine.submit(plan, { principal: bot, ...place });
      await run.result();
      const [refused] = await eventsOf(run, "step.rejected");
      return refused?.basis?.objections.map(({ rule }) => rule);
    };
    expect(await rulesFor({})).toEqual(["global/house/p", "tenant/house/p"]);
    expect(await rulesFor({ project: "crm" })).toEqual(["global/house/p", "tenant/house/p", "project/house/p"]);
    expect(await rulesFor({ project: "hr" })).toEqual(["global/house/p", "tenant/house/p"]);
    const whole = ["global/house/p", "tenant/house/p", "project/house/p", "session/house/p"];
    expect(await rulesFor({ project: "crm", session: "s1" })).toEqual(whole);
    expect(await rulesFor({ project: "crm", session: "s2" })).toEqual(["session"]);
    expect(await rulesFor({ session: "s1" })).toEqual(["session"]);
    const stranger = { ...bot, tenant: "other" };
    expect(await rulesFor({ principal: stranger })).toEqual(["global/house/p", "tenant/house/p"]);
    expect(calls).toHaveLength(0);
  });

  it("is told by a rehearsal, which writes nothing", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool], policies: [asks("cfo")] });
    const before = await stage.dump();
    const { acts } = await engine.simulate(one, { principal: bot });
    expect(acts).toMatchObject([{ step_id: "send", needs_approval: true }]);
    expect(await stage.dump()).toEqual(before);
  });

  it("keeps a principal within what it was given, and its runs with it", async () => {
    const { tool, calls } = sends();
    const engine = await newStage().open({ tools: [tool] });
    const capabilities = [{ tools: { allow: ["*"], deny: ["mail.*"] } }];
    const run = await engine.submit(one, { principal: { ...bot, capabilities } });
    expect((await run.result()).steps.send).toMatchObject({ state: "rejected", fault: { code: "AUTH_FORBIDDEN" } });
    expect(calls).toHaveLength(0);
    for (const wrong of [
      [{ tool: {} }],
      [{ tools: { allows: [] } }],
      [{ max_actions: -1 }],
      [{ tools: { deny: "x" } }],
      {},
    ]) {
      const principal = { ...bot, capabilities: wrong as never };
      expect((await faultOf(engine.submit(one, { principal }))).code).toBe("AUTH_FORBIDDEN");
    }
  });
});

describe("an engine", () => {
  it("is not opened with a policy that cannot be read, or that there are two of", async () => {
    const [place] = places;
    const open = (policies: readonly unknown[]) => place?.newStage().open({ tools: [], policies }) as Promise<Engine>;
    expect(await faultOf(open([house([{ id: "x", kind: "deny", on: { tool: "x" } }]), {}]))).toMatchObject({
      code: "POLICY_INVALID",
      detail: {
        reasons: [
          "policies/0/rules/0/on/tool: no such field; did you mean tools?",
          'policies/1/schema_version: must be "1.0"',
          "policies/1/name: is what the record calls the policy",
        ],
      },
    });
    expect((await faultOf(open([house([]), house([])]))).message).toContain(
      "two policies of one place are called house",
    );
    expect((await faultOf(open("x" as never))).code).toBe("CONFIG_INVALID");
  });
});

describe.each(places)("a policy that a tenant has put on record, on $name", ({ newStage }) => {
  const mine = (rules: readonly object[], scope: object = {}) => house(rules, { scope: { tenant: "acme", ...scope } });
  const no = [{ id: "no", kind: "deny", on: { tools: ["mail.*"] } }];
  const to = (name: string) => ({ steps: [{ step_id: "send", name: "mail.send", payload: { to: name } }] });

  it("is in force at once, is listed, replaced and removed, and the record says by whom", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    const status = async (name: string) => (await (await engine.submit(to(name), { principal: bot })).result()).status;
    expect(await status("a")).toBe("completed");
    await engine.policies.set(mine(no), { principal: ana });
    expect(await engine.policies.list({ principal: ana })).toEqual([mine(no)]);
    expect(await status("b")).toBe("failed");
    await engine.policies.set(mine([]), { principal: ana });
    await engine.policies.set(mine(no, { project: "crm" }), { principal: ana });
    expect(await engine.policies.list({ principal: ana })).toHaveLength(2);
    expect(await status("c")).toBe("completed");
    const inProject = await engine.submit(to("d"), { principal: bot, project: "crm" });
    expect((await inProject.result()).status).toBe("failed");
    await engine.policies.remove("house", { principal: ana, project: "crm" });
    expect(await engine.policies.list({ principal: ana })).toEqual([mine([])]);
    expect((await faultOf(engine.policies.remove("house", { principal: ana, project: "crm" }))).code).toBe(
      "NOT_POSSIBLE",
    );
    expect(calls).toHaveLength(2);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("is there after a crash, and holds for those who work elsewhere", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const first = await stage.open({ tools: [tool] });
    await first.policies.set(mine(no), { principal: ana });
    await stage.crash();
    const second = await stage.open({ tools: [tool] });
    expect((await (await second.submit(to("a"), { principal: bot })).result()).status).toBe("failed");
    expect(calls).toHaveLength(0);
  });

  it("that changes while a step is on its way is met by the step before it acts", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    await worker.policies.set(mine([]), { principal: ana });
    expect((await (await worker.submit(to("a"), { principal: bot })).result()).status).toBe("completed");
    // The worker has just read what is in force, and does not look again for a while.
    await office.policies.set(mine(no), { principal: ana });
    const run = await worker.submit(to("b"), { principal: bot });
    expect((await run.result()).status).toBe("failed");
    expect(calls).toHaveLength(1);
    expect(await eventsOf(run, "step.started")).toEqual([]);
    expect(await eventsOf(run, "step.rejected")).toMatchObject([{ rule: "tenant/house/no" }]);
  });

  it.each([
    ["of a tenant", 0, {}, []],
    ["of a project", 1, { project: "crm" }, []],
    ["beside those of the engine", 0, {}, [house([])]],
  ])("that is the first %s is met by the step before it acts", async (_, others, place, policies) => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool], policies });
    const office = await stage.open({ tools: [tool], policies, work: false });
    if (others > 0) await worker.policies.set(mine(no, { project: "other" }), { principal: ana });
    const where = { principal: bot, ...place };
    expect((await (await worker.submit(to("a"), where)).result()).status).toBe("completed");
    await office.policies.set(mine(no, place), { principal: ana });
    const run = await worker.submit(to("b"), where);
    expect((await run.result()).status).toBe("failed");
    expect(calls).toHaveLength(1);
    expect(await eventsOf(run, "step.started")).toEqual([]);
  });

  it("that a session was waiting for is met by the step before it is refused", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    await worker.policies.set(mine([], { session: "known" }), { principal: ana });
    const known = async (session: string) =>
      (await (await worker.submit(to(session), { principal: bot, session })).result()).status;
    expect(await known("stranger")).toBe("failed");
    await office.policies.set(mine([], { session: "stranger" }), { principal: ana });
    expect(await known("stranger")).toBe("completed");
    expect(calls).toHaveLength(1);
  });

  it("is seen by what does not act, too, a second later at most", async () => {
    const stage = newStage();
    const crm = reads();
    const worker = await stage.open({ tools: [crm.tool] });
    const office = await stage.open({ tools: [crm.tool], work: false });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    const status = async () => (await (await worker.submit(read, { principal: bot })).result()).status;
    expect(await status()).toBe("completed");
    await office.policies.set(mine([{ id: "no", kind: "deny" }]), { principal: ana });
    await stage.pass(1000);
    expect(await status()).toBe("failed");
    expect(crm.calls).toHaveLength(1);
  });

  it("is a person's to set, for its own tenant, and whole", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    expect((await faultOf(engine.policies.set(mine(no), { principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    expect((await faultOf(engine.policies.remove("house", { principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    for (const wrong of [house(no), house(no, { scope: { tenant: "other" } }), mine([{ id: "x" }]), null])
      expect((await faultOf(engine.policies.set(wrong, { principal: ana }))).code).toBe("POLICY_INVALID");
    expect(await engine.policies.list({ principal: ana })).toEqual([]);
    expect(await stage.dump()).toEqual(before);
  });

  it("of another tenant is nobody else's", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    const eve = { ...ana, id: "eve", tenant: "other" };
    await engine.policies.set(house(no, { scope: { tenant: "other" } }), { principal: eve });
    expect(await engine.policies.list({ principal: ana })).toEqual([]);
    expect((await (await engine.submit(to("a"), { principal: bot })).result()).status).toBe("completed");
  });

  it("decides whether an answer on record may stand in for a new one", async () => {
    const stage = newStage();
    const crm = actor("crm.read", () => ({ n: 1 }), { effect: "reads", cache: "use_if_safe", cacheTtlMs: 60_000 });
    const engine = await stage.open({ tools: [crm.tool] });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    const asked = async () => {
      await (await engine.submit(read, { principal: bot })).result();
      return crm.calls.length;
    };
    const outcome = { steps: [{ ...read.steps[0], outcome: { type: "summary", status: "final" } }] };
    const made = async () => {
      await (await engine.submit(outcome, { principal: bot })).result();
      return crm.calls.length;
    };
    expect(await asked()).toBeGreaterThan(0);
    const once = await made();
    expect(await made()).toBe(once);
    await engine.policies.set(mine([]), { principal: ana });
    expect(await made()).toBe(once + 1);
    expect(await made()).toBe(once + 1);
  });
});

describe.each(places)("a precondition of a tool, on $name", ({ newStage }) => {
  const precondition = (expression: string) => ({ preconditions: [{ id: "small", expression }] });

  it("refuses what it does not hold for, on the record", async () => {
    const { tool, calls } = actor("mail.send", () => ({}), precondition("input.amount < 10"));
    const engine = await newStage().open({ tools: [tool] });
    const status = async (amount: number) => {
      const plan = { steps: [{ step_id: "send", name: "mail.send", payload: { amount } }] };
      const run = await engine.submit(plan, { principal: bot });
      await run.result();
      return (await eventsOf(run, "step.rejected")).map(({ rule, fault }) => [rule, fault.code]);
    };
    expect(await status(9)).toEqual([]);
    expect(await status(10)).toEqual([["tool_conditions/small", "PRECONDITION_FAILED"]]);
    expect(calls).toHaveLength(1);
  });

  it("that cannot be read keeps the engine from being opened", async () => {
    const { tool } = actor("mail.send", () => ({}), precondition("process.env"));
    expect(await faultOf(newStage().open({ tools: [tool] }))).toMatchObject({ code: "TOOL_INVALID" });
    expect(() => actor("mail.send", () => ({}), { preconditions: [{ id: "a b", expression: "true" }] })).toThrow(
      "preconditions must be at most 32 of { id, expression }",
    );
  });
});
