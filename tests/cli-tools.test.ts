import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandNames, told } from "./cli-host.ts";

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), "src", "index.ts");

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

describe("the tools", () => {
  it("are listed for programs with what each can be relied on for", async () => {
    const { exit, out } = await told(cwd, "tools", "--json");
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

  it("are listed for people, one on a line", async () => {
    const { out } = await told(cwd, "tools");
    expect(out.split("\n")[3]).toBe("mail.send@2   acts    high risk    exactly once: key + verify; can be undone");
  });

  it("may be none", async () => {
    expect(await told(cwd, "tools", "--config", "empty.config.mjs")).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^there are no tools in .*empty\.config\.mjs\n$/),
    });
  });
});

describe("a crash test", () => {
  const count = ["--count", "echo 0"] as const;
  const refused = async (...args: readonly string[]): Promise<object> => {
    const { exit, out } = await told(cwd, "crashtest", ...args, "--json");
    return { exit, ...JSON.parse(out).fault };
  };

  it.each([
    ["mail.sent", /did you mean mail\.send/],
    ["__proto__", /there are text\.upper, /],
  ])("needs a tool that is there, and %s is none", async (name, message) => {
    expect(await refused(name, "--input", "{}", ...count)).toMatchObject({
      ...{ exit: 4, code: "TOOL_UNKNOWN" },
      message: expect.stringMatching(message),
    });
  });

  it.each(["text.upper", "mail.write", "note.keep"])("is not made of %s, which leaves no effects", async (name) => {
    expect(await refused(name, "--input", "{}", ...count)).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(/only what acts leaves effects to count/),
    });
  });

  it.each([
    ["is not JSON", "{to", /--input is not JSON/],
    ["does not fit the tool", `{"too":1}`, /--input does not fit mail\.send/],
  ])("does not begin with an input that %s", async (_, input, message) => {
    expect(await refused("mail.send", "--input", input, ...count)).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(message),
    });
  });

  it("does not begin without a counter that counts", async () => {
    expect(await refused("mail.send", "--input", `{"to":"{unique}"}`, "--count", "echo many")).toMatchObject({
      ...{ exit: 2, code: "INVALID_INPUT" },
      message: expect.stringMatching(/printed "many"/),
    });
  });

  it("has a process to kill that nobody is shown and that does nothing by itself", async () => {
    expect(commandNames()).not.toContain("crashtest-victim");
    expect((await told(cwd, "--help")).out).not.toContain("victim");
    const { exit, out } = await told(cwd, "crashtest-victim", cwd, "--json");
    expect({ exit, ...JSON.parse(out).fault }).toMatchObject({ exit: 2, code: "INVALID_INPUT" });
  });
});
