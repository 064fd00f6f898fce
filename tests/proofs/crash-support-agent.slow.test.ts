import { fork } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../crash/bundle-programs.ts";
import { CellRunner } from "../../crash/cell-runner.ts";
import type { KillPoint } from "../../crash/killer.ts";
import { Rng } from "../../sim/rng.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { takesAllCases } from "../select-cases.ts";
import { writePackageWithKillPoints } from "./write-package-with-kill-points.ts";

const runner = await CellRunner.create();

afterAll(() => runner.close());

const example = join(packageRoot, "examples/support-agent");
const { startScriptedModel } = (await import(join(example, "scripted-model.mjs"))) as {
  startScriptedModel(): Promise<{ readonly url: string; close(): Promise<void> }>;
};
const ana = { id: "ana", kind: "person", tenant: "demo" } as const;

interface AgentExit {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly status?: string;
  readonly text?: string;
}

/** Starts the program of the example in a process that dies at a point, and waits for its end. */
function runAgent(home: string, task: object, kill: KillPoint | null): Promise<AgentExit> {
  const env = { ...process.env, WRIT_CRASH_KILL: JSON.stringify(kill) };
  const child = fork(join(home, "agent.mjs"), [JSON.stringify(task)], { cwd: home, env, silent: true });
  let said = {};
  let stderr = "";
  child.stderr?.on("data", (text) => {
    stderr += text;
  });
  child.on("message", (message: object) => {
    said = { ...said, ...message };
  });
  return new Promise((resolve, reject) => {
    child.on("exit", (code, signal) => {
      if (code !== 0 && signal !== "SIGKILL") reject(new Error(stderr));
      else resolve({ signal, code, ...said });
    });
  });
}

function paymentsIn(bank: string): number {
  return existsSync(bank) ? readFileSync(bank, "utf8").split("\n").length - 1 : 0;
}

/** Decides as a person until stopped: approves what is held, and resolves a doubt by looking at the bank. */
async function decideAsPerson(engine: Engine, bank: string, isOver: () => boolean): Promise<number> {
  let resolved = 0;
  while (!isOver()) {
    for (const { gate_id } of await engine.gates({ principal: ana }))
      await engine.approve(gate_id, { principal: ana }).catch(() => {});
    const doubts = await engine.inDoubt({ principal: ana, waitingFor: "person" });
    for (const { run_id, step_id, attempt } of doubts) {
      const as = paymentsIn(bank) > 0 ? "happened" : "absent";
      const decided = engine.resolve(run_id, step_id, { principal: ana, attempt, as });
      resolved += await decided.then(
        () => 1,
        () => 0,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return resolved;
}

/** Kills the agent at random points until it has closed its session. */
async function story(seed: number) {
  const rng = new Rng(seed);
  const home = runner.newFolder();
  for (const file of ["agent.mjs", "tools.mjs"]) cpSync(join(example, file), join(home, file));
  writePackageWithKillPoints(runner, home);
  const model = await startScriptedModel();
  const task = { store: join(home, "writ.db"), bank: join(home, "bank.jsonl"), url: model.url, verifies: false };
  const engine = await createEngine({ store: sqlite(task.store), tools: [], work: false });
  let isOver = false;
  const person = decideAsPerson(engine, task.bank, () => isOver);
  const kills: string[] = [];
  let exit: AgentExit | null = null;
  while (exit?.code !== 0) {
    const point = rng.pick(["append.landed", "append.landed", "append.asked", "mark.landed", "tool.after"]);
    const kill = kills.length < 5 ? { point, nth: rng.between(1, point.startsWith("append") ? 9 : 2) } : null;
    exit = await runAgent(home, task, kill);
    if (exit.signal === "SIGKILL") kills.push(`${kill?.point}#${kill?.nth}`);
  }
  isOver = true;
  const resolved = await person;
  const { broken, rows } = await engine.audit({ principal: ana });
  await engine.close();
  await model.close();
  const { status, text } = exit;
  return { seed, kills, resolved, payments: paymentsIn(task.bank), status, text, broken, rows };
}

describe("examples/support-agent", () => {
  it("pays once, killed at random recorded facts, and waits for a person in doubt", async () => {
    const stories = [];
    for (let seed = 1; seed <= (takesAllCases ? 12 : 3); seed += 1) stories.push(await story(seed));
    for (const { seed, kills, resolved, ...end } of stories)
      expect({ seed, kills, ...end }).toEqual({
        seed,
        kills,
        payments: 1,
        status: "completed",
        text: "Half of your order is paid back.",
        broken: [],
        rows: [],
      });
    expect(stories.flatMap(({ kills }) => kills).length).toBeGreaterThanOrEqual(takesAllCases ? 20 : 3);
    if (takesAllCases) expect(stories.some(({ resolved }) => resolved > 0)).toBe(true);
  }, 120_000);
});
