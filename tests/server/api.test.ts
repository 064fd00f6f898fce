import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineReplanner } from "../../src/schema/define-replanner.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

let served: ServedEngine;
beforeAll(async () => {
  served = await serveEngine();
});
afterAll(() => served.close());

describe("the HTTP API", () => {
  it("submits a plan, waits for its gate, approves it, and acts once", async () => {
    const agent = served.client({ id: "bot", kind: "agent" });
    const person = served.client();
    const run = await agent.submit(planOf("ana@example.org"), { requestKey: "welcome" });
    expect(run.attached).toBe(false);
    const rested = await run.result();
    expect(rested.gates).toHaveLength(1);
    const [gate] = await person.gates();
    expect(gate).toMatchObject({ tool: "mail.send", run_id: run.run_id });
    await person.approve(gate?.gate_id as string, { reason: "known" });
    expect((await run.finished()).status).toBe("completed");
    expect(served.sent).toEqual(["ana@example.org"]);
    const again = await agent.submit(planOf("ana@example.org"), { requestKey: "welcome" });
    expect(again).toMatchObject({ run_id: run.run_id, attached: true });
  });

  it("streams the events of a run until its end", async () => {
    const person = served.client();
    const run = await person.submit(planOf("x", "text.echo"));
    const seen: number[] = [];
    for await (const { position } of run.events({ follow: true })) seen.push(position);
    expect(seen).toEqual(seen.map((_, at) => at + 1));
    const read: number[] = [];
    for await (const { position } of run.events()) read.push(position);
    expect(read).toEqual(seen);
  });

  it("shows the turns of a session to a reader who has the id of its run", async () => {
    const session = await served.client({ id: "bot", kind: "agent" }).openRun({ session: "chat" });
    await session.callTools([{ id: "call.1", tool: "text.echo", input: { to: "hello" } }]);
    const turns = await (await served.client().run(session.run_id)).turns();
    expect(turns).toMatchObject([{ model: null, calls: [{ id: "call.1", answer: { status: "succeeded" } }] }]);
    expect(turns).toEqual(await session.turns());
  });

  it("replans a run, with fallback plans first", async () => {
    const replan = () => planOf("third", "text.echo");
    await served.engine.tools.put([defineReplanner({ name: "planner", replan })]);
    const failing = (value: string) => ({
      steps: [
        { step_id: "send", name: "text.echo", payload: { to: value } },
        { step_id: "same", kind: "assertion", payload: { step: "send", path: "/to", operator: "eq", value: "no" } },
      ],
    });
    const run = await served.client().submit(failing("first"), {
      fallbacks: [failing("second")],
      replan: { by: "planner", attempts: 2, delayMs: 1 },
    });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      replanned: { plans: 3, asked: 1 },
      steps: { "send@3": { output: { to: "third" } } },
    });
  });

  it("answers a refused request with a problem document", async () => {
    const person = served.client();
    await expect(person.run("run_none")).rejects.toMatchObject({ fault: { code: "RUN_NOT_FOUND" } });
    await expect(person.submit({ steps: [] })).rejects.toMatchObject({ fault: { code: "PLAN_INVALID" } });
    expect(served.bugs).toEqual([]);
  });
});
