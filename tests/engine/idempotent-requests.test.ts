import { describe, expect, it } from "vitest";
import { oldRequestKey } from "../../src/core/evolve/event-rows.ts";
import { checkPlan } from "../../src/core/plan/check-plan.ts";
import { requestedPlan } from "../../src/core/plan/plan.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool/tool.ts";
import type { Digest, RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { ToolRegistry } from "../../src/engine/call/tool-registry.ts";
import { digestOfJson } from "../../src/engine/ports/digest.ts";
import { cel } from "../../src/expression/cel.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  throwsFault,
  throwsNotDone,
} from "./scripted-tool.ts";

const plan = (to: string) => ({ steps: [{ step_id: "send", name: "mail.send", payload: { to } }] });
const welcome = { principal: botAgent, requestKey: "welcome" };
const sends = () => scriptedTool("mail.send", () => ({ id: "m1" }));

describe.each(storeKinds)("request with a key, on $name", ({ newFixture: newStage }) => {
  it("is one run for any number of repetitions", async () => {
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

  it("is refused under a key of another plan, context or mode, and stores nothing", async () => {
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
    for (const fault of await Promise.all(others.map(rejectedFault))) {
      expect(fault).toMatchObject({ code: "REQUEST_KEY_REUSED", detail: { run_id: run.run_id } });
      expect(fault.message).toContain(run.run_id);
    }
    expect(await stage.dump()).toEqual(before);
  });

  it("returns the recorded failure until it asks for a retry, which continues the run and repeats no act", async () => {
    const stage = newStage();
    const send = sends();
    const charge = scriptedTool("charge", [throwsNotDone("BUDGET_EXCEEDED"), () => ({ id: "c1" })]);
    const engine = await stage.open({ tools: [send.tool, charge.tool] });
    const both = {
      steps: [...plan("ana").steps, { step_id: "charge", name: "charge", depends_on: ["send"] }],
    };
    const first = await (await engine.submit(both, welcome)).result();
    expect(first).toMatchObject({ status: "partial", final: true });
    expect(first.next).toContain("the run has ended: fix the cause, then resume run");
    expect(first.next).toContain("or submit its request again with retryFailed");
    expect(await (await engine.submit(both, welcome)).result()).toEqual(first);
    const again = await engine.submit(both, { ...welcome, retryFailed: true });
    expect(again).toMatchObject({ run_id: first.run_id, attached: true });
    expect(await again.result()).toMatchObject({ status: "completed", next: null });
    expect(await collectEvents(again, "run.resumed")).toMatchObject([
      { by: "bot", reason: "its request was submitted again" },
    ]);
    expect([send.calls.length, charge.calls.length]).toEqual([1, 2]);
    await (await engine.submit(both, { ...welcome, retryFailed: true })).result();
    expect(await collectEvents(again, "run.resumed")).toHaveLength(1);
  });

  it("with a retry leaves an act in doubt in doubt, and a run with nothing to retry as it is", async () => {
    const stage = newStage();
    const lost = scriptedTool("mail.send", throwsFault("NETWORK_TIMEOUT"));
    const engine = await stage.open({ tools: [lost.tool] });
    const retry = { ...welcome, retryFailed: true };
    const { run_id } = await engine.submit(plan("ana"), retry);
    const doubted = await (await engine.submit(plan("ana"), retry)).result();
    expect(doubted).toMatchObject({ run_id, final: false, steps: { send: { state: "in_doubt" } } });
    await engine.resolve(run_id, "send", { principal: anaPerson, as: "give_up" });
    const givenUp = await engine.submit(plan("ana"), retry);
    expect(await givenUp.result()).toMatchObject({ status: "failed", final: true, next: null });
    expect(await collectEvents(givenUp, "run.resumed")).toEqual([]);
    expect(lost.calls).toHaveLength(1);
  });

  it("is resumed once by many retries at once", async () => {
    const stage = newStage();
    const send = scriptedTool("mail.send", [throwsNotDone("BUDGET_EXCEEDED"), () => ({ id: "m1" })]);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(plan("ana"), welcome);
    await run.result();
    const retries = Array.from({ length: 10 }, () => engine.submit(plan("ana"), { ...welcome, retryFailed: true }));
    for (const each of await Promise.all(retries)) expect((await each.result()).status).toBe("completed");
    expect(await collectEvents(run, "run.resumed")).toHaveLength(1);
    expect(send.calls).toHaveLength(2);
  });

  it("is needed for a retry", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const refused = await rejectedFault(engine.submit(plan("ana"), { principal: botAgent, retryFailed: true }));
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
    expect(refused.message).toContain("retryFailed needs a requestKey");
    const odd = engine.submit(plan("ana"), { ...welcome, retryFailed: "yes" as never });
    expect((await rejectedFault(odd)).message).toContain("retryFailed must be true or false");
  });

  it("ignores the order of keys in the plan and its context", async () => {
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

  it("has a separate key for each tenant and each principal", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool], tenants: {} });
    const askers = [
      botAgent,
      { ...botAgent, id: "bot2" },
      { ...botAgent, tenant: "globex" },
      { ...botAgent, id: "o", tenant: "t" },
    ];
    const runs = await Promise.all(
      askers.map((principal) => engine.submit(plan("ana"), { principal, requestKey: "k" })),
    );
    expect(new Set(runs.map((run) => run.run_id)).size).toBe(askers.length);
    expect(runs.some((run) => run.attached)).toBe(false);
  });

  it("has a separate key for each project and each session", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool] });
    const scopes = [{}, { project: "a" }, { project: "b" }, { project: "a", session: "s" }, { session: "s" }];
    for (const attached of [false, true])
      for (const scope of scopes)
        expect((await engine.submit(plan("ana"), { ...welcome, ...scope })).attached).toBe(attached);
  });

  it("computes a key from plan, context, project and session if the key is content", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const submit = async (to: string, options: object = {}) => {
      const { attached } = await engine.submit(plan(to), { principal: botAgent, requestKey: "content", ...options });
      return attached;
    };
    expect(await submit("ana")).toBe(false);
    expect(await submit("ana")).toBe(true);
    expect(await submit("bob")).toBe(false);
    expect(await submit("ana", { context: { a: 1 } })).toBe(false);
    expect(await submit("ana", { project: "p" })).toBe(false);
    expect(await submit("ana", { project: "p", session: "s" })).toBe(false);
    expect(await submit("ana", { project: "p", session: "s" })).toBe(true);
  });

  it("stays one run when the mode of the tenant changes, and is refused with the run's id in a dry run", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [sends().tool], tenants: { acme: { mode: "auto_exec" } } });
    const run = await first.submit(plan("ana"), welcome);
    await run.result();
    await stage.crash();
    const gated = await stage.open({ tools: [sends().tool], tenants: { acme: { mode: "human_gated" } } });
    expect(await gated.submit(plan("ana"), welcome)).toMatchObject({ run_id: run.run_id, attached: true });
    await stage.crash();
    const dry = await stage.open({ tools: [sends().tool], tenants: { acme: { mode: "dry_run" } } });
    expect(await rejectedFault(dry.submit(plan("ana"), welcome))).toMatchObject({
      code: "MODE_FORBIDS",
      detail: { run_id: run.run_id },
    });
  });

  it("is refused with the run's id if a policy or a capability of today refuses it, and makes no second run", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const run = await engine.submit(plan("ana"), welcome);
    await run.result();
    const capabilities = [{ tools: { deny: ["mail.*"] } }];
    const unable = engine.submit(plan("ana"), { ...welcome, principal: { ...botAgent, capabilities } });
    expect(await rejectedFault(unable)).toMatchObject({ code: "AUTH_FORBIDDEN", detail: { run_id: run.run_id } });
    const document = (rule: object) => ({
      schema_version: "1.0",
      name: "today",
      scope: { tenant: "acme" },
      rules: [{ id: "r", on: { tools: ["mail.*"] }, ...rule }],
    });
    // A rule about the moment of a call does not withhold a call that was made.
    await engine.policies.set(document({ kind: "window", days: ["mon"], from: "00:00", to: "00:01" }), {
      principal: anaPerson,
    });
    expect((await engine.submit(plan("ana"), welcome)).attached).toBe(true);
    await engine.policies.set(document({ kind: "deny" }), { principal: anaPerson });
    expect(await rejectedFault(engine.submit(plan("ana"), welcome))).toMatchObject({
      code: "POLICY_DENIED",
      detail: { run_id: run.run_id },
    });
    expect(await engine.runs({ principal: botAgent })).toHaveLength(1);
  });

  it("attaches to a run whose request row has the older format, in the project and session of that run only", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool] });
    const run = await engine.submit(plan("ana"), { principal: botAgent, project: "a" });
    await run.result();
    const [checked] = [checkPlan(plan("ana"), { tools: oneTool(sends().tool).callable, context: {}, strict: false })];
    if (!checked.ok) throw new Error("the plan is valid");
    const digest = digestOfJson({ plan: requestedPlan(checked.plan), context: {}, mode: "auto_exec" });
    await putRequestRow(stage.store(), run.run_id, oldRequestKey("bot", "welcome"), digest);
    expect(await engine.submit(plan("ana"), { ...welcome, project: "a" })).toMatchObject({
      run_id: run.run_id,
      attached: true,
    });
    const other = await rejectedFault(engine.submit(plan("bob"), { ...welcome, project: "a" }));
    expect(other).toMatchObject({ code: "REQUEST_KEY_REUSED", detail: { run_id: run.run_id } });
    const elsewhere = await engine.submit(plan("ana"), { ...welcome, project: "b" });
    expect(elsewhere.attached).toBe(false);
    expect((await engine.submit(plan("ana"), { ...welcome, project: "b" })).run_id).toBe(elsewhere.run_id);
  });

  it("takes its key from the plan's intent when none is given, and has none without one", async () => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const intended = { ...plan("ana"), intent_id: "intent-1" };
    const one = await engine.submit(intended, { principal: botAgent });
    const two = await engine.submit(intended, { principal: botAgent });
    const named = await engine.submit(intended, { principal: botAgent, requestKey: "another" });
    expect(two).toMatchObject({ run_id: one.run_id, attached: true });
    expect(named.attached).toBe(false);
    const three = await engine.submit(plan("ana"), { principal: botAgent });
    const four = await engine.submit(plan("ana"), { principal: botAgent });
    expect(four.run_id).not.toBe(three.run_id);
  });

  it("attaches to the run after a restart, whatever its status", async () => {
    const stage = newStage();
    const first = await stage.open({ tools: [sends().tool] });
    const run = await first.submit(plan("ana"), welcome);
    await run.result();
    await stage.crash();
    const again = await (await stage.open({ tools: [sends().tool] })).submit(plan("ana"), welcome);
    expect(again).toMatchObject({ run_id: run.run_id, attached: true });
    expect(await again.result()).toMatchObject({ status: "completed", steps: { send: { output: { id: "m1" } } } });
  });

  it("attaches to a running run, and both callers see its end", async () => {
    const answer = deferred<object>();
    const send = scriptedTool("mail.send", () => answer.promise);
    const engine = await newStage().open({ tools: [send.tool] });
    const one = await engine.submit(plan("ana"), welcome);
    const two = await engine.submit(plan("ana"), welcome);
    expect(await two.now()).toMatchObject({ running: true, final: false });
    const both = Promise.all([one.result(), two.result()]);
    answer.keep({ id: "m1" });
    expect((await both).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(send.calls).toHaveLength(1);
  });

  it("returns the result of a failed run, and resumes it under the same keys", async () => {
    const write = scriptedTool("mail.write", () => ({ body: "Dear Ana" }), { effect: "reads" });
    const send = scriptedTool("mail.send", [throwsNotDone("AUTH_FORBIDDEN"), () => ({ id: "m1" })]);
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

    const resumed = await engine.resume(run.run_id, { principal: botAgent, reason: "rights were granted" });
    expect((await resumed.result()).status).toBe("completed");
    expect(write.calls).toHaveLength(1);
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
    expect(send.calls[1]?.context.key).toBe(send.calls[0]?.context.key);
  });

  it("is not resumed after completion, and resuming a running run changes nothing", async () => {
    const stage = newStage();
    const slow = scriptedTool("slow", neverAnswers);
    const engine = await stage.open({ tools: [sends().tool, slow.tool] });
    const done = await engine.submit(plan("ana"), welcome);
    await done.result();
    expect(await rejectedFault(engine.resume(done.run_id, { principal: botAgent }))).toMatchObject({
      code: "NOT_POSSIBLE",
    });
    const running = await engine.submit({ steps: [{ step_id: "s", name: "slow" }] }, { principal: botAgent });
    await stage.advance(0);
    const before = await stage.dump();
    await engine.resume(running.run_id, { principal: botAgent });
    expect(await stage.dump()).toEqual(before);
  });
});

async function putRequestRow(store: Store, run_id: RunId, key: string, digest: Digest): Promise<void> {
  const tenant = "acme" as Tenant;
  const head = await store.head(tenant, run_id);
  const put = { table: "request", key, was: null, row: JSON.stringify({ run_id, digest }) } as const;
  const expected = { position: head?.position ?? 0, epoch: null };
  const entry = { tenant, run: run_id, expect: expected, events: [], puts: [put], charges: [], checks: [] };
  expect(await store.append([{ ...entry, flush: "hard" }])).toEqual([{ landed: true }]);
}

function oneTool(tool: Tool): ToolRegistry {
  return new ToolRegistry([tool], cel);
}

describe.each(storeKinds)("unknown run, on $name", ({ newFixture: newStage }) => {
  it.each(["run_nope", "", "\u0000", "\ud800", "x".repeat(5000), undefined as unknown as string])(
    "is RUN_NOT_FOUND for every method with %j",
    async (id) => {
      const engine = await newStage().open({ tools: [sends().tool] });
      const asked = [
        engine.run(id, { principal: botAgent }),
        engine.resume(id, { principal: botAgent }),
        engine.resolve(id, "a", { principal: anaPerson, as: "absent" }),
        engine.cost(id, { principal: botAgent }),
        engine.audit({ principal: anaPerson, runId: id === undefined ? "" : id }),
      ].map(rejectedFault);
      for (const asking of asked) expect((await asking).code).toBe("RUN_NOT_FOUND");
    },
  );
});

describe.each(storeKinds)("invalid request, on $name", ({ newFixture: newStage }) => {
  it.each([
    ["a key that is empty", { requestKey: "" }],
    ["a key that is no text", { requestKey: 7 as unknown as string }],
    ["a key of a thousand letters", { requestKey: "k".repeat(1000) }],
    ["an unknown mode", { mode: "yolo" as "auto_exec" }],
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
    const refused = await rejectedFault(engine.submit(plan("ana"), { principal: botAgent, ...options }));
    expect(refused.code).toBe("INVALID_INPUT");
    expect(await stage.dump()).toEqual(before);
  });

  it.each([
    ["no principal", undefined],
    ["a principal without a tenant", { id: "bot", kind: "agent" }],
    ["a principal with an empty id", { id: "", kind: "agent", tenant: "acme" }],
    ["a principal of no known kind", { id: "bot", kind: "god", tenant: "acme" }],
    ["a principal with roles that are no list", { id: "bot", kind: "agent", tenant: "acme", roles: "boss" }],
    ["a principal with claims that are not JSON", { id: "bot", kind: "agent", tenant: "acme", claims: { f: () => 1 } }],
    ["a tenant with a control character", { id: "bot", kind: "agent", tenant: "a\u0000b" }],
  ])("is refused from %s", async (_, principal) => {
    const engine = await newStage().open({ tools: [sends().tool] });
    const asking = engine.submit(plan("ana"), { principal } as unknown as Parameters<Engine["submit"]>[1]);
    expect((await rejectedFault(asking)).code).toBe("AUTH_FORBIDDEN");
  });
});
