import { describe, expect, it } from "vitest";
import type { Expression } from "../core/ports/expression.ts";
import type { Json } from "../core/values/json.ts";
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
    ["input.amount", "its value is neither true nor false"],
    ["absent == 1", "absent has no value"],
    ["input.cc == 1", 'there is no "cc" in an object'],
    ["input.list[9] == 1", "there is no 9 in a list"],
    ["input.amount.x == 1", 'a number has no "x"'],
    ["input.deep.a[0].b.c == 1", 'null has no "c"'],
    ["has(input.amount.x)", 'a number has no "x"'],
    ["input.amount && true", "the left side of && is a number, not true or false"],
    ["flag && input.to", "the right side of && is a string, not true or false"],
    ["input.to || true", "the left side of || is a string, not true or false"],
    ["!flag || input.to", "the right side of || is a string, not true or false"],
    ["!input.list", "the operand of ! is a list, not true or false"],
    ["-input.to == 1", "the operand of - is a string, not a number"],
    ["input.to ? true : false", "the condition of ? is a string, not true or false"],
    ["input.to < 1", "a string and a number have no order"],
    ["null < null", "null and null have no order"],
    ["1 + 'a' == 1", "the right side of + is a string, not a number"],
    ["'a' + 1 == 1", "the left side of + is a string, not a list"],
    ["[1] + 1 == 1", "the right side of + is a number, not a list"],
    ["'a' - 1 == 1", "the left side of - is a string, not a number"],
    ["1 - 'a' == 1", "the right side of - is a string, not a number"],
    ["'a' * 1 == 1", "the left side of * is a string, not a number"],
    ["1 * 'a' == 1", "the right side of * is a string, not a number"],
    ["'a' / 1 == 1", "the left side of / is a string, not a number"],
    ["1 / 'a' == 1", "the right side of / is a string, not a number"],
    ["'a' % 1 == 1", "the left side of % is a string, not a number"],
    ["1 % 'a' == 1", "the right side of % is a string, not a number"],
    ["1 / 0 == 1", "the result is not a finite number"],
    ["1 in 2", "a number has no 1"],
    ["input.count.contains('a')", "the text is a number, not a text"],
    ["input.to.contains(1)", "the search text is a number, not a text"],
    ["input.count.lowerAscii() == ''", "lowerAscii: the text is a number, not a text"],
    ["input.count.matches('a')", "the value before matches is a number, not a text"],
    ["size(1) == 1", "a number has no size"],
    ["input.to.exists(x, true)", "the value before exists is a string, not a list"],
    ["input.list.all(x, x)", "the condition of all is a number, not true or false"],
    ["input.list.exists(x, x)", "the condition of exists is a number, not true or false"],
    ["input.list.exists_one(x, x)", "the condition of exists_one is a number, not true or false"],
    ["input.list.filter(x, x) == []", "the condition of filter is a number, not true or false"],
  ])("cannot be evaluated: %s", (source, why) => {
    expect(holds(source)).toBe(why);
  });

  it.each([
    ["process", "process is not defined; the variables are input, flag, absent"],
    ["input.to.repeat(9) == ''", "there is no function repeat"],
    ["size() == 1", "size has the wrong number of arguments"],
    ["input.to.contains() == 1", "contains has the wrong number of arguments"],
    ["has(input)", "has needs a field, as in has(input.to)"],
    ["input.list.all(flag, flag)", "flag is already defined; use another name for the item"],
    ["input.list.all(x, input.list.all(x, true))", "x is already defined; use another name for the item"],
    ["input.list.map(x, true, x) == []", "map needs a name and an expression, as in list.map(x, x > 0)"],
    ["input.to.matches(input.to)", "matches needs a literal pattern in quotes"],
    ["input.to.matches('a', 'b')", "matches needs a literal pattern in quotes"],
    ["input.to.matches('(')", "its pattern has an unmatched ("],
    ["9007199254740993 == 1", "it has a literal that JSON cannot represent; whole numbers end at 2^53"],
    ["b'a' == b'a'", "it has a literal that JSON cannot represent; whole numbers end at 2^53"],
    ["{} == {}", "{…} is not in the language"],
    ["flag &&", "Unexpected token: EOF"],
    ["flag ".padEnd(4097), "it is longer than 4096 characters"],
  ])("cannot be parsed: %s", (source, why) => {
    expect(cel.read(source, ["input", "flag", "absent"])).toEqual({ wrong: why });
  });

  it("is parsed once and has its source", () => {
    const expression = read("flag");
    expect(expression.source).toBe("flag");
    expect(expression.test({ flag: true })).toEqual({ holds: true, spent: 0 });
    expect(expression.test({ flag: false })).toEqual({ holds: false, spent: 0 });
  });

  it("can use an item only inside its macro", () => {
    expect(cel.read("input.list.all(x, true) && x == 1", ["input"])).toMatchObject({ wrong: /x is not defined/ });
  });

  it("returns an error and does not throw if the data throws", () => {
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

  it("costs steps for the data it reads", () => {
    const spent = (source: string) => read(source).test(data).spent;
    expect(spent("input.count == 3")).toBe(3);
    expect(spent("input.list.all(x, x > 0)")).toBe(1 + 3 * 2);
    expect(spent("size(input) == 6")).toBe(1 + 6 + 1 + 1);
    expect(spent(`'${"a".repeat(64)}' == '${"a".repeat(64)}'`)).toBe(3);
    expect(spent(`'${"a".repeat(64)}' == '${"a".repeat(65)}'`)).toBe(2);
    expect(spent("input.list == [1, 2, 3]")).toBe(1 + 1 + 3 + 1 + 3 + 3);
  });
});
