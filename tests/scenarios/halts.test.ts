import { describe, expect, it } from "vitest";
import { FaultError, fault } from "../../src/core/fault.ts";
import type { Store } from "../../src/core/store.ts";
import type { RunHandle } from "../../src/engine/api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, type Deed, eventsOf, faultOf, journalOf, promised } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const why = { principal: ana, reason: "it mails the wrong people" };
const operator = { ...ana, id: "ops", roles: ["operator"] };
const sends = () => actor("mail.send", () => ({ id: "m1" }));
const to = (name: string, more: object = {}) => ({
  steps: [{ step_id: "send", name: "mail.send", payload: { to: name }, ...more }],
});
const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const parkings = async (run: RunHandle) => (await eventsOf(run, "step.parked")).map(({ on }) => on);

describe.each(places)("a halt, on $name", ({ newStage }) => {
  it("keeps a tenant's calls from being made, says who and why, and lets them go on when it is lifted", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set(why);
    const run = await engine.submit(to("a"), { principal: bot });
    const result = await run.result();
    const halt = { over: "tenant", by: "ana", reason: why.reason, at: expect.any(Number) };
    expect(result).toMatchObject({
      status: "partial",
      final: false,
      blocked_on: [{ step_id: "send", reason_code: "HALTED", halt }],
      next: "ana halted tenant; lift the halt when send may go on",
    });
    expect(await parkings(run)).toMatchObject([{ for: "halt", halt }]);
    expect(await engine.halts.list({ principal: ana })).toEqual([halt]);
    expect(calls).toHaveLength(0);
    await engine.halts.lift({ principal: ana });
    expect((await run.result()).status).toBe("completed");
    expect(calls).toHaveLength(1);
    expect(await engine.halts.list({ principal: ana })).toEqual([]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("is met by an act that is on its way, whatever the worker knew", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    expect((await (await worker.submit(to("a"), { principal: bot })).result()).status).toBe("completed");
    // The worker has just looked, and does not look again for a while.
    for (const everything of [false, true]) {
      const what = everything ? ({ principal: operator, everything: true } as const) : { principal: ana };
      await office.halts.set({ ...what, reason: "stop" });
      const run = await worker.submit(to(`b ${everything}`), { principal: bot });
      expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
      expect(await eventsOf(run, "step.started")).toEqual([]);
      await office.halts.lift(what);
    }
    expect(calls).toHaveLength(1);
  });

  it("is met by what does not act, a second later at most", async () => {
    const stage = newStage();
    const { tool, calls } = actor("crm.read", () => ({}), { effect: "reads" });
    const worker = await stage.open({ tools: [tool] });
    const office = await stage.open({ tools: [tool], work: false });
    const read = { steps: [{ step_id: "read", name: "crm.read", payload: {} }] };
    await (await worker.submit(read, { principal: bot })).result();
    await office.halts.set(why);
    await stage.pass(1000);
    const { blocked_on } = await (await worker.submit(read, { principal: bot })).result();
    expect(blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(1);
  });

  it("over everything is for every tenant, and for operators to set and to lift", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const tenants = { acme: { mode: "auto_exec" }, other: { mode: "auto_exec" } } as const;
    const engine = await stage.open({ tools: [tool], tenants });
    const all = { everything: true, reason: "stop" } as const;
    expect((await faultOf(engine.halts.set({ principal: ana, ...all }))).code).toBe("AUTH_FORBIDDEN");
    await engine.halts.set({ principal: operator, ...all });
    const eve = { ...ana, id: "eve", tenant: "other" };
    const run = await engine.submit(to("a"), { principal: { ...bot, tenant: "other" } });
    expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED", halt: { over: "everything" } }]);
    expect(await engine.halts.list({ principal: eve })).toMatchObject([{ over: "everything", by: "ops" }]);
    expect((await faultOf(engine.halts.lift({ principal: eve, everything: true }))).code).toBe("AUTH_FORBIDDEN");
    await engine.halts.lift({ principal: operator, everything: true });
    expect(calls).toHaveLength(0);
    // Nobody tells the runs of another tenant; they look by themselves.
    await stage.pass(60_000);
    expect((await run.result()).status).toBe("completed");
  });

  it("over a tenant is nobody else's", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set({ principal: { ...ana, tenant: "other" }, reason: "stop" });
    expect(await engine.halts.list({ principal: ana })).toEqual([]);
    expect((await (await engine.submit(to("a"), { principal: bot })).result()).status).toBe("completed");
  });

  it("over a run leaves the others alone, and reaches those that it asked for", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const engine = await stage.open({ tools: [tool] });
    const plan = {
      steps: [{ step_id: "wait", kind: "wait", payload: { ms: 10_000 } }, ...behind("wait", "send", to("b"))],
    };
    const parent = { steps: [{ step_id: "child", kind: "run", payload: { plan } }] };
    const halted = await engine.submit(parent, { principal: bot });
    await halted.result();
    await engine.halts.set({ ...why, runId: halted.run_id });
    expect((await engine.halts.list({ principal: ana })).map(({ over }) => over)).toEqual([halted.run_id]);
    expect((await (await engine.submit(to("c"), { principal: bot })).result()).status).toBe("completed");
    await stage.pass(10_000);
    expect(calls.map(({ input }) => input.to)).toEqual(["c"]);
    await engine.halts.lift({ principal: ana, runId: halted.run_id });
    await stage.pass(2000);
    expect((await halted.result()).status).toBe("completed");
    expect(calls.map(({ input }) => input.to)).toEqual(["c", "b"]);
    expect(await engine.halts.list({ principal: ana })).toEqual([]);
  });

  it("over a run reaches whatever comes from it by any way, under the one name", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const note = actor("note", ({ context }) => context.slice(notes).append("it began") ?? {}, { effect: "writes" });
    const engine = await stage.open({ tools: [tool, note.tool], slices: [notes] });
    const late = (name: string) => ({
      steps: [{ step_id: "wait", kind: "wait", payload: { ms: 10_000 } }, ...behind("wait", "send", to(name))],
    });
    const asks = (plan: object) => ({ step_id: "ask", kind: "run", payload: { plan } });
    const begins = { step_id: "begin", name: "note", payload: {} };
    const first = await engine.submit(
      { steps: [begins, { ...asks({ steps: [asks(late("grandchild"))] }), depends_on: ["begin"] }] },
      { principal: bot },
    );
    await first.result();
    const at = { runId: first.run_id, stepId: "begin", side: "after" } as const;
    const fork = await engine.checkpoints.fork(at, { principal: ana, plan: late("fork") });
    await fork.result();
    await engine.halts.set({ ...why, runId: first.run_id });
    expect((await engine.halts.list({ principal: ana })).map(({ over }) => over)).toEqual([first.run_id]);
    // What an agent makes of it now is halted, too.
    const evasion = await engine.checkpoints.fork(at, {
      principal: bot,
      plan: { steps: [asks(to("child of a fork"))] },
    });
    await stage.pass(600_000);
    expect((await evasion.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toEqual([]);
    await engine.halts.lift({ principal: ana, runId: first.run_id });
    await stage.pass(300_000);
    for (const run of [first, fork, evasion]) expect(await stage.rest(run)).toMatchObject({ status: "completed" });
    expect(calls.map(({ input }) => input.to).sort()).toEqual(["child of a fork", "fork", "grandchild"]);
  });

  it("is told to all that wait for it when it is lifted, however many, though whoever told them died on the way", async () => {
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
    const runs = await Promise.all("abcde".split("").map((name) => engine.submit(to(name), { principal: bot })));
    for (const run of runs) await run.result();
    await stage.pass(600_000);
    // As long as it has waited, it waits once more.
    for (const run of runs) expect((await parkings(run)).length).toBeLessThan(12);
    expect((await faultOf(engine.halts.lift({ principal: ana }))).code).toBe("STORE_FAILED");
    await stage.pass(0);
    expect(calls).toHaveLength(2);
    expect((await faultOf(engine.halts.lift({ principal: ana }))).code).toBe("NOT_POSSIBLE");
    await stage.pass(0);
    expect(calls).toHaveLength(5);
  });

  it("keeps back what a tool had said, until it is lifted", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const { tool } = actor("mail.send", async ({ context }) => {
      context.notice("sent", { to: "a" });
      return answer.promise;
    });
    const told: string[] = [];
    const onNotice = async ({ topic }: { readonly topic: string }) => void told.push(topic);
    const engine = await stage.open({ tools: [tool], onNotice });
    const run = await engine.submit(to("a"), { principal: bot });
    await stage.pass(0);
    await engine.halts.set(why);
    answer.keep({});
    expect((await stage.rest(run)).status).toBe("completed");
    await stage.pass(600_000);
    expect(told).toEqual([]);
    await engine.halts.lift({ principal: ana });
    await stage.pass(60_000);
    expect(told).toEqual(["sent"]);
  });

  it("keeps a run that was asked for later from beginning, too", async () => {
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
    const run = await engine.submit(plan, { principal: bot });
    await run.result();
    await engine.halts.set({ ...why, runId: run.run_id });
    await stage.pass(5000);
    expect((await run.result()).blocked_on).toMatchObject([{ step_id: "child", reason_code: "HALTED" }]);
    await engine.halts.lift({ principal: ana, runId: run.run_id });
    await stage.pass(2000);
    expect((await run.result()).status).toBe("completed");
    expect(calls).toHaveLength(1);
  });

  it("takes nothing from what is under way, and lets what was done be undone and verified", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const undone: string[] = [];
    const { tool } = actor("mail.send", () => answer.promise, {
      compensate: async () => void undone.push("m1"),
      verify: async () => ({ saw: "happened", output: { id: "m1" } }),
    });
    const doubted = actor("pay.out", lost(answer.promise), { verify: async () => ({ saw: "happened", output: {} }) });
    const engine = await stage.open({ tools: [tool, doubted.tool] });
    const run = await engine.submit(to("a"), { principal: bot });
    const pays = { steps: [{ step_id: "pay", name: "pay.out", payload: {} }] };
    const paid = await engine.submit(pays, { principal: bot });
    await stage.pass(0);
    await engine.halts.set(why);
    answer.keep({ id: "m1" });
    expect((await run.result()).status).toBe("completed");
    await engine.resolve(run.run_id, "send", { principal: ana, as: "undo" });
    expect((await stage.rest(run)).steps.send).toMatchObject({ state: "compensated" });
    expect(undone).toEqual(["m1"]);
    expect((await stage.rest(paid)).steps.pay).toMatchObject({ state: "succeeded" });
  });

  it("lets nobody send again what is in doubt: a person can find out meanwhile", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const { tool, calls } = actor("mail.send", lost(answer.promise), { idempotent: { forMs: 3_600_000 } });
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit(to("a"), { principal: bot });
    await stage.pass(0);
    await engine.halts.set(why);
    answer.keep({});
    await stage.pass(120_000);
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt" });
    expect(calls).toHaveLength(1);
    await engine.resolve(run.run_id, "send", { principal: ana, as: "happened", output: { id: "m1" } });
    expect((await stage.rest(run)).status).toBe("completed");
  });

  it("is there after a crash; so is what waits for it", async () => {
    const stage = newStage();
    const { tool, calls } = sends();
    const first = await stage.open({ tools: [tool] });
    await first.halts.set(why);
    const { run_id } = await first.submit(to("a"), { principal: bot });
    await (await first.run(run_id, { principal: bot })).result();
    await stage.crash();
    const second = await stage.open({ tools: [tool] });
    await stage.pass(600_000);
    const run = await second.run(run_id, { principal: bot });
    expect(calls).toHaveLength(0);
    // It looks ever more seldom, so that waiting does not fill the journal.
    expect((await journalOf(run)).length).toBeLessThan(30);
    await second.halts.lift({ principal: ana });
    expect((await stage.rest(run)).status).toBe("completed");
    expect(calls).toHaveLength(1);
  });

  it("holds though the store is so slow that a call would begin long after it was judged", async () => {
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
    const run = await engine.submit(to("a"), { principal: bot });
    await stage.pass(60_000);
    expect((await run.result()).blocked_on).toMatchObject([{ reason_code: "HALTED" }]);
    expect(calls).toHaveLength(0);
    expect(await eventsOf(run, "step.failed")).toMatchObject([
      { fault: { message: "it was halted, or may have been, while the store let the call wait; it was not made" } },
    ]);
  });

  it.each([
    ["the halts cannot be looked at", "row"],
    ["nobody can say whether the call was announced", "mark"],
  ] as const)("may stand while %s: nothing is called then, and it costs no try", async (_, fails) => {
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
    const run = await engine.submit(to("a", { retries: 0 }), { principal: bot });
    await stage.pass(5000);
    expect((await run.result()).status).toBe("completed");
    expect([faults, calls.length]).toEqual([1, 1]);
    expect(await eventsOf(run, "step.failed")).toMatchObject([{ fault: { code: "CALL_NOT_MADE" } }]);
    expect(await eventsOf(run, "step.doubted")).toEqual([]);
  });

  it("does not keep a plan from being rehearsed, or cancelled", async () => {
    const stage = newStage();
    const { tool } = sends();
    const engine = await stage.open({ tools: [tool] });
    await engine.halts.set(why);
    expect((await engine.simulate(to("a"), { principal: bot })).acts).toHaveLength(1);
    const run = await engine.submit(to("a"), { principal: bot });
    await run.result();
    await run.cancel();
    expect((await run.result()).status).toBe("cancelled");
  });

  it("is no agent's, has a reason, and is only lifted where it stands, by a person", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const before = await stage.dump();
    const service = { ...ana, id: "monitor", kind: "service" } as const;
    expect((await faultOf(engine.halts.set({ ...why, principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    for (const reason of ["", " ", "x".repeat(1001), undefined as never])
      expect((await faultOf(engine.halts.set({ principal: ana, reason }))).code).toBe("INVALID_INPUT");
    expect((await faultOf(engine.halts.set({ ...why, runId: "run_x" }))).code).toBe("RUN_NOT_FOUND");
    const both = { ...why, principal: operator, runId: "run_x", everything: true } as const;
    expect((await faultOf(engine.halts.set(both))).code).toBe("INVALID_INPUT");
    expect((await faultOf(engine.halts.lift({ principal: ana }))).code).toBe("NOT_POSSIBLE");
    expect(await stage.dump()).toEqual(before);
    await engine.halts.set({ principal: service, reason: "the error rate" });
    await engine.halts.set(why);
    expect(await engine.halts.list({ principal: ana })).toMatchObject([{ by: "monitor" }]);
    expect((await faultOf(engine.halts.lift({ principal: service }))).code).toBe("AUTH_FORBIDDEN");
  });
});

/** Whatever came of it, nobody hears. */
const lost =
  (answer: Promise<unknown>): Deed =>
  async () => {
    await answer;
    throw new Error("the line is dead");
  };

function behind(first: string, then: string, { steps }: ReturnType<typeof to>) {
  return steps.map((step) => ({ ...step, step_id: then, depends_on: [first] }));
}
