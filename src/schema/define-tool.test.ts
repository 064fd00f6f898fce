import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ToolContext } from "../core/tool/tool.ts";
import type { FaultError } from "../core/values/fault.ts";
import { defineTool } from "./define-tool.ts";

const input = z.object({ to: z.string(), body: z.string() });
const output = z.object({ id: z.string() });
const act = { name: "mail.send", effect: "acts", input, output, run: async () => ({ id: "1" }) } as const;
const read = { ...act, name: "mail.write", effect: "reads" } as const;
const context = { key: "k" } as unknown as ToolContext;

function faultOf(definition: object): FaultError["fault"] | null {
  try {
    defineTool(definition as typeof act);
  } catch (thrown) {
    return (thrown as FaultError).fault;
  }
  return null;
}

function problemsOf(more: object, from: object = act): readonly string[] {
  const fault = faultOf({ ...from, ...more });
  if (fault === null) return [];
  expect(fault.code).toBe("TOOL_INVALID");
  return (fault.detail as { problems: readonly string[] }).problems;
}

describe("a tool", () => {
  it("has safe defaults for omitted fields", () => {
    expect(defineTool(act)).toMatchObject({
      version: "1",
      description: "",
      tags: [],
      risk: "medium",
      identity: null,
      timeoutMs: 30_000,
      asks: null,
      tries: null,
      retry: "named",
      cache: "never",
      cacheTtlMs: null,
      redact: [],
      settleAfterMs: 60_000,
      confirm: "none",
      idempotentForMs: null,
      errorsMean: "unknown",
      onDuplicate: "hold",
      safeIfAbsent: false,
      verify: null,
      compensate: null,
    });
    expect(defineTool(read).risk).toBe("low");
  });

  it("has a longer default timeout if it asks a model", () => {
    expect(defineTool({ ...read, asks: "model" })).toMatchObject({ asks: "model", timeoutMs: 600_000 });
    expect(defineTool({ ...read, asks: "model", timeoutMs: 5 }).timeoutMs).toBe(5);
    expect(defineTool({ ...read, asks: "model", heartbeatMs: 60_000 }).heartbeatMs).toBe(60_000);
  });

  it("may retry any error if it does not act, or if its errors mean that nothing was done", () => {
    expect(defineTool({ ...read, retry: "any" }).retry).toBe("any");
    expect(defineTool({ ...act, retry: "any", errorsMean: "not_done" }).retry).toBe("any");
  });

  it("has the values of its definition", () => {
    const given = {
      version: "2.1",
      description: "sends",
      tags: ["mail:out"],
      risk: "high",
      timeoutMs: 5,
      tries: 2,
      confirm: "gate",
      errorsMean: "not_done",
      onDuplicate: "reuse",
      safeIfAbsent: true,
    } as const;
    const verify = async () => ({ saw: "absent" }) as const;
    const compensate = async () => null;
    const tool = defineTool({ ...act, ...given, idempotent: { forMs: 9 }, settleAfter: 0, verify, compensate });
    expect(tool).toMatchObject({ ...given, idempotentForMs: 9, settleAfterMs: 0 });
    expect(defineTool({ ...read, cache: "ttl_only", cacheTtlMs: 9 })).toMatchObject({
      cache: "ttl_only",
      cacheTtlMs: 9,
    });
  });

  it("accepts fields by name or by pointer", () => {
    const tool = defineTool({ ...act, identity: ["to", "/body"], redact: ["id"] });
    expect(tool.identity).toEqual([
      { pointer: "/to", normalize: null },
      { pointer: "/body", normalize: null },
    ]);
    expect(tool.redact).toEqual(["/id"]);
    const odd = z.object({ "a/b": z.string() });
    expect(defineTool({ ...act, input: odd, identity: ["a/b"] }).identity).toMatchObject([{ pointer: "/a~1b" }]);
  });

  it("may compare an identity field in a normal form", () => {
    const identity = ["to", { field: "/body", normalize: "trim" }] as const;
    expect(defineTool({ ...act, identity }).identity).toEqual([
      { pointer: "/to", normalize: null },
      { pointer: "/body", normalize: "trim" },
    ]);
    for (const wrong of [{ field: "to", normalize: "upper" }, { field: "to" }, { field: "to", normalise: "nfc" }])
      expect(problemsOf({ identity: [wrong] })).toEqual([
        "identity must be names of fields, or { field, normalize } with one of nfc, trim, nfkc-casefold",
      ]);
    expect(problemsOf({ identity: [{ field: "absent", normalize: "nfc" }] })).toEqual([
      "identity names absent, which the schema does not have",
    ]);
  });

  it("may identify by any field if its schema lists none", () => {
    const open = { ...act, input: z.record(z.string(), z.string()), identity: ["anything"] };
    expect(defineTool(open).identity).toMatchObject([{ pointer: "/anything" }]);
    const patterned = { properties: {}, patternProperties: { "^x-": {} } };
    expect(problemsOf({ input: patterned, identity: ["x-a"] })).toEqual([]);
  });

  it("calls its handlers on the definition, and rejects instead of throwing", async () => {
    const definition = {
      ...act,
      prefix: "to ",
      run(this: { prefix: string }, { to }: { to: string }) {
        return { id: this.prefix + to };
      },
      verify: () => ({ saw: "unknown" }) as const,
      compensate: () => {
        throw new Error("no");
      },
    };
    const { prefix, ...rest } = definition;
    const tool = defineTool(Object.assign(Object.create({ prefix }), rest));
    await expect(tool.run({ to: "ana" }, context)).resolves.toEqual({ id: "to ana" });
    await expect(tool.verify?.({} as never)).resolves.toEqual({ saw: "unknown" });
    await expect(tool.compensate?.({} as never, context)).rejects.toThrow("no");
  });

  it("cannot be changed later", () => {
    expect(Object.isFrozen(defineTool(act))).toBe(true);
  });
});

describe("a tool is refused", () => {
  it.each([
    ["a name with a space", { name: "mail send" }, "name must be"],
    ["a homoglyph", { name: "ѕend" }, "name must be"],
    ["a name that is too long", { name: "a".repeat(65) }, "name must be"],
    ["no name", { name: undefined }, "name must be"],
    ["an odd version", { version: "a b" }, "version must be"],
    ["an odd description", { description: 1 }, "description must be"],
    ["odd tags", { tags: ["a b"] }, "tags must be"],
    ["tags that are not a list", { tags: "a" }, "tags must be"],
    ["no effect", { effect: undefined }, "effect must be one of pure, reads, writes, acts"],
    ["an unknown risk", { risk: "none" }, "risk must be one of"],
    ["a timeout of 0", { timeoutMs: 0 }, "timeoutMs must be a whole number"],
    ["half a try", { tries: 1.5 }, "tries must be a whole number"],
    ["a text for a number", { settleAfter: "1" }, "settleAfter must be a whole number"],
    ["no run", { run: undefined }, "run must be a function"],
    ["a verifier that is not a function", { verify: true }, "verify must be a function"],
    ["an empty identity", { identity: [] }, "identity must name at least one field"],
    ["an identity that is not a list", { identity: "to" }, "identity must name at least one field"],
    ["an identity that is not a field", { identity: ["/~"] }, "/~ is neither"],
    ["an identity that is not a text", { identity: [1] }, "1 is neither"],
    ["an identity without a name", { identity: [""] }, "is neither"],
    ["an identity that the input lacks", { identity: ["from"] }, "identity names from, which the schema does not have"],
    ["a redaction that the output lacks", { redact: ["/token"] }, "redact names token"],
    ["retries of an act after any error", { retry: "any" }, 'it needs errorsMean: "not_done"'],
    ["an unknown retry", { retry: "all" }, "retry must be one of named, any"],
    ["an unknown thing that it asks", { asks: "person" }, "asks must be one of model"],
    ["a cache on an act", { cache: "use_if_safe" }, "the result of an act is never cached"],
    ["confirmation without a verifier", { confirm: "strict" }, "confirm needs verify"],
    ["safeIfAbsent without an undo", { safeIfAbsent: true }, "safeIfAbsent needs compensate"],
    ["an odd promise", { idempotent: true }, "idempotent must be { forMs }"],
    ["a promise that is too short", { idempotent: { forMs: 90_000 } }, "longer than timeoutMs and settleAfter"],
    ["a near miss", { timeoutMS: 5 }, "timeoutMS is not a field; did you mean timeoutMs?"],
    ["an unknown field", { colour: "red" }, "colour is not a field of a tool"],
  ])("for %s", (_, more, problem) => {
    expect(problemsOf(more)).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    [
      "verify",
      { verify: async () => ({ saw: "absent" }) },
      "verify is only for acts, and this tool has the effect reads; remove it",
    ],
    [
      "an undo",
      { compensate: async () => null, effect: "pure" },
      "compensate is only for acts, and this tool has the effect pure",
    ],
    ["ttl_only without a time", { cache: "ttl_only" }, "cache ttl_only needs cacheTtlMs"],
    ["a time without a cache", { cacheTtlMs: 5 }, "cacheTtlMs needs a cache"],
  ])("for %s on a tool that does not act", (_, more, problem) => {
    expect(problemsOf(more, read)).toEqual([expect.stringContaining(problem)]);
  });

  it("with all problems", () => {
    expect(problemsOf({ name: "", risk: "none", timeoutMs: -1, confirm: "warn" })).toHaveLength(4);
  });

  it("if one of its schemas is unusable, and the fault names the schema", () => {
    const fault = faultOf({ ...act, output: z.object({ at: z.date() }) });
    expect(fault?.code).toBe("SCHEMA_UNUSABLE");
    expect(fault?.message).toMatch(/^the output of mail.send: /);
  });

  it("but an error of a schema library is thrown unchanged", () => {
    const hostile = new Proxy(
      {},
      {
        has: () => {
          throw new TypeError("boom");
        },
      },
    );
    expect(() => defineTool({ ...act, input: hostile })).toThrow(TypeError);
  });
});
