import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verificationExitCode } from "../../src/cli/commands/verify.ts";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;

beforeAll(() => {
  cwd = newProjectFolder();
});

afterAll(() => rmSync(cwd, { recursive: true }));

describe("writ verify", () => {
  it("reports and records the recorded acts of a run, and exits 3 if one cannot be checked", async () => {
    const run = JSON.parse((await runCli(cwd, "run", "plan.json", "--json")).out);
    const none = await runCli(cwd, "verify", run.run_id);
    expect(none).toMatchObject({ exit: 0, out: `run ${run.run_id} has no recorded acts\n` });
    await runCli(cwd, "approve", run.gates[0].gate_id);
    expect((await runCli(cwd, "resume", run.run_id)).exit).toBe(0);
    const { exit, out } = await runCli(cwd, "verify", run.run_id, "--reason", "audit", "--as", "ana", "--json");
    const acts = [{ step_id: "send", tool: "note.send", found: "not_verifiable", why: null }];
    expect({ exit, ...JSON.parse(out) }).toEqual({ exit: 3, run_id: run.run_id, acts });
    expect((await runCli(cwd, "events", run.run_id)).out).toContain("verified for ana (audit): send not verifiable");
    expect((await runCli(cwd, "verify", "run_none")).exit).toBe(5);
  });

  it.each([
    [0, ["confirmed", "confirmed"]],
    [0, []],
    [3, ["confirmed", "unknown"]],
    [3, ["not_verifiable"]],
    [4, ["unknown", "missing"]],
    [4, ["different", "confirmed"]],
  ] as const)("exits %i for %j", (exit, findings) => {
    expect(verificationExitCode(findings.map((found) => ({ found })))).toBe(exit);
  });
});
