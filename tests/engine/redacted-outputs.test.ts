import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import type { Engine, EngineOptions, PrincipalInput, RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { openChat } from "./open-run-fixture.ts";
import { deferred, rejectedFault, scriptedTool, type ToolBehaviour } from "./scripted-tool.ts";

const secret = "correct horse battery staple";
const amy: PrincipalInput = { id: "amy", kind: "person", tenant: "acme" };
const output = { type: "object", required: ["token"], properties: { user: {}, token: {}, message: {}, value: {} } };
const login = { user: "ana", token: secret };
const plan = { steps: [{ step_id: "a", name: "login", payload: {} }] };
const happened = { as: "happened", output: login } as const;

const answers =
  (value: unknown): ToolBehaviour =>
  () =>
    value;
const breaks: ToolBehaviour = () => {
  throw new Error("the connection was reset");
};

type Definition = NonNullable<Parameters<typeof scriptedTool>[2]>;

/** An engine whose tool `login` redacts the field `token` of its output. */
async function opened(
  stage: EngineFixture,
  deed: ToolBehaviour,
  more: Definition = {},
  options: Partial<EngineOptions> = {},
): Promise<Engine> {
  const { tool } = scriptedTool("login", deed, { output, redact: ["token"], ...more });
  return stage.open({ tools: [tool], ...options });
}

async function submitted(engine: Engine): Promise<RunHandle> {
  const run = await engine.submit(plan, { principal: botAgent });
  await run.result();
  return run;
}

/** Sets a policy that holds or refuses `resolve`. */
function resolveRule(engine: Engine, kind: "approval" | "deny"): Promise<unknown> {
  const rules = [{ id: "calm", kind, on: { tools: ["resolve"] }, reason: "not today" }];
  const document = { schema_version: "1.0", name: "calm", scope: { tenant: "acme" }, rules };
  return engine.policies.set(document, { principal: anaPerson });
}

/** Requests a held resolution without an output, and returns its gate. */
async function heldResolution(engine: Engine, runId: string): Promise<string> {
  await resolveRule(engine, "approval");
  const held = await rejectedFault(engine.resolve(runId, "a", { principal: amy, as: "give_up" }));
  return (held.detail as { readonly gate_id: string }).gate_id;
}

/** A run whose act was undone, and whose undo is in doubt. */
async function undoInDoubt(stage: EngineFixture): Promise<{ readonly engine: Engine; readonly run: RunHandle }> {
  const engine = await opened(stage, answers(login), { compensate: () => Promise.reject(new Error("reset")) });
  const run = await submitted(engine);
  await engine.resolve(run.run_id, "a", { principal: anaPerson, as: "undo" });
  await run.result();
  return { engine, run };
}

async function begun(engine: Engine) {
  const run = await openChat(engine);
  const answer = await run.beginCall({ id: "1", tool: "login", input: {} });
  assert("go" in answer, "the call may begin");
  return { run, token: answer.token };
}

/** Every way by which the output of a tool enters the record. */
const ways: Readonly<Record<string, (stage: EngineFixture) => Promise<unknown>>> = {
  "the answer of a handler": async (stage) => submitted(await opened(stage, answers(login))),
  "an answer that does not fit the schema": async (stage) =>
    submitted(
      await opened(stage, answers({ ...login, user: 7 }), {
        output: { ...output, properties: { user: { type: "string" }, token: {} } },
      }),
    ),
  "an answer in a list": async (stage) =>
    submitted(await opened(stage, answers([login]), { output: { type: "array" }, redact: ["/0/token"] })),
  "a reported failure": async (stage) =>
    submitted(await opened(stage, answers({ success: false, value: login }), { effect: "reads" })),
  "the text of a reported failure": async (stage) =>
    submitted(
      await opened(stage, answers({ success: false, message: secret }), { effect: "reads", redact: ["message"] }),
    ),
  "an answer that comes too late": async (stage) => {
    const late = deferred<unknown>();
    const engine = await opened(stage, () => late.promise, { timeoutMs: 1000 });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.advance(2000);
    late.keep(login);
    await stage.advance(2000);
    await run.result();
  },
  "the answer of a verifier": async (stage) => {
    const verify = async () => ({ saw: "happened", output: login }) as const;
    const engine = await opened(stage, breaks, { verify, settleAfter: 0 });
    await stage.runUntilIdle(await engine.submit(plan, { principal: botAgent }));
  },
  "a verification of the run": async (stage) => {
    const engine = await opened(stage, answers(login), {
      verify: async () => ({ saw: "happened", output: login }) as const,
    });
    await engine.verify((await submitted(engine)).run_id, { principal: anaPerson });
  },
  "a resolution by a person": async (stage) => {
    const engine = await opened(stage, breaks);
    await engine.resolve((await submitted(engine)).run_id, "a", { principal: anaPerson, ...happened });
  },
  "a resolution that a policy holds": async (stage) => {
    const engine = await opened(stage, breaks);
    const { run_id } = await submitted(engine);
    await resolveRule(engine, "approval");
    expect(await rejectedFault(engine.resolve(run_id, "a", { principal: amy, ...happened }))).toMatchObject({
      code: "NOT_POSSIBLE",
    });
  },
  "a resolution that a policy refuses": async (stage) => {
    const engine = await opened(stage, breaks);
    const { run_id } = await submitted(engine);
    await resolveRule(engine, "deny");
    expect(await rejectedFault(engine.resolve(run_id, "a", { principal: amy, ...happened }))).toMatchObject({
      code: "POLICY_DENIED",
    });
  },
  "a held resolution that is approved with an output": async (stage) => {
    const engine = await opened(stage, breaks);
    const { run_id } = await submitted(engine);
    const gate = await heldResolution(engine, run_id);
    const input = { run_id, step_id: "a", ...happened };
    expect(await rejectedFault(engine.approve(gate, { principal: anaPerson, input }))).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining("redacts its output"),
    });
    expect(await engine.gate(gate, { principal: anaPerson })).toMatchObject({ status: "open" });
  },
  "an approval with an output by a principal that may not approve": async (stage) => {
    const engine = await opened(stage, breaks);
    const { run_id } = await submitted(engine);
    const gate = await heldResolution(engine, run_id);
    const input = { run_id, step_id: "a", ...happened };
    expect((await rejectedFault(engine.approve(gate, { principal: botAgent, input }))).code).toBe("AUTH_FORBIDDEN");
  },
  "the answer of a compensation": async (stage) => {
    const engine = await opened(stage, answers(login), { compensate: async () => login });
    const run = await submitted(engine);
    await engine.undo(run.run_id, { principal: anaPerson });
    await run.result();
  },
  "a resolution of an undo": async (stage) => {
    const { engine, run } = await undoInDoubt(stage);
    await engine.resolve(run.run_id, "undo.a.1", { principal: anaPerson, ...happened });
  },
  "a resolution of an undo that a policy holds": async (stage) => {
    const { engine, run } = await undoInDoubt(stage);
    await resolveRule(engine, "approval");
    await rejectedFault(engine.resolve(run.run_id, "undo.a.1", { principal: amy, ...happened }));
  },
  "the report of a host": async (stage) => {
    const { run, token } = await begun(await opened(stage, breaks));
    await run.endCall(token, { output: login });
  },
  "the report of a host in another process": async (stage) => {
    const { token } = await begun(await opened(stage, breaks));
    await (await opened(stage, breaks)).endCall(token, { principal: botAgent, output: login });
  },
  "a late report of a host": async (stage) => {
    const { run, token } = await begun(await opened(stage, breaks, { timeoutMs: 1000 }));
    await stage.advance(5000);
    await run.endCall(token, { output: login });
  },
  "a failure that a host reports": async (stage) => {
    const { run, token } = await begun(await opened(stage, breaks));
    await run.endCall(token, { output: { success: false, value: login } });
  },
  "the answer of a handler that a call brings": async (stage) => {
    const run = await openChat(await opened(stage, breaks));
    await run.callTool({ id: "1", tool: "login", input: {} }, { run: async () => login });
  },
  "a delivery": async (stage) => {
    const run = await openChat(await opened(stage, answers(login)));
    await run.callTool({ id: "1", tool: "login", input: {} });
    await run.markDelivered("1", { to: "editor" });
  },
  "a child run": async (stage) => {
    const engine = await opened(stage, answers(login));
    const child = { steps: [{ step_id: "c", kind: "run", payload: { plan } }] };
    await (await engine.submit(child, { principal: botAgent })).result();
  },
  "a fork": async (stage) => {
    const engine = await opened(stage, answers(login), { effect: "reads" });
    const { run_id: runId } = await submitted(engine);
    const fork = await engine.checkpoints.fork({ runId, stepId: "a", side: "after" }, { principal: anaPerson });
    await fork.result();
  },
};

describe.each(storeKinds)("the redacted field of an output, on $name", ({ newFixture }) => {
  it.each(Object.keys(ways))("is nowhere in the store after %s", async (way) => {
    const stage = newFixture();
    await ways[way]?.(stage);
    const stored = JSON.stringify(await stage.dump());
    expect(stored.includes("login")).toBe(true);
    expect(stored.includes(secret)).toBe(false);
  });
});

describe.each(storeKinds)("a held resolution, on $name", ({ newFixture }) => {
  it("is not approved as an undo, which other rules judge", async () => {
    const engine = await opened(newFixture(), breaks, { compensate: async () => ({}) });
    const gate = await heldResolution(engine, (await submitted(engine)).run_id);
    const edited = engine.approve(gate, { principal: anaPerson, input: { runId: "r", stepId: "a", as: "undo" } });
    expect(await rejectedFault(edited)).toMatchObject({ code: "NOT_POSSIBLE" });
  });
});
