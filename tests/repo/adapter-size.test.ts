import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { repositoryPath } from "./repository-path.ts";

/** The most lines of an adapter: a thin layer over `src/agents`. */
const MOST = 300;

/** The modules that ARCHITECTURE.md lists as adapters of a framework. */
function adapters(): readonly string[] {
  const page = readFileSync(repositoryPath("ARCHITECTURE.md"), "utf8");
  return [...page.matchAll(/^\| `([a-z-]+)` \| the adapter for /gmu)].map(([, name = ""]) => name);
}

function linesIn(folder: string): number {
  const files = readdirSync(repositoryPath("src", folder)).filter((name) => !name.endsWith(".test.ts"));
  const texts = files.map((name) => readFileSync(repositoryPath("src", folder, name), "utf8"));
  return texts.reduce((sum, text) => sum + text.trimEnd().split("\n").length, 0);
}

describe("the size of an adapter", () => {
  it("is counted for every adapter", () => {
    expect(adapters()).toEqual(["ai-sdk", "anthropic", "claude-agent-sdk", "openai"]);
  });

  it.each(adapters())(`%s has at most ${MOST} lines`, (folder) => {
    expect(linesIn(folder)).toBeLessThanOrEqual(MOST);
  });
});
