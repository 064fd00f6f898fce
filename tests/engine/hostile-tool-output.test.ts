import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { FaultError } from "../../src/core/values/fault.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, type ToolBehaviour } from "./scripted-tool.ts";

const one = { steps: [{ step_id: "a", name: "tool" }] };
const explode = (): never => {
  throw new Error("do not look");
};
const explosive = (key: string): object => Object.defineProperty({}, key, { enumerable: true, get: explode });

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function circle(): object {
  const inside: Record<string, unknown> = {};
  inside.inside = inside;
  return inside;
}

/** Hostile outputs. Reading some of them runs their code, which throws. */
const answers: readonly (readonly [string, () => unknown])[] = [
  ["throws when it is asked how it went", () => explosive("success")],
  ["throws when it is read", () => ({ deep: explosive("b") })],
  ["cannot even be looked at", () => ({ proxy: revoked() })],
  ["lists no keys", () => new Proxy({}, { ownKeys: explode })],
  ["contains itself", circle],
  ["is deeper than any stack", () => Array.from({ length: 100_000 }).reduce((inner) => [inner], 1)],
  ["has a hundred million holes", () => new Array(100_000_000)],
  ["is no number", () => ({ amount: Number.NaN })],
  ["is no text", () => ({ "\ud800": "\udc00" })],
  ["reaches for a prototype", () => JSON.parse('{"__proto__":{"admin":true}}')],
  ["reaches for it by another name", () => ({ constructor: { prototype: { admin: true } } })],
  ["is a bigint", () => 1n],
  ["writes itself down, and throws", () => ({ toJSON: explode })],
  ["is a class of its own", () => new Map([["admin", true]])],
];

describe.each(storeKinds)("hostile output, on $name", ({ newFixture: newStage }) => {
  it.each(answers)("that %s is no reason to fail for a tool without an output schema", async (_, answer) => {
    const engine = await newStage().open({ tools: [scriptedTool("tool", answer).tool] });
    const { steps } = await (await engine.submit(one, { principal: botAgent })).result();
    expect(steps.a).toMatchObject({ state: "succeeded" });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  it.each(answers)(
    "that %s fails its step by the output schema, is recorded, and an act of it is done",
    async (_, answer) => {
      const output = { type: "object", required: ["id"] };
      const look = scriptedTool("tool", answer, { effect: "reads", output });
      const send = scriptedTool("tool", answer, { output });
      for (const { tool, calls } of [look, send]) {
        const stage = newStage();
        const engine = await stage.open({ tools: [tool] });
        const run = await engine.submit(one, { principal: botAgent });
        expect((await run.result()).steps.a).toMatchObject({
          state: "failed_final",
          fault: { code: "SCHEMA_VALIDATION_FAILED" },
        });
        const world = tool.effect === "acts" ? "compensatable_failure" : "permanent_failure";
        expect(await collectEvents(run, "step.failed")).toMatchObject([{ world }]);
        expect(calls).toHaveLength(1);
        expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
      }
      expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
    },
  );

  it.each<[string, ToolBehaviour]>([
    ["that cannot be looked at", () => Promise.reject(revoked())],
    ["whose fault cannot be read", () => Promise.reject(new FaultError(explosive("code") as never))],
    ["whose detail cannot be read", () => Promise.reject(new FaultError(explosive("detail") as never))],
  ])("that is an error %s is a failure like any other", async (_, deed) => {
    const engine = await newStage().open({ tools: [scriptedTool("tool", deed, { effect: "reads" }).tool] });
    const { steps } = await (await engine.submit(one, { principal: botAgent })).result();
    expect(steps.a).toMatchObject({ state: "failed_final", fault: { code: "TOOL_FAILED" } });
  });
});

describe.each(storeKinds)("hostile report of a handler, on $name", ({ newFixture: newStage }) => {
  const sums = defineSlice({
    name: "sums",
    shape: "map",
    entry: {},
    reducers: {
      add: (slice, event: { readonly key: string }) => slice.set(event.key, 1),
      later: async (slice) => {
        await null;
        slice.set("late", 1);
        throw new Error("nobody listens");
      },
    },
  });

  it.each<[string, (context: ToolContext) => void]>([
    ["a notice that contains itself", ({ notice }) => notice("topic", circle() as never)],
    ["an errand that cannot be read", ({ errand }) => errand("tool", explosive("x") as never)],
    ["a sign of life that is a bigint", ({ heartbeat }) => heartbeat(1n as never)],
    ["an event that contains itself", ({ dispatch }) => dispatch("add", circle() as never)],
    ["an event whose reducer is in no hurry", ({ dispatch }) => dispatch("later", null)],
  ])("fails its call if it cannot be stored, and is not dropped: %s", async (_, say) => {
    const stage = newStage();
    const tool = scriptedTool("tool", ({ context }) => say(context) ?? { ok: true }, { effect: "writes", tries: 1 });
    const engine = await stage.open({ tools: [tool.tool], slices: [sums] });
    const run = await engine.submit(one, { principal: botAgent, project: "p" });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ state: "failed_final" });
    expect((await engine.state({ principal: botAgent, project: "p" })).version).toBe(0);
  });

  it("may contain a date, which has a JSON form", async () => {
    const seen: unknown[] = [];
    const tool = scriptedTool(
      "tool",
      ({ context }) => context.notice("t", { at: new Date(0) } as never) ?? { ok: true },
    );
    const stage = newStage();
    const engine = await stage.open({ tools: [tool.tool], onNotice: async ({ payload }) => void seen.push(payload) });
    await (await engine.submit(one, { principal: botAgent })).result();
    await stage.advance(1000);
    expect(seen).toEqual([{ at: "1970-01-01T00:00:00.000Z" }]);
  });
});
