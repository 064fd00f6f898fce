import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliProject } from "./cli-project.ts";

let site: CliProject;

beforeEach(() => {
  site = new CliProject();
  site.plan("plan.json", "hang@example.org");
});

afterEach(() => site.clear());

const sent = "mail to hang@example.org";

/** A run whose process was killed while its mail was on its way. */
async function killedWhileSending(): Promise<string> {
  const running = site.start("run", "plan.json", "--wait");
  const [, gate = ""] = await running.until(/approve (gate_\w+)/);
  const [, run = ""] = await running.until(/run (run_\w+) accepted/);
  await site.json("approve", gate);
  await running.until(/sending now/);
  running.kill("SIGKILL");
  await running.ended;
  return run;
}

describe("act whose process was killed", () => {
  it("is in doubt and not repeated; a person says that it happened, and the run completes", async () => {
    const run = await killedWhileSending();
    expect((await site.json("show", run)).answer).toMatchObject({ running: true, executing: false });
    const onward = new RegExp(
      `No process executes this store, so the run does not continue.\n  continue it: .* resume ${run}\n`,
    );
    expect((await site.run("show", run)).out).toMatch(onward);
    const resumed = await site.json("resume", run);
    expect(resumed).toMatchObject({ exit: 3, answer: { status: "partial", steps: { send: { state: "in_doubt" } } } });
    expect((await site.run("show", run)).out).toContain(`resolve ${run} send --happened`);

    const misfit = await site.json("resolve", run, "send", "--happened", "--output", `{"wrong":1}`);
    expect(misfit).toMatchObject({ exit: 2, answer: { fault: { code: "INVALID_INPUT" } } });

    const output = `{"id":"found in the outbox"}`;
    expect(await site.json("resolve", run, "send", "--happened", "--output", output)).toMatchObject({ exit: 0 });
    const { answer } = await site.json("show", run);
    expect(answer.steps.send).toEqual({ state: "succeeded", output: { id: "found in the outbox" } });
    expect(answer.status).toBe("completed");
    expect(site.effects()).toEqual([sent]);
  });

  it("is done again when a person says that it did not happen", async () => {
    const run = await killedWhileSending();
    await site.json("resume", run);
    expect(await site.json("resolve", run, "send", "--absent", "--reason", "not in the outbox")).toMatchObject({
      exit: 0,
    });
    const again = site.start("resume", run);
    await again.until(/sending now/);
    expect(site.effects()).toEqual([sent, sent]);
  });

  it("is never done again when a person gives up", async () => {
    const run = await killedWhileSending();
    await site.json("resume", run);
    expect(await site.json("resolve", run, "send", "--give-up")).toMatchObject({ exit: 0 });
    const { answer } = await site.json("show", run);
    expect(answer).toMatchObject({ final: true, steps: { send: { state: "failed_final" } } });
    await site.json("resume", run);
    expect(site.effects()).toEqual([sent]);
  });

  it("cannot be undone without a compensation, and stays in doubt", async () => {
    const run = await killedWhileSending();
    await site.json("resume", run);
    const refused = await site.json("resolve", run, "send", "--undo");
    expect(refused).toMatchObject({ exit: 2, answer: { fault: { code: "NOT_POSSIBLE" } } });
    expect(await site.json("show", run)).toMatchObject({ answer: { steps: { send: { state: "in_doubt" } } } });
  });
});

describe("run whose tool is missing", () => {
  it("is parked, not failed", async () => {
    site.plan("plan.json", "ana@example.org");
    const { answer } = await site.json("run", "plan.json");
    await site.json("approve", answer.gates[0]?.gate_id ?? "");
    const without = { env: { PATH: process.env.PATH, WITHOUT_SEND: "1" } };
    const { exit, out } = await site.startAs(without, "resume", answer.run_id, "--json").ended;
    expect(exit).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "send", reason_code: "TOOL_MISSING" }],
    });
    expect(site.effects()).toEqual([]);
  });
});
