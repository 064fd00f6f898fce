import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;

beforeAll(() => {
  cwd = newProjectFolder();
});

afterAll(() => rmSync(cwd, { recursive: true }));

const json = async (...args: readonly string[]) => {
  const { exit, out } = await runCli(cwd, ...args, "--json");
  return { exit, ...JSON.parse(out) };
};

describe("writ halt", () => {
  it("stops an approved act, prints who halted and why, and writ lift continues it", async () => {
    const run = await json("run", "plan.json");
    const [{ gate_id }] = run.gates;
    const halted = await runCli(cwd, "halt", "--reason", "wrong list", "--as", "ana");
    expect(halted.exit).toBe(0);
    expect(halted.out).toMatch(
      /^halted: tenant +by ana +since \S+ \S+ UTC +wrong list\nno new call starts there; lift the halt with:.* lift\n/,
    );
    expect(await json("halts")).toMatchObject({
      exit: 0,
      halts: [{ over: "tenant", by: "ana", reason: "wrong list" }],
    });
    expect((await runCli(cwd, "approve", gate_id)).exit).toBe(0);
    const waiting = await json("resume", run.run_id);
    expect(waiting).toMatchObject({ exit: 3, blocked_on: [{ reason_code: "HALTED" }] });
    expect(existsSync(join(cwd, "witness.txt"))).toBe(false);
    expect((await runCli(cwd, "events", run.run_id)).out).toContain("ana halted tenant (wrong list)");
    expect(await runCli(cwd, "lift")).toMatchObject({ exit: 0, out: expect.stringMatching(/^lifted by /) });
    expect((await runCli(cwd, "resume", run.run_id)).exit).toBe(0);
    expect(existsSync(join(cwd, "witness.txt"))).toBe(true);
    expect((await runCli(cwd, "halts")).out).toContain("nothing is halted in tenant default");
  });

  it("covers a run or everything, requires a reason, and is lifted once, also by the alias go", async () => {
    const { run_id } = await json("run", "plan.json");
    expect(await json("halt", run_id, "--reason", "x")).toMatchObject({ halts: [{ over: run_id }] });
    expect((await runCli(cwd, "halt", "--everything", "--reason", "x")).out).toContain("lift --everything");
    expect((await json("halts")).halts).toHaveLength(2);
    expect((await runCli(cwd, "lift", run_id)).exit).toBe(0);
    expect((await runCli(cwd, "go", "--everything")).exit).toBe(0);
    expect((await runCli(cwd, "lift")).exit).toBe(2);
    expect((await runCli(cwd, "halt")).exit).toBe(2);
    expect((await runCli(cwd, "halt", "run_none", "--reason", "x")).exit).toBe(5);
  });
});
