import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { OpenRun, OpenRunOptions } from "../../src/engine/api/open-run-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { mailTool, openChat, openedChat, reads, searchTool } from "./open-run-fixture.ts";
import { chat, chatAnswer, user } from "./scripted-model.ts";
import { collectEvents, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const task = () => scriptedTool("task", () => null, reads);
const call = { id: "1", tool: "task", input: { goal: "find" } };

/** Opens the session of the sub-agent that does the call with this context. */
function openSubAgent(engine: Engine, { run_id, step_id }: ToolContext, more: Partial<OpenRunOptions> = {}) {
  const parent = { runId: run_id, stepId: step_id };
  return engine.openRun({ session: "helper", principal: botAgent, parent, ...more });
}

describe.each(storeKinds)("R13: a sub-agent on $name", ({ newFixture }) => {
  it("is a child run of the call that it does, and its answer is that of the call", async () => {
    const found = searchTool();
    const { engine, run } = await openedChat(newFixture(), [task(), found]);
    let helper: OpenRun | null = null;
    const answer = await run.callTool(call, {
      run: async (_, context) => {
        helper = await openSubAgent(engine, context);
        const inner = await helper.callTool({ id: "a", tool: "search", input: { q: 1 } });
        await helper.close();
        return inner.status;
      },
    });
    expect(answer).toEqual({ status: "succeeded", output: "succeeded" });
    const { run_id } = helper as unknown as OpenRun;
    expect(run_id.startsWith(`${run.run_id}-`)).toBe(true);
    const parent = await engine.run(run.run_id, { principal: botAgent });
    expect(await collectEvents(parent, "step.delegated")).toMatchObject([{ step_id: "c1", run_id }]);
    const child = await engine.run(run_id, { principal: botAgent });
    const [accepted] = await collectEvents(child, "run.accepted");
    expect(accepted).toMatchObject({
      parent: { run_id: run.run_id, step_id: "c1", depth: 1 },
      opened: { root: "chat" },
    });
    expect(await child.result()).toMatchObject({ status: "completed", final: true });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("is found again by a parent that was killed", async () => {
    const stage = newFixture();
    const tools = () => [task(), searchTool()];
    const { engine, run } = await openedChat(stage, tools());
    const started = deferred<string>();
    void run
      .callTool(call, {
        run: async (_, context) => {
          const helper = await openSubAgent(engine, context);
          await helper.callTool({ id: "a", tool: "search", input: { q: 1 } });
          started.keep(helper.run_id);
          return new Promise(() => {});
        },
      })
      .catch(() => {});
    const first = await started.promise;
    await stage.crash();
    const later = tools();
    const other = await stage.open({ tools: later.map(({ tool }) => tool) });
    await stage.advance(120_000);
    const again = await openChat(other, { waitMs: 60_000 });
    const answer = await again.callTool(call, {
      run: async (_, context) => {
        const helper = await openSubAgent(other, context, { waitMs: 60_000 });
        return {
          same: helper.run_id === first,
          inner: await helper.callTool({ id: "a", tool: "search", input: { q: 1 } }),
        };
      },
    });
    expect(answer).toMatchObject({ output: { same: true, inner: { status: "succeeded" } } });
    expect(later[1]?.calls.length).toBe(0);
  });

  it.each(["cancel", "close"] as const)(
    "is cancelled when its parent is told to %s before the call has ended",
    async (how) => {
      const stage = newFixture();
      const { engine, run } = await openedChat(stage, [task(), searchTool()]);
      const opened = deferred<OpenRun>();
      const calling = run.callTool(call, {
        run: async (_, context) => {
          opened.keep(await openSubAgent(engine, context));
          return new Promise(() => {});
        },
      });
      calling.catch(() => {});
      const helper = await opened.promise;
      if (how === "close") await run.close();
      else await (await engine.run(run.run_id, { principal: anaPerson })).cancel({ reason: "stop" });
      await stage.advance(1000);
      const child = await (await engine.run(helper.run_id, { principal: botAgent })).result();
      expect(child).toMatchObject({ status: "cancelled", final: true });
      const late = await rejectedFault(helper.callTool({ id: "b", tool: "search", input: {} }));
      expect(late.code).toBe("RUN_CLOSED");
    },
  );

  it("is cancelled when a branch above leaves its call", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [task(), searchTool()]);
    const opened = deferred<OpenRun>();
    await run.recordModelCall(chat(user("find")), () => chatAnswer(null, { ...call, id: "1" }));
    const calling = run.callTool(call, {
      run: async (_, context) => {
        opened.keep(await openSubAgent(engine, context));
        return new Promise(() => {});
      },
    });
    calling.catch(() => {});
    const helper = await opened.promise;
    await run.recordModelCall(chat(user("never mind")), () => chatAnswer("all right"));
    await stage.advance(1000);
    const child = await (await engine.run(helper.run_id, { principal: botAgent })).result();
    expect(child).toMatchObject({ status: "cancelled", final: true });
    await run.close();
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("inherits the deadline, and pays from the budget of the root session", async () => {
    const stage = newFixture();
    const budgets = [{ unit: "calls", limit: 2, per: "session", tool: "mail" }] as const;
    const engine = await stage.open({ tools: [task(), mailTool()].map(({ tool }) => tool), budgets });
    const run = await openChat(engine, { deadlineMs: 50_000 });
    expect(await run.callTool({ id: "0", tool: "mail", input: {} })).toMatchObject({ status: "succeeded" });
    const answer = await run.callTool(call, {
      run: async (_, context) => {
        const helper = await openSubAgent(engine, context, { deadlineMs: 1_000_000 });
        const [accepted] = await collectEvents(
          await engine.run(helper.run_id, { principal: botAgent }),
          "run.accepted",
        );
        const first = await helper.callTool({ id: "1", tool: "mail", input: {} });
        const second = await helper.callTool({ id: "2", tool: "mail", input: {} });
        const fault = second.status === "refused" ? second.fault.code : null;
        return { left: (accepted?.deadline_at ?? 0) - stage.clock.now(), first: first.status, fault };
      },
    });
    expect(answer).toMatchObject({ output: { first: "succeeded", fault: "BUDGET_EXCEEDED" } });
    const { output } = answer as unknown as { readonly output: { readonly left: number } };
    expect(output.left).toBeLessThanOrEqual(50_000);
    const other = await openChat(engine, { session: "another" });
    expect(await other.callTool({ id: "1", tool: "mail", input: {} })).toMatchObject({ status: "succeeded" });
  });

  it("is refused for a call that has ended, of another principal, too deep, or with another parent", async () => {
    const stage = newFixture();
    const engine = await stage.open({
      tools: [task(), searchTool()].map(({ tool }) => tool),
      limits: { childDepth: 1 },
    });
    const run = await openChat(engine);
    const parent = { runId: run.run_id, stepId: "c1" };
    await run.callTool(call, {
      run: async (_, context) => {
        const helper = await openSubAgent(engine, context);
        expect(
          (await rejectedFault(openChat(engine, { session: "helper", parent: { ...parent, stepId: "c2" } }))).code,
        ).toBe("SESSION_DIFFERS");
        const other = { ...botAgent, id: "rob" };
        expect((await rejectedFault(openSubAgent(engine, context, { principal: other }))).code).toBe("AUTH_FORBIDDEN");
        expect((await rejectedFault(openSubAgent(engine, context, { project: "x" }))).code).toBe("SESSION_DIFFERS");
        await helper.callTool(call, {
          run: async (__, inner) => {
            expect((await rejectedFault(openSubAgent(engine, inner, { session: "deep" }))).code).toBe("LIMIT_EXCEEDED");
          },
        });
      },
    });
    expect((await rejectedFault(openChat(engine, { session: "late", parent }))).code).toBe("NOT_POSSIBLE");
    expect((await rejectedFault(openChat(engine, { session: "x", parent: { ...parent, runId: "run_x" } }))).code).toBe(
      "RUN_NOT_FOUND",
    );
    for (const bad of [{}, { runId: "a" }, { ...parent, more: 1 }, 7])
      expect((await rejectedFault(openChat(engine, { session: "x", parent: bad as never }))).code).toBe(
        "INVALID_INPUT",
      );
  });
});
