import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtModule } from "../repo/repository-path.ts";
import { CliProject, libraryImport } from "./cli-project.ts";

const windows = ["none", "start.before", "start.after", "mark.after", "tool.after", "end.after"] as const;

/** Each tool has its own log file, which is the outside world of the test. */
const config = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool } from ${libraryImport};

const text = { type: "string" };
const input = { type: "object", properties: { to: text }, required: ["to"], additionalProperties: false };
const output = { type: "object" };
const log = (name) => new URL(name + ".log", import.meta.url);
const act = (name, key) => appendFileSync(log(name), key + "\\n");
const happened = (name, key) => existsSync(log(name)) && readFileSync(log(name), "utf8").split("\\n").includes(key);
const tool = (name, more) => defineTool({
  name, effect: "acts", input, output,
  run: async (_, { key }) => { console.log("acting"); act(name, key); return {}; },
  ...more,
});

const tools = [
  tool("opaque", { identity: ["to"] }),
  tool("seen", {
    timeoutMs: 500, settleAfter: 100,
    run: ({ to }) => { act("seen", to); return {}; },
    verify: ({ input }) => (happened("seen", input.to) ? { saw: "happened", output: {} } : { saw: "absent" }),
  }),
  tool("forgetful", { idempotent: { forMs: 3_600_000 } }),
  tool("liar", { errorsMean: "not_done", run: async (_, { key }) => { act("liar", key); throw new Error("no, no"); } }),
  tool("suicide", { run: () => process.exit(7) }),
];
const guards = [{ id: "careful", version: "1", judge: () => ({ kind: "hold", rule: "careful", reason: "a person must look", demand: { role: null } }) }];

export default { tools, principal: { id: "bot", kind: "agent", tenant: "acme" }, ...(process.env.GUARDED && { guards }) };
`;

let site: CliProject;
/** The folders that were kept because of a contradiction. */
const kept: string[] = [];

beforeAll(() => {
  site = new CliProject();
  site.write("writ.config.mjs", config);
});

afterAll(() => site.clear());

interface Tested {
  readonly ok: boolean;
  readonly guarantee: string;
  readonly windows: readonly {
    readonly window: string;
    readonly effects: number;
    readonly record: string;
    readonly verdict: string;
    readonly run_id: string;
    readonly store: string | null;
  }[];
}

const words = (tool: string, to = "ana"): readonly string[] => {
  site.write(`${tool}.log`, "");
  return ["crashtest", tool, "--input", JSON.stringify({ to }), "--count", `wc -l < ${tool}.log`];
};

async function tested(tool: string, to?: string): Promise<{ exit: number | null; report: Tested; table: object }> {
  const { exit, out } = await site.runLong({}, ...words(tool, to), "--json");
  const report = JSON.parse(out) as Tested;
  const rows = report.windows.map(({ window, effects, record, verdict }) => [
    window,
    `${effects} ${record} ${verdict}`,
  ]);
  return { exit, report, table: Object.fromEntries(rows) };
}

const everywhere = (row: string): Record<string, string> => Object.fromEntries(windows.map((window) => [window, row]));

describe("crash test of a correct tool", () => {
  it.concurrent("leaves the act in doubt only where nothing can know, and is right elsewhere", async () => {
    const { exit, report, table } = await tested("opaque");
    expect({ exit, ok: report.ok, guarantee: report.guarantee }).toEqual({
      ...{ exit: 0, ok: true },
      guarantee: "at most once; in doubt needs a person",
    });
    expect(table).toEqual({
      ...everywhere("1 succeeded ok"),
      "mark.after": "0 in_doubt ok",
      "tool.after": "1 in_doubt ok",
    });
    expect(report.windows[3]).toEqual({
      ...{ window: "mark.after", effects: 0, record: "in_doubt", verdict: "ok", note: "needs a person", settled: true },
      ...{ run_id: expect.stringMatching(/^run_/), store: null },
    });
  });

  it.concurrent("sees exactly one effect in every window if the tool has a verifier", async () => {
    const { exit, table } = await tested("seen", "{unique}");
    expect({ exit, table }).toEqual({ exit: 0, table: everywhere("1 succeeded ok") });
  });
});

describe("crash test of a tool that breaks its promise", () => {
  it.concurrent("reports DUPLICATE where the engine relied on the promise, and keeps the store", async () => {
    const { exit, out } = await site.runLong({}, ...words("forgetful"));
    expect(exit).toBe(4);
    expect(out).toMatch(/^forgetful@1: exactly once within 1 h: idempotent\n/);
    expect(out).toMatch(/^ {2}tool\.after {4}2 {8}succeeded {2}DUPLICATE$/m);
    expect(out.match(/ok$/gm)).toHaveLength(windows.length - 1);
    const [, run = "", store = ""] = /events (run_\w+) --store (\S+) --tenant acme$/m.exec(out) ?? [];
    expect((await site.run("events", run, "--store", store, "--tenant", "acme")).out).toMatch(/sent again/);
    kept.push(dirname(store));
  });

  it.concurrent("reports LIE where the tool says that nothing happened", async () => {
    const { exit, report, table } = await tested("liar");
    expect({ exit, ok: report.ok }).toEqual({ exit: 4, ok: false });
    expect(table).toEqual({
      ...everywhere("1 failed LIE"),
      "mark.after": "0 in_doubt ok",
      "tool.after": "1 in_doubt ok",
    });
    kept.push(...report.windows.flatMap(({ store }) => (store === null ? [] : [dirname(store)])));
  });
});

describe("crash test that cannot run", () => {
  const refused = async (env: Record<string, string>, ...args: readonly string[]) => {
    const { exit, out } = await site.runLong(env, ...args, "--json");
    return { exit, ...JSON.parse(out).fault };
  };

  it.concurrent("is reported when a guard of the config refuses the call", async () => {
    expect(await refused({ GUARDED: "1" }, ...words("seen.held").with(1, "seen"))).toMatchObject({
      ...{ exit: 2, code: "NOT_POSSIBLE" },
      message: expect.stringContaining("seen did not reach its start: held: a person must look"),
    });
  });

  it.concurrent("is reported when the tool ends its process", async () => {
    expect(await refused({}, ...words("suicide"))).toMatchObject({
      ...{ exit: 4, code: "TOOL_FAILED" },
      message: expect.stringContaining("ended by itself with exit code 7"),
    });
  });

  it.concurrent("is reported when the counter goes down", async () => {
    site.write("down.log", "1\n2\n3\n");
    const counter = "wc -l < down.log && echo 1 > down.log";
    expect(await refused({}, ...words("opaque.down").with(1, "opaque").with(5, counter))).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringContaining("went down by 2"),
    });
  });
});

/** A program that tests a tool of its own: without arguments it runs the test, with arguments one call of it. */
const program = `
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { defineTool } from ${libraryImport};
import { runCrashTest, runCrashTestCall } from ${JSON.stringify(builtModule("testing.js"))};

const world = new URL("world.log", import.meta.url);
const send = defineTool({
  name: "send", effect: "acts", input: { type: "object" }, output: { type: "object" },
  run: async (_, { key }) => { appendFileSync(world, key + "\\n"); return {}; },
});
const [folder, kill] = process.argv.slice(2);
if (folder === undefined) {
  writeFileSync(world, "");
  const results = await runCrashTest({
    tool: send,
    newInput: () => ({}),
    countEffects: async () => readFileSync(world, "utf8").split("\\n").length - 1,
    command: ({ folder, kill }) => [process.execPath, process.argv[1], folder, kill],
  });
  console.log(JSON.stringify(results.map(({ window, effects, record }) => [window, effects + " " + record])));
} else {
  const principal = { id: "bot", kind: "agent", tenant: "acme" };
  console.log(JSON.stringify(await runCrashTestCall({ folder, kill, tools: [send], principal })));
}
`;

describe("runCrashTest", () => {
  it.concurrent("tests a tool of a program without the command line", async () => {
    site.write("program.mjs", program);
    const options = { cwd: site.folder, env: { PATH: process.env.PATH, TMPDIR: site.folder } };
    const { stdout } = await promisify(execFile)(process.execPath, [join(site.folder, "program.mjs")], options);
    expect(Object.fromEntries(JSON.parse(stdout))).toEqual({
      ...everywhere("1 succeeded"),
      "mark.after": "0 in_doubt",
      "tool.after": "1 in_doubt",
    });
  });
});

it("leaves nothing but the stores that are worth inspecting", () => {
  const left = readdirSync(site.folder).filter((name) => /^writ-crashtest-|\.db/.test(name));
  expect(left.sort()).toEqual(kept.map((folder) => basename(folder)).sort());
});
