import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { repositoryPath } from "../repo/repository-path.ts";
import { runCli } from "./run-cli.ts";

let cwd: string;
let folders: string[];

beforeEach(() => {
  folders = [];
  cwd = newFolder();
  writeFileSync(join(cwd, "writ.config.mjs"), config("all"));
  writeFileSync(join(cwd, "less.config.mjs"), config("all.filter(({ name }) => name !== 'note.held')"));
});

afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-cli-"));
  folders.push(folder);
  return folder;
}

const config = (tools: string) => `
import { defineTool } from ${JSON.stringify(repositoryPath("src", "index.ts"))};

const output = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const shape = { effect: "acts", input: { type: "object" }, output };
const lost = async () => { throw new Error("the connection was lost"); };
const all = [
  defineTool({ ...shape, name: "note.send", run: lost }),
  defineTool({ ...shape, name: "note.undo", run: lost, compensate: async () => {}, safeIfAbsent: true }),
  defineTool({ ...shape, name: "note.unsafe", run: lost, compensate: async () => {} }),
  defineTool({ ...shape, name: "note.seen", run: lost, verify: async () => ({ saw: "unknown" }) }),
  defineTool({ ...shape, name: "note.odd", run: async () => ({ number: 7 }) }),
  defineTool({ ...shape, name: "note.held", run: async () => ({ id: "n-1" }) }),
  defineTool({ ...shape, name: "note.pay", run: async () => ({ id: "p-1" }) }),
  defineTool({ ...shape, name: "note.fail", effect: "reads", run: lost }),
];
const policy = { schema_version: "1.0", name: "house", rules: [
  { id: "ask", kind: "approval", on: { tools: ["note.held"] } },
  { id: "pay", kind: "approval", on: { tools: ["note.pay"] }, role: "cfo" },
] };
const tenant = { mode: "auto_exec", trust: ["note.*"], admin: "chief" };
export default { tools: ${tools}, policies: [policy], tenants: { default: tenant, acme: tenant } };
`;

/** Runs a plan of one step, and returns the id of the run. */
async function runStep(step: object, ...options: readonly string[]): Promise<string> {
  writeFileSync(join(cwd, "plan.json"), JSON.stringify({ steps: [{ step_id: "a", ...step }] }));
  const { out } = await runCli(cwd, "run", "plan.json", "--json", ...options);
  return JSON.parse(out).run_id;
}

const call = (name: string) => ({ name, payload: {} });

/** Returns the command lines in a text. They are the only words after two spaces that begin with the program. */
function adviceIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/ {2}(writ .*)$/gm), ([, command = ""]) => command);
}

/** Splits a command line as a shell does. */
function shellWords(command: string): readonly string[] {
  return Array.from(command.matchAll(/(?:'((?:[^']|'\\'')*)'|(\S+))/g), ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? "") : quoted.replaceAll(`'\\''`, "'"),
  );
}

/** Executes every advised command as printed, each on its own copy of the folder, and returns their words without ids. */
async function executeAdvice(folder: string, text: string): Promise<readonly string[]> {
  const shown: string[] = [];
  for (const command of adviceIn(text)) {
    const copy = newFolder();
    cpSync(folder, copy, { recursive: true });
    const [, ...words] = shellWords(command);
    const { exit, err } = await runCli(copy, ...words);
    const fault = /^[A-Z_]+: .*$/m.exec(err)?.[0] ?? null;
    expect([command, fault, [0, 3, 4].includes(exit)]).toEqual([command, null, true]);
    shown.push(command.replaceAll(/\b(run|gate)_\w+/g, "$1"));
  }
  return shown;
}

const settle = (output: string) => [
  `writ resolve run a --happened${output} --attempt 1`,
  "writ resolve run a --absent --attempt 1",
  "writ resolve run a --give-up --attempt 1",
];
const example = ` --output '{"id":"…"}'`;
const [happened = "", absent = "", giveUp = ""] = settle(example);

describe("the advice about a run works as printed", () => {
  it.each([
    ["an act in doubt", call("note.send"), [happened, absent, giveUp]],
    ["one that can be undone", call("note.undo"), [happened, absent, absent.replace("absent", "undo"), giveUp]],
    ["one whose undo is not safe if it is absent", call("note.unsafe"), [happened, absent, giveUp]],
    ["one with a verifier", call("note.seen"), [happened, absent, absent.replace("absent", "verify"), giveUp]],
    ["an output that cannot be used", call("note.odd"), [`writ resolve run a --happened${example}`]],
    ["a failure", call("note.fail"), ["writ resume run"]],
    ["a gate", call("note.held"), ["writ approve gate", "writ reject gate"]],
    ["a gate with a role", call("note.pay"), ["writ approve gate --role cfo", "writ reject gate --role cfo"]],
    ["a signal", { kind: "wait", payload: { signal: "paid it" } }, ["writ signal 'paid it'"]],
  ])("for %s, by show and run", async (_, step, advice) => {
    const run = await runStep(step);
    expect(await executeAdvice(cwd, (await runCli(cwd, "show", run)).out)).toEqual(advice);
    writeFileSync(join(cwd, "plan.json"), JSON.stringify({ plan_id: "again", steps: [{ step_id: "a", ...step }] }));
    const again = await runCli(cwd, "run", "plan.json");
    expect((await executeAdvice(cwd, again.out)).length).toBeGreaterThan(0);
  });

  it("for a halted run", async () => {
    await runStep(call("note.fail"));
    await runCli(cwd, "halt", "--reason", "wrong list", "--role", "chief");
    const run = await runStep(call("note.send"));
    expect(await executeAdvice(cwd, (await runCli(cwd, "show", run)).out)).toEqual(["writ lift --role chief"]);
    await runCli(cwd, "lift", "--role", "chief");
    const halted = await runCli(cwd, "halt", "--everything", "--reason", "stop");
    expect(await executeAdvice(cwd, halted.out)).toEqual(["writ lift --everything"]);
    const other = await runStep(call("note.undo"));
    expect(await executeAdvice(cwd, (await runCli(cwd, "show", other)).out)).toEqual(["writ lift --everything"]);
  });

  it("for a run whose process is gone, and after a decision", async () => {
    const run = await runStep(call("note.held"), "--detach");
    expect(await executeAdvice(cwd, (await runCli(cwd, "show", run)).out)).toEqual(["writ resume run"]);
    await runCli(cwd, "resume", run);
    const gates = await runCli(cwd, "gates");
    expect(await executeAdvice(cwd, gates.out)).toEqual(["writ approve gate", "writ reject gate"]);
    const [gate = ""] = /gate_\w+/.exec(gates.out) ?? [];
    const approved = await runCli(cwd, "approve", gate);
    expect(await executeAdvice(cwd, approved.out)).toEqual(["writ resume run"]);
  });

  it("for a run whose tool is missing", async () => {
    const run = await runStep(call("note.held"));
    const [gate = ""] = /gate_\w+/.exec((await runCli(cwd, "gates")).out) ?? [];
    await runCli(cwd, "approve", gate);
    const resumed = await runCli(cwd, "resume", run, "--config", "less.config.mjs");
    expect(resumed.exit).toBe(3);
    expect(await executeAdvice(cwd, resumed.out)).toEqual([
      "writ workers --config less.config.mjs",
      "writ cancel run --config less.config.mjs",
    ]);
  });

  it("carries the store and the tenant that were given", async () => {
    const place = ["--store", "my notes.db", "--tenant", "acme"];
    const run = await runStep(call("note.send"), ...place);
    const shown = await runCli(cwd, "show", run, ...place);
    expect(await executeAdvice(cwd, shown.out)).toEqual(
      settle("").map((command) => `${command} --store 'my notes.db' --tenant acme`),
    );
  });

  it("says that doing nothing leaves an act in doubt, and that giving up is final", async () => {
    const run = await runStep(call("note.send"));
    const { out } = await runCli(cwd, "show", run);
    expect(out).toMatch(/^ {2}leave it open: do nothing$/m);
    expect(out).toMatch(/^ {2}give up for good; .*:\n {4}writ resolve .* --give-up/m);
  });
});

describe("the advice for a program that embeds the library, without a config, works as printed", () => {
  /** Returns a folder that has the store and no config. */
  function withoutConfig(): string {
    const folder = newFolder();
    for (const name of readdirSync(cwd).filter((name) => name.startsWith("writ.db")))
      cpSync(join(cwd, name), join(folder, name), { recursive: true });
    expect(existsSync(join(folder, "writ.config.mjs"))).toBe(false);
    return folder;
  }

  it.each([
    ["an act in doubt", call("note.undo"), settle("")],
    ["a failure", call("note.fail"), ["writ resume run"]],
    ["a gate with a role", call("note.pay"), ["writ approve gate --role cfo", "writ reject gate --role cfo"]],
  ])("for %s", async (_, step, advice) => {
    const run = await runStep(step);
    const folder = withoutConfig();
    const { out } = await runCli(folder, "show", run);
    expect(await executeAdvice(folder, out)).toEqual(advice);
  });

  it("and names no command if only the program can continue the run", async () => {
    const run = await runStep(call("note.held"), "--detach");
    const folder = withoutConfig();
    const { out } = await runCli(folder, "show", run);
    expect(adviceIn(out)).toEqual([]);
    expect(out).toContain("No process executes this store, so the run does not continue.\n  start the program");
  });

  it("and the outcome of an act without its output is on record, until the output is given with the tool", async () => {
    const run = await runStep(call("note.send"));
    const folder = withoutConfig();
    const given = await runCli(folder, "resolve", run, "a", "--happened", "--output", `{"id":"n-1"}`, "--json");
    expect(JSON.parse(given.out).fault.code).toBe("TOOL_MISSING");
    expect((await runCli(folder, "resolve", run, "a", "--happened")).exit).toBe(0);
    const { out } = await runCli(folder, "show", run, "--json");
    expect(JSON.parse(out)).toMatchObject({ status: "failed", steps: { a: { state: "failed_final" } } });

    copyFileSync(join(cwd, "writ.config.mjs"), join(folder, "writ.config.mjs"));
    const shown = await runCli(folder, "show", run);
    expect(await executeAdvice(folder, shown.out)).toEqual([`writ resolve run a --happened${example}`]);
    await runCli(folder, "resolve", run, "a", "--happened", "--output", `{"id":"n-1"}`);
    const now = JSON.parse((await runCli(folder, "show", run, "--json")).out);
    expect(now).toMatchObject({ status: "completed", steps: { a: { output: { id: "n-1" } } } });
  });
});
