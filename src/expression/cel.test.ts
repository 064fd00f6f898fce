import { describe, expect, it } from "vitest";
import type { Expression } from "../core/expression.ts";
import type { Json } from "../core/json/json.ts";
import { cel } from "./cel.ts";

const data = {
  input: { amount: 12.5, count: 3, to: "ana@Example.org", list: [1, 2, 3], deep: { a: [{ b: null }] }, none: [] },
  flag: true,
};

function read(source: string): Expression {
  const expression = cel.read(source, ["input", "flag", "absent"]);
  if ("wrong" in expression) throw new Error(expression.wrong);
  return expression;
}

const holds = (source: string, given: Readonly<Record<string, Json>> = data) => {
  const answer = read(source).test(given);
  return "wrong" in answer ? answer.wrong : answer.holds;
};

describe("an expression", () => {
  it.each([
    "flag",
    "!flag == false",
    "input.amount > 12 && input.amount < 13",
    "input.amount >= 12.5 && input.amount <= 12.5",
    "input.count + 1 == 4",
    "input.count - 1 == 2 && input.count * 2 == 6 && input.count / 2 == 1.5 && input.count % 2 == 1",
    "-input.count == -3",
    "input.count == 3.0",
    "input['count'] == 3",
    "input.list[2] == 3",
    "input.deep.a[0].b == null",
    "input.deep == input.deep",
    "input.deep != input.list",
    "input.list == [1, 2, 3]",
    "input.list != [1, 2]",
    "input.list != [1, 2, 4]",
    "input.none == []",
    "[] != input.deep",
    "1 != '1' && null != false && null != 0",
    "[1] + [2, 3] == input.list",
    "'a' + 'b' == 'ab'",
    "'a' < 'b' && 'b' > 'a' && 'a' <= 'a' && 'a' >= 'a' && !('b' < 'a')",
    "2 in input.list && !(5 in input.list)",
    "'count' in input && !('toString' in input)",
    "flag ? true : absent",
    "!flag ? absent : true",
    "flag || absent",
    "!(!flag && absent)",
    "has(input.to) && !has(input.cc)",
    "size(input.list) == 3 && input.list.size() == 3 && size(input) == 6 && size('añ😀') == 3",
    "input.to.startsWith('ana') && input.to.endsWith('.org') && input.to.contains('@')",
    "!input.to.startsWith('x') && !input.to.endsWith('x') && !input.to.contains('x@')",
    "input.to.lowerAscii() == 'ana@example.org' && 'Ä'.lowerAscii() == 'Ä'",
    "input.to.matches('^ana@')",
    "input.list.exists(x, x == 2) && !input.list.exists(x, x == 5)",
    "input.list.all(x, x > 0) && !input.list.all(x, x > 1)",
    "input.list.exists_one(x, x > 2) && !input.list.exists_one(x, x > 1) && !input.none.exists_one(x, true)",
    "input.list.filter(x, x > 1) == [2, 3]",
    "input.list.map(x, x * 2) == [2, 4, 6]",
    "input.list.all(x, input.list.exists(y, y == x))",
    "input.none.all(x, absent) && !input.none.exists(x, absent)",
  ])("holds: %s", (source) => {
    expect(holds(source)).toBe(true);
  });

  it.each([
    ["input.amount", "what it says is neither true nor false"],
    ["absent == 1", "nothing is known of absent"],
    ["input.cc == 1", 'there is no "cc" in an object'],
    ["input.list[9] == 1", "there is no 9 in a list"],
    ["input.amount.x == 1", 'a number has no "x"'],
    ["input.deep.a[0].b.c == 1", 'null has no "c"'],
    ["has(input.amount.x)", 'a number has no "x"'],
    ["input.amount && true", "what is before && is a number, not true or false"],
    ["flag && input.to", "what is after && is a string, not true or false"],
    ["input.to || true", "what is before || is a string, not true or false"],
    ["!flag || input.to", "what is after || is a string, not true or false"],
    ["!input.list", "what is after ! is a list, not true or false"],
    ["-input.to == 1", "what is after - is a string, not a number"],
    ["input.to ? true : false", "what is before ? is a string, not true or false"],
    ["input.to < 1", "a string and a number have no order"],
    ["null < null", "null and null have no order"],
    ["1 + 'a' == 1", "what is after + is a string, not a number"],
    ["'a' + 1 == 1", "what is before + is a string, not a list"],
    ["[1] + 1 == 1", "what is after + is a number, not a list"],
    ["'a' - 1 == 1", "what is before - is a string, not a number"],
    ["1 - 'a' == 1", "what is after - is a string, not a number"],
    ["'a' * 1 == 1", "what is before * is a string, not a number"],
    ["1 * 'a' == 1", "what is after * is a string, not a number"],
    ["'a' / 1 == 1", "what is before / is a string, not a number"],
    ["1 / 'a' == 1", "what is after / is a string, not a number"],
    ["'a' % 1 == 1", "what is before % is a string, not a number"],
    ["1 % 'a' == 1", "what is after % is a string, not a number"],
    ["1 / 0 == 1", "what it computes is no number"],
    ["1 in 2", "a number has no 1"],
    ["input.count.contains('a')", "the text is a number, not a text"],
    ["input.to.contains(1)", "what is looked for is a number, not a text"],
    ["input.count.lowerAscii() == ''", "lowerAscii: the text is a number, not a text"],
    ["input.count.matches('a')", "what is matched is a number, not a text"],
    ["size(1) == 1", "a number has no size"],
    ["input.to.exists(x, true)", "what exists goes through is a string, not a list"],
    ["input.list.all(x, x)", "what all asks is a number, not true or false"],
    ["input.list.exists(x, x)", "what exists asks is a number, not true or false"],
    ["input.list.exists_one(x, x)", "what exists_one asks is a number, not true or false"],
    ["input.list.filter(x, x) == []", "what filter asks is a number, not true or false"],
  ])("has no answer: %s", (source, why) => {
    expect(holds(source)).toBe(why);
  });

  it.each([
    ["process", "there is no process here; there is input, flag, absent"],
    ["input.to.repeat(9) == ''", "there is no function repeat"],
    ["size() == 1", "size is given too much or too little"],
    ["input.to.contains() == 1", "contains is given too much or too little"],
    ["has(input)", "has asks for a field, as in has(input.to)"],
    ["input.list.all(flag, flag)", "flag means something already; call the item otherwise"],
    ["input.list.all(x, input.list.all(x, true))", "x means something already; call the item otherwise"],
    ["input.list.map(x, true, x) == []", "map is given a name and what is asked of it, as in list.map(x, x > 0)"],
    ["input.to.matches(input.to)", "matches is given a pattern as it is, in quotes"],
    ["input.to.matches('a', 'b')", "matches is given a pattern as it is, in quotes"],
    ["input.to.matches('(')", "its pattern has a ( that is never closed"],
    ["9007199254740993 == 1", "it has a value that JSON cannot say; whole numbers end at 2^53"],
    ["b'a' == b'a'", "it has a value that JSON cannot say; whole numbers end at 2^53"],
    ["{} == {}", "{…} is not in the language"],
    ["flag &&", "Unexpected token: EOF"],
    ["flag ".padEnd(4097), "it is longer than 4096 characters"],
  ])("cannot be read: %s", (source, why) => {
    expect(cel.read(source, ["input", "flag", "absent"])).toEqual({ wrong: why });
  });

  it("is read once and says what it was made from", () => {
    const expression = read("flag");
    expect(expression.source).toBe("flag");
    expect(expression.test({ flag: true })).toEqual({ holds: true, spent: 0 });
    expect(expression.test({ flag: false })).toEqual({ holds: false, spent: 0 });
  });

  it("sees an item only within its round", () => {
    expect(cel.read("input.list.all(x, true) && x == 1", ["input"])).toMatchObject({ wrong: /there is no x here/ });
  });

  it("has no answer when what it is asked about fails, and does not throw", () => {
    const trap = new Proxy(
      {},
      {
        getOwnPropertyDescriptor: () => {
          throw new Error("gotcha");
        },
      },
    ) as Json;
    expect(holds("input.to == ''", { input: trap })).toBe("gotcha");
  });

  it("costs what it looks at", () => {
    const spent = (source: string) => read(source).test(data).spent;
    expect(spent("input.count == 3")).toBe(3);
    expect(spent("input.list.all(x, x > 0)")).toBe(1 + 3 * 2);
    expect(spent("size(input) == 6")).toBe(1 + 6 + 1 + 1);
    expect(spent(`'${"a".repeat(64)}' == '${"a".repeat(64)}'`)).toBe(3);
    expect(spent(`'${"a".repeat(64)}' == '${"a".repeat(65)}'`)).toBe(2);
    expect(spent("input.list == [1, 2, 3]")).toBe(1 + 1 + 3 + 1 + 3 + 3);
  });
});
