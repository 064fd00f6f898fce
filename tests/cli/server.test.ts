import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedEngine, serveEngine } from "../server/server-fixture.ts";
import { newProjectFolder } from "./project-folder.ts";
import { runCliIn } from "./run-cli.ts";

let served: ServedEngine;
let cwd: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  served = await serveEngine();
  cwd = newProjectFolder();
  env = { WRIT_SERVER: served.server.url, WRIT_TOKEN: served.key({ id: "ana" }) };
});
afterAll(async () => {
  await served.close();
  rmSync(cwd, { recursive: true });
});

const plan = JSON.stringify({ steps: [{ step_id: "send", name: "mail.send", payload: { to: "bea" } }] });

describe("the command line against a server", () => {
  it("runs, shows, approves and explains a plan, with the exit codes of the local program", async () => {
    const agent = { ...env, WRIT_TOKEN: served.key({ id: "bot", kind: "agent" }) };
    const run = await runCliIn(cwd, { env: agent, input: plan }, "run", "-", "--json");
    expect(run.exit).toBe(3);
    const { run_id, gates } = JSON.parse(run.out);
    expect((await runCliIn(cwd, { env }, "gates", "--json")).out).toContain(gates[0].gate_id);
    const approved = await runCliIn(cwd, { env }, "approve", gates[0].gate_id, "--json");
    expect([approved.exit, JSON.parse(approved.out).status]).toEqual([
      0,
      expect.stringMatching(/^(approved|consumed)$/),
    ]);
    await (await served.client().run(run_id)).finished();
    const shown = await runCliIn(cwd, { env }, "show", run_id, "--json");
    expect([shown.exit, JSON.parse(shown.out).status]).toEqual([0, "completed"]);
    expect((await runCliIn(cwd, { env }, "events", run_id)).out).toContain("approved by ana");
    expect((await runCliIn(cwd, { env }, "explain", run_id, "send")).exit).toBe(0);
    expect(served.sent).toEqual(["bea"]);
  });

  it.each([
    [["runs"], 0],
    [["gates"], 0],
    [["doubts"], 0],
    [["halts"], 0],
    [["schedules"], 0],
    [["workers"], 0],
    [["audit"], 0],
    [["cost"], 0],
    [["budget"], 0],
    [["halt", "--reason", "stop"], 0],
    [["lift"], 0],
    [["signal", "go", "--payload", "1"], 0],
    [["show", "run_none"], 5],
    [["approve", "gate_none"], 5],
    [["cancel", "run_none"], 5],
    [["state", "website"], 0],
    [["project", "history", "website"], 0],
  ] as const)("%j exits %i", async (args, exit) => {
    const { out, err, exit: given } = await runCliIn(cwd, { env }, ...args, "--json");
    expect([given, err.includes("INTERNAL"), out.includes("INTERNAL")]).toEqual([exit, false, false]);
  });

  it("opens the page of a run or a gate of its server", async () => {
    const url = served.server.url;
    const open = (id: string) => runCliIn(cwd, { env }, "open", id, "--print", "--json");
    expect(JSON.parse((await open("run_1")).out)).toEqual({ url: `${url}/runs/run_1` });
    expect(JSON.parse((await open("gate_1")).out)).toEqual({ url: `${url}/gates/gate_1` });
    expect((await open("x")).exit).toBe(2);
    const other = await runCliIn(cwd, { env: {} }, "open", "run_1", "--print", "--server", "file:///etc", "--json");
    expect(other.exit).toBe(2);
  });

  it("refuses a wrong token, an unreachable server and options that only a local store has", async () => {
    const wrong = await runCliIn(cwd, { env: { ...env, WRIT_TOKEN: "wrong" } }, "runs", "--json");
    expect([wrong.exit, JSON.parse(wrong.out).fault.code]).toEqual([4, "AUTH_REQUIRED"]);
    const gone = await runCliIn(cwd, { env: { ...env, WRIT_SERVER: "http://127.0.0.1:1" } }, "runs", "--json");
    expect([gone.exit, JSON.parse(gone.out).fault.code]).toEqual([4, "SERVER_UNREACHABLE"]);
    const local = await runCliIn(cwd, { env }, "backup", "copy.db", "--server", served.server.url, "--json");
    expect([local.exit, JSON.parse(local.out).fault.code]).toEqual([2, "INVALID_INPUT"]);
    const as = await runCliIn(cwd, { env }, "runs", "--as", "eve", "--json");
    expect([as.exit, JSON.parse(as.out).fault.code]).toEqual([2, "INVALID_INPUT"]);
  });
});
