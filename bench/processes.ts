import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Measurement, sideBySide } from "./measurement.ts";
import { medianOf } from "./samples.ts";
import { withScratch } from "./scratch.ts";
import { timed } from "./timed.ts";

const tries = 3;

/** The program as it is shipped. */
const writ = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** What a command takes beside a Node that does nothing. */
export function commandTime(id: string, about: string, args: readonly string[]): Measurement {
  const pair = {
    engine: () => medianOf(tries, () => inWorkplace((folder) => processTime(folder, [writ, ...args]))),
    limit: () => medianOf(tries, () => inWorkplace((folder) => processTime(folder, ["-e", "0"]))),
  };
  return {
    id,
    about,
    beside: "`node -e 0`",
    unit: "ms",
    goal: null,
    round: (order) => sideBySide(order, pair),
  };
}

function processTime(cwd: string, args: readonly string[]): Promise<number> {
  return timed(() => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(`${args.join(" ")} exited with ${status}: ${stderr}`);
  });
}

/** A directory as a user has it, with a config and a plan of one step. */
function inWorkplace(use: (folder: string) => Promise<number>): Promise<number> {
  return withScratch((file) => {
    const folder = dirname(file);
    writeFileSync(join(folder, "writ.config.mjs"), config);
    writeFileSync(join(folder, "plan.json"), JSON.stringify({ steps: [{ step_id: "say", name: "say", payload: {} }] }));
    return use(folder);
  });
}

const config = `import { defineTool } from "writ";
import { z } from "zod";
const said = z.object({ text: z.string() });
const say = defineTool({ name: "say", effect: "reads", input: z.object({}), output: said, run: async () => ({ text: "hello" }) });
export default { tools: [say] };
`;
