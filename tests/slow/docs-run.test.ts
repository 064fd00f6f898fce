import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "writ-docs-"));

/** An empty folder with the packed package in it, as a user would have after installing it. */
beforeAll(() => {
  const [tarball] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
      cwd: root,
      encoding: "utf8",
    }),
  ) as [{ readonly filename: string }];
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "writ"), { recursive: true });
  execFileSync("tar", ["xzf", join(folder, tarball.filename), "-C", join(modules, "writ"), "--strip-components=1"]);
  const installed = join(root, "node_modules");
  for (const name of readdirSync(installed)) {
    if (name !== "writ" && !name.startsWith(".")) symlinkSync(join(installed, name), join(modules, name));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The code blocks of a page that name the file they are: `// first.mjs: …`. */
function programsIn(page: string): readonly { readonly name: string; readonly code: string }[] {
  const blocks = readFileSync(join(root, page), "utf8").matchAll(/```js\n(\/\/ (\w+\.mjs):[\s\S]*?)```/g);
  return [...blocks].map(([, code, name]) => ({ name: name as string, code: code as string }));
}

const run = (name: string) => spawnSync(process.execPath, [name], { cwd: folder, encoding: "utf8", timeout: 30_000 });

describe("the README's program, against the packed package in an empty folder", () => {
  it("sends one mail, however often it is run, and prints what its comments say", () => {
    const [program] = programsIn("README.md");
    writeFileSync(join(folder, program?.name ?? ""), program?.code ?? "");
    const outputs = [run("first.mjs"), run("first.mjs")];
    expect(outputs.map(({ status, stderr }) => ({ status, stderr }))).toEqual([
      { status: 0, stderr: "" },
      { status: 0, stderr: "" },
    ]);
    const printed = outputs.map(({ stdout }) => stdout).join("");
    expect(printed.match(/^to ana@example\.org: Dear ana@example\.org, welcome\.$/gm)).toHaveLength(1);
    expect(
      printed.match(/^completed \{\s+state: 'succeeded',\s+output: \{\s+id: '[0-9a-f]{64}'\s+\}\s+\}$/gm),
    ).toHaveLength(2);
  });

  it("finds every door", () => {
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      exports: Record<string, unknown>;
    };
    const doors = Object.keys(exports).filter((door) => door !== "./package.json");
    const code = doors.map((door) => `await import("writ${door.slice(1)}");`).join("\n");
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
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
