import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import type { CallAnswer } from "../../src/core/run/call-answer.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import type { OpenRun } from "../../src/engine/api/open-run-api.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { openChat } from "./open-run-fixture.ts";
import { rejectedFault } from "./scripted-tool.ts";
import { chief, newWorld, principals, type World } from "./verb-samples.ts";

const writing = { id: "1", tool: "write", input: { word: "hello" } };
const mailing = { id: "2", tool: "mail", input: { word: "hello" } };

/** The principals that did not open the session of the bot. */
const others = Object.entries(principals).filter(([who]) => who !== "agent");
const rob = principals["another agent"] as PrincipalInput;

async function begun(run: OpenRun): Promise<string> {
  const answer = await run.beginCall(writing);
  assert("go" in answer, "the call may begin");
  return answer.token;
}

/** Forms of a token that its owner did not get. */
function forgeries(token: string, foreign: string): Readonly<Record<string, unknown>> {
  const [run, step, attempt, secret] = token.split("/") as [string, string, string, string];
  return {
    "another secret": [run, step, attempt, `${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`].join("/"),
    "no secret": [run, step, attempt, ""].join("/"),
    "another attempt": [run, step, "2", secret].join("/"),
    "another step": [run, "c9", attempt, secret].join("/"),
    "the secret of another call": [run, step, attempt, foreign.split("/").at(-1)].join("/"),
    "a run that does not exist": ["run_0", step, attempt, secret].join("/"),
    "a path": [`../${run}`, step, attempt, secret].join("/"),
    "more parts": `${token}/x`,
    "a digest": secret,
    nothing: "",
    "a list": [token],
    "no value": null,
  };
}

describe.each(storeKinds)("the session of another principal, on $name", ({ newFixture }) => {
  it.each(others)("is not reached by its name: %s", async (_, principal) => {
    const { engine } = await newWorld(newFixture());
    const own = await openChat(engine);
    await own.callTool(writing);
    const run = await engine.openRun({ principal, session: "chat" });
    expect(run.run_id).not.toBe(own.run_id);
    expect(await run.findCall(writing.id)).toBeNull();
    expect(await run.turns()).toEqual([]);
    expect(await own.turns()).not.toEqual([]);
  });

  it.each(others)("gives no call to a sub-agent of %s", async (_, principal) => {
    const world = await newWorld(newFixture());
    const own = await openChat(world.engine);
    await begun(own);
    const before = await world.stage.dump();
    const parent = { runId: own.run_id, stepId: "c1" };
    const refused = await rejectedFault(world.engine.openRun({ principal, session: "sub", parent }));
    expect(refused.code).toBe(principal.tenant === botAgent.tenant ? "AUTH_FORBIDDEN" : "RUN_NOT_FOUND");
    expect(await world.stage.dump()).toEqual(before);
  });

  it("is in no list of another agent, whatever it asks for", async () => {
    const { engine, stage } = await newWorld(newFixture());
    const own = await openChat(engine, { project: "p", title: "a secret plan", labels: ["red"] });
    await own.callTool(mailing);
    await own.callTool({ id: "3", tool: "doubt", input: {} });
    const runId = own.run_id;
    const asked = { principal: rob, count: true } as const;
    for (const listed of [
      await engine.runs({ ...asked, by: "bot" }),
      await engine.runs({ ...asked, project: "p", session: "chat" }),
      await engine.runs({ ...asked, tool: "mail" }),
      await engine.gates({ ...asked, runId }),
      await engine.gates({ ...asked, by: "bot" }),
      await engine.inDoubt({ ...asked, runId }),
      await engine.inDoubt({ ...asked, by: "bot" }),
      await engine.outcomes({ ...asked, runId }),
      await engine.outcomes({ ...asked, by: "bot" }),
    ]) {
      expect([...listed]).toEqual([]);
      expect(listed.count).toBe(0);
    }
    expect([...(await engine.gates({ principal: rob, project: "p", session: "chat" }))]).toEqual([]);
    expect(await engine.inDoubt({ principal: botAgent, runId })).toHaveLength(1);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { run_id } of engine.changes({ principal: rob, signal: stop.signal })) seen.push(run_id);
    })();
    await own.callTool({ ...writing, id: "4" });
    await stage.advance(5000);
    stop.abort();
    await stage.advance(5000);
    await watching;
    expect(seen).toEqual([]);
  });
});

describe.each(storeKinds)("a forged token of a call, on $name", ({ newFixture }) => {
  it.each(Object.keys(forgeries("a/b/1/c", "a/b/1/d")))("ends nothing and tells nothing: %s", async (form) => {
    const world = await newWorld(newFixture());
    const own = await openChat(world.engine);
    const token = await begun(own);
    const foreign = await begun(await world.engine.openRun({ principal: rob, session: "chat" }));
    const forged = forgeries(token, foreign)[form] as string;
    const before = await world.stage.dump();
    for (const end of [
      () => own.endCall(forged, { output: { forged: true } }),
      () => world.engine.endCall(forged, { principal: rob, output: { forged: true } }),
      () => world.engine.endCall(forged, { principal: { ...botAgent, tenant: "globex" }, output: {} }),
    ])
      expect((await rejectedFault(Promise.resolve().then(end))).code).toBe("AUTH_FORBIDDEN");
    expect(await world.stage.dump()).toEqual(before);
    expect(await own.endCall(token, { output: {} })).toMatchObject({ status: "succeeded" });
  });
});

/** The calls of a session: each form of proposing one. */
const proposals: Readonly<Record<string, (run: OpenRun) => Promise<unknown>>> = {
  callTool: (run) => run.callTool(writing),
  "callTool with a handler": (run) => run.callTool(writing, { run: async () => ({}) }),
  callTools: async (run) => (await run.callTools([writing]))[0],
  beginCall: (run) => run.beginCall(writing),
};

/** The obstacles of a call, and the answer of a call that meets one. */
const stops: Readonly<Record<string, { stop(world: World, run: OpenRun): Promise<unknown>; readonly answer: object }>> =
  {
    "a halt of the tenant": {
      stop: ({ engine }) => engine.halts.set({ principal: chief, reason: "stop" }),
      answer: { status: "waiting", blocked: { reason_code: "HALTED" } },
    },
    "a halt of the run": {
      stop: ({ engine }, { run_id: runId }) => engine.halts.set({ principal: chief, reason: "stop", runId }),
      answer: { status: "waiting", blocked: { reason_code: "HALTED" } },
    },
    "a locked project": {
      stop: ({ engine }) => engine.projects.close("p", { principal: chief, as: "locked" }),
      answer: { status: "refused", fault: { code: "PROJECT_LOCKED" } },
    },
    "a policy that refuses the tool": {
      stop: ({ engine }) => setRule(engine, "deny"),
      answer: { status: "refused", fault: { code: "POLICY_DENIED" } },
    },
    "a policy that holds the tool": {
      stop: ({ engine }) => setRule(engine, "approval"),
      answer: { status: "held" },
    },
  };

function setRule(engine: Engine, kind: "deny" | "approval"): Promise<unknown> {
  const rules = [{ id: "calm", kind, on: { tools: ["write"] }, reason: "not today" }];
  const document = { schema_version: "1.0", name: "calm", scope: { tenant: "acme" }, rules };
  return engine.policies.set(document, { principal: chief });
}

const cells = Object.keys(stops).flatMap((stop) => Object.keys(proposals).map((form) => [stop, form] as const));

describe.each(storeKinds)("a call of a session, on $name", ({ newFixture }) => {
  it.each(cells)("does not start under %s: %s", async (stop, form) => {
    const world = await newWorld(newFixture());
    const run = await openChat(world.engine, { project: "p" });
    await stops[stop]?.stop(world, run);
    const answer = (await proposals[form]?.(run)) as CallAnswer;
    expect(answer).toMatchObject(stops[stop]?.answer as object);
    expect((await world.engine.state({ principal: chief, project: "p" })).version).toBe(0);
  });

  it.each(Object.keys(proposals))("is held by the capabilities of its own principal: %s", async (form) => {
    const { engine } = await newWorld(newFixture());
    const principal = { ...botAgent, capabilities: [{ tools: { deny: ["write"] } }] };
    const run = await engine.openRun({ principal, session: "chat" });
    expect(await proposals[form]?.(run)).toMatchObject({ status: "refused" });
    // The same session, opened again with more rights, is no way around: the rights of the call are those of its opening.
    const other = await engine.openRun({ principal: botAgent, session: "chat" });
    expect(other.run_id).toBe(run.run_id);
    expect(await proposals[form]?.(run)).toMatchObject({ status: "refused" });
  });

  it("is not started in a restored store until a person releases the run", async () => {
    const world = await newWorld(newFixture(), { tenants: { acme: { mode: "auto_exec" } } });
    const run = await openChat(world.engine);
    await run.callTool(writing);
    await run.release();
    await world.engine.adoptBackup({ principal: chief });
    expect(await rejectedFault(openChat(world.engine))).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining(`writ resume ${run.run_id}`),
    });
    const refused = await rejectedFault(world.engine.resume(run.run_id, { principal: botAgent }));
    expect(refused.code).toBe("AUTH_FORBIDDEN");
    await world.engine.resume(run.run_id, { principal: chief });
    const again = await openChat(world.engine);
    expect(again.run_id).toBe(run.run_id);
    // The record does not contain the acts after the backup, so the acts of the run stay held.
    expect(await again.callTool(mailing)).toMatchObject({ status: "held" });
  });
});
