import assert from "node:assert/strict";
import type { JsonObject } from "../../core/values/json.ts";
import type { AdapterScenario } from "./adapter-scenario.ts";
import type { AdapterTrait } from "./adapter-under-test.ts";

/** Calls that the model may not make as it wrote them: each is refused on record, and nothing is done. */
export const argumentScenarios: readonly AdapterScenario[] = [
  refused("an unknown tool", { tool: "nosuch", input: { to: "ana" } }, "TOOL_UNKNOWN"),
  refused("arguments that are no JSON", { tool: "send", input: '{"to": "an' }, "INVALID_INPUT"),
  refused("arguments that are no object", { tool: "send", input: "[1]" }, "INVALID_INPUT"),
  refused("an argument of the wrong type", { tool: "send", input: { to: 5 } }, "INVALID_INPUT"),
  refused("a missing argument", { tool: "send", input: {} }, "INVALID_INPUT"),
  refused("an extra argument", { tool: "send", input: { to: "ana", cc: "eve" } }, "INVALID_INPUT", ["extra arguments"]),
  {
    title: "an id that names another call of the same answer is refused on record, and only the first call is made",
    needs: ["repeated ids"],
    script: () => [
      {
        calls: [
          { id: "same", tool: "send", input: { to: "ana" } },
          { id: "same", tool: "send", input: { to: "eve" } },
        ],
      },
      { text: "done" },
    ],
    play: async (stage) => {
      await stage.ask();
      assert.deepEqual(stage.sent, [{ to: "ana" }]);
      const codes = (await stage.record()).map(({ events }) => faultCode(events.at(-1)));
      assert.deepEqual(codes, [undefined, "CALL_REUSED"]);
    },
  },
];

function faultCode(event: JsonObject | undefined): string | undefined {
  return (event?.fault as { readonly code: string } | undefined)?.code;
}

function refused(
  what: string,
  call: { readonly tool: string; readonly input: string | { readonly [name: string]: string | number } },
  code: string,
  needs: readonly AdapterTrait[] = typeof call.input === "string" ? ["argument texts"] : [],
): AdapterScenario {
  return {
    needs,
    title: `${what}: refused on record, nothing is done, and the model gets a usable text`,
    script: () => [{ calls: [call] }, { text: "sorry" }],
    play: async (stage) => {
      assert.equal(await stage.ask(), "sorry");
      assert.deepEqual(stage.sent, []);
      const [record, ...others] = await stage.record();
      assert.deepEqual(others, []);
      assert.equal(faultCode(record?.events.at(-1)), code);
      assert.ok((stage.told("call_1_1") ?? "").length > 10, "the model is told");
    },
  };
}
