import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

  it("answers a refused request with a problem document", async () => {
    const person = served.client();
    await expect(person.run("run_none")).rejects.toMatchObject({ fault: { code: "RUN_NOT_FOUND" } });
    await expect(person.submit({ steps: [] })).rejects.toMatchObject({ fault: { code: "PLAN_INVALID" } });
    expect(served.bugs).toEqual([]);
  });
});
