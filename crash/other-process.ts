import type { Tool } from "../src/core/tool/tool.ts";
import { FaultError } from "../src/core/values/fault.ts";
import type { Engine } from "../src/engine/api/engine-api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import {
  agentPrincipal,
  cheapSchema,
  type MailInput,
  type MailOutput,
  mailTool,
  personAna,
  type ScenarioWorld,
} from "./scenario.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { WorldLog } from "./world-log.ts";

/** The task of one of several processes on one file. The process prints its events as lines of JSON. */
export type OtherProcessTask = { readonly folder: string } & (
  | { readonly do: "work"; readonly plan: keyof typeof otherProcessPlans }
  /** Submits a plan and waits for its end, without working. */
  | { readonly do: "order"; readonly plan: keyof typeof otherProcessPlans }
  | { readonly do: "approve"; readonly gate: string; readonly times: number; readonly by?: string }
  | { readonly do: "cancel"; readonly run: string }
);

const send = { step_id: "send", name: "mail.send", payload: { to: "ana@example.org" } };

const otherProcessPlans = {
  gated: [send],
  /** The page never ends; only an abort signal stops the reading. */
  endless: [{ step_id: "read", name: "page.read", payload: { to: "no-recipient" } }],
  /** The page ends when the mail is sent, so the worker must notice the approval while it holds the run. */
  held: [{ step_id: "read", name: "page.read", payload: { to: "ana@example.org" } }, send],
};

/** Reads until a mail to the recipient is sent or the call is aborted. */
function readTool({ worldLog }: ScenarioWorld): Tool {
  return defineTool({
    name: "page.read",
    effect: "reads",
    input: cheapSchema<MailInput>(),
    output: cheapSchema<MailOutput>(),
    run: async ({ to }, { signal }) => {
      printJson({ reading: to });
      while (worldLog.count("send", to) === 0) {
        signal.throwIfAborted();
        await new Promise<void>((resolve) => setTimeout(resolve, 5));
      }
      return { sent: to };
    },
  });
}

function printJson(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function runTask(engine: Engine, task: OtherProcessTask): Promise<void> {
  switch (task.do) {
    case "work":
    case "order": {
      const run = await engine.submit(
        { steps: otherProcessPlans[task.plan] },
        { principal: agentPrincipal, requestKey: task.plan },
      );
      printJson({ run: run.run_id });
      const following = printGates(engine, run.run_id);
      const { status, steps } = await run.finished();
      await following;
      return printJson({ status, steps });
    }
    case "approve":
      for (let time = 0; time < task.times; time += 1) {
        const principal = { ...personAna, id: task.by ?? personAna.id };
        const refusal = await engine.approve(task.gate, { principal }).then(() => null, faultCode);
        printJson({ approved: refusal ?? true });
      }
      return;
    case "cancel": {
      const run = await engine.run(task.run, { principal: personAna });
      await run.cancel({ reason: "it is no longer needed" });
      return printJson({ cancelled: true });
    }
  }
}

/** Prints every gate that opens. */
async function printGates(engine: Engine, run_id: string): Promise<void> {
  const run = await engine.run(run_id, { principal: agentPrincipal });
  for await (const { event } of run.events({ follow: true })) {
    if (event.type === "gate.opened") printJson({ gate: event.gate_id });
  }
}

function faultCode(error: FaultError): string {
  return error.fault.code;
}

async function main(task: OtherProcessTask): Promise<void> {
  const worldLog = new WorldLog(worldFile(task.folder), "other");
  const world: ScenarioWorld = { worldLog, at: () => {}, named: (tool) => tool };
  const store = openSqlite(storeFile(task.folder));
  try {
    const tools = [mailTool(world), readTool(world)];
    const engine = await createEngine({ store, tools, work: task.do === "work" });
    await runTask(engine, task);
    await engine.close();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    printJson({ fault: error.fault.code });
    await store.close();
  }
}

await main(JSON.parse(process.env.WRIT_CRASH_TASK ?? "{}") as OtherProcessTask);
