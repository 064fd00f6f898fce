import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { told } from "./cli-host.ts";
import { workplace } from "./cli-workplace.ts";

let cwd: string;

beforeAll(() => {
  cwd = workplace();
});

afterAll(() => rmSync(cwd, { recursive: true }));

const json = async (...args: readonly string[]) => {
  const { exit, out } = await told(cwd, ...args, "--json");
  return { exit, ...JSON.parse(out) };
};

describe("halting", () => {
  it("keeps what is approved from happening, tells who and why, and lets it go on", async () => {
    const run = await json("run", "plan.json");
    const [{ gate_id }] = run.gates;
    const halted = await told(cwd, "halt", "--reason", "wrong list", "--as", "ana");
    expect(halted.exit).toBe(0);
    expect(halted.out).toMatch(
      /^halted: tenant +by ana +since \S+ +wrong list\nnothing new begins there; go on with:.* go\n/,
    );
    expect(await json("halts")).toMatchObject({
      exit: 0,
      halts: [{ over: "tenant", by: "ana", reason: "wrong list" }],
    });
    expect((await told(cwd, "approve", gate_id)).exit).toBe(0);
    const waiting = await json("resume", run.run_id);
    expect(waiting).toMatchObject({ exit: 3, blocked_on: [{ reason_code: "HALTED" }] });
    expect(existsSync(join(cwd, "witness.txt"))).toBe(false);
    expect((await told(cwd, "events", run.run_id)).out).toContain("ana halted tenant (wrong list)");
    expect(await told(cwd, "go")).toMatchObject({ exit: 0, out: expect.stringMatching(/^lifted by /) });
    expect((await told(cwd, "resume", run.run_id)).exit).toBe(0);
    expect(existsSync(join(cwd, "witness.txt"))).toBe(true);
    expect((await told(cwd, "halts")).out).toContain("nothing is halted in tenant default");
  });

  it("is for a run or for everything, has a reason, and is lifted once", async () => {
    const { run_id } = await json("run", "plan.json");
    expect(await json("halt", run_id, "--reason", "x")).toMatchObject({ halts: [{ over: run_id }] });
    expect((await told(cwd, "halt", "--everything", "--reason", "x")).out).toContain("go --everything");
    expect((await json("halts")).halts).toHaveLength(2);
    expect((await told(cwd, "go", run_id)).exit).toBe(0);
    expect((await told(cwd, "go", "--everything")).exit).toBe(0);
    expect((await told(cwd, "go")).exit).toBe(2);
    expect((await told(cwd, "halt")).exit).toBe(2);
    expect((await told(cwd, "halt", "run_none", "--reason", "x")).exit).toBe(5);
  });
});
