import { describe, expect, it } from "vitest";
import type { StepId } from "../core/values/ids.ts";
import type { Json } from "../core/values/json.ts";
import { originalCallId, withDistinctIds } from "./distinct-call-ids.ts";

const step = "c3" as StepId;
const inJson = (json: Json) => withDistinctIds({ form: "json", json }, step).json;
const inText = (events: readonly Json[]) => {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const named = withDistinctIds({ form: "text", text: `${text}data: [DONE]\n\n` }, step).text;
  return {
    text,
    named,
    events: named
      .split("\n\n")
      .slice(0, events.length)
      .map((line) => JSON.parse(line.slice(6)) as Json),
  };
};

const call = (id: string, to: string) => ({ id, function: { name: "send", arguments: JSON.stringify({ to }) } });
const chat = (...tool_calls: readonly object[]) => ({ choices: [{ message: { tool_calls } }] }) as unknown as Json;
const part = (given: object) => ({ choices: [{ index: 0, delta: { tool_calls: [given] } }] }) as unknown as Json;
const idsOf = (events: readonly Json[]) =>
  events.flatMap((event) => {
    const { choices } = event as { choices: { delta: { tool_calls: { id?: string }[] } }[] };
    return choices.flatMap(({ delta }) => delta.tool_calls.map(({ id }) => id ?? null));
  });

describe("withDistinctIds", () => {
  it("leaves an answer whose calls have ids of their own as it is", () => {
    const answer = chat(call("a", "ana"), call("b", "bo"));
    expect(inJson(answer)).toBe(answer);
    const { text, named } = inText([part({ index: 0, ...call("a", "ana") }), part({ index: 1, ...call("b", "bo") })]);
    expect(named).toBe(`${text}data: [DONE]\n\n`);
  });

  it("names calls without an id, and repeated ids, by their place", () => {
    expect(inJson(chat(call("", "ana"), call("same", "bo"), call("same", "cy")))).toEqual(
      chat(call("writ-c3-1", "ana"), call("same", "bo"), call("same-writ-3", "cy")),
    );
  });

  it("names the parts of one call of a stream alike, and gives the same names each time", () => {
    const events = [
      part({ index: 0, id: "same", function: { name: "send", arguments: "" } }),
      part({ index: 0, id: "same", function: { arguments: '{"to":' } }),
      part({ index: 0, function: { arguments: '"ana"}' } }),
      part({ index: 1, id: "same", function: { name: "send", arguments: '{"to"' } }),
      part({ index: 1, id: "same", function: { name: "send", arguments: ':"bo"}' } }),
      part({ index: 2, function: { name: "send", arguments: "{}" } }),
    ];
    const ids = ["same", "same", null, "same-writ-2", "same-writ-2", "writ-c3-3"];
    expect(idsOf(inText(events).events)).toEqual(ids);
    expect(inText(events).named).toBe(inText(events).named);
  });

  it("tells whole calls at one place of a stream apart", () => {
    const whole = (to: string) => part({ index: 0, ...call("", to) });
    expect(idsOf(inText([whole("ana"), whole("bo")]).events)).toEqual(["writ-c3-1", "writ-c3-2"]);
  });

  it("names the calls of Gemini, which have no ids", () => {
    const answer = (...ids: readonly string[]) =>
      ({
        candidates: [{ content: { parts: ids.map((id) => ({ functionCall: { ...(id && { id }), name: "send" } })) } }],
      }) as unknown as Json;
    expect(inJson(answer("", "own", ""))).toEqual(answer("writ-c3-1", "own", "writ-c3-3"));
  });

  it("leaves what is no answer as it is", () => {
    for (const json of [null, 5, "text", [], { choices: [null, { message: 5 }] }] as const)
      expect(inJson(json)).toBe(json);
  });
});

describe("originalCallId", () => {
  it("returns the id that the model gave", () => {
    expect(originalCallId("same-writ-2")).toBe("same");
    expect(originalCallId("same")).toBe("same");
    expect(originalCallId("writ-c3-1")).toBe("writ-c3-1");
  });
});
