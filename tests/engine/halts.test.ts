import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  deferred,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
} from "./scripted-tool.ts";

const why = { principal: anaPerson, reason: "it mails the wrong people" };
const operator = { ...anaPerson, id: "ops", roles: ["operator"] };
const sends = () => scriptedTool("mail.send", () => ({ id: "m1" }));
const to = (name: string, more: object = {}) => ({
  steps: [{ step_id: "send", name: "mail.send", payload: { to: name }, ...more }],
});
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const parkings = async (run: RunHandle) => (await collectEvents(run, "step.parked")).map(({ on }) => on);

describe.each(storeKinds)("halt, on $name", ({ newFixture: newStage }) => {
  it("stops a tenant's calls, shows who and why, and continues them when it is lifted", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set(why);
    const run = await engine.submit(to("a"), { principal: botAgent });
    const result = await run.result();
    const halt = { over: "tenant", by: "ana", reason: why.reason, at: expect.any(Number) };
    expect(result).toMatchObject({
      status: "partial",
      final: false,
      blocked_on: [{ step_id: "send", reason_code: "HALTED", halt }],
      next: "ana halted tenant; lift the halt to continue send",
    });
    expect(await parkings(run)).toMatchObject([{ for: "halt", halt }]);
    expect(await engine.halts.list({ principal: anaPerson })).toEqual([halt]);
    expect(calls).toHaveLength(0);
    await engine.halts.lift({ principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(calls).toHaveLength(1);
    expect(await engine.halts.list({ principal: anaPerson })).toEqual([]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("stops an act that was already admitted, whatever the worker knew", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    expect((await (await worker.submit(to("a"), { principal: botAgent })).result()).status).toBe("completed");
    // The worker has just looked, and does not look again for a while.
    for (const everything of [false, true]) {
      const what = everything ? ({ principal: operator, everything: true } as const) : { principal: anaPerson };
      await office.halts.set({ ...what, reason: "stop" });
      const run = await worker.submit(to(`b ${everything}`), { principal: botAgent });
      expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
      expect(await collectEvents(run, "step.started")).toEqual([]);
      await office.halts.lift(what);
    }
    expect(calls).toHaveLength(1);
  });

  it("stops calls that do not act within a second", async () => {
    const stage = newStage();
    const { tool, calls } = scriptedTool("crm.read", () => ({}), { effect: "reads" });
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    await (await worker.submit(read, { principal: botAgent })).result();
    await office.halts.set(why);
    await stage.advance(1000);
    const { blocked_on } = await (await worker.submit(read, { principal: botAgent })).result();
    expect(blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(1);
  });

  it("over everything covers every tenant, and only operators set and lift it", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const tenants = { acme: { mode: "auto_exec" }, other: { mode: "auto_exec" } } as const;
    const engine = await stage.open({ tools: [tool], tenants });
    const all = { everything: true, reason: "stop" } as const;
    expect((await rejectedFault(engine.halts.set({ principal: anaPerson, ...all }))).code).toBe("AUTH_FORBIDDEN");
    await engine.halts.set({ principal: operator, ...all });
    const eve = { ...anaPerson, id: "eve", tenant: "other" };
    const run = await engine.submit(to("a"), { principal: { ...botAgent, tenant: "other" } });
    expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED", halt: { over: "everything" } }]);
    expect(await engine.halts.list({ principal: eve })).toMatchObject([{ over: "everything", by: "ops" }]);
    expect((await rejectedFault(engine.halts.lift({ principal: eve, everything: true }))).code).toBe("AUTH_FORBIDDEN");
    await engine.halts.lift({ principal: operator, everything: true });
    expect(calls).toHaveLength(0);
    // Runs of another tenant are not notified; they poll.
    await stage.advance(60_000);
    expect((await run.result()).status).toBe("completed");
  });

  it("over a tenant affects no other tenant", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set({ principal: { ...anaPerson, tenant: "other" }, reason: "stop" });
    expect(await engine.halts.list({ principal: anaPerson })).toEqual([]);
    expect((await (await engine.submit(to("a"), { principal: botAgent })).result()).status).toBe("completed");
  });

  it("over a run leaves other runs alone and reaches its child runs", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    const plan = {
      steps: [{ step_id: "wait", kind: "wait", payload: { ms: 10_000 } }, ...behind("wait", "send", to("b"))],
    };
    const parent = { steps: [{ step_id: "child", kind: "run", payload: { plan } }] };
    const halted = await engine.submit(parent, { principal: botAgent });
    await halted.result();
    await engine.halts.set({ ...why, runId: halted.run_id });
    expect((await engine.halts.list({ principal: anaPerson })).map(({ over }) => over)).toEqual([halted.run_id]);
    expect((await (await engine.submit(to("c"), { principal: botAgent })).result()).status).toBe("completed");
    await stage.advance(10_000);
    expect(calls.map(({ input }) => input.to)).toEqual(["c"]);
    await engine.halts.lift({ principal: anaPerson, runId: halted.run_id });
    await stage.advance(2000);
    expect((await halted.result()).status).toBe("completed");
    expect(calls.map(({ input }) => input.to)).toEqual(["c", "b"]);
    expect(await engine.halts.list({ principal: anaPerson })).toEqual([]);
  });

  it("over a run reaches every descendant and fork, under one name", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const note = scriptedTool("note", ({ context }) => context.slice(notes).append("it began") ?? {}, {
      effect: "writes",
    });
    const engine = await stage.open({ tools: [tool, note.tool], slices: [notes] });
    const late = (name: string) => ({
      steps: [{ step_id: "wait", kind: "wait", payload: { ms: 10_000 } }, ...behind("wait", "send", to(name))],
    });
    const asks = (plan: object) => ({ step_id: "ask", kind: "run", payload: { plan } });
    const begins = { step_id: "begin", name: "note", payload: {} };
    const first = await engine.submit(
      { steps: [begins, { ...asks({ steps: [asks(late("grandchild"))] }), depends_on: ["begin"] }] },
      { principal: botAgent },
    );
    await first.result();
    const at = { runId: first.run_id, stepId: "begin", side: "after" } as const;
    const fork = await engine.checkpoints.fork(at, { principal: anaPerson, plan: late("fork") });
    await fork.result();
    await engine.halts.set({ ...why, runId: first.run_id });
    expect((await engine.halts.list({ principal: anaPerson })).map(({ over }) => over)).toEqual([first.run_id]);
    // A fork that is made now is halted too.
    const evasion = await engine.checkpoints.fork(at, {
      principal: anaPerson,
      plan: { steps: [asks(to("child of a fork"))] },
    });
    await stage.advance(600_000);
    expect((await evasion.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toEqual([]);
    await engine.halts.lift({ principal: anaPerson, runId: first.run_id });
    await stage.advance(300_000);
    for (const run of [first, fork, evasion])
      expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed" });
    expect(calls.map(({ input }) => input.to).sort()).toEqual(["child of a fork", "fork", "grandchild"]);
  });

  it("notifies every waiting run when it is lifted, though the notifying worker died", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const store = stage.store();
    let pages = 0;
    const list: Store["list"] = async (tenant, query) => {
      if (query.where?.equals !== "waiting") return store.list(tenant, query);
      pages += 1;
      if (pages === 2) throw new FaultError(fault("STORE_FAILED", "nobody is there"));
      return store.list(tenant, { ...query, limit: 2 });
    };
    const engine = await stage.open({ tools: [tool], store: { ...store, list } });
    await engine.halts.set(why);
    const runs = await Promise.all("abcde".split("").map((name) => engine.submit(to(name), { principal: botAgent })));
    for (const run of runs) await run.result();
    await stage.advance(600_000);
    // As long as it has waited, it waits once more.
    for (const run of runs) expect((await parkings(run)).length).toBeLessThan(12);
    expect((await rejectedFault(engine.halts.lift({ principal: anaPerson }))).code).toBe("STORE_FAILED");
    await stage.advance(0);
    expect(calls).toHaveLength(2);
    expect((await rejectedFault(engine.halts.lift({ principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    await stage.advance(0);
    expect(calls).toHaveLength(5);
  });

  it("holds a tool's messages back until it is lifted", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const { tool } = scriptedTool("mail.send", async ({ context }) => {
      context.notice("sent", { to: "a" });
      return answer.promise;
    });
    const told: string[] = [];
    const onNotice = async ({ topic }: { readonly topic: string }) => void told.push(topic);
    const engine = await stage.open({ tools: [tool], onNotice });
    const run = await engine.submit(to("a"), { principal: botAgent });
    await stage.advance(0);
    await engine.halts.set(why);
    answer.keep({});
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    await stage.advance(600_000);
    expect(told).toEqual([]);
    await engine.halts.lift({ principal: anaPerson });
    await stage.advance(60_000);
    expect(told).toEqual(["sent"]);
  });

  it("stops a child run that is requested later", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    const asks = { step_id: "child", kind: "run", payload: { plan: to("b") } };
    const plan = {
      steps: [
        { step_id: "wait", kind: "wait", payload: { ms: 1000 } },
        { ...asks, depends_on: ["wait"] },
      ],
    };
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.halts.set({ ...why, runId: run.run_id });
    await stage.advance(5000);
    expect((await run.result()).blocked_on).toMatchObject([{ step_id: "child", reason_code: "HALTED" }]);
    await engine.halts.lift({ principal: anaPerson, runId: run.run_id });
    await stage.advance(2000);
    expect((await run.result()).status).toBe("completed");
    expect(calls).toHaveLength(1);
  });

  it("does not stop running calls, undo or verification", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const undone: string[] = [];
    const { tool } = scriptedTool("mail.send", () => answer.promise, {
      compensate: async () => void undone.push("m1"),
      verify: async () => ({ saw: "happened", output: { id: "m1" } }),
    });
    const doubted = scriptedTool("pay.out", lost(answer.promise), {
      verify: async () => ({ saw: "happened", output: {} }),
    });
    const engine = await stage.open({ tools: [tool, doubted.tool] });
    const run = await engine.submit(to("a"), { principal: botAgent });
    const pays = { steps: [{ step_id: "pay", name: "pay.out", payload: {} }] };
    const paid = await engine.submit(pays, { principal: botAgent });
    await stage.advance(0);
    await engine.halts.set(why);
    answer.keep({ id: "m1" });
    expect((await run.result()).status).toBe("completed");
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "compensated" });
    expect(undone).toEqual(["m1"]);
    expect((await stage.runUntilIdle(paid)).steps.pay).toMatchObject({ state: "succeeded" });
  });

  it("stops resending an act in doubt, while a person can still resolve it", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const { tool, calls } = scriptedTool("mail.send", lost(answer.promise), { idempotent: { forMs: 3_600_000 } });
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit(to("a"), { principal: botAgent });
    await stage.advance(0);
    await engine.halts.set(why);
    answer.keep({});
    await stage.advance(120_000);
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt" });
    expect(calls).toHaveLength(1);
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m1" } });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
  });

  it("survives a crash, and so do the runs that wait for it", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const first = await stage.open({ tools: [tool] });
    await first.halts.set(why);
    const { run_id } = await first.submit(to("a"), { principal: botAgent });
    await (await first.run(run_id, { principal: botAgent })).result();
    await stage.crash();
    const second = await stage.open({ tools: [tool] });
    await stage.advance(600_000);
    const run = await second.run(run_id, { principal: botAgent });
    expect(calls).toHaveLength(0);
    // It looks ever more seldom, so that waiting does not fill the journal.
    expect((await collectJournal(run)).length).toBeLessThan(30);
    await second.halts.lift({ principal: anaPerson });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(calls).toHaveLength(1);
  });

  it("applies though a slow store delays a call long after admission", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const office = await stage.open({ tools: [tool], work: false });
    const store = stage.store();
    const mark: Store["mark"] = async (...attempt) => {
      stage.clock.advance(600);
      await office.halts.set(why);
      return store.mark(...attempt);
    };
    const engine = await stage.open({ tools: [tool], store: { ...store, mark } });
    const run = await engine.submit(to("a"), { principal: botAgent });
    await stage.advance(60_000);
    expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(0);
    expect(await collectEvents(run, "step.failed")).toMatchObject([
      { fault: { message: "the call was not made: a halt was set, or could not be ruled out, before it was sent" } },
    ]);
  });

  it.each([
    ["the halts cannot be looked at", "row"],
    ["it is unknown whether the call was marked", "mark"],
  ] as const)("may be set while %s: no tool is called, and no attempt is used", async (_, fails) => {
    const stage = newStage();
    const { tool, calls } = sends();
    const store = stage.store();
    let faults = 0;
    const away = () => {
      faults += 1;
      return new FaultError(fault("STORE_UNKNOWN", "nobody is there"));
    };
    const mark: Store["mark"] = async (...attempt) => {
      stage.clock.advance(600);
      const marked = await store.mark(...attempt);
      if (fails === "mark" && faults === 0) throw away();
      return marked;
    };
    const row: Store["row"] = async (...of) => {
      if (fails === "row" && faults === 0 && stage.clock.now() > begun + 500) throw away();
      return store.row(...of);
    };
    const begun = stage.clock.now();
    const engine = await stage.open({ tools: [tool], store: { ...store, mark, row } });
    const run = await engine.submit(to("a", { retries: 0 }), { principal: botAgent });
    await stage.advance(5000);
    expect((await run.result()).status).toBe("completed");
    expect([faults, calls.length]).toEqual([1, 1]);
    expect(await collectEvents(run, "step.failed")).toMatchObject([{ fault: { code: "CALL_NOT_MADE" } }]);
    expect(await collectEvents(run, "step.doubted")).toEqual([]);
  });

  it("does not stop a simulation or a cancel", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set(why);
    expect((await engine.simulate(to("a"), { principal: botAgent })).acts).toHaveLength(1);
    const run = await engine.submit(to("a"), { principal: botAgent });
    await run.result();
    await run.cancel();
    expect((await run.result()).status).toBe("cancelled");
  });

  it("is set by a person with a reason, and is lifted where it was set, by a person", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    const service = { ...anaPerson, id: "monitor", kind: "service" } as const;
    expect((await rejectedFault(engine.halts.set({ ...why, principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    for (const reason of ["", " ", "x".repeat(1001), undefined as never])
      expect((await rejectedFault(engine.halts.set({ principal: anaPerson, reason }))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.halts.set({ ...why, runId: "run_x" }))).code).toBe("RUN_NOT_FOUND");
    const both = { ...why, principal: operator, runId: "run_x", everything: true } as const;
    expect((await rejectedFault(engine.halts.set(both))).code).toBe("INVALID_INPUT");
    expect((await rejectedFault(engine.halts.lift({ principal: anaPerson }))).code).toBe("NOT_POSSIBLE");
    expect(await stage.dump()).toEqual(before);
    await engine.halts.set({ principal: service, reason: "the error rate" });
    await engine.halts.set(why);
    expect(await engine.halts.list({ principal: anaPerson })).toMatchObject([{ by: "monitor" }]);
    expect((await rejectedFault(engine.halts.lift({ principal: service }))).code).toBe("AUTH_FORBIDDEN");
  });
});

/** Waits for the answer and never returns it. */
const lost =
  (answer: Promise<unknown>): ToolBehaviour =>
  async () => {
    await answer;
    throw new Error("the line is dead");
  };

function behind(first: string, then: string, { steps }: ReturnType<typeof to>) {
  return steps.map((step) => ({ ...step, step_id: then, depends_on: [first] }));
}
