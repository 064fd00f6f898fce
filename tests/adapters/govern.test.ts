import { describe, expect, it } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { mailTool } from "../engine/open-run-fixture.ts";
import { rejectedFault } from "../engine/scripted-tool.ts";

describe.each(storeKinds)("govern on $name", ({ newFixture }) => {
  async function governed(tools: readonly ReturnType<typeof mailTool>[], printed: string[] = []) {
    const engine = await newFixture().open({ tools: tools.map(({ tool }) => tool) });
    const print = (text: string) => void printed.push(text);
    const effects = { search: "reads" } as const;
    const open = (session: string) => govern({ engine, session, principal: botAgent, effects, print });
    return { engine, open };
  }

  it("refuses a tool with the name of a tool of the engine, and leaves that one as it was", async () => {
    const mail = mailTool();
    const { engine, open } = await governed([mail]);
    const writ = await open("chat");
    writ.declare([{ name: "mail" }]);
    const called = writ.call({ id: "1", tool: "mail", input: {} }, () => "another");
    expect(await rejectedFault(called)).toMatchObject({
      code: "TOOL_INVALID",
      message: "the engine already has a tool named mail; give the new one another name",
    });
    expect(await engine.call("mail", { to: "ana" }, { principal: botAgent })).toMatchObject({
      step: { state: "succeeded" },
    });
    expect(mail.calls.length).toBe(1);
  });

  it("lets the sessions of an engine declare the same tool", async () => {
    const { open } = await governed([]);
    for (const session of ["one", "two"]) {
      const writ = await open(session);
      writ.declare([{ name: "search" }]);
      const answer = await writ.call({ id: "1", tool: "search", input: {} }, () => session);
      expect(answer).toEqual({ status: "succeeded", output: session });
    }
  });

  it("prints the tools that are taken as acts at the first start, with the line to paste", async () => {
    const printed: string[] = [];
    const { open } = await governed([], printed);
    const tools = [{ name: "search" }, { name: "send" }, { name: "pay-out" }, { name: "web", outside: true }];
    for (const session of ["one", "two"]) (await open(session)).declare(tools);
    expect(printed).toEqual([
      [
        "writ: no effect is declared for send, pay-out, so each call is taken as an act.",
        'writ: declare what each tool does at worst ("pure", "reads", "writes" or "acts"):',
        '  effects: { send: "acts", "pay-out": "acts" }',
      ].join("\n"),
      "writ: outside Writ, because the provider or the client executes them: web.",
    ]);
  });
});
