import { describe, expect, it } from "vitest";
import { ANY_PERSON } from "../../src/core/approval/approval-demand.ts";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const step = (step_id: string, name: string, after: readonly string[] = []) => ({
  step_id,
  name,
  payload: { step_id },
  depends_on: after,
  on_failure: "skip",
});

describe.each(storeKinds)("undo of a run, on $name", ({ newFixture: newStage }) => {
  it("undoes what it can, latest first, and records the result for each act", async () => {
    const undone: unknown[] = [];
    const compensate = async ({ input }: { readonly input: unknown }) => void undone.push(input);
    const here = scriptedTool("book", () => ({}), { compensate, verify: async () => ({ saw: "absent" }) });
    const blind = scriptedTool("mail", () => ({}), { compensate });
    const final = scriptedTool("launch", () => ({}));
    const stuck = scriptedTool("pay", () => ({}), {
      compensate: async () => Promise.reject(new Error("bank closed")),
      errorsMean: "not_done",
    });
    const lost = scriptedTool("post", throwsFault("TOOL_FAILED"), { compensate });
    const read = scriptedTool("read", () => ({}), { effect: "reads" });
    const never = scriptedTool("call", throwsFault("TOOL_FAILED"), { errorsMean: "not_done" });
    const tools = [here, blind, final, stuck, lost, read, never].map(({ tool }) => tool);
    const stage = newStage();
    const engine = await stage.open({ tools });
    const names = ["book", "mail", "launch", "pay", "post", "read", "call"];
    const steps = names.map((name, nth) => step(name, name, nth === 0 || nth > 4 ? [] : [names[nth - 1] as string]));
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.runUntilIdle(run);
    const acts = await engine.undo(run.run_id, { principal: anaPerson, reason: "the trip is off" });
    expect(Object.fromEntries(acts.map(({ step_id, undone: how }) => [step_id, how]))).toEqual({
      book: "confirmed",
      mail: "unconfirmed",
      launch: "irreversible",
      pay: "failed",
      post: "not_attempted",
    });
    expect(undone).toEqual([{ step_id: "mail" }, { step_id: "book" }]);
    expect(acts.find(({ step_id }) => step_id === "post")?.why).toContain("is in doubt");
    expect(acts.find(({ step_id }) => step_id === "pay")?.why).toContain("bank closed");
    expect(await collectEvents(run, "run.undone")).toMatchObject([{ by: "ana", reason: "the trip is off", acts }]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("does nothing twice and reports the same when it is repeated", async () => {
    const undone: number[] = [];
    const { tool } = scriptedTool("mail", () => ({}), { compensate: async () => void undone.push(1) });
    const stage = newStage();
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: botAgent });
    await run.result();
    const first = await engine.undo(run.run_id, { principal: anaPerson });
    expect(await engine.undo(run.run_id, { principal: anaPerson })).toEqual(first);
    expect(undone).toHaveLength(1);
  });

  it("leaves held acts to a person and says so", async () => {
    const undone: number[] = [];
    const { tool } = scriptedTool("mail", () => ({}), { compensate: async () => void undone.push(1) });
    const asks: VersionedGuard = {
      id: "asks",
      version: "1",
      judge: ({ step: { cause } }) =>
        cause?.by === "undo"
          ? { kind: "hold", rule: "asks", reason: "look first", demand: ANY_PERSON }
          : { kind: "allow" },
    };
    const stage = newStage();
    const engine = await stage.open({ tools: [tool], guards: [asks] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: botAgent });
    await run.result();
    expect(await engine.undo(run.run_id, { principal: anaPerson })).toMatchObject([
      { undone: "not_attempted", why: "its undo is waiting_approval" },
    ]);
    expect(undone).toEqual([]);
  });

  it("is requested by a person of the run's tenant", async () => {
    const { tool, calls } = scriptedTool("mail", () => ({}), { compensate: async () => {} });
    const engine = await newStage().open({ tools: [tool] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: botAgent });
    await run.result();
    const other = { ...anaPerson, tenant: "other" };
    expect((await rejectedFault(engine.undo(run.run_id, { principal: other }))).code).toBe("RUN_NOT_FOUND");
    expect((await rejectedFault(engine.undo(run.run_id, { principal: botAgent }))).code).toBe("AUTH_FORBIDDEN");
    expect((await run.result()).steps.mail).toMatchObject({ state: "succeeded" });
    expect(calls).toHaveLength(1);
  });
});
