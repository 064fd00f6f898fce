import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { mailTool, openChat, openedChat } from "./open-run-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

class Point {
  readonly x = 1;
}

const circle = { a: 1, self: {} };
circle.self = circle;
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const bytes = new Uint8Array([0, 255, 1]);
const reference = { blob: createHash("sha256").update(bytes).digest("hex"), bytes: 3 };

/** Everything that a handler can return and JSON cannot say, with its documented plain form. */
const answers: readonly (readonly [string, () => unknown, unknown])[] = [
  ["undefined", () => undefined, null],
  ["a Date", () => ({ at: new Date(0) }), { at: "1970-01-01T00:00:00.000Z" }],
  ["bytes", () => ({ file: Buffer.from(bytes) }), { file: reference }],
  ["an ArrayBuffer", () => bytes.slice().buffer, reference],
  ["a stream", () => ({ body: Readable.from(["a"]) }), { body: { omitted: "Readable" } }],
  ["a class instance", () => new Point(), { x: 1 }],
  ["NaN", () => Number.NaN, "NaN"],
  ["Infinity", () => [Number.POSITIVE_INFINITY], ["Infinity"]],
  ["a BigInt", () => ({ n: 1n }), { n: "1" }],
  ["a Map", () => new Map([["a", 1]]), { a: 1 }],
  ["a Set", () => new Set([1]), [1]],
  ["a function", () => () => 1, null],
  ["a cycle", () => circle, { a: 1, self: { omitted: "a cycle" } }],
  [
    "a value that cannot be read",
    () => ({ proxy: revoked.proxy }),
    { proxy: { omitted: expect.stringContaining("revoked") } },
  ],
  ["a value that is too large", () => "x".repeat(9_000_000), { omitted: "an output of more than 8388608 bytes" }],
];

describe.each(storeKinds)("an output has a plain form on $name", ({ newFixture }) => {
  it.each(answers)("if it is %s, of a handler, of a function of one call, or of a host", async (_, answer, plain) => {
    const stage = newFixture();
    const odd = mailTool();
    const { engine, run } = await openedChat(stage, [scriptedTool("odd", answer), odd]);
    const expected = { status: "succeeded", output: plain };
    expect(await run.callTool({ id: "1", tool: "odd", input: {} })).toEqual(expected);
    expect(await run.callTool({ id: "2", tool: "mail", input: {} }, { run: answer })).toEqual(expected);
    const begun = await run.beginCall({ id: "3", tool: "mail", input: {} });
    if (!("go" in begun)) throw new Error("the host may begin");
    expect(await run.endCall(begun.token, { output: answer() })).toEqual(expected);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    await stage.crash();
    const again = await openChat(await stage.open({ tools: [scriptedTool("odd", answer).tool, odd.tool] }));
    for (const id of ["1", "2", "3"]) expect(await again.findCall(id)).toEqual(expected);
  });

  it.each(answers)("if it is %s, of a tool of a framework", async (_, answer, plain) => {
    const engine = await newFixture().open({ tools: [] });
    const effects = { odd: "reads" } as const;
    const governed = await govern({ engine, session: "chat", principal: botAgent, effects });
    governed.declare([{ name: "odd" }]);
    expect(await governed.call({ id: "1", tool: "odd", input: {} }, answer)).toEqual({
      status: "succeeded",
      output: plain,
    });
  });

  it("that a declared schema still judges", async () => {
    const texts = scriptedTool("texts", () => ({ at: new Date(0) }), {
      effect: "reads",
      output: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
    });
    const numbers = scriptedTool("numbers", () => ({ at: Number.NaN }), {
      effect: "reads",
      output: { type: "object", properties: { at: { type: "number" } }, required: ["at"] },
    });
    const long = scriptedTool("long", () => "x".repeat(9_000_000), { effect: "reads", output: { type: "string" } });
    const { run } = await openedChat(newFixture(), [texts, numbers, long]);
    const call = (tool: string) => run.callTool({ id: tool, tool, input: {} });
    expect(await call("texts")).toEqual({ status: "succeeded", output: { at: "1970-01-01T00:00:00.000Z" } });
    for (const tool of ["numbers", "long"])
      expect(await call(tool)).toMatchObject({ status: "failed", fault: { code: "SCHEMA_VALIDATION_FAILED" } });
  });
});

describe.each(storeKinds)("bytes of an output on $name", ({ newFixture }) => {
  const photo = (more: object = {}) => scriptedTool("photo", () => ({ image: Buffer.from(bytes) }), more);
  const call = { id: "1", tool: "photo", input: { of: "a" } };

  it("are read by their reference, also after a crash and from a run that reused the output", async () => {
    const stage = newFixture();
    const { run } = await openedChat(stage, [photo({ identity: ["of"], onDuplicate: "reuse" })]);
    await run.callTool(call);
    await stage.crash();
    const engine = await stage.open({ tools: [photo({ identity: ["of"], onDuplicate: "reuse" }).tool] });
    const other = await openChat(engine, { session: "other" });
    expect(await other.callTool(call)).toMatchObject({ output: { image: reference }, reused: {} });
    for (const { run_id } of [run, other]) {
      const handle = await engine.run(run_id, { principal: botAgent });
      expect(await handle.blob(reference)).toEqual(bytes);
      const [event] = await collectEvents(handle, "step.succeeded");
      expect(JSON.stringify(event)).toContain(reference.blob);
    }
  });

  it("are not stored where the output is redacted", async () => {
    const { engine, run } = await openedChat(newFixture(), [photo({ redact: ["image"] })]);
    expect(await run.callTool(call)).toMatchObject({ output: { image: { redacted: expect.any(String) } } });
    const handle = await engine.run(run.run_id, { principal: botAgent });
    expect(await rejectedFault(handle.blob(reference))).toMatchObject({ code: "STEP_NOT_FOUND" });
    expect(JSON.stringify(await collectEvents(handle, "step.succeeded"))).not.toContain("AP8B");
  });

  it("are erased with the run by retention", async () => {
    const stage = newFixture();
    const { engine, run } = await openedChat(stage, [photo({ effect: "reads" })]);
    await run.callTool(call);
    await run.close();
    await stage.advance(1000);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now(), reason: "old" });
    const handle = await engine.run(run.run_id, { principal: anaPerson });
    expect(await rejectedFault(handle.blob(reference))).toMatchObject({ code: "STEP_NOT_FOUND" });
  });

  it("of another tenant are not found, and a text that is no digest is refused", async () => {
    const { engine, run } = await openedChat(newFixture(), [photo()]);
    await run.callTool(call);
    const stranger = { ...botAgent, tenant: "other" };
    expect(await rejectedFault(engine.run(run.run_id, { principal: stranger }))).toMatchObject({
      code: "RUN_NOT_FOUND",
    });
    const handle = await engine.run(run.run_id, { principal: botAgent });
    expect(await rejectedFault(handle.blob({ blob: "x", bytes: 1 }))).toMatchObject({ code: "INVALID_INPUT" });
  });
});
