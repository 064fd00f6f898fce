import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newProjectFolder } from "./project-folder.ts";
import { runCli, runCliAtTerminal, runCliWithInput } from "./run-cli.ts";

let cwd: string;

beforeEach(() => {
  cwd = newProjectFolder();
});

afterEach(() => rmSync(cwd, { recursive: true }));

const linesOf = (path: string): number =>
  existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").length : 0;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const colour = /\u001b\[\d+m/;

describe("writ run on a terminal", () => {
  it("prints each event and the command to approve, and waits for the decision", async () => {
    const running = runCliAtTerminal(cwd, ["run", "plan.json"]);
    const [, gate = ""] = await running.until(/approve: {2}writ approve (gate_\w+)/);
    await runCli(cwd, "approve", gate, "--as", "bob");
    const { exit, screen } = await running.ended;
    expect(exit).toBe(0);
    expect(screen).toMatch(
      /accepted from agent agent[\s\S]*holds send[\s\S]*approved by bob[\s\S]*send.* started[\s\S]*send.* succeeded/,
    );
    expect(linesOf(join(cwd, "witness.txt"))).toBe(1);
  });

  it("does not wait with --no-wait", async () => {
    expect(await runCliAtTerminal(cwd, ["run", "plan.json", "--no-wait"]).ended).toMatchObject({ exit: 3 });
  });

  it("uses colors unless NO_COLOR or a dumb terminal forbids them", async () => {
    const shown = async (env: Record<string, string>): Promise<string> =>
      (await runCliAtTerminal(cwd, ["run", "plan.json", "--no-wait"], { env }).ended).screen;
    expect(await shown({})).toMatch(colour);
    expect(await shown({ NO_COLOR: "" })).toMatch(colour);
    expect(await shown({ NO_COLOR: "1" })).not.toMatch(colour);
    expect(await shown({ TERM: "dumb" })).not.toMatch(colour);
  });
});

describe("a plan on stdin", () => {
  const plan = JSON.stringify({ steps: [{ step_id: "send", name: "note.send", payload: {} }] });

  it("is checked, simulated and run with the path -", async () => {
    expect((await runCliWithInput(cwd, plan, "check", "-")).out).toBe("the plan can be run\n");
    expect((await runCliWithInput(cwd, plan, "simulate", "-")).exit).toBe(0);
    expect((await runCliWithInput(cwd, plan, "run", "-")).exit).toBe(3);
    expect(await runCliWithInput(cwd, "{", "run", "-")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("stdin"),
    });
  });
});

describe("a config in TypeScript", () => {
  it("is found if there is no writ.config.mjs", async () => {
    renameSync(join(cwd, "writ.config.mjs"), join(cwd, "writ.config.ts"));
    expect((await runCli(cwd, "tools")).out).toMatch(/^note.send@1/);
  });
});

describe("writ demo", () => {
  it.each([
    ["yes", "y\n", 1],
    ["no", "n\n", 0],
    ["nothing", "\n", 0],
  ])("asks on a terminal, and handles the answer %s", async (_, typed, mails) => {
    const { exit, screen } = await runCliAtTerminal(cwd, ["demo"], { typed }).ended;
    const [, outbox = "", count] = /Mails in (\S+): (\d+)/.exec(screen) ?? [];
    expect({ exit, count }).toEqual({ exit: 0, count: String(mails) });
    expect(linesOf(outbox)).toBe(mails);
    rmSync(dirname(outbox), { recursive: true });
    expect(screen).toContain("Approve it? [y/N]");
    expect(screen).toMatch(/The same request again: attached to run_\w+, nothing was started\./);
    expect(screen).toMatch(/writ events run_\w+ --store \S+writ\.db/);
  });

  it("approves by itself without a terminal, and says so", async () => {
    const { exit, out } = await runCli(cwd, "demo");
    expect(exit).toBe(0);
    expect(out).toContain("No terminal to ask at, so the demo approves by itself.");
    const [, outbox = ""] = /Mails in (\S+): 1\n/.exec(out) ?? [];
    expect(linesOf(outbox)).toBe(1);
    rmSync(dirname(outbox), { recursive: true });
  });

  it("prints one JSON document with --json", async () => {
    const { exit, out } = await runCli(cwd, "demo", "--json");
    const { status, again, run_id, sent, folder } = JSON.parse(out);
    rmSync(folder, { recursive: true });
    expect({ exit, status, again, sent }).toEqual({
      exit: 0,
      status: "completed",
      again: { run_id, attached: true },
      sent: 1,
    });
  });

  it("leaves a store that can be read from any folder", async () => {
    const { folder, run_id } = JSON.parse((await runCli(cwd, "demo", "--json")).out);
    const store = join(folder, "writ.db");
    const look = async (...words: readonly string[]) =>
      JSON.parse((await runCli("/", ...words, "--json", "--store", store)).out);
    expect(await look("show", run_id)).toMatchObject({ status: "completed" });
    expect((await look("events", run_id)).events.at(-1).event).toMatchObject({ type: "run.ended" });
    expect(await look("audit", run_id)).toMatchObject({ broken: [] });
    const ended = await runCli("/", "events", run_id, "--follow", "--after", "1000", "--store", store);
    expect(ended).toMatchObject({ exit: 0, out: "" });
    rmSync(folder, { recursive: true });
  });
});

describe("read commands", () => {
  it("print spending by month, and by day and principal", async () => {
    await runCli(cwd, "run", "plan.json");
    const cost = async (...words: readonly string[]) => JSON.parse((await runCli(cwd, "cost", "--json", ...words)).out);
    expect(await cost("--period", "2025-11")).toMatchObject({ period: "2025-11", by: null, usd_micros: 0 });
    expect(await cost("--period", "2025-11-15")).toMatchObject({ by: "agent" });
    expect(await cost("--period", "2025-11-15", "--by", "bot")).toMatchObject({ by: "bot" });
    expect(await cost("--period", "2025-11", "--by", "bot")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
    expect(await cost("--period", "yesterday")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
    expect(await cost("--period", "2024-13")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
  });

  it("list runs by status, and none of another tenant", async () => {
    await runCli(cwd, "run", "plan.json");
    const runs = async (...words: readonly string[]) =>
      JSON.parse((await runCli(cwd, "runs", "--json", ...words)).out).runs;
    expect(await runs("--status", "waiting")).toHaveLength(1);
    expect(await runs("--status", "completed")).toEqual([]);
    expect(await runs("--tenant", "other")).toEqual([]);
  });

  it("print text for people", async () => {
    await runCli(cwd, "run", "plan.json");
    expect((await runCli(cwd, "runs")).out).toMatch(/^run_\w+ {2}waiting/);
    expect((await runCli(cwd, "gates")).out).toMatch(/approve: {2}writ approve gate_\w+/);
    for (const [name, text] of [
      ["gates", "no call waits for a person in tenant other"],
      ["runs", "no runs in tenant other"],
    ] as const)
      expect((await runCli(cwd, name, "--tenant", "other")).out).toBe(
        `${text}\nthis store has runs of default; choose with --tenant default\n`,
      );
    expect((await runCli(cwd, "audit")).out).toMatch(/^the record is unchanged: \d+ events of 1 runs\n$/);
    expect((await runCli(cwd, "cost")).out).toMatch(/nothing spent/);
  });

  it("forget erases nothing of a session that does not exist, and says so", async () => {
    await runCli(cwd, "run", "plan.json");
    const { exit, out } = await runCli(cwd, "forget", "chat", "--owner", "agent", "--reason", "asked for", "--json");
    expect({ exit, ...JSON.parse(out) }).toMatchObject({ exit: 0, session: "chat", runs: 0, waiting: 0 });
  });

  it("approve says by --same-as which act of an old branch the call is, and refuses one that the gate does not show", async () => {
    await runCli(cwd, "run", "plan.json");
    const [gate] = JSON.parse((await runCli(cwd, "gates", "--json")).out).gates;
    const { exit, err } = await runCli(cwd, "approve", gate.gate_id, "--same-as", "other");
    expect(exit).not.toBe(0);
    expect(err).toContain("other");
    expect(JSON.parse((await runCli(cwd, "gates", "--json")).out).gates).toHaveLength(1);
  });

  it("retain keeps runs younger than the given age", async () => {
    await runCli(cwd, "run", "plan.json");
    const { exit, out } = await runCli(cwd, "retain", "--older-than", "30d", "--json");
    expect({ exit, ...JSON.parse(out) }).toMatchObject({ exit: 0, runs: 0, events: 0 });
  });
});
