import { describe, expect, it } from "vitest";
import { ANYONE } from "../../src/core/demand.ts";
import type { Guard } from "../../src/core/guard.ts";
import { actor, eventsOf, faultOf, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const step = (step_id: string, name: string, after: readonly string[] = []) => ({
  step_id,
  name,
  payload: { step_id },
  depends_on: after,
  on_failure: "skip",
});

describe.each(places)("undoing a run, on $name", ({ newStage }) => {
  it("undoes what it can, the latest first, and tells of each act what became of it, on the record", async () => {
    const undone: unknown[] = [];
    const compensate = async ({ input }: { readonly input: unknown }) => void undone.push(input);
    const here = actor("book", () => ({}), { compensate, verify: async () => ({ saw: "absent" }) });
    const blind = actor("mail", () => ({}), { compensate });
    const final = actor("launch", () => ({}));
    const stuck = actor("pay", () => ({}), {
      compensate: async () => Promise.reject(new Error("bank closed")),
      errorsMean: "not_done",
    });
    const lost = actor("post", throws("TOOL_FAILED"), { compensate });
    const read = actor("read", () => ({}), { effect: "reads" });
    const never = actor("call", throws("TOOL_FAILED"), { errorsMean: "not_done" });
    const tools = [here, blind, final, stuck, lost, read, never].map(({ tool }) => tool);
    const stage = newStage();
    const engine = await stage.open({ tools });
    const names = ["book", "mail", "launch", "pay", "post", "read", "call"];
    const steps = names.map((name, nth) => step(name, name, nth === 0 || nth > 4 ? [] : [names[nth - 1] as string]));
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.rest(run);
    const acts = await engine.undo(run.run_id, { principal: ana, reason: "the trip is off" });
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
    expect(await eventsOf(run, "run.undone")).toMatchObject([{ by: "ana", reason: "the trip is off", acts }]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("does nothing twice, and says the same when it is asked again", async () => {
    const undone: number[] = [];
    const { tool } = actor("mail", () => ({}), { compensate: async () => void undone.push(1) });
    const stage = newStage();
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: bot });
    await run.result();
    const first = await engine.undo(run.run_id, { principal: ana });
    expect(await engine.undo(run.run_id, { principal: ana })).toEqual(first);
    expect(undone).toHaveLength(1);
  });

  it("leaves what a rule holds to a person, and says so", async () => {
    const undone: number[] = [];
    const { tool } = actor("mail", () => ({}), { compensate: async () => void undone.push(1) });
    const asks: Guard = {
      id: "asks",
      judge: ({ step: { cause } }) =>
        cause?.by === "undo" ? { kind: "hold", rule: "asks", reason: "look first", demand: ANYONE } : { kind: "allow" },
    };
    const stage = newStage();
    const engine = await stage.open({ tools: [tool], guards: [asks] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: bot });
    await run.result();
    expect(await engine.undo(run.run_id, { principal: ana })).toMatchObject([
      { undone: "not_attempted", why: "its undoing is waiting_approval" },
    ]);
    expect(undone).toEqual([]);
  });

  it("is of a run of one's own tenant, by a person", async () => {
    const { tool, calls } = actor("mail", () => ({}), { compensate: async () => {} });
    const engine = await newStage().open({ tools: [tool] });
    const run = await engine.submit({ steps: [step("mail", "mail")] }, { principal: bot });
    await run.result();
    const other = { ...ana, tenant: "other" };
    expect((await faultOf(engine.undo(run.run_id, { principal: other }))).code).toBe("RUN_NOT_FOUND");
    expect(await engine.undo(run.run_id, { principal: bot })).toMatchObject([{ undone: "not_attempted" }]);
    expect((await run.result()).steps.mail).toMatchObject({ state: "succeeded" });
    expect(calls).toHaveLength(1);
  });
});
