import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { commandNames, runCli } from "./run-cli.ts";

const source = repositoryPath("src", "index.ts");

const config = `
import { defineTool } from ${JSON.stringify(source)};

const object = { type: "object" };
const ran = () => { throw new Error("nothing here may run"); };
const tool = (name, effect, more) => defineTool({ name, effect, input: object, output: object, run: ran, ...more });
const to = { type: "object", properties: { to: { type: "string" } }, required: ["to"], additionalProperties: false };

export default {
  tools: [
    tool("text.upper", "pure"),
    tool("mail.write", "reads"),
    tool("note.keep", "writes"),
    tool("mail.send", "acts", { version: "2", input: to, risk: "high", verify: ran, compensate: ran }),
    tool("pay", "acts", { idempotent: { forMs: 86_400_000 } }),
    tool("shout", "acts"),
  ],
};
`;

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
  writeFileSync(join(cwd, "writ.config.mjs"), config);
  writeFileSync(join(cwd, "empty.config.mjs"), "export default { tools: [] };");
});

afterAll(() => rmSync(cwd, { recursive: true }));

describe("writ tools", () => {
  it("lists the guarantee of each tool as JSON", async () => {
    const { exit, out } = await runCli(cwd, "tools", "--json");
    const acts = { effect: "acts", risk: "medium", version: "1" };
    expect({ exit, ...JSON.parse(out) }).toEqual({
      exit: 0,
      tools: [
        { name: "text.upper", version: "1", effect: "pure", risk: "low", guarantee: "recomputable" },
        {
          ...{ name: "mail.write", version: "1", effect: "reads", risk: "low" },
          guarantee: "recorded: never silently asked again",
        },
        { name: "note.keep", version: "1", effect: "writes", risk: "low", guarantee: "whole or not at all" },
        {
          ...{ name: "mail.send", version: "2", effect: "acts", risk: "high" },
          guarantee: "exactly once: key + verify; can be undone",
        },
        { name: "pay", ...acts, guarantee: "exactly once within 1 d: idempotent" },
        { name: "shout", ...acts, guarantee: "at most once; in doubt needs a person" },
      ],
    });
  });

  it("lists one tool per line for people", async () => {
    const { out } = await runCli(cwd, "tools");
    expect(out.split("\n")[3]).toBe("mail.send@2   acts    high risk    exactly once: key + verify; can be undone");
  });

  it("accepts a config without tools", async () => {
    expect(await runCli(cwd, "tools", "--config", "empty.config.mjs")).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^there are no tools in .*empty\.config\.mjs\n$/),
    });
  });
});

describe("writ crashtest", () => {
  const count = ["--count", "echo 0"] as const;
  const refused = async (...args: readonly string[]): Promise<object> => {
    const { exit, out } = await runCli(cwd, "crashtest", ...args, "--json");
    return { exit, ...JSON.parse(out).fault };
  };

  it.each([
    ["mail.sent", /did you mean mail\.send/],
    ["__proto__", /there are text\.upper, /],
  ])("refuses the unknown tool %s", async (name, message) => {
    expect(await refused(name, "--input", "{}", ...count)).toMatchObject({
      ...{ exit: 4, code: "TOOL_UNKNOWN" },
      message: expect.stringMatching(message),
    });
  });

  it.each(["text.upper", "mail.write", "note.keep"])("refuses %s, which leaves no effects", async (name) => {
    expect(await refused(name, "--input", "{}", ...count)).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(/only acts leave effects to count/),
    });
  });

  it.each([
    ["is not JSON", "{to", /--input is not JSON/],
    ["does not fit the tool", `{"too":1}`, /--input does not fit mail\.send/],
  ])("refuses an input that %s", async (_, input, message) => {
    expect(await refused("mail.send", "--input", input, ...count)).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(message),
    });
  });

  it("refuses a counter that does not print a number", async () => {
    expect(await refused("mail.send", "--input", `{"to":"{unique}"}`, "--count", "echo many")).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(/printed "many"/),
    });
  });

  it("does not list crashtest-call, which refuses a folder without a task", async () => {
    expect(await commandNames()).not.toContain("crashtest-call");
    expect((await runCli(cwd, "--help")).out).not.toContain("crashtest-call");
    const { exit, out } = await runCli(cwd, "crashtest-call", cwd, "--json");
    expect({ exit, ...JSON.parse(out).fault }).toMatchObject({ exit: 2, code: "INVALID_INPUT" });
  });
});
