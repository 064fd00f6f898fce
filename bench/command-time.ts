import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { measureTime } from "./measure-time.ts";
import { type Measurement, measurePair } from "./measurement.ts";
import { sampleMedian } from "./samples.ts";
import { withScratchFile } from "./scratch-file.ts";

const tries = 3;

/** The shipped command line. */
const cliProgram = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Measures the time of a command beside an empty Node process. */
export function commandTime(id: string, about: string, args: readonly string[]): Measurement {
  const pair = {
    engine: () => sampleMedian(tries, () => withCliFolder((folder) => timeProcess(folder, [cliProgram, ...args]))),
    limit: () => sampleMedian(tries, () => withCliFolder((folder) => timeProcess(folder, ["-e", "0"]))),
  };
  return {
    id,
    about,
    limitAbout: "`node -e 0`",
    unit: "ms",
    goal: null,
    round: (order) => measurePair(order, pair),
  };
}

function timeProcess(cwd: string, args: readonly string[]): Promise<number> {
  return measureTime(() => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(`${args.join(" ")} exited with ${status}: ${stderr}`);
  });
}

/** Calls `use` with a user's folder: a config and a plan of one step. */
function withCliFolder(use: (folder: string) => Promise<number>): Promise<number> {
  return withScratchFile((file) => {
    const folder = dirname(file);
    writeFileSync(join(folder, "writ.config.mjs"), configText);
    writeFileSync(join(folder, "plan.json"), JSON.stringify({ steps: [{ step_id: "say", name: "say", payload: {} }] }));
    return use(folder);
  });
}

const configText = `import { defineTool } from "writ";
import { z } from "zod";
const said = z.object({ text: z.string() });
const say = defineTool({ name: "say", effect: "reads", input: z.object({}), output: said, run: async () => ({ text: "hello" }) });
export default { tools: [say] };
`;
