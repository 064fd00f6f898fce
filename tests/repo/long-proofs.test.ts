import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { repositoryPath, repositoryRoot } from "./repository-path.ts";

const { scripts } = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

function runScript(name: string, ...args: readonly string[]): { readonly status: number | null; readonly out: string } {
  const options = { cwd: repositoryRoot, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [repositoryPath("scripts", `${name}.js`), ...args],
    options,
  );
  return { status, out: stdout + stderr };
}

describe("npm run proofs", () => {
  const { status, out } = runScript("proofs", "--bench", "--list");
  const named = [...out.matchAll(/^npm run --silent (\S+)/gm)].map(([, name = ""]) => name);

  it("runs only commands of package.json, and the matrix among them", () => {
    expect({ status, named }).toEqual({
      status: 0,
      named: [
        ...["crash", "chaos", "chaos", "chaos", "sim", "sim", "properties"],
        ...["check:cases", "check:bugs", "check:server", "matrix", "bench"],
      ],
    });
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it("leaves the benchmarks out unless they are asked for", () => {
    expect(runScript("proofs", "--list").out).not.toContain("bench");
  });

  it("refuses an unknown option", () => {
    expect(runScript("proofs", "--benhc")).toMatchObject({ status: 1, out: expect.stringContaining("--benhc") });
  });
});

describe("npm run matrix", () => {
  it("refuses an unknown row before it downloads anything, and lists the rows", () => {
    const { status, out } = runScript("matrix", "--only", "node-22,postgres-9");
    expect(status).toBe(1);
    expect(out).toContain("no row is named postgres-9; the rows are node-20, node-22, node-24, postgres-14, ");
  });

  it("names test files that exist", () => {
    const text = readFileSync(repositoryPath("scripts", "matrix.js"), "utf8");
    const files = [...text.matchAll(/"(tests\/[^"]+)"/g)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((path) => !existsSync(repositoryPath(path)))).toEqual([]);
  });
});

describe("a command of a long proof", () => {
  it("ends when the process that runs it is killed", async () => {
    const module = pathToFileURL(repositoryPath("scripts", "run-command.js")).href;
    const program = `import(${JSON.stringify(module)}).then(({ runCommand }) =>
      runCommand(["sh", "-c", "echo started; exec sleep 600"]))`;
    const parent = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
    await once(parent.stdout, "data");
    parent.kill("SIGKILL");
    // The command holds the same pipe, so the pipe closes when the command has ended.
    await once(parent, "close");
  });
});
