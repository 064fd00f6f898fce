import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";

const acme = "acme" as Tenant;

/** A tool that sends a notice, and a second tool that only some workers have. */
function tools(sent: string[]) {
  const object = z.object({});
  const ping = defineTool({
    name: "ping",
    effect: "reads",
    input: object,
    output: object,
    run: async (_, { notice }) => {
      notice("pinged", {});
      return {};
    },
  });
  const send = defineTool({
    name: "send",
    effect: "acts",
    input: object,
    output: object,
    run: async () => {
      sent.push("sent");
      return {};
    },
  });
  return { ping, send };
}

const plan = {
  steps: [
    { step_id: "ping", name: "ping", payload: {} },
    { step_id: "send", name: "send", payload: {}, depends_on: ["ping"] },
  ],
};

const refuses: Pick<EngineOptions, "onNotice"> = {
  onNotice: async () => {
    throw new Error("the receiver is down");
  },
};

/** Submits the plan, which a worker without `send` continues and holds, because its notice is not accepted. */
async function holdRun(stage: EngineFixture): Promise<{ readonly run: RunId; readonly holder: Engine }> {
  const { ping, send } = tools([]);
  const submitter = await stage.open({ tools: [ping, send], work: false });
  const holder = await stage.open({ tools: [ping], ...refuses });
  const { run_id } = await submitter.submit(plan, { principal: botAgent });
  await stage.advance(3000);
  const { blocked_on } = await (await holder.run(run_id, { principal: anaPerson })).now();
  expect(blocked_on).toMatchObject([{ step_id: "send", reason_code: "TOOL_MISSING" }]);
  expect(await stage.store().holdings(acme, "", 9)).toHaveLength(1);
  return { run: run_id as RunId, holder };
}

describe.each(storeKinds)("a run that a worker holds, on $name", ({ newFixture }) => {
  it("is handed over to a worker with the tool of its waiting step, and each act happens once", async () => {
    const stage = newFixture();
    const { run } = await holdRun(stage);
    const sent: string[] = [];
    const { ping, send } = tools(sent);
    const second = await stage.open({ tools: [ping, send] });
    const result = await stage.runUntilIdle(await second.run(run, { principal: anaPerson }));
    expect([result.status, sent]).toEqual(["completed", ["sent"]]);
  });

  it("stays with a worker that has a call in flight, which hands it over when the call has ended", async () => {
    const stage = newFixture();
    let finish = () => {};
    const slow = defineTool({
      name: "slow",
      effect: "reads",
      timeoutMs: 600_000,
      input: z.object({}),
      output: z.object({}),
      run: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
    });
    const store = stage.store();
    const first = await stage.open({ tools: [slow] });
    const handle = await first.submit(
      { steps: [{ step_id: "a", name: "slow", payload: {} }] },
      { principal: botAgent },
    );
    await stage.advance(100);
    const [lease] = await store.holdings(acme, "", 9);
    expect(await store.ask("asker" as never, acme, handle.run_id as RunId)).toBe(true);
    await stage.advance(5000);
    expect(await store.holdings(acme, "", 9)).toMatchObject([{ worker: lease?.worker }]);
    finish();
    await stage.advance(100);
    expect((await handle.now()).status).toBe("completed");
    expect(await store.holdings(acme, "", 9)).toMatchObject([{ worker: "asker" }]);
  });

  it("is not handed over to a worker with other rules", async () => {
    const stage = newFixture();
    const { run } = await holdRun(stage);
    const sent: string[] = [];
    const { ping, send } = tools(sent);
    const other = await stage.open({ tools: [ping, send], zone: "Asia/Tokyo" });
    const result = await stage.runUntilIdle(await other.run(run, { principal: anaPerson }));
    expect([result.final, sent]).toEqual([false, []]);
  });

  it("goes on if the worker that asked for it dies before it claims the run", async () => {
    const stage = newFixture();
    const { run, holder } = await holdRun(stage);
    const store = stage.store();
    const asker = "asker" as never;
    await store.registerWorker(asker);
    await store.ask(asker, acme, run);
    await stage.advance(3000);
    expect(await store.holdings(acme, "", 9)).toMatchObject([{ worker: "asker" }]);
    await holder.close();
    await store.close();
    stage.loseLeases();
    const sent: string[] = [];
    const { ping, send } = tools(sent);
    const last = await stage.open({ tools: [ping, send] });
    const result = await stage.runUntilIdle(await last.run(run, { principal: anaPerson }));
    expect([result.status, sent]).toEqual(["completed", ["sent"]]);
  });
});
