import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkJson } from "./check-json.ts";
import { parseStrictJson } from "./strict-json.ts";

const limits = { bytes: 100_000, depth: 64, nodes: 1000 };

function reasonsFor(text: string): readonly string[] {
  const parsed = parseStrictJson(text, limits);
  return parsed.ok ? [] : parsed.reasons.map(({ path, message }) => `${path}: ${message}`);
}

describe("reading JSON strictly", () => {
  it.each([
    "{}",
    "[]",
    " [ ] ",
    '{"a":[1,-2.5e3,true,false,null,"x",{"b":{}}]}',
    '\t{\r\n"a" : 1 , "b":[ ]}\n',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"',
    "0",
    '"é😀"',
    '{"":0,"constructor":{"x":1},"prototype":1}',
    '{"1":1,"a":{"1":1}}',
  ])("%s is read as the platform reads it", (text) => {
    expect(parseStrictJson(text, limits)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it.each([
    ["", "line 1, column 1: expected a value"],
    [" ", "line 1, column 2: expected a value"],
    ["{", "column 2: expected a key in double quotes"],
    ["[1", "expected , or ]"],
    ["[1 2]", "expected , or ]"],
    ["[1,]", "/1: not JSON at line 1, column 4: expected a value"],
    ["[,1]", "expected a value"],
    ['{"a":1,}', "expected a key"],
    ['{"a" 1}', "/a: not JSON at line 1, column 6: expected :"],
    ['{"a":1 "b":2}', "expected , or }"],
    ["{'a':1}", "expected a key in double quotes"],
    ["{a:1}", "expected a key in double quotes"],
    ["[1}", "expected , or ]"],
    ["01", "nothing may follow the value"],
    ["1.", "nothing may follow the value"],
    [".5", "expected a value"],
    ["+1", "expected a value"],
    ["-", "expected a value"],
    ["NaN", "expected a value"],
    ["Infinity", "expected a value"],
    ["undefined", "expected a value"],
    ["nul", "expected a value"],
    ["truee", "nothing may follow the value"],
    ["{} {}", "column 4: nothing may follow the value"],
    ["\ufeff{}", "expected a value"],
    ["[1]//", "nothing may follow the value"],
    ["\u00a01", "expected a value"],
    ['"abc', "the text ends inside a string"],
    ['"a\nb"', "a control character in a string must be escaped"],
    ['"\\x41"', "no such escape in a string"],
    ['"\\u12g4"', "no such escape in a string"],
    ['"\\', "no such escape in a string"],
    ["[\n  1,\n  oops\n]", "/1: not JSON at line 3, column 3: expected a value"],
  ])("%j is not JSON", (text, reason) => {
    expect(() => JSON.parse(text)).toThrow();
    const reasons = reasonsFor(text);
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toContain(reason);
  });

  it.each([
    ['{"to":"boss","to":"evil"}', '/to: the key "to" is repeated; keep one'],
    ['{"to":1,"t\\u006f":2}', '/to: the key "to" is repeated; keep one'],
    ["[9007199254740993]", "/0: 9007199254740993 would become 9007199254740992; send it as a text"],
    ['{"a":1e999}', "/a: 1e999 is too large for a number"],
    ['{"a":[-0]}', "/a/0: -0 does not survive"],
    ['"\\ud800"', ": a lone surrogate is not text"],
    ['"\ud800"', ": a lone surrogate is not text"],
    ['{"\\udfff":1}', "/\ufffd: a lone surrogate is not text"],
    ['{"a":{"__proto__":{"admin":true}}}', '/a/__proto__: the key "__proto__" is not allowed'],
    ['{"\\u005f_proto__":1}', '/__proto__: the key "__proto__" is not allowed'],
    ['{"constructor":{"prototype":{"admin":true}}}', '/constructor/prototype: the key "prototype" below'],
  ])("%s is refused", (text, reason) => {
    expect(reasonsFor(text)).toEqual([expect.stringContaining(reason)]);
  });

  it("reports all problems at once, and a syntax error last", () => {
    expect(reasonsFor('{"a":1,"a":-0,"b":[1e999,"\\ud800",{"__proto__":1}],"c":oops,"d":-0}')).toEqual([
      expect.stringContaining("/a: the key"),
      expect.stringContaining("/a: -0"),
      expect.stringContaining("/b/0: "),
      expect.stringContaining("/b/1: "),
      expect.stringContaining("/b/2/__proto__: "),
      expect.stringContaining("/c: not JSON"),
    ]);
  });

  it.each([
    ["depth", "[".repeat(65), `${"/0".repeat(64)}: more than 64 levels deep`],
    ["very large depth", "[".repeat(99_999), "more than 64 levels deep"],
    ["depth of objects", '{"a":'.repeat(65), "more than 64 levels deep"],
    ["values", `[${"1,".repeat(1000)}1]`, ": more than 1000 values"],
    ["bytes", `"${"x".repeat(100_000)}"`, ": more than 100000 bytes"],
    ["bytes of wide characters", `"${"é".repeat(60_000)}"`, ": more than 100000 bytes"],
  ])("stops at the limit of %s", (_, text, reason) => {
    expect(parseStrictJson(text, limits)).toMatchObject({ ok: false, tooLarge: true });
    expect(reasonsFor(text)).toEqual([expect.stringContaining(reason)]);
  });

  it("accepts exactly the texts that the platform reads and that are unambiguous", () => {
    const alphabet = fc.constantFrom(
      ...'{}[]:,"\\ue0123456789abd-+.E \n',
      "true",
      "null",
      '"a"',
      '"a":',
      "1e999",
      "-0",
      "\\ud83d",
    );
    const texts = fc.oneof(
      fc.array(alphabet, { maxLength: 12 }).map((parts) => parts.join("")),
      fc.json(),
      fc.tuple(fc.json(), fc.nat(), alphabet).map(([text, at, part]) => {
        const cut = at % (text.length + 1);
        return text.slice(0, cut) + part + text.slice(cut + 1);
      }),
    );
    const wide = { bytes: 1e6, depth: 200, nodes: 1e5 };
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseStrictJson(text, wide);
        const platform = readByPlatform(text);
        if (!parsed.ok && platform === undefined) return;
        if (parsed.ok) {
          expect(platform).toEqual({ value: parsed.value });
          expect(checkJson(parsed.value, wide)).toEqual(parsed);
        } else {
          expect(parsed.reasons.every(({ message }) => !message.includes("not JSON"))).toBe(true);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("changes no prototype", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("__proto__", "constructor", "prototype", "a"), { maxLength: 6 }), (keys) => {
        parseStrictJson(
          keys.reduceRight((inner, key) => `{"${key}":${inner}}`, '{"admin":true}'),
          limits,
        );
        expect(({} as { admin?: unknown }).admin).toBeUndefined();
      }),
    );
  });
});

function readByPlatform(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
