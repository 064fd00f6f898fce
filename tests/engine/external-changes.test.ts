import { describe, expect, it } from "vitest";
import type { ExternalChange } from "../../src/core/tool/external-change.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

const issue: ExternalChange = { type: "tracker.issue", id: "7", operation: "created", etag: "e1", ref: "tracker:7" };
const label: ExternalChange = { type: "tracker.label", id: "7/bug", operation: "added" };
const plan = { steps: [{ step_id: "file", name: "issue.file", payload: { title: "leak" } }] };
const auto = { tenants: { acme: { mode: "auto_exec" } } } as const;

function filing(more: object = {}, ending: () => object = () => ({ id: "7" })) {
  return scriptedTool(
    "issue.file",
    ({ context }) => {
      context.changed(issue);
      context.changed(label);
      return ending();
    },
    more,
  );
}

describe.each(storeKinds)("a change that an act reports, on $name", ({ newFixture }) => {
  it("is on record with the act that made it, also after a crash", async () => {
    const stage = newFixture();
    const { tool } = filing();
    const engine = await stage.open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    await stage.crash();
    const again = await stage.open({ tools: [tool], ...auto });
    const [done] = await collectEvents(await again.run(run.run_id, { principal: anaPerson }), "step.succeeded");
    expect(done?.changes).toEqual([issue, label]);
  });

  it.each([
    [
      "fails",
      () => {
        throw new FaultError(fault("TOOL_FAILED", "no"));
      },
      { errorsMean: "not_done" },
      "step.failed",
    ],
    [
      "is in doubt",
      () => {
        throw new Error("cut");
      },
      {},
      "step.doubted",
    ],
  ] as const)("is on record although the act %s", async (_, ending, more, type) => {
    const { tool } = filing(more, ending);
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [ended] = await collectEvents(run, type);
    expect(ended).toMatchObject({ changes: [issue, label] });
  });

  it.each([
    ["each is still there", {}, "confirmed", ["confirmed", "confirmed"]],
    ["one is gone", { "7/bug": { saw: "absent" } }, "different", ["confirmed", "missing"]],
    ["one differs", { 7: { saw: "happened", differs: "its etag is e2" } }, "different", ["different", "confirmed"]],
    ["a verifier cannot find out", { 7: { saw: "unknown" } }, "not_verifiable", ["unknown", "confirmed"]],
  ] as const)("is verified by itself: %s", async (_, seen: Readonly<Record<string, object>>, found, changes) => {
    const verifyChange = ({ change }: { readonly change: ExternalChange }) => seen[change.id] ?? { saw: "happened" };
    const { tool } = filing({ verifyChange });
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [act] = await engine.verify(run.run_id, { principal: anaPerson, reason: "daily check" });
    expect(act?.found).toBe(found);
    expect(act?.changes?.map((each) => each.found)).toEqual(changes);
    expect(act?.changes?.map(({ change }) => change)).toEqual([issue, label]);
    const [verified] = await collectEvents(run, "run.verified");
    expect(verified?.acts[0]?.changes).toEqual(act?.changes);
  });

  it("without a verifier is not_verifiable, and that is on record", async () => {
    const { tool } = filing();
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [act] = await engine.verify(run.run_id, { principal: anaPerson, reason: "" });
    expect(act?.changes?.map(({ found }) => found)).toEqual(["not_verifiable", "not_verifiable"]);
  });

  it("is given to the compensation of the act", async () => {
    const undone: unknown[] = [];
    const { tool } = filing({
      compensate: (done: { readonly changes: unknown }) => {
        undone.push(done.changes);
        return null;
      },
    });
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.undo(run.run_id, { principal: anaPerson, reason: "wrong" });
    expect(undone).toEqual([[issue, label]]);
  });

  it.each([
    ["no text as id", { type: "t", id: 7, operation: "created" }],
    ["an unknown field", { ...issue, colour: "red" }],
    ["an empty operation", { type: "t", id: "7", operation: "" }],
  ])("with %s leaves the act in doubt, with the reason", async (_, change) => {
    const { tool } = scriptedTool("issue.file", ({ context }) => {
      context.changed(change as never);
      return { id: "7" };
    });
    const engine = await newFixture().open({ tools: [tool], ...auto });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [doubted] = await collectEvents(run, "step.doubted");
    expect(doubted?.fault.message).toContain("a change that the tool recorded is invalid");
  });

  it("of a tool that does not act fails its call, and says which effect to declare", async () => {
    const { tool } = filing({ effect: "reads" });
    const engine = await newFixture().open({ tools: [tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [failed] = await collectEvents(run, "step.failed");
    expect(failed?.fault).toMatchObject({
      code: "TOOL_INVALID",
      message: expect.stringContaining("its effect is acts"),
    });
  });

  it("is limited in number; beyond the limit the act is in doubt", async () => {
    const { tool } = filing();
    const engine = await newFixture().open({ tools: [tool], ...auto, limits: { changesPerStep: 1 } });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const [doubted] = await collectEvents(run, "step.doubted");
    expect(doubted).toMatchObject({ fault: { detail: { code: "LIMIT_EXCEEDED" } }, changes: [issue] });
  });
});

describe("verifyChange", () => {
  it("is refused for a tool that does not act", () => {
    expect(() => filing({ effect: "reads", verifyChange: () => ({ saw: "unknown" }) })).toThrow("only for acts");
  });
});
