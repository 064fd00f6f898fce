import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const rob = { ...botAgent, id: "rob" };
const plan = { steps: [{ step_id: "a", name: "look" }] };
const look = () => scriptedTool("look", () => 1, { effect: "reads" });

describe.each(storeKinds)("a session that is opened by name, on $name", ({ newFixture }) => {
  it("exists from its opening to its end, in its project and tenant only, for every engine", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [] });
    const other = await stage.open({ tools: [] });
    const place = { principal: botAgent, project: "garden" };
    expect(await engine.sessions.exists("desk", place)).toBe(false);
    expect(await engine.sessions.close("desk", place)).toBe(false);
    const opened = { session: "desk", project: "garden", opened_by: "bot", opened_at: stage.clock.now(), closed: null };
    expect(await engine.sessions.open({ ...place, session: "desk" })).toEqual(opened);
    stage.clock.advance(1000);
    expect(await other.sessions.open({ ...place, session: "desk" })).toEqual(opened);
    expect(await other.sessions.exists("desk", place)).toBe(true);
    expect(await other.sessions.exists("desk", { principal: botAgent })).toBe(false);
    expect(await other.sessions.exists("desk", { ...place, principal: { ...botAgent, tenant: "globex" } })).toBe(false);
    expect(await other.sessions.close("desk", { ...place, reason: "done" })).toBe(true);
    expect(await engine.sessions.exists("desk", place)).toBe(false);
    expect(await engine.sessions.close("desk", place)).toBe(false);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("has a new name where none is given", async () => {
    const engine = await newFixture().open({ tools: [] });
    const [one, two] = [
      await engine.sessions.open({ principal: botAgent }),
      await engine.sessions.open({ principal: botAgent }),
    ];
    expect(one.session).not.toBe(two.session);
    expect(await engine.sessions.exists(one.session, { principal: botAgent })).toBe(true);
  });

  it("takes no more runs once it is closed, on record, until it is opened again; runs at work go on", async () => {
    const { tool, calls } = look();
    const stage = newFixture();
    const engine = await stage.open({ tools: [tool] });
    const options = { principal: botAgent, session: "desk" };
    await engine.sessions.open(options);
    const wait = { step_id: "w", kind: "wait", payload: { ms: 1000 } };
    const late = { step_id: "a", name: "look", depends_on: ["w"] };
    const run = await engine.submit({ steps: [wait, late] }, options);
    await engine.sessions.close("desk", { principal: botAgent, reason: "evening" });
    const why = { code: "RUN_CLOSED", message: expect.stringContaining("closed by bot (evening)") };
    const uses = [
      () => engine.submit(plan, options),
      () => engine.call("look", {}, options),
      () => engine.openRun(options),
      () => engine.submit(plan, { ...options, requestKey: "k" }),
    ];
    for (const use of uses) expect(await rejectedFault(use())).toMatchObject(why);
    const refused = await engine.runs({ principal: anaPerson, status: "rejected" });
    expect(refused).toHaveLength(3);
    await stage.advance(1000);
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    const at = { runId: run.run_id, stepId: "a", side: "before" } as const;
    expect(await rejectedFault(engine.checkpoints.fork(at, { principal: anaPerson }))).toMatchObject(why);
    expect(calls).toHaveLength(1);
    await engine.sessions.open(options);
    expect((await (await engine.submit(plan, { ...options, requestKey: "k" })).finished()).status).toBe("completed");
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("is closed by the agent that opened it, a service or a person, and by no other agent", async () => {
    const engine = await newFixture().open({ tools: [] });
    await engine.sessions.open({ principal: botAgent, session: "desk" });
    expect((await rejectedFault(engine.sessions.close("desk", { principal: rob }))).code).toBe("AUTH_FORBIDDEN");
    expect(await engine.sessions.close("desk", { principal: anaPerson })).toBe(true);
  });

  it("is opened and closed once, however many processes ask", async () => {
    const stage = newFixture();
    const engines = [await stage.open({ tools: [] }), await stage.open({ tools: [] })];
    const both = <Answer>(work: (engine: (typeof engines)[number]) => Promise<Answer>) =>
      Promise.all(engines.map(work));
    const rows = await both((engine) => engine.sessions.open({ principal: botAgent, session: "desk" }));
    expect(rows[0]).toEqual(rows[1]);
    const people = [anaPerson, { ...anaPerson, id: "bo" }];
    const closed = await Promise.all(
      people.map((principal, at) => (engines[at] as (typeof engines)[number]).sessions.close("desk", { principal })),
    );
    expect(closed.toSorted()).toEqual([false, true]);
  });

  it("has a name, in a project with a name", async () => {
    const engine = await newFixture().open({ tools: [] });
    for (const bad of [{ session: "a\nb" }, { session: 7 }, { project: "" }, { titel: "x" }]) {
      const work = engine.sessions.open({ principal: botAgent, ...(bad as object) });
      expect((await rejectedFault(work)).code).toBe("INVALID_INPUT");
    }
  });
});

describe("a run in a session that was never opened", () => {
  it("needs no opening", async () => {
    const [kind] = storeKinds;
    const engine = await (kind as (typeof storeKinds)[number]).newFixture().open({ tools: [look().tool] });
    const run = await engine.submit(plan, { principal: botAgent, session: "any" });
    expect((await run.finished()).status).toBe("completed");
    expect(await engine.sessions.exists("any", { principal: botAgent })).toBe(false);
  });
});
