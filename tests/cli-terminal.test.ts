import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { atTerminal, told } from "./cli-host.ts";
import { workplace } from "./cli-workplace.ts";

let cwd: string;

beforeEach(() => {
  cwd = workplace();
});

afterEach(() => rmSync(cwd, { recursive: true }));

const linesOf = (path: string): number =>
  existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").length : 0;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const colour = /\u001b\[\d+m/;

describe("a run on a terminal", () => {
  it("tells each change, shows the exact command to approve, and stays until someone has", async () => {
    const running = atTerminal(cwd, ["run", "plan.json"]);
    const [, gate = ""] = await running.until(/approve: {2}writ approve (gate_\w+)/);
    await told(cwd, "approve", gate, "--as", "bob");
    const { exit, screen } = await running.ended;
    expect(exit).toBe(0);
    expect(screen).toMatch(
      /accepted from agent agent[\s\S]*holds send[\s\S]*approved by bob[\s\S]*send.* started[\s\S]*send.* succeeded/,
    );
    expect(linesOf(join(cwd, "witness.txt"))).toBe(1);
  });

  it("does not stay with --no-wait", async () => {
    expect(await atTerminal(cwd, ["run", "plan.json", "--no-wait"]).ended).toMatchObject({ exit: 3 });
  });

  it("has colours, unless NO_COLOR or a dumb terminal says no", async () => {
    const shown = async (env: Record<string, string>): Promise<string> =>
      (await atTerminal(cwd, ["run", "plan.json", "--no-wait"], { env }).ended).screen;
    expect(await shown({})).toMatch(colour);
    expect(await shown({ NO_COLOR: "" })).toMatch(colour);
    expect(await shown({ NO_COLOR: "1" })).not.toMatch(colour);
    expect(await shown({ TERM: "dumb" })).not.toMatch(colour);
  });
});

describe("the demo", () => {
  it.each([
    ["yes", "y\n", 1],
    ["no", "n\n", 0],
    ["nothing", "\n", 0],
  ])("asks at a terminal; answered with %s", async (_, typed, mails) => {
    const { exit, screen } = await atTerminal(cwd, ["demo"], { typed }).ended;
    const [, outbox = "", count] = /Mails in (\S+): (\d+)/.exec(screen) ?? [];
    expect({ exit, count }).toEqual({ exit: 0, count: String(mails) });
    expect(linesOf(outbox)).toBe(mails);
    rmSync(dirname(outbox), { recursive: true });
    expect(screen).toContain("Approve it? [y/N]");
    expect(screen).toMatch(/The same request again: attached to run_\w+, nothing was started\./);
    expect(screen).toMatch(/writ events run_\w+ --store \S+writ\.db/);
  });

  it("approves by itself where nobody can be asked, and says so", async () => {
    const { exit, out } = await told(cwd, "demo");
    expect(exit).toBe(0);
    expect(out).toContain("No terminal to ask at, so the demo approves by itself.");
    const [, outbox = ""] = /Mails in (\S+): 1\n/.exec(out) ?? [];
    expect(linesOf(outbox)).toBe(1);
    rmSync(dirname(outbox), { recursive: true });
  });

  it("tells programs the same in one document", async () => {
    const { exit, out } = await told(cwd, "demo", "--json");
    const { status, again, run_id, sent, folder } = JSON.parse(out);
    rmSync(folder, { recursive: true });
    expect({ exit, status, again, sent }).toEqual({
      exit: 0,
      status: "completed",
      again: { run_id, attached: true },
      sent: 1,
    });
  });

  it("leaves a record that can be looked at from anywhere", async () => {
    const { folder, run_id } = JSON.parse((await told(cwd, "demo", "--json")).out);
    const store = join(folder, "writ.db");
    const look = async (...words: readonly string[]) =>
      JSON.parse((await told("/", ...words, "--json", "--store", store)).out);
    expect(await look("show", run_id)).toMatchObject({ status: "completed" });
    expect((await look("events", run_id)).events.at(-1).event).toMatchObject({ type: "run.ended" });
    expect(await look("audit", run_id)).toMatchObject({ broken: [] });
    const ended = await told("/", "events", run_id, "--follow", "--after", "1000", "--store", store);
    expect(ended).toMatchObject({ exit: 0, out: "" });
    rmSync(folder, { recursive: true });
  });
});

describe("looking", () => {
  it("at what was spent, by month or by day and principal", async () => {
    await told(cwd, "run", "plan.json");
    const cost = async (...words: readonly string[]) => JSON.parse((await told(cwd, "cost", "--json", ...words)).out);
    expect(await cost("--period", "2025-11")).toMatchObject({ period: "2025-11", by: null, usd_micros: 0 });
    expect(await cost("--period", "2025-11-15")).toMatchObject({ by: "agent" });
    expect(await cost("--period", "2025-11-15", "--by", "bot")).toMatchObject({ by: "bot" });
    expect(await cost("--period", "2025-11", "--by", "bot")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
    expect(await cost("--period", "yesterday")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
    expect(await cost("--period", "2024-13")).toMatchObject({ fault: { code: "INVALID_INPUT" } });
  });

  it("at runs by status, and at nothing in another tenant", async () => {
    await told(cwd, "run", "plan.json");
    const runs = async (...words: readonly string[]) =>
      JSON.parse((await told(cwd, "runs", "--json", ...words)).out).runs;
    expect(await runs("--status", "waiting")).toHaveLength(1);
    expect(await runs("--status", "completed")).toEqual([]);
    expect(await runs("--tenant", "other")).toEqual([]);
  });

  it("for people, too", async () => {
    await told(cwd, "run", "plan.json");
    expect((await told(cwd, "runs")).out).toMatch(/^run_\w+ {2}waiting/);
    expect((await told(cwd, "gates")).out).toMatch(/approve: {2}writ approve gate_\w+/);
    expect((await told(cwd, "gates", "--tenant", "other")).out).toBe("nothing waits for a person in tenant other\n");
    expect((await told(cwd, "audit")).out).toMatch(/^\d+ events of 1 runs are what was written\n$/);
    expect((await told(cwd, "cost")).out).toMatch(/nothing spent/);
  });

  it("retains what is younger", async () => {
    await told(cwd, "run", "plan.json");
    const { exit, out } = await told(cwd, "retain", "--older-than", "30d", "--json");
    expect({ exit, ...JSON.parse(out) }).toMatchObject({ exit: 0, runs: 0, events: 0 });
  });
});
