import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { FaultError } from "../core/fault.ts";
import type { ToolContext } from "../core/tool.ts";
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
  it("gets safe defaults for what its author left out", () => {
    expect(defineTool(act)).toMatchObject({
      version: "1",
      description: "",
      tags: [],
      risk: "medium",
      identity: null,
      timeoutMs: 30_000,
      tries: null,
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

  it("keeps what its author said", () => {
    const said = {
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
    const tool = defineTool({ ...act, ...said, idempotent: { forMs: 9 }, settleAfter: 0, verify, compensate });
    expect(tool).toMatchObject({ ...said, idempotentForMs: 9, settleAfterMs: 0 });
    expect(defineTool({ ...read, cache: "ttl_only", cacheTtlMs: 9 })).toMatchObject({
      cache: "ttl_only",
      cacheTtlMs: 9,
    });
  });

  it("takes fields by name or by pointer", () => {
    const tool = defineTool({ ...act, identity: ["to", "/body"], redact: ["id"] });
    expect(tool.identity).toEqual(["/to", "/body"]);
    expect(tool.redact).toEqual(["/id"]);
    const odd = z.object({ "a/b": z.string() });
    expect(defineTool({ ...act, input: odd, identity: ["a/b"] }).identity).toEqual(["/a~1b"]);
  });

  it("may identify by a field that its schema does not list, if the schema lists none", () => {
    const open = { ...act, input: z.record(z.string(), z.string()), identity: ["anything"] };
    expect(defineTool(open).identity).toEqual(["/anything"]);
    const patterned = { properties: {}, patternProperties: { "^x-": {} } };
    expect(problemsOf({ input: patterned, identity: ["x-a"] })).toEqual([]);
  });

  it("calls its handlers on the definition, and never throws past the promise", async () => {
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
    ["tags that are no list", { tags: "a" }, "tags must be"],
    ["no effect", { effect: undefined }, "effect must be one of pure, reads, writes, acts"],
    ["an unknown risk", { risk: "none" }, "risk must be one of"],
    ["a timeout of nothing", { timeoutMs: 0 }, "timeoutMs must be a whole number"],
    ["half a try", { tries: 1.5 }, "tries must be a whole number"],
    ["a text for a number", { settleAfter: "1" }, "settleAfter must be a whole number"],
    ["no run", { run: undefined }, "run must be a function"],
    ["a verifier that is none", { verify: true }, "verify must be a function"],
    ["an identity of nothing", { identity: [] }, "identity must name at least one field"],
    ["an identity that is no list", { identity: "to" }, "identity must name at least one field"],
    ["an identity that is no field", { identity: ["/~"] }, "/~ is neither"],
    ["an identity that is no text", { identity: [1] }, "1 is neither"],
    ["an identity without a name", { identity: [""] }, "is neither"],
    ["an identity the input lacks", { identity: ["from"] }, "identity names from, which the schema does not have"],
    ["a redaction the output lacks", { redact: ["/token"] }, "redact names token"],
    ["a cache on an act", { cache: "use_if_safe" }, "an act is never answered from a cache"],
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
    ["verify", { verify: async () => ({ saw: "absent" }) }, "verify is for acts, and this tool reads; remove it"],
    ["an undo", { compensate: async () => null, effect: "pure" }, "compensate is for acts, and this tool is pure"],
    ["ttl_only without a time", { cache: "ttl_only" }, "cache ttl_only needs cacheTtlMs"],
    ["a time without a cache", { cacheTtlMs: 5 }, "cacheTtlMs needs a cache"],
  ])("for %s where nothing acts", (_, more, problem) => {
    expect(problemsOf(more, read)).toEqual([expect.stringContaining(problem)]);
  });

  it("with everything that is wrong at once", () => {
    expect(problemsOf({ name: "", risk: "none", timeoutMs: -1, confirm: "warn" })).toHaveLength(4);
  });

  it("if a schema of it cannot be used, and the fault says which", () => {
    const fault = faultOf({ ...act, output: z.object({ at: z.date() }) });
    expect(fault?.code).toBe("SCHEMA_UNUSABLE");
    expect(fault?.message).toMatch(/^the output of mail.send: /);
  });

  it("but a bug in a schema library stays that bug", () => {
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
