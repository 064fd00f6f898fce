import type { Tool } from "../src/core/tool/tool.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { agentPrincipal, cheapSchema, type MailInput, mailTool, personAna, type ScenarioWorld } from "./scenario.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { WorldLog } from "./world-log.ts";

/** The task of a process that holds a run or asks for it. `kill` is the failpoint at which it dies. */
export type HandOverTask = {
  readonly folder: string;
  readonly kill: string | null;
} /** Holds a run whose next step needs a tool that it lacks, because its notice is not accepted. */ & (
  | { readonly do: "hold" }
  /** Has the tool, and finishes the run. */
  | { readonly do: "finish"; readonly run: string }
);

const plan = {
  steps: [
    { step_id: "ping", name: "page.ping", payload: { to: "the page" } },
    { step_id: "send", name: "mail.send", payload: { to: "ana@example.org" }, depends_on: ["ping"] },
  ],
};

const tenants = { demo: { mode: "auto_exec" } } as const;

function pingTool(): Tool {
  return defineTool({
    name: "page.ping",
    effect: "reads",
    input: cheapSchema<MailInput>(),
    output: cheapSchema<object>(),
    run: async (_, { notice }) => {
      notice("page.pinged", {});
      return {};
    },
  });
}

function printJson(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function hold({ folder, kill }: HandOverTask, mail: Tool): Promise<void> {
  const client = await createEngine({
    store: openSqlite(storeFile(folder)),
    tools: [pingTool(), mail],
    tenants,
    work: false,
  });
  const { run_id } = await client.submit(plan, { principal: agentPrincipal, requestKey: "handed over" });
  await client.close();
  const engine = await createEngine({
    store: openSqlite(storeFile(folder)),
    tools: [pingTool()],
    tenants,
    failpoint: killAt(kill),
    onNotice: async () => {
      throw new Error("the receiver is down");
    },
  });
  const run = await engine.run(run_id, { principal: personAna });
  for await (const { event } of run.events({ follow: true }))
    if (event.type === "step.parked") printJson({ run: run_id });
}

async function finish({ folder, kill }: HandOverTask, run_id: string, mail: Tool): Promise<void> {
  const engine = await createEngine({
    store: openSqlite(storeFile(folder)),
    tools: [pingTool(), mail],
    tenants,
    failpoint: killAt(kill),
  });
  const run = await engine.run(run_id, { principal: personAna });
  const { status, steps } = await run.finished();
  printJson({ status, state: steps.send?.state });
  await engine.close();
}

function killAt(kill: string | null): (point: string) => void {
  return (point) => {
    if (point === kill) process.kill(process.pid, "SIGKILL");
  };
}

async function main(task: HandOverTask): Promise<void> {
  const worldLog = new WorldLog(worldFile(task.folder), task.do);
  const world: ScenarioWorld = { worldLog, at: () => {}, named: (tool) => tool };
  if (task.do === "hold") await hold(task, mailTool(world));
  else await finish(task, task.run, mailTool(world));
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as HandOverTask);
