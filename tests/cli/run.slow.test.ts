import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliProject } from "./cli-project.ts";

let site: CliProject;

beforeEach(() => {
  site = new CliProject();
});

afterEach(() => site.clear());

const gateSaid = /approve (gate_\w+)/;
const runSaid = /run (run_\w+) accepted/;

describe("writ run", () => {
  it("stops at a gate with exit 3 and continues after approval in another process", async () => {
    const { exit, answer } = await site.json("run", "plan.json");
    expect({ exit, status: answer.status, effects: site.effects() }).toEqual({
      exit: 3,
      status: "partial",
      effects: [],
    });
    const [gate] = answer.gates;

    expect(await site.json("approve", gate?.gate_id ?? "")).toMatchObject({ exit: 0, answer: { status: "approved" } });
    expect(site.effects()).toEqual([]);

    const resumed = await site.json("resume", answer.run_id);
    expect(resumed).toMatchObject({ exit: 0, answer: { status: "completed", executed: true } });
    expect(resumed.answer.steps.send).toEqual({ state: "succeeded", output: { id: "m-1" } });
    expect(site.effects()).toEqual(["mail to ana@example.org"]);
  });

  it("waits at a gate with --wait until another process approves, and acts once", async () => {
    const waiting = site.start("run", "plan.json", "--wait");
    const [, gate = ""] = await waiting.until(gateSaid);
    expect(await site.json("approve", gate, "--as", "bob", "--reason", "checked")).toMatchObject({ exit: 0 });

    const { exit, out } = await waiting.ended;
    expect({ exit, effects: site.effects() }).toEqual({ exit: 0, effects: ["mail to ana@example.org"] });
    expect(out).toMatch(/^completed {2}run_\w+/m);
  });

  it("is partial when another process rejects the gate, and sends nothing", async () => {
    const waiting = site.start("run", "plan.json", "--wait", "--json");
    const gate = await openGate();
    expect(await site.json("reject", gate, "--reason", "wrong address")).toMatchObject({
      answer: { status: "rejected" },
    });
    const { exit, out } = await waiting.ended;
    expect(exit).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ status: "partial", final: true, steps: { send: { state: "rejected" } } });
    expect(site.effects()).toEqual([]);
  });

  it("creates one run for any number of equal requests", async () => {
    const request = ["run", "plan.json", "--request-key", "welcome ana"] as const;
    const { answer } = await site.json(...request);
    expect(answer).toMatchObject({ attached: false });
    await site.json("approve", answer.gates[0]?.gate_id ?? "");
    expect(await site.json(...request)).toMatchObject({ answer: { run_id: answer.run_id, attached: true } });
    await site.json("resume", answer.run_id);
    expect(await site.json(...request)).toMatchObject({
      exit: 0,
      answer: { run_id: answer.run_id, status: "completed" },
    });
    expect(site.effects()).toEqual(["mail to ana@example.org"]);

    site.plan("plan.json", "bob@example.org");
    expect(await site.json(...request)).toMatchObject({ exit: 2, answer: { fault: { code: "REQUEST_KEY_REUSED" } } });
  });

  it("leaves the whole journal in the database file", async () => {
    const { answer } = await site.json("run", "plan.json");
    copyFileSync(join(site.folder, "writ.db"), join(site.folder, "copy.db"));
    expect(await site.json("show", answer.run_id, "--store", "copy.db")).toMatchObject({
      answer: { steps: { send: { state: "waiting_approval" } } },
    });
  });

  it("prints the call to approve with control characters escaped", async () => {
    const { out, err } = await site.run("run", "plan.json");
    expect(out).toContain(`"body": "Dear ana@example.org\\u001b]0;pwned\\u0007\\u202e"`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("keeps the output of tools out of the JSON document", async () => {
    const { answer } = await site.json("run", "plan.json");
    await site.json("approve", answer.gates[0]?.gate_id ?? "");
    const { out, err } = await site.run("resume", answer.run_id, "--json");
    expect(JSON.parse(out)).toMatchObject({ status: "completed" });
    expect(err).toContain("sending now");
  });

  it("stops when interrupted at a gate, and the run can be resumed", async () => {
    const waiting = site.start("run", "plan.json", "--wait");
    const [, gate = ""] = await waiting.until(gateSaid);
    const [, run = ""] = await waiting.until(runSaid);
    waiting.kill("SIGINT");
    const { exit, err } = await waiting.ended;
    expect(exit).toBe(3);
    expect(err).toContain(`resume ${run}`);

    await site.json("approve", gate);
    expect(await site.json("resume", run)).toMatchObject({ exit: 0, answer: { status: "completed" } });
    expect(site.effects()).toHaveLength(1);
  });

  it("simulates a plan in mode dry_run and writes or sends nothing", async () => {
    for (const words of [
      ["simulate", "plan.json"],
      ["run", "plan.json", "--mode", "dry_run"],
    ]) {
      const { exit, answer } = await site.json(...words);
      expect(exit).toBe(0);
      expect(Object.keys(answer.steps)).toEqual(["write", "send"]);
    }
    expect(await site.json("runs")).toMatchObject({ answer: { fault: { code: "STORE_UNUSABLE" } } }); // Nothing was made.
    expect(site.effects()).toEqual([]);
  });
});

describe("store with a running worker", () => {
  it("lets other processes read and decide, executes in none of them and resumes in the worker", async () => {
    const waiting = site.start("run", "plan.json", "--wait");
    const [, gate = ""] = await waiting.until(gateSaid);
    const [, run = ""] = await waiting.until(runSaid);

    expect(await site.json("resume", run)).toMatchObject({ exit: 3, answer: { run_id: run, executed: false } });
    expect(await site.json("show", run)).toMatchObject({ exit: 0, answer: { status: "partial", running: false } });
    expect(await site.json("gates")).toMatchObject({ exit: 0, answer: { gates: [{ gate_id: gate, run_id: run }] } });

    const following = site.start("events", run, "--follow");
    await following.until(/holds send/);
    await site.json("approve", gate);
    expect(await waiting.ended).toMatchObject({ exit: 0 });
    const { exit, out } = await following.ended;
    expect(exit).toBe(0);
    expect(out).toMatch(/send succeeded: \{"id":"m-1"\}\n.* run completed\n$/);
    expect(site.effects()).toHaveLength(1);
  });

  it("lets another process cancel a run, and the waiting process sees it", async () => {
    const waiting = site.start("run", "plan.json", "--wait");
    const [, run = ""] = await waiting.until(runSaid);
    await waiting.until(gateSaid);
    expect(await site.json("cancel", run, "--reason", "ordered twice")).toMatchObject({ exit: 0 });
    expect(await waiting.ended).toMatchObject({ exit: 4 });
    expect(await site.json("show", run)).toMatchObject({ answer: { status: "cancelled", final: true } });
    expect(site.effects()).toEqual([]);
  });

  it("gives writ events --follow --json one document per event", async () => {
    const waiting = site.start("run", "plan.json", "--wait");
    const [, gate = ""] = await waiting.until(gateSaid);
    const [, run = ""] = await waiting.until(runSaid);
    const following = site.start("events", run, "--follow", "--json", "--after", "1");
    await following.until(/gate\.opened/);
    await site.json("approve", gate);
    await waiting.ended;
    const { out } = await following.ended;
    const events = out
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 2));
    expect(events.at(-1).event).toMatchObject({ type: "run.ended", status: "completed" });
  });
});

async function openGate(): Promise<string> {
  // The waiting process says nothing in JSON; the store tells when its gate is there.
  for (;;) {
    const { answer } = await site.json("gates");
    const [gate] = answer.gates ?? [];
    if (gate !== undefined) return gate.gate_id;
  }
}
