import { describe, expect, it } from "vitest";
import { defineTool } from "../schema/define-tool.ts";
import { configProblems } from "./config-problems.ts";

const tool = defineTool({ name: "note", effect: "pure", input: {}, output: {}, run: () => null });

describe("configProblems", () => {
  it.each([
    [{}],
    [
      {
        tools: [tool],
        store: "writ.db",
        strictPlans: true,
        durability: "every",
        onNotice: async () => {},
        observers: [],
      },
    ],
    [{ principal: { id: "bot", kind: "service", tenant: "acme", roles: ["mail"] }, guards: [] }],
    [{ tenants: { acme: { mode: "auto_exec", trust: ["note"] } }, limits: { concurrency: 4 } }],
    [{ store: { append: () => {} }, tools: undefined }],
  ])("accepts %j", (config) => {
    expect(configProblems(config)).toEqual([]);
  });

  it.each<[unknown, RegExp]>([
    [undefined, /no default export/],
    [() => ({}), /no default export/],
    [{ tolls: [] }, /tolls is not a field; did you mean tools\?/],
    [{ work: false }, /work is not a field; there are store, tools/],
    [{ tools: tool }, /tools must be a list/],
    [{ tools: [tool, { name: "x", effect: "acts" }] }, /number 2 is not/],
    [{ store: 7 }, /store must be a path/],
    [{ store: "" }, /store must be a path/],
    [{ principal: { id: "a", kind: "robot", tenant: "t" } }, /principal must be/],
    [{ principal: { kind: "agent", tenant: "t" } }, /principal must be/],
    [{ budgets: [{ unit: "calls", limit: -1, per: "run" }] }, /budgets\[0\] needs a limit/],
    [{ rates: 7 }, /rates must be a list/],
    [{ zone: "Nowhere" }, /IANA/],
    [{ tenants: { t: { budgets: 7 } } }, /t\.budgets must be a list/],
    [{ tenants: { t: { mode: "yolo" } } }, /t\.mode is one of dry_run/],
    [{ tenants: { t: { trusts: [] } } }, /t\.trusts is not a field; did you mean trust\?/],
    [{ tenants: { t: { trust: "all" } } }, /t\.trust is a list/],
    [{ tenants: { t: null } }, /t has none/],
    [{ limits: { concurency: 1 } }, /did you mean concurrency\?/],
    [{ limits: { concurrency: 0 } }, /at least 1/],
    [{ durability: "never" }, /durability must be/],
    [{ strictPlans: "yes" }, /true or false/],
    [{ guards: {} }, /list of guards/],
    [{ onNotice: "mail" }, /a function/],
    [{ observers: "otel" }, /a list of observers/],
  ])("refuses %j", (config, problem) => {
    expect(configProblems(config)).toEqual([expect.stringMatching(problem)]);
  });

  it("reports every problem at once", () => {
    expect(configProblems({ tools: 1, store: 2, limits: 3 })).toHaveLength(3);
  });
});
