import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lacksClaudeSdk } from "./claude-sdk-folder.ts";
import { type DocumentedCommand, documentedCommands, outputPattern, type ShellLine } from "./documented-commands.ts";
import { PackedPackage } from "./packed-package.ts";
import { repositoryPath } from "./repository-path.ts";
import { runTwice } from "./run-twice.ts";

const packed = new PackedPackage();
afterAll(() => packed.clear());

const guides = readdirSync(repositoryPath("docs", "guides")).map((name) => join("docs", "guides", name));

describe.each(["README.md", join("skills", "writ", "SKILL.md"), ...guides])(
  "%s, run as written against the packed package",
  (page) => {
    const folder = join(packed.folder, page.replaceAll(/\W/g, "-"));
    mkdirSync(folder);
    /** The last id of each kind that was printed, for `<run>` and `<gate>`. */
    const ids = new Map<string, string>();

    it.each(
      documentedCommands(readFileSync(repositoryPath(page), "utf8")).map((told) => [titleOf(told), told] as const),
    )("%s", (_, told) => {
      if (told.kind === "program" && lacksClaudeSdk(told.text)) return;
      if (told.kind === "program") runTwice(packed, folder, told);
      else if (told.kind === "shell") runLines(folder, told, ids);
      else expect(told.lines.flatMap(({ command }) => unknownScripts(command))).toEqual([]);
    });
  },
);

function titleOf(told: DocumentedCommand): string {
  return told.kind === "program" ? told.name : told.lines.map(({ command }) => command).join("; ");
}

function runLines(
  folder: string,
  { lines, prints }: Extract<DocumentedCommand, { kind: "shell" }>,
  ids: Map<string, string>,
): void {
  const said = lines.map((line) => runLine(folder, line, ids)).join("");
  if (prints[0] !== undefined) expect(said).toMatch(outputPattern(prints[0]));
}

function runLine(folder: string, { command, exit }: ShellLine, ids: Map<string, string>): string {
  const meant = command.replaceAll(/<(run|gate)>/g, (name, kind: string) => ids.get(kind) ?? name);
  // The file that npx would run; npx itself takes a second to find it.
  const found = meant.replace(/^npx writ\b/, join(packed.folder, "node_modules", ".bin", "writ"));
  const { status, stdout } = packed.runIn(folder, "sh", "-c", found);
  expect({ meant, status }).toEqual({ meant, status: exit });
  for (const [id, kind = ""] of stdout.matchAll(/\b(run|gate)_\w+/g)) ids.set(kind, id);
  return stdout;
}

/** `npm install && npm start`: every script it names is one of ours. */
function unknownScripts(command: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as { scripts: object };
  const named = command.split(" && ").map((part) => part.replace(/^npm (?:run )?/, "").split(" -- ")[0] ?? "");
  return named.filter((name) => name !== "install" && !Object.hasOwn(scripts, name));
}

describe("README program", () => {
  it("sends one mail for any number of runs and prints what its comments say", () => {
    const folder = join(packed.folder, "once-more");
    mkdirSync(folder);
    const documented = documentedCommands(readFileSync(repositoryPath("README.md"), "utf8"));
    const program = documented.find(({ kind }) => kind === "program");
    if (program?.kind !== "program") throw new Error("the README has a program");
    writeFileSync(join(folder, program.name), program.text);
    const printed = [1, 2].map(() => packed.runIn(folder, process.execPath, program.name).stdout).join("");
    expect(printed.match(/^to ana@example\.org: Dear ana@example\.org, welcome\.$/gm)).toHaveLength(1);
  });
});

describe("demo", () => {
  it("is killed once and sends one mail", () => {
    const demo = repositoryPath("examples", "outreach", "main.mjs");
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
