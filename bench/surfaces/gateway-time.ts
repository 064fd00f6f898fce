import { closeSync, fsyncSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Measurement } from "../measurement.ts";
import { median } from "../samples.ts";
import { withScratchFile } from "../scratch-file.ts";

const calls = 200;
/** The syncs that an act cannot do without: of its start and of its result. */
const actSyncs = 2;

const root = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const fileServer = root("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");

/** A policy under which acts run without a person. */
const config = `export default { store: "writ.db", policies: [
  { schema_version: "1.0", name: "bench", mode: "auto_exec", trust: [{ tools: ["*"], risk: "high" }], rules: [] },
] };`;

/** Measures what the gateway adds to one call of an MCP server over stdio. An act is measured without its two syncs. */
export function gatewayTime(id: string, effect: "reads" | "acts"): Measurement {
  const syncs = effect === "acts" ? actSyncs : 0;
  const without = syncs === 0 ? "" : `, without its ${syncs} syncs`;
  return {
    id,
    about: `what the gateway adds to a call that ${effect}, over stdio, p50${without}`,
    limitAbout: "the same call of the server without the gateway, p50",
    unit: "ms",
    goal: { of: "value", atMost: 1.5 },
    round: (order) =>
      withScratchFile(async (file) => {
        const folder = dirname(file);
        mkdirSync(join(folder, "data"));
        writeFileSync(join(folder, "data", "a.txt"), "hello");
        writeFileSync(join(folder, "writ.config.mjs"), config);
        const time = (through: boolean) => callTime(folder, effect, through);
        const first = order === "engine first" ? await time(true) : null;
        const limit = await time(false);
        const value = first ?? (await time(true));
        return { value: value - limit - syncs * syncTime(join(folder, "sync")), limit, ratio: value / limit };
      }),
  };
}

async function callTime(folder: string, effect: "reads" | "acts", through: boolean): Promise<number> {
  const server = [process.execPath, fileServer, join(folder, "data")];
  const gateway = [process.execPath, root("dist/cli.js"), "mcp", "--reads", "read_text_file", "--", ...server];
  const [command = "", ...args] = through ? gateway : server;
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, cwd: folder, stderr: "ignore" }));
  const path = join(folder, "data", "a.txt");
  const times: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const asked =
      effect === "reads"
        ? { name: "read_text_file", arguments: { path } }
        : { name: "edit_file", arguments: { path, edits: [{ oldText: "h", newText: "h" }], dryRun: false } };
    const start = performance.now();
    const { isError, content } = await client.callTool(asked);
    times.push(performance.now() - start);
    if (isError === true) throw new Error(JSON.stringify(content));
  }
  await client.close();
  return median(times.slice(calls / 4));
}

function syncTime(path: string): number {
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: 100 }, () => {
    const start = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  return median(times);
}
