import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { pattern, type ShellLine, type Told, toldIn } from "../code-blocks.ts";
import { Packed, type Said } from "./packed.ts";

const root = join(import.meta.dirname, "..", "..");
const packed = new Packed();
afterAll(() => packed.clear());

const guides = readdirSync(join(root, "docs", "guides")).map((name) => join("docs", "guides", name));

describe.each(["README.md", ...guides])("%s, followed to the letter against the packed package", (page) => {
  const folder = join(packed.folder, page.replaceAll(/\W/g, "-"));
  mkdirSync(folder);
  /** The last id of each kind that was printed, for `<run>` and `<gate>`. */
  const ids = new Map<string, string>();

  it.each(toldIn(readFileSync(join(root, page), "utf8")).map((told) => [titleOf(told), told] as const))(
    "%s",
    (_, told) => {
      if (told.kind === "program") runTwice(folder, told);
      else if (told.kind === "shell") runLines(folder, told, ids);
      else expect(told.lines.flatMap(({ command }) => unknownScripts(command))).toEqual([]);
    },
  );
});

function titleOf(told: Told): string {
  return told.kind === "program" ? told.name : told.lines.map(({ command }) => command).join("; ");
}

/** A second run in the same folder finds what the first left, and does nothing twice. */
function runTwice(folder: string, { name, text, prints }: Extract<Told, { kind: "program" }>): void {
  writeFileSync(join(folder, name), text);
  const dies = text.includes("SIGKILL");
  const first = packed.runIn(folder, process.execPath, name);
  const again = packed.runIn(folder, process.execPath, name);
  if (dies) expect(first).toEqual({ status: null, stdout: "", stderr: "" });
  else expectPrinted(first, prints[0]);
  expectPrinted(again, prints.at(-1));
}

function expectPrinted({ status, stdout, stderr }: Said, text: string | undefined): void {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  if (text !== undefined) expect(stdout).toMatch(pattern(text));
}

function runLines(folder: string, { lines, prints }: Extract<Told, { kind: "shell" }>, ids: Map<string, string>): void {
  const said = lines.map((line) => runLine(folder, line, ids)).join("");
  if (prints[0] !== undefined) expect(said).toMatch(pattern(prints[0]));
}

function runLine(folder: string, { command, exit }: ShellLine, ids: Map<string, string>): string {
  const meant = command.replaceAll(/<(run|gate)>/g, (name, kind: string) => ids.get(kind) ?? name);
  // What npx would find, without the second that it takes to look.
  const found = meant.replace(/^npx writ\b/, join(packed.folder, "node_modules", ".bin", "writ"));
  const { status, stdout } = packed.runIn(folder, "sh", "-c", found);
  expect({ meant, status }).toEqual({ meant, status: exit });
  for (const [id, kind = ""] of stdout.matchAll(/\b(run|gate)_\w+/g)) ids.set(kind, id);
  return stdout;
}

/** `npm install && npm start`: every script it names is one of ours. */
function unknownScripts(command: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const named = command.split(" && ").map((part) => part.replace(/^npm (?:run )?/, ""));
  return named.filter((name) => name !== "install" && !Object.hasOwn(scripts, name));
}

describe("the README's program", () => {
  it("sends one mail, however often it is run, and prints what its comments say", () => {
    const folder = join(packed.folder, "once-more");
    mkdirSync(folder);
    const [program] = toldIn(readFileSync(join(root, "README.md"), "utf8"));
    if (program?.kind !== "program") throw new Error("the README begins with a program");
    writeFileSync(join(folder, program.name), program.text);
    const printed = [1, 2].map(() => packed.runIn(folder, process.execPath, program.name).stdout).join("");
    expect(printed.match(/^to ana@example\.org: Dear ana@example\.org, welcome\.$/gm)).toHaveLength(1);
  });
});

describe("the demo", () => {
  it("is killed once and leaves one mail", () => {
    const demo = join(root, "examples", "outreach", "main.mjs");
    const { stdout, stderr } = spawnSync(process.execPath, [demo, "--yes", "--json"], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect({ stdout: stdout.trim(), stderr }).toEqual({
      stdout: '{"status":"completed","mails":1,"kills":1}',
      stderr: "",
    });
  });
});
