import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { library, Site } from "./cli-site.ts";

const windows = ["none", "start.before", "start.after", "mark.after", "tool.after", "end.after"] as const;

/** Each tool has a log of its own, which is the world. */
const config = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool } from ${library};

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
const guards = [{ id: "careful", judge: () => ({ kind: "hold", rule: "careful", reason: "someone must look", demand: { role: null } }) }];

export default { tools, principal: { id: "bot", kind: "agent", tenant: "acme" }, ...(process.env.GUARDED && { guards }) };
`;

let site: Site;
/** The folders that were kept because something was wrong. */
const kept: string[] = [];

beforeAll(() => {
  site = new Site();
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

async function tested(tool: string, to?: string): Promise<{ exit: number | null; told: Tested; table: object }> {
  const { exit, out } = await site.runLong({}, ...words(tool, to), "--json");
  const told = JSON.parse(out) as Tested;
  const rows = told.windows.map(({ window, effects, record, verdict }) => [window, `${effects} ${record} ${verdict}`]);
  return { exit, told, table: Object.fromEntries(rows) };
}

const everywhere = (row: string): Record<string, string> => Object.fromEntries(windows.map((window) => [window, row]));

describe("a tool that is honest", () => {
  it.concurrent("leaves a person in doubt where nothing else can know, and is right everywhere else", async () => {
    const { exit, told, table } = await tested("opaque");
    expect({ exit, ok: told.ok, guarantee: told.guarantee }).toEqual({
      ...{ exit: 0, ok: true },
      guarantee: "at most once; in doubt needs a person",
    });
    expect(table).toEqual({
      ...everywhere("1 succeeded ok"),
      "mark.after": "0 in_doubt ok",
      "tool.after": "1 in_doubt ok",
    });
    expect(told.windows[3]).toEqual({
      ...{ window: "mark.after", effects: 0, record: "in_doubt", verdict: "ok", note: "needs a person", settled: true },
      ...{ run_id: expect.stringMatching(/^run_/), store: null },
    });
  });

  it.concurrent("is done exactly once wherever it is killed, if the world can be asked", async () => {
    const { exit, table } = await tested("seen", "{unique}");
    expect({ exit, table }).toEqual({ exit: 0, table: everywhere("1 succeeded ok") });
  });
});

describe("a tool that promises what it does not keep", () => {
  it.concurrent("is a DUPLICATE where the promise was relied on, and the record is kept to look into", async () => {
    const { exit, out } = await site.runLong({}, ...words("forgetful"));
    expect(exit).toBe(4);
    expect(out).toMatch(/^forgetful@1: exactly once within 1 h: idempotent\n/);
    expect(out).toMatch(/^ {2}tool\.after {4}2 {8}succeeded {2}DUPLICATE$/m);
    expect(out.match(/ok$/gm)).toHaveLength(windows.length - 1);
    const [, run = "", store = ""] = /events (run_\w+) --store (\S+) --tenant acme$/m.exec(out) ?? [];
    expect((await site.run("events", run, "--store", store, "--tenant", "acme")).out).toMatch(/sent again/);
    kept.push(dirname(store));
  });

  it.concurrent("is a LIE where it says that nothing happened", async () => {
    const { exit, told, table } = await tested("liar");
    expect({ exit, ok: told.ok }).toEqual({ exit: 4, ok: false });
    expect(table).toEqual({
      ...everywhere("1 failed LIE"),
      "mark.after": "0 in_doubt ok",
      "tool.after": "1 in_doubt ok",
    });
    kept.push(...told.windows.flatMap(({ store }) => (store === null ? [] : [dirname(store)])));
  });
});

describe("a call that cannot be put to the test", () => {
  const refused = async (env: Record<string, string>, ...args: readonly string[]) => {
    const { exit, out } = await site.runLong(env, ...args, "--json");
    return { exit, ...JSON.parse(out).fault };
  };

  it.concurrent("is one that a guard of the config does not let begin", async () => {
    expect(await refused({ GUARDED: "1" }, ...words("seen.held").with(1, "seen"))).toMatchObject({
      ...{ exit: 2, code: "NOT_POSSIBLE" },
      message: expect.stringContaining("seen never came to its start: held: someone must look"),
    });
  });

  it.concurrent("is one that ends its process by itself", async () => {
    expect(await refused({}, ...words("suicide"))).toMatchObject({
      ...{ exit: 4, code: "TOOL_FAILED" },
      message: expect.stringContaining("ended by itself with exit code 7"),
    });
  });

  it.concurrent("is one whose counter goes down", async () => {
    site.write("down.log", "1\n2\n3\n");
    const counter = "wc -l < down.log && echo 1 > down.log";
    expect(await refused({}, ...words("opaque.down").with(1, "opaque").with(5, counter))).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringContaining("went down by 2"),
    });
  });
});

it("leaves nothing behind but the stores that are worth a look", () => {
  const left = readdirSync(site.folder).filter((name) => /^writ-crashtest-|\.db/.test(name));
  expect(left.sort()).toEqual(kept.map((folder) => basename(folder)).sort());
});
