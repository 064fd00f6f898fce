import { describe, expect, it } from "vitest";
import type { Demand } from "../../src/core/approval/approval-demand.ts";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { gated, mailTool, openedChat } from "./open-run-fixture.ts";
import { collectEvents, rejectedFault } from "./scripted-tool.ts";

const call = { id: "1", tool: "mail", input: { to: "ana" } };

/** Holds every call with this demand. */
const holding = (demand: Demand): { readonly guards: readonly VersionedGuard[] } => ({
  guards: [{ id: "ask", version: "1", judge: () => ({ kind: "hold", rule: "ask", reason: "intended?", demand }) }],
});

const confirmation = holding({ role: null, kind: "confirmation" });

describe.each(storeKinds)("the confirmation of a client on $name", ({ newFixture }) => {
  it("lets a call happen that is held for a confirmation only, and is on record", async () => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent], confirmation);
    expect(await run.callTool(call)).toMatchObject({ status: "held" });
    await run.confirmCall("1", { reason: "the button of the chat" });
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(sent.calls.length).toBe(1);
    const approved = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "gate.approved");
    expect(approved).toMatchObject([{ by: { id: "bot", kind: "agent" }, reason: "the button of the chat" }]);
  });

  it.each([
    ["an approval", gated],
    ["a confirmation and an approval", { ...confirmation, ...gated }],
  ])("leaves a call held that needs %s, and is on record", async (_, options) => {
    const sent = mailTool();
    const { engine, run } = await openedChat(newFixture(), [sent], options);
    await run.callTool(call);
    const refused = await rejectedFault(run.confirmCall("1"));
    expect(refused).toMatchObject({ code: "AUTH_FORBIDDEN" });
    expect(refused.message).toContain("never approves");
    expect(await run.findCall("1")).toMatchObject({ status: "held" });
    expect(sent.calls.length).toBe(0);
    const contested = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "gate.contested");
    expect(contested.length).toBe(1);
  });

  it("is refused for a call that is not held", async () => {
    const { run } = await openedChat(newFixture(), [mailTool()], confirmation);
    expect(await rejectedFault(run.confirmCall("1"))).toMatchObject({ code: "NOT_POSSIBLE" });
    await run.callTool(call);
    await run.confirmCall("1");
    expect(await rejectedFault(run.confirmCall("1"))).toMatchObject({ code: "NOT_POSSIBLE" });
  });
});
