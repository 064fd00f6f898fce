import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { client, type WritClient } from "../../src/client/client.ts";
import { withScratchFile } from "../scratch-file.ts";

const built = (path: string) => new URL(`../../../dist/${path}`, import.meta.url);
const program = fileURLToPath(built("cli.js"));

/** Tools of the server: one that reads and answers at once, and one that answers after a time. */
const config = `import { defineTool } from ${JSON.stringify(built("index.js").href)};
const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const tool = (name, run) => defineTool({ name, effect: "reads", input, output: input, run });
const wait = ({ n }) => new Promise((resolve) => setTimeout(resolve, n, { n }));
export default {
  store: "writ.db",
  tools: [tool("bench.reads", async (given) => given), tool("bench.waits", wait)],
  tenants: { default: { mode: "auto_exec" } },
  limits: { concurrency: 2000 },
};
`;

/** A process of `writ serve` on a SQLite file, and a client with a key for it. */
export interface ApiProcess {
  readonly url: string;
  readonly token: string;
  readonly client: WritClient;
}

/** Calls `use` with a server in a folder of its own, and ends it afterwards. */
export function withApiProcess<Result>(use: (server: ApiProcess) => Promise<Result>): Promise<Result> {
  return withScratchFile(async (file) => {
    const folder = dirname(file);
    writeFileSync(join(folder, "writ.config.mjs"), config);
    const scopes = ["--scope", "submit", "--scope", "read"];
    const key = ["keys", "add", "bench", "--kind", "service", ...scopes, "--json"];
    const token = String(JSON.parse(execFileSync(process.execPath, [program, ...key], { cwd: folder }).toString()).key);
    const child = spawn(process.execPath, [program, "serve", "--port", "0"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      const url = await addressOf(child);
      return await use({ url, token, client: client({ url, token }) });
    } finally {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
  });
}

/** Waits until the server prints its address. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code} before it was ready`)));
    if (child.stderr === null) throw new Error("the output of the server is not read");
    createInterface({ input: child.stderr }).on("line", (line) => {
      const [, url] = /serving (http:\S+);/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}
