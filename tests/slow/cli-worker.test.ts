import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Site } from "./cli-site.ts";

let site: Site;

beforeEach(() => {
  site = new Site();
});

afterEach(() => site.clear());

const serving = /metrics on (http:\S+)/;

async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

describe("writ worker", () => {
  it("executes what others hand in, says how it fares, and leaves when it is told to", async () => {
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
    expect((await worker.ended).exit).toBe(0);
  });

  it("lets the call in flight end before it leaves", async () => {
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

  it("is one for each file: a second is refused, and the first does not notice", async () => {
    const worker = site.start("worker");
    await worker.until(/working/);
    const second = await site.json("worker");
    expect(second).toMatchObject({ exit: 6, answer: { fault: { code: "STORE_BUSY" } } });
    worker.kill("SIGTERM");
    expect((await worker.ended).exit).toBe(0);
  });
});
