import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claudeSdkFolder, claudeSdkName } from "./claude-sdk-folder.ts";
import { repositoryPath, repositoryRoot } from "./repository-path.ts";

/** An empty folder with the packed package in it, as a user would have after installing it. */
export class PackedPackage {
  readonly folder = mkdtempSync(join(tmpdir(), "writ-packed-"));
  readonly tarball: Uint8Array;

  constructor() {
    const [{ filename }] = JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", this.folder], {
        cwd: repositoryRoot,
        encoding: "utf8",
      }),
    ) as [{ readonly filename: string }];
    const modules = join(this.folder, "node_modules");
    mkdirSync(join(modules, "writ"), { recursive: true });
    execFileSync("tar", ["xzf", join(this.folder, filename), "-C", join(modules, "writ"), "--strip-components=1"]);
    this.tarball = readFileSync(join(this.folder, filename));
    rmSync(join(this.folder, filename));
    this.#borrow(modules);
  }

  /** Links the dependencies of the package and of the examples from this repository. */
  #borrow(modules: string): void {
    const installed = repositoryPath("node_modules");
    for (const name of readdirSync(installed)) {
      if (name !== "writ" && !name.startsWith(".")) symlinkSync(join(installed, name), join(modules, name));
    }
    if (claudeSdkFolder !== null && claudeSdkFolder !== repositoryRoot) this.#borrowClaudeSdk(modules, claudeSdkFolder);
    const program = join("writ", "dist", "cli.js");
    chmodSync(join(modules, program), 0o755);
    mkdirSync(join(modules, ".bin"));
    symlinkSync(join("..", program), join(modules, ".bin", "writ"));
    for (const name of readdirSync(join(installed, ".bin")))
      if (name !== "writ") symlinkSync(join(installed, ".bin", name), join(modules, ".bin", name));
  }

  /** Links the Claude Agent SDK, which is installed elsewhere, beside the SDK of Anthropic. */
  #borrowClaudeSdk(modules: string, folder: string): void {
    const scope = join(modules, "@anthropic-ai");
    rmSync(scope);
    mkdirSync(scope);
    symlinkSync(repositoryPath("node_modules", "@anthropic-ai", "sdk"), join(scope, "sdk"));
    symlinkSync(join(folder, "node_modules", claudeSdkName), join(modules, claudeSdkName));
  }

  node(...args: readonly string[]): ProcessOutput {
    return this.runIn(this.folder, process.execPath, ...args);
  }

  runIn(cwd: string, command: string, ...args: readonly string[]): ProcessOutput {
    const options = { cwd, encoding: "utf8", timeout: 120_000 } as const;
    const { status, stdout, stderr } = spawnSync(command, args, options);
    return { status, stdout, stderr };
  }

  clear(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface ProcessOutput {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The names that the package can be imported by, as its manifest says. */
export function entryPointNames(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(repositoryPath("package.json"), "utf8")) as {
    exports: Record<string, unknown>;
  };
  return Object.keys(exports)
    .filter((door) => door !== "./package.json")
    .map((door) => `writ${door.slice(1)}`);
}
