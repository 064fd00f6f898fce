import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { type DemoState, StartedDemo } from "./started-demo.ts";

const stateOf = ({ started }: DemoState, scenario: string) => started.find((each) => each.scenario === scenario)?.state;
const textOf = ({ files }: DemoState, path: string) => files.find((file) => file.path === path)?.now;

describe("npm start", () => {
  let demo: StartedDemo;
  beforeAll(async () => {
    demo = new StartedDemo("short");
    await demo.logIn();
    // The payments need seconds to time out; the first tests run meanwhile.
    await demo.send("POST", "/v1/demo/payment");
    await demo.send("POST", "/v1/demo/wire");
  });
  afterAll(() => demo?.clear());

  it("without a terminal runs the terminal demo to its end", () => {
    const program = repositoryPath("examples", "demo", "main.mjs");
    const { stdout, stderr, status } = spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 60_000 });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(stdout).toContain("the mailbox holds 1 mail");
  });

  it("shows the diff of an edit before it is approved, and restores the files", async () => {
    await demo.send("POST", "/v1/demo/files");
    const edit = await demo.approve("files.edit");
    expect(edit.preview?.output?.diff).toContain("-| Gold | 90 |\n+| Gold | 79 |");
    await demo.approve("files.delete");
    const changed = await demo.stateWith((now) => stateOf(now, "files") === "completed");
    expect(textOf(changed, "prices.md")).toContain("| Gold | 79 |");
    expect(textOf(changed, "drafts/summer-offer.md")).toBeNull();
    const [first] = await demo.send<readonly object[]>("GET", "/v1/checkpoints?project=price-list");
    const { run_id, step_id } = first as { run_id: string; step_id: string };
    await demo.send("POST", "/v1/checkpoints/restore", { at: { run_id, step_id, side: "before" } });
    expect((await demo.state()).files.every(({ before, now }) => before === now)).toBe(true);
  });

  it("settles a payment in doubt by its verifier, and one without a verifier by a person", async () => {
    const { run_id, step_id } = await demo.itemOf("in-doubt", "invoice.pay_by_wire");
    const settled = { as: "happened", output: { paid: 12_500 }, reason: "the list of the service has it" };
    await demo.send("POST", `/v1/runs/${run_id}/steps/${step_id}/resolve`, settled);
    const state = await demo.stateWith(
      (now) => stateOf(now, "payment") === "completed" && stateOf(now, "wire") === "completed",
    );
    expect(state.invoices.map(({ invoice }) => invoice).sort()).toEqual(["A-101", "B-101"]);
  });

  it("sends one mail, though the server is killed after the mail server has it", async () => {
    const { starts } = (await demo.state()).server;
    await demo.send("POST", "/v1/demo/outreach");
    await demo.approve("Request.Apply");
    await demo.itemOf("gates?status=open", "Gmail.SendEmail");
    await demo.send("POST", "/v1/demo/arm");
    await demo.approve("Gmail.SendEmail");
    const state = await demo.stateWith((now) => stateOf(now, "outreach") === "completed");
    expect(state.server.starts).toBe(starts + 1);
    expect(state.mails).toEqual([expect.objectContaining({ to: "ada.1@example.org" })]);
    expect(state.mails[0]?.message_id).toMatch(/^<.+@outreach\.example\.org>$/);
  });

  it("refunds once, though the agent and the server are killed by the button after the bank has paid", async () => {
    const { starts } = (await demo.state()).server;
    await demo.send("POST", "/v1/demo/support");
    await demo.approve("refund_pay");
    await demo.stateWith(({ refunds }) => refunds.length > 0);
    await demo.send("POST", "/v1/demo/kill");
    const state = await demo.stateWith((now) => stateOf(now, "support") === "completed");
    expect(state.refunds).toEqual([expect.objectContaining({ order: 42, cents: 500 })]);
    expect(state.started.at(-1)?.said).toBe("Half of your order is paid back.");
    expect(state.server.starts).toBe(starts + 1);
  });

  it("ends all its processes with Ctrl-C, also while a call waits", async () => {
    await demo.send("POST", "/v1/demo/support");
    await demo.itemOf("gates?status=open", "refund_pay");
    expect(demo.processes()).toHaveLength(2);
    expect(await demo.stop()).toBe(0);
    expect(demo.processes()).toEqual([]);
  });
});

describe("npm start with the key of a model", () => {
  it.each([
    ["OPENAI_API_KEY", (url: string) => ({ OPENAI_BASE_URL: url }), "openai"],
    ["ANTHROPIC_API_KEY", (url: string) => ({ ANTHROPIC_BASE_URL: url.replace(/\/v1$/, "") }), "anthropic"],
  ])("asks the provider of %s, at its address", async (name, address, kind) => {
    const model = await scriptedModel([
      { calls: [{ tool: "orders_find", input: { order: 42 } }] },
      { calls: [{ tool: "refund_pay", input: { order: 42, cents: 500 } }] },
      { text: "Paid." },
    ]);
    const demo = new StartedDemo("short", { [name]: "a-key", ...address(model.url) });
    try {
      await demo.logIn();
      await demo.send("POST", "/v1/demo/support");
      await demo.approve("refund_pay");
      const state = await demo.stateWith((now) => stateOf(now, "support") !== "running");
      expect(state).toMatchObject({ model: { kind }, started: [{ state: "completed", said: "Paid." }] });
      expect(state.refunds).toHaveLength(1);
      expect(JSON.stringify(state)).not.toContain("a-key");
    } finally {
      await demo.clear();
      await model.close();
    }
  });
});
