import assert from "node:assert/strict";
import type { AdapterScenario } from "./adapter-scenario.ts";

const search = (q: string) => ({ tool: "search", input: { q } });
const send = (to: string) => ({ tool: "send", input: { to } });
const LARGE = 5_000_000;
/** The SHA-256 of the bytes 1, 2 and 3. */
const bytesDigest = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";

/** Calls that are made, and what tools may return. */
export const callScenarios: readonly AdapterScenario[] = [
  {
    title: "a read is made, recorded, and the model gets its output",
    script: () => [{ calls: [search("ana")] }, { text: "done" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.match(stage.told("call_1_1") ?? "", /"q\\?":\\?"ana/);
    },
  },
  {
    title: "an act is made once, and recorded",
    script: () => [{ calls: [send("ana")] }, { text: "done" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  {
    title: "a tool that only writes state is made and recorded",
    needs: ["writes"],
    script: () => [{ calls: [{ tool: "note", input: { text: "call ana" } }] }, { text: "done" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
    },
  },
  {
    title: "the calls of one answer are made side by side, and those of the next one after them",
    script: () => [{ calls: [search("ana"), send("ana"), send("bo")] }, { calls: [send("cy")] }, { text: "done" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.deepEqual([...stage.sent].slice(0, 2).sort(byTo), [{ to: "ana" }, { to: "bo" }]);
      assert.deepEqual(stage.sent[2], { to: "cy" });
    },
  },
  {
    title: "two calls with one id and one input are one call",
    needs: ["repeated ids"],
    script: () => [
      {
        calls: [
          { id: "same", ...send("ana") },
          { id: "same", ...send("ana") },
        ],
      },
      { text: "done" },
    ],
    play: async (stage) => {
      await stage.ask();
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
    },
  },
  {
    title: "a handler that throws in a read fails the call, and the model learns why",
    script: () => [{ calls: [search("ana")] }, { text: "done" }],
    work: {
      search: () => {
        throw new Error("the index is away");
      },
    },
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.match(stage.told("call_1_1") ?? "", /the index is away/);
    },
  },
  {
    title: "a handler that throws in an act leaves the act in doubt, and the model is told not to repeat it",
    script: () => [{ calls: [send("ana")] }, { text: "done" }],
    work: {
      send: () => {
        throw new Error("the line is cut");
      },
    },
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      assert.match(stage.told("call_1_1") ?? "", /In doubt: .*Do not call again/);
      assert.equal(stage.sent.length, 1);
    },
  },
  ...(
    [
      ["nothing", () => undefined, null],
      ["a Date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
      ["bytes", () => new Uint8Array([1, 2, 3]), { blob: bytesDigest, bytes: 3 }],
      ["an object with nothing in a field", () => ({ id: 1, gone: undefined }), { id: 1 }],
    ] as const
  ).map(
    ([what, output, recorded]): AdapterScenario => ({
      title: `an act that returns ${what} has happened, and its output is JSON`,
      script: () => [{ calls: [send("ana")] }, { text: "done" }],
      work: { send: output },
      play: async (stage) => {
        assert.equal(await stage.ask(), "done");
        const [call] = await stage.record();
        assert.deepEqual(call?.events.at(-1)?.output, recorded);
        assert.equal(stage.sent.length, 1);
      },
    }),
  ),
  {
    title: "a result of 5 MB is recorded and reaches the model whole",
    script: () => [{ calls: [search("all")] }, { text: "done" }],
    work: { search: () => "x".repeat(LARGE) },
    play: async (stage) => {
      assert.equal(await stage.ask(), "done");
      if (stage.adapter.lacks?.includes("large results")) return;
      assert.ok((stage.told("call_1_1")?.length ?? 0) >= LARGE, "the model has the whole result");
    },
  },
];

function byTo(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
