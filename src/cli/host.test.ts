import { describe, expect, it } from "vitest";
import { quoted, selfName } from "./host.ts";

describe("the command to type", () => {
  it.each([
    ["/app/node_modules/writ/dist/cli.js", "/app", "npx writ"],
    ["/app/node_modules/.bin/writ", "/app", "npx writ"],
    ["/usr/local/bin/writ", "/app", "npx writ"],
    ["/src/writ/dist/cli.js", "/src/writ", "node dist/cli.js"],
    ["/src/my writ/dist/cli.js", "/src", "node 'my writ/dist/cli.js'"],
  ])("is found from %s", (script, cwd, self) => {
    expect(selfName(script, cwd)).toBe(self);
  });

  it.each([
    ["gate_01", "gate_01"],
    ["a/b.db", "a/b.db"],
    ["", "''"],
    ["two words", "'two words'"],
    ["$(rm -rf ~)", "'$(rm -rf ~)'"],
    ["it's", `'it'\\''s'`],
  ])("gives %j back to the shell unchanged", (argument, shown) => {
    expect(quoted(argument)).toBe(shown);
  });
});
