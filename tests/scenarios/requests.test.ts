import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api.ts";
import { actor, faultOf, hang, promised, says } from "./cast.ts";
import { bot, places } from "./stage.ts";

const plan = (to: string) => ({ steps: [{ step_id: "send", name: "mail.send", payload: { to } }] });
const welcome = { principal: bot, requestKey: "welcome" };
const sends = () => actor("mail.send", () => ({ id: "m1" }));

describe.each(places)("a request, on $name", ({ newStage }) => {
  it("is one run, however often it is sent with the same key", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool] });
    const one = await engine.submit(plan("ana"), welcome);
    const two = await engine.submit(plan("ana"), welcome);
    expect(two).toMatchObject({ run_id: one.run_id, attached: true });
    expect(one.attached).toBe(false);
    expect((await two.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("is one run when it is sent many times at once", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool] });
    const runs = await Promise.all(Array.from({ length: 20 }, () => engine.submit(plan("ana"), welcome)));
    expect(new Set(runs.map((run) => run.run_id)).size).toBe(1);
    expect(runs.filter((run) => !run.attached)).toHaveLength(1);
    await Promise.all(runs.map((run) => run.result()));
    expect(send.calls).toHaveLength(1);
  });

  it("is refused under a key that stands for another plan, context or mode, and leaves nothing", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool] });
    const run = await engine.submit(plan("ana"), welcome);
    await run.result();
    const before = await stage.dump();
    const others = [
      engine.submit(plan("bob"), welcome),
      engine.submit(plan("ana"), { ...welcome, context: { a: 1 } }),
      engine.submit(plan("ana"), { ...welcome, mode: "draft_only" }),
    ];
    for (const fault of await Promise.all(others.map(faultOf))) {
      expect(fault).toMatchObject({ code: "REQUEST_KEY_REUSED", detail: { run_id: run.run_id } });
      expect(fault.message).toContain(run.run_id);
    }
    expect(await stage.dump()).toEqual(before);
  });

  it("does not mind the order of keys in the plan and its context", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const one = await engine.submit(
      { steps: [{ step_id: "send", name: "mail.send", payload: { to: "ana", cc: "bob" } }] },
      { ...welcome, context: { a: 1, b: 2 } },
    );
    const two = await engine.submit(
      { steps: [{ payload: { cc: "bob", to: "ana" }, name: "mail.send", step_id: "send" }] },
      { ...welcome, context: { b: 2, a: 1 } },
    );
    expect(two.run_id).toBe(one.run_id);
  });

  it("has a key of its own for each tenant and each principal", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {} });
    const askers = [bot, { ...bot, id: "bot2" }, { ...bot, tenant: "globex" }, { ...bot, id: "o", tenant: "t" }];
    const runs = await Promise.all(
      askers.map((principal) => engine.submit(plan("ana"), { principal, requestKey: "k" })),
    );
    expect(new Set(runs.map((run) => run.run_id)).size).toBe(askers.length);
    expect(runs.some((run) => run.attached)).toBe(false);
  });

  it("takes its key from the plan's intent when none is given, and has none without one", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const intended = { ...plan("ana"), intent_id: "intent-1" };
    const one = await engine.submit(intended, { principal: bot });
    const two = await engine.submit(intended, { principal: bot });
    const named = await engine.submit(intended, { principal: bot, requestKey: "another" });
    expect(two).toMatchObject({ run_id: one.run_id, attached: true });
    expect(named.attached).toBe(false);
    const three = await engine.submit(plan("ana"), { principal: bot });
    const four = await engine.submit(plan("ana"), { principal: bot });
    expect(four.run_id).not.toBe(three.run_id);
  });

  it("is attached to after a restart, whatever became of it", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [sends().tool] });
    const run = await first.submit(plan("ana"), welcome);
    await run.result();
    await stage.crash();
    const again = await (await stage.open({ tools: [sends().tool] })).submit(plan("ana"), welcome);
    expect(again).toMatchObject({ run_id: run.run_id, attached: true });
    expect(await again.result()).toMatchObject({ status: "completed", steps: { send: { output: { id: "m1" } } } });
  });

  it("is attached to while it is under way, and both askers see it end", async () => {
    const answer = promised<object>();
    const send = actor("mail.send", () => answer.promise);
    const engine = await newStage().open({ tools: [send.tool] });
    const one = await engine.submit(plan("ana"), welcome);
    const two = await engine.submit(plan("ana"), welcome);
    expect(await two.now()).toMatchObject({ running: true, final: false });
    const both = Promise.all([one.result(), two.result()]);
    answer.keep({ id: "m1" });
    expect((await both).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(send.calls).toHaveLength(1);
  });

  it("hands out what a failed run has, and resumes it under the same keys", async () => {
    const write = actor("mail.write", () => ({ body: "Dear Ana" }), { effect: "reads" });
    const send = actor("mail.send", [says("AUTH_FORBIDDEN"), () => ({ id: "m1" })]);
    const engine = await newStage().open({ tools: [write.tool, send.tool] });
    const steps = [
      { step_id: "write", name: "mail.write" },
      { step_id: "send", name: "mail.send", bindings: { "/body": { step: "write", path: "/body" } } },
    ];
    const run = await engine.submit({ steps }, welcome);
    expect(await run.result()).toMatchObject({
      status: "partial",
      final: true,
      steps: { write: { state: "succeeded" } },
    });

    const again = await engine.submit({ steps }, welcome);
    expect(again.attached).toBe(true);
    expect((await again.result()).status).toBe("partial");
    expect(send.calls).toHaveLength(1);

    const resumed = await engine.resume(run.run_id, { principal: bot, reason: "rights were granted" });
    expect((await resumed.result()).status).toBe("completed");
    expect(write.calls).toHaveLength(1);
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
    expect(send.calls[1]?.context.key).toBe(send.calls[0]?.context.key);
  });

  it("is not resumed when it has completed, and resuming what is under way changes nothing", async () => {
    const stage = newStage();
    const slow = actor("slow", hang);
    const engine = await stage.open({ tools: [sends().tool, slow.tool] });
    const done = await engine.submit(plan("ana"), welcome);
    await done.result();
    expect(await faultOf(engine.resume(done.run_id, { principal: bot }))).toMatchObject({ code: "NOT_POSSIBLE" });
    const running = await engine.submit({ steps: [{ step_id: "s", name: "slow" }] }, { principal: bot });
    await stage.pass(0);
    const before = await stage.dump();
    await engine.resume(running.run_id, { principal: bot });
    expect(await stage.dump()).toEqual(before);
  });
});

describe.each(places)("a run that nobody has, on $name", ({ newStage }) => {
  it.each(["run_nope", "", "\u0000", "\ud800", "x".repeat(5000), undefined as unknown as string])(
    "is not found, whatever is asked of %j",
    async (id) => {
      const engine = await newStage().open({ tools: [sends().tool] });
      const asked = [
        engine.run(id, { principal: bot }),
        engine.resume(id, { principal: bot }),
        engine.resolve(id, "a", { principal: bot, as: "absent" }),
        engine.cost(id, { principal: bot }),
        engine.audit({ principal: bot, runId: id === undefined ? "" : id }),
      ].map(faultOf);
      for (const asking of asked) expect((await asking).code).toBe("RUN_NOT_FOUND");
    },
  );
});

describe.each(places)("a request that cannot be taken, on $name", ({ newStage }) => {
  it.each([
    ["a key that is empty", { requestKey: "" }],
    ["a key that is no text", { requestKey: 7 as unknown as string }],
    ["a key of a thousand letters", { requestKey: "k".repeat(1000) }],
    ["a mode that nobody knows", { mode: "yolo" as "auto_exec" }],
    ["a deadline that is no number", { deadlineMs: Number.NaN }],
    ["a deadline in the past", { deadlineMs: -1 }],
    ["a context that is no object", { context: [] as unknown as { a: 1 } }],
    ["a context that is not JSON", { context: { at: (() => 1) as unknown as number } }],
    ["a trace id that is no text", { traceId: 7 as unknown as string }],
    ["a correlation id with a line break", { correlationId: "a\nb" }],
  ])("is refused for %s before anything is stored", async (_, options) => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {} });
    const before = await stage.dump();
    const refused = await faultOf(engine.submit(plan("ana"), { principal: bot, ...options }));
    expect(refused.code).toBe("INVALID_INPUT");
    expect(await stage.dump()).toEqual(before);
  });

  it.each([
    ["nobody", undefined],
    ["a principal without a tenant", { id: "bot", kind: "agent" }],
    ["a principal with an empty id", { id: "", kind: "agent", tenant: "acme" }],
    ["a principal of no known kind", { id: "bot", kind: "god", tenant: "acme" }],
    ["a principal with roles that are no list", { id: "bot", kind: "agent", tenant: "acme", roles: "boss" }],
    ["a principal with claims that are not JSON", { id: "bot", kind: "agent", tenant: "acme", claims: { f: () => 1 } }],
    ["a tenant with a control character", { id: "bot", kind: "agent", tenant: "a\u0000b" }],
  ])("is refused from %s", async (_, principal) => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const asking = engine.submit(plan("ana"), { principal } as unknown as Parameters<Engine["submit"]>[1]);
    expect((await faultOf(asking)).code).toBe("AUTH_FORBIDDEN");
  });
});
