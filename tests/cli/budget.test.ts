import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { runCli } from "./run-cli.ts";

const source = repositoryPath("src", "index.ts");

const config = `
import { defineTool } from ${JSON.stringify(source)};
const object = { type: "object" };
const ask = defineTool({ name: "ask", effect: "reads", input: object, output: object, cost: { credits: 3 }, run: async () => ({}) });
export default {
  tools: [ask],
  budgets: [
    { unit: "credits", limit: 4, per: "tenant-month" },
    { unit: "credits", limit: 3, per: "call" },
    { unit: "calls", limit: 2, per: "run", tool: "ask" },
  ],
};
`;

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  writeFileSync(join(cwd, "writ.config.mjs"), config);
  writeFileSync(join(cwd, "free.config.mjs"), "export default { tools: [] };");
  writeFileSync(join(cwd, "plan.json"), JSON.stringify({ steps: [{ step_id: "a", name: "ask", payload: {} }] }));
});

afterAll(() => rmSync(cwd, { recursive: true }));

describe("writ budget", () => {
  it("prints used, remaining and forecast amounts", async () => {
    const run = JSON.parse((await runCli(cwd, "run", "plan.json", "--json")).out) as { readonly run_id: string };
    const { exit, out } = await runCli(cwd, "budget", "--run", run.run_id, "--json");
    expect({ exit, ...JSON.parse(out) }).toMatchObject({
      exit: 0,
      by: "agent",
      budgets: [
        { unit: "credits", per: "tenant-month", limit: 4, used: 3, left: 1 },
        { unit: "credits", per: "call", tally: null },
        { unit: "calls", per: "run", tool: "ask", used: 1, left: 1, window: null },
      ],
    });
    const shown = (await runCli(cwd, "budget", "--run", run.run_id)).out.split("\n");
    expect(shown[0]).toMatch(
      /^credits per tenant-month +3 of 4 used +75 % +until \S+ \S+ UTC( +\d+ at this pace)?( +used up \S+ \S+ UTC)? *$/,
    );
    expect(shown[1]).toMatch(/^credits per call +at most 3 *$/);
    expect(shown[2]).toMatch(/^calls of ask per run +1 of 2 used +50 % *$/);
  });

  it("refuses a call beyond the budget with the exit code of a failed run", async () => {
    const { exit, out } = await runCli(cwd, "run", "plan.json");
    expect({ exit, out }).toEqual({ exit: 4, out: expect.stringContaining("budget of 4 credits per tenant-month") });
  });

  it("prints nothing where there is no limit", async () => {
    const { exit, out } = await runCli(cwd, "budget", "--config", "free.config.mjs", "--by", "bob");
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("nothing is limited for bob") });
  });
});
