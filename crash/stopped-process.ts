import { writeSync } from "node:fs";
import type { Sighting, Tool } from "../src/core/tool/tool.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { agentPrincipal, cheapSchema, type MailInput, personAna } from "./scenario.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { WorldLog } from "./world-log.ts";

/** The task of a process that is stopped inside an act, or of one that takes its run over and asks the verifier. */
export type StoppedTask = { readonly folder: string } & (
  | { readonly do: "act" }
  | { readonly do: "observe"; readonly run: string }
);

/** A line that such a process prints. */
export interface StoppedLine {
  /** The run that was accepted. */
  readonly run?: string;
  /** The answer of the verifier, with the number of acts that this process has begun. */
  readonly saw?: Sighting["saw"];
  readonly acts?: number;
  readonly status?: string;
}

const to = "ana@example.org";
const plan = { steps: [{ step_id: "send", name: "mail.send", payload: { to } }] };
const times = { leaseMs: 1_000, stallMs: 1_500 };

function print(line: StoppedLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** An act with a verifier that reads the world. `begin` runs inside the handler, before the mail leaves. */
function mailTool(world: WorldLog, begin: () => void): Tool {
  let acts = 0;
  return defineTool({
    name: "mail.send",
    effect: "acts",
    timeoutMs: 500,
    settleAfter: 100,
    input: cheapSchema<MailInput>(),
    output: cheapSchema<object>(),
    run: async () => {
      acts += 1;
      begin();
      world.append({ did: "send", to });
      return { sent: to };
    },
    verify: () => {
      const saw = world.count("send", to) > 0 ? "happened" : "absent";
      print({ saw, acts });
      return saw === "happened" ? { saw, output: { sent: to } } : { saw };
    },
  });
}

async function main(task: StoppedTask): Promise<void> {
  const world = new WorldLog(worldFile(task.folder), "stopped");
  const begin = task.do === "act" ? () => void process.kill(process.pid, "SIGSTOP") : () => {};
  const engine = await createEngine({
    store: openSqlite(storeFile(task.folder), times),
    tools: [mailTool(world, begin)],
    tenants: { demo: { mode: "auto_exec" } },
  });
  if (task.do === "act") {
    const { run_id } = await engine.submit(plan, { principal: agentPrincipal });
    return print({ run: run_id });
  }
  const run = await engine.run(task.run, { principal: personAna });
  print({ status: (await run.finished()).status });
  await engine.close();
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as StoppedTask);
