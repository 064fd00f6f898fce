import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliProject } from "./cli-project.ts";

let site: CliProject;

beforeEach(() => {
  site = new CliProject();
});

afterEach(() => site.clear());

const serving = /metrics on (http:\S+)/;

async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

describe("writ worker", () => {
  it("executes submitted runs, reports health and exits on a signal", async () => {
    const worker = site.start("worker", "--port", "0", "--concurrency", "2");
    const [, url = ""] = await worker.until(serving);
    const { answer, exit } = await site.json("run", "plan.json", "--detach");
    expect([exit, answer]).toEqual([0, { run_id: expect.stringMatching(/^run_/), attached: false }]);

    const watching = site.start("events", answer.run_id, "--follow");
    const [, gate = ""] = await watching.until(/(gate_\w+)/);
    expect(await site.json("approve", gate, "--as", "bob")).toMatchObject({ exit: 0 });
    expect((await watching.ended).exit).toBe(0);
    expect(site.effects()).toEqual(["mail to ana@example.org"]);

    expect(await ask(`${url}/healthz`)).toEqual({ status: 200, text: "ok\n" });
    expect(await ask(`${url}/readyz`)).toEqual({ status: 200, text: "ready\n" });
    expect((await ask(`${url}/elsewhere`)).status).toBe(404);
    const { text } = await ask(`${url}/metrics`);
    expect(text).toContain('writ_events_total{type="run.ended"} 1\n');
    expect(text).toContain('writ_events_total{type="step.started"} 1\n');
    for (const name of ["takeovers", "renewals", "leases_lost"])
      expect(text).toContain(`# TYPE writ_${name}_total counter`);
    expect(text).toMatch(/^writ_claims_total\{how="due"\} \d+$/m);

    worker.kill("SIGTERM");
    const { exit: code, err } = await worker.ended;
    expect(code).toBe(0);
    expect(err).toMatch(
      new RegExp(`${answer.run_id} of default claimed\\n[\\s\\S]*${answer.run_id} of default ended: completed\\n`),
    );
  });

  it("prints one JSON line for each run that it claims, takes over and ends, as it happens", async () => {
    const worker = site.start("worker", "--json");
    site.write("read.json", JSON.stringify({ steps: [{ step_id: "w", name: "mail.write", payload: { to: "x" } }] }));
    await site.run("run", "read.json", "--detach");
    await worker.until(/"event":"ended"/);
    worker.kill("SIGTERM");
    const { out } = await worker.ended;
    const entries = out
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(entries).toMatchObject([
      { event: "claimed", tenant: "default" },
      { event: "ended", status: "completed" },
      { events: { "run.ended": 1 } },
    ]);
  });

  it("lets the running call end before it exits", async () => {
    site.plan("slow.json", "slow@example.org");
    const worker = site.start("worker");
    await worker.until(/working/);
    const { answer } = await site.json("run", "slow.json", "--detach");
    const watching = site.start("events", answer.run_id, "--follow");
    const [, gate = ""] = await watching.until(/(gate_\w+)/);
    await site.json("approve", gate, "--as", "bob");
    await worker.until(/sending now/);
    worker.kill("SIGTERM");
    await worker.until(/stopping once/);
    site.write("go", "");
    expect((await worker.ended).exit).toBe(0);
    expect(site.effects()).toEqual(["mail to slow@example.org"]);
    expect(await site.json("show", answer.run_id)).toMatchObject({ answer: { status: "completed" } });
  });

  it("works beside others on one file", async () => {
    const workers = [site.start("worker"), site.start("worker")];
    for (const worker of workers) await worker.until(/working/);
    for (const worker of workers) worker.kill("SIGTERM");
    for (const worker of workers) expect((await worker.ended).exit).toBe(0);
  });
});
