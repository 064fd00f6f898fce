import { describe, expect, it } from "vitest";
import { programCommand, shellQuoted } from "./program-process.ts";

describe("program command", () => {
  it.each([
    ["/app/node_modules/writ/dist/cli.js", "/app", "npx writ"],
    ["/app/node_modules/.bin/writ", "/app", "npx writ"],
    ["/usr/local/bin/writ", "/app", "npx writ"],
    ["/src/writ/dist/cli.js", "/src/writ", "node dist/cli.js"],
    ["/src/my writ/dist/cli.js", "/src", "node 'my writ/dist/cli.js'"],
  ])("is derived from %s", (script, cwd, self) => {
    expect(programCommand(script, cwd)).toBe(self);
  });

  it.each([
    ["gate_01", "gate_01"],
    ["a/b.db", "a/b.db"],
    ["", "''"],
    ["two words", "'two words'"],
    ["$(rm -rf ~)", "'$(rm -rf ~)'"],
    ["it's", `'it'\\''s'`],
  ])("quotes %j so that a shell reads it back unchanged", (argument, shown) => {
    expect(shellQuoted(argument)).toBe(shown);
  });
});
