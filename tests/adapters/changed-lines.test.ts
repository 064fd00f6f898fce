import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { documentedCommands } from "../repo/documented-commands.ts";
import { repositoryPath } from "../repo/repository-path.ts";

/** The lines of the program of a guide that use the governed session. */
function changedLines(page: string): readonly string[] {
  const [program] = documentedCommands(readFileSync(repositoryPath("docs", "guides", page), "utf8"));
  if (program?.kind !== "program") throw new Error(`${page} begins with a program`);
  return program.text.split("\n").filter((line) => /\bwrit\.(?:fetch|tools|results|options|decide)\b/.test(line));
}

describe.each(["ai-sdk.md", "openai.md", "anthropic.md", "claude-agent-sdk.md"])("the program of %s", (page) => {
  it("changes at most two lines, and three with approvals", () => {
    const lines = changedLines(page);
    const approvals = lines.filter((line) => line.includes("writ.decide"));
    expect(approvals.length).toBe(1);
    expect(lines.length - approvals.length).toBeLessThanOrEqual(2);
    expect(lines.length).toBeGreaterThanOrEqual(2);
  });
});
