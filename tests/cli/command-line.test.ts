import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exitCodes } from "../../src/cli/exit-code.ts";
import { repositoryPath } from "../repo/repository-path.ts";
import { commandNames, runCli } from "./run-cli.ts";

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "writ-cli-"));
});

afterEach(() => rmSync(cwd, { recursive: true }));

const commands = await commandNames();

describe("help", () => {
  it.each(commands)("of %s ends with an example", async (name) => {
    const { exit, out, err } = await runCli(cwd, name, "--help");
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    expect(out).toMatch(new RegExp(`Example:\\n {2}\\$ writ ${name}`));
    expect(out).toContain("--json");
  });

  it("of the program lists every command and every exit code", async () => {
    const { out } = await runCli(cwd, "--help");
    for (const name of commands) expect(out).toMatch(new RegExp(`^ {2}${name}[ |]`, "m"));
    for (const [code, meaning] of Object.entries(exitCodes)) expect(out).toContain(`${code}  ${meaning}`);
  });

  it("lists the commands that docs/cli.md lists", () => {
    const documented = readFileSync(repositoryPath("docs/cli.md"), "utf8").matchAll(/^### `writ (\w+)/gm);
    expect([...documented].map(([, name]) => name).sort()).toEqual([...commands].sort());
  });

  it("lists one command for each file in src/cli/commands, by its name", () => {
    const files = readdirSync(repositoryPath("src/cli/commands")).filter((file) => file !== "crashtest-call.ts");
    expect(files.sort()).toEqual(commands.map((name) => `${name}.ts`).sort());
  });

  it("prints the version", async () => {
    expect((await runCli(cwd, "--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("invalid command line", () => {
  it.each([
    ["no command", []],
    ["an unknown command", ["frobnicate"]],
    ["an unknown option", ["show", "run_1", "--frob"]],
    ["an unknown option of the program", ["--frob"]],
    ["a missing argument", ["show"]],
    ["too many arguments", ["show", "run_1", "run_2"]],
    ["an option without its value", ["runs", "--limit"]],
    ["a limit that is not a number", ["runs", "--limit", "ten"]],
    ["a limit of 0", ["gates", "--limit", "0"]],
    ["a status that does not exist", ["runs", "--status", "odd"]],
    ["a mode that does not exist", ["run", "plan.json", "--mode", "yolo"]],
    ["an age without a unit", ["retain", "--older-than", "30"]],
    ["no age", ["retain"]],
    ["no verdict", ["resolve", "run_1", "a"]],
    ["two verdicts", ["resolve", "run_1", "a", "--absent", "--undo"]],
    ["a verdict and --verify", ["resolve", "run_1", "a", "--absent", "--verify"]],
    ["an attempt of 0", ["resolve", "run_1", "a", "--absent", "--attempt", "0"]],
    ["an output without its verdict", ["resolve", "run_1", "a", "--absent", "--output", "{}"]],
    ["an output that is not JSON", ["resolve", "run_1", "a", "--happened", "--output", "{"]],
    ["a crash test without an input", ["crashtest", "mail.send", "--count", "echo 0"]],
    ["a crash test without a counter", ["crashtest", "mail.send", "--input", "{}"]],
    ["a patience of 0", ["crashtest", "mail.send", "--input", "{}", "--count", "echo 0", "--patience", "0"]],
    ["a run and a period", ["cost", "run_1", "--period", "2025-11"]],
  ])("%s: exits 2 and reports it as text and as JSON", async (_, args) => {
    const people = await runCli(cwd, ...args);
    expect(people).toMatchObject({ exit: 2, out: "" });
    expect(people.err).toMatch(/INVALID_INPUT: .+\n$/);

    const programs = await runCli(cwd, ...args, "--json");
    expect(programs).toMatchObject({ exit: 2, err: "" });
    expect(JSON.parse(programs.out)).toEqual({ fault: expect.objectContaining({ code: "INVALID_INPUT" }) });
  });

  it("suggests the nearest name, on one line", async () => {
    const { err } = await runCli(cwd, "aprove", "gate_1");
    expect(err).toBe("INVALID_INPUT: unknown command 'aprove' (Did you mean approve?); see: writ --help\n");
    expect((await runCli(cwd, "retain", "--older-than", "30")).err).toMatch(/45s; see: writ retain --help\n$/);
  });

  it("is printed with control characters escaped", async () => {
    const { err } = await runCli(cwd, "\u001b]0;pwned\u0007");
    expect(err).toContain("\\u001b]0;pwned\\u0007");
    expect(err).not.toContain("\u001b");
  });
});

describe("missing config", () => {
  it.each([
    ["run", "plan.json"],
    ["check", "plan.json"],
    ["simulate", "plan.json"],
    ["undo", "run_1"],
    ["resolve", "run_1", "a", "--undo"],
    ["tools"],
    ["crashtest", "mail.send", "--input", "{}", "--count", "echo 0"],
  ])("is reported by %s %s with the path and what to do", async (...args) => {
    writeFileSync(join(cwd, "plan.json"), "{}");
    const { exit, out } = await runCli(cwd, ...args, "--json");
    const { fault } = JSON.parse(out);
    expect({ exit, code: fault.code }).toEqual({ exit: 2, code: "CONFIG_INVALID" });
    expect(fault.message).toContain(join(cwd, "writ.config.mjs"));
    expect(fault.message).toContain("writ init");
  });

  it("does not make a read command create an empty store", async () => {
    const { exit, out } = await runCli(cwd, "runs", "--json", "--store", "wrong.db");
    expect(exit).toBe(6);
    expect(JSON.parse(out).fault).toMatchObject({ code: "STORE_UNUSABLE" });
    expect(existsSync(join(cwd, "wrong.db"))).toBe(false);
  });
});

describe("unusable config", () => {
  it.each([
    ["does not parse", "export default {", /cannot be loaded: /],
    ["throws", `throw new Error("no key set");`, /cannot be loaded: no key set/],
    ["throws a value that is not an error", `throw "odd";`, /cannot be loaded: odd/],
    ["imports a missing module", `import "./gone.mjs";`, /cannot be loaded: Cannot find module/],
    ["exports nothing", "export const tools = [];", /no default export/],
    ["has an unknown field", "export default { tolls: [] };", /did you mean tools/],
    ["has no tools", "export default {};", /has no tools/],
  ])("%s", async (_, text, message) => {
    writeFileSync(join(cwd, "odd.config.mjs"), text);
    writeFileSync(join(cwd, "plan.json"), "{}");
    const { exit, out, err } = await runCli(cwd, "run", "plan.json", "--json", "--config", "odd.config.mjs");
    const { fault } = JSON.parse(out);
    expect({ exit, err, code: fault.code }).toEqual({ exit: 2, err: "", code: "CONFIG_INVALID" });
    expect(fault.message).toMatch(message);
    expect(fault.message).toContain("odd.config.mjs");
  });

  it("passes on the fault of a tool definition", async () => {
    const thrower = `throw Object.assign(new Error("x"), { fault: { code: "TOOL_INVALID", message: "mail: odd" } });`;
    writeFileSync(join(cwd, "writ.config.mjs"), thrower);
    writeFileSync(join(cwd, "plan.json"), "{}");
    const { exit, out } = await runCli(cwd, "check", "plan.json", "--json");
    expect(exit).toBe(2);
    expect(JSON.parse(out).fault).toMatchObject({
      code: "TOOL_INVALID",
      message: expect.stringContaining("mail: odd"),
    });
  });
});

describe("unreadable plan", () => {
  it.each([
    ["does not exist", null, /there is no such file/],
    ["is empty", "", /is not JSON/],
    ["is not JSON", "{steps: []}", /is not JSON/],
    ["has a duplicate key", `{"plan_id": "a", "plan_id": "b"}`, /plan_id/],
    ["has a number that would lose precision", `{"n": 9007199254740993}`, /\/n/],
    ["has a prototype", `{"__proto__": {}}`, /__proto__/],
    ["is not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), /not UTF-8/],
  ])("%s", async (_, bytes, message) => {
    if (bytes !== null) writeFileSync(join(cwd, "plan.json"), bytes);
    for (const command of ["run", "check", "simulate"]) {
      const { exit, out } = await runCli(cwd, command, "plan.json", "--json");
      const { fault } = JSON.parse(out);
      expect({ exit, code: fault.code }).toEqual({ exit: 2, code: "PLAN_INVALID" });
      expect(fault.message).toMatch(message);
    }
  });

  it("prints each reason on its own line", async () => {
    writeFileSync(join(cwd, "plan.json"), `{"a": 1, "a": 2, "b": -0}`);
    const { err } = await runCli(cwd, "check", "plan.json");
    expect(err.split("\n")).toEqual([
      "PLAN_INVALID: plan.json is not JSON that can be used:",
      expect.stringMatching(/^ {2}\/a: /),
      expect.stringMatching(/^ {2}\/b: /),
      "",
    ]);
  });

  it("is refused like an unreadable context", async () => {
    writeFileSync(join(cwd, "plan.json"), "{}");
    for (const context of ["gone.json", "{", "plan"]) {
      const { exit, out } = await runCli(cwd, "run", "plan.json", "--json", "--context", context);
      expect(exit).toBe(2);
      expect(JSON.parse(out).fault.code).toBe("INVALID_INPUT");
    }
  });
});

describe("writ init", () => {
  it("writes an example and never overwrites a file", async () => {
    writeFileSync(join(cwd, "plan.json"), "mine");
    const { exit, out } = await runCli(cwd, "init", "--json");
    expect({ exit, answer: JSON.parse(out) }).toEqual({
      exit: 0,
      answer: { written: ["writ.config.mjs"], kept: ["plan.json"] },
    });
    expect(readFileSync(join(cwd, "plan.json"), "utf8")).toBe("mine");
  });
});

describe("internal error", () => {
  it("is printed without a stack, and with one under --debug", async () => {
    writeFileSync(join(cwd, "writ.config.mjs"), `export default { tools: [], store: { append() {} } };`);
    const quiet = await runCli(cwd, "runs", "--json");
    expect(quiet).toMatchObject({ exit: 1, err: "" });
    expect(JSON.parse(quiet.out).fault.code).toBe("INTERNAL");
    const loud = await runCli(cwd, "runs", "--json", "--debug");
    expect(loud.err).toMatch(/^ {4}at /m);
  });
});
