import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newProjectFolder } from "./project-folder.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;

const policy = {
  schema_version: "1.0",
  name: "records",
  rules: [
    { id: "ask", kind: "approval", on: { tools: ["retain", "backup", "halts.lift", "projects.*", "undo", "resolve"] } },
  ],
};

beforeAll(() => {
  cwd = newProjectFolder();
  const config = join(cwd, "writ.config.mjs");
  const text = readFileSync(config, "utf8").replace(
    "tools: [send]",
    `tools: [send], policies: [${JSON.stringify(policy)}]`,
  );
  writeFileSync(config, text);
});

afterAll(() => rmSync(cwd, { recursive: true }));

const json = async (...args: readonly string[]) => {
  const { exit, out } = await runCli(cwd, ...args, "--json");
  return { exit, ...JSON.parse(out) };
};

describe("a command that a policy holds", () => {
  it("prints its gate, exits with 3, and is executed after the approval of another person", async () => {
    await runCli(cwd, "run", "plan.json", "--no-wait");
    const held = await runCli(cwd, "backup", "copy.db", "--role", "keeper", "--reason", "monthly");
    expect(held.exit).toBe(3);
    expect(held.err).toMatch(/HELD_FOR_APPROVAL: the request of ana to back up the store is held/);
    const [, gate = ""] = /approve (gate_\w+)/.exec(held.err) ?? [];
    const [, run = ""] = /resume (run_\w+)/.exec(held.err) ?? [];
    expect((await runCli(cwd, "gates")).out).toContain("backup");
    expect((await runCli(cwd, "approve", gate)).exit).toBe(4);
    expect((await runCli(cwd, "approve", gate, "--as", "bob")).exit).toBe(0);
    expect(existsSync(join(cwd, "copy.db"))).toBe(false);
    expect(await json("resume", run)).toMatchObject({ exit: 0, status: "completed" });
    expect(existsSync(join(cwd, "copy.db"))).toBe(true);
    expect((await runCli(cwd, "events", run, "--json")).out).toContain('"roles":["keeper","operator"]');
  });

  it.each([["undo"], ["resolve", "send", "--give-up"]])(
    "exits with 3 for a decision about a run: %s",
    async (command, ...args) => {
      const { run_id } = await json("run", "plan.json", "--no-wait");
      expect(await json(command, run_id, ...args)).toMatchObject({ exit: 3, fault: { code: "HELD_FOR_APPROVAL" } });
    },
  );

  it.each([["retain", "--older-than", "30d"], ["lift"], ["project", "lock", "p", "--reason", "x"]])(
    "exits with 3: %s",
    async (...args) => {
      expect(await json(...args)).toMatchObject({
        exit: 3,
        fault: { code: "HELD_FOR_APPROVAL", detail: { run_id: expect.any(String) } },
      });
    },
  );
});
