import { FaultError } from "../src/core/fault.ts";
import type { Tool } from "../src/core/tool.ts";
import type { Engine } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import { agent, ana, type Mail, mailer, type Sent, shape, type World } from "./scenario.ts";
import { storeFile, worldFile } from "./store-files.ts";
import { Witness } from "./witness.ts";

/** What one of several processes on one file is told to do. It prints what happens to it, a line of JSON at a time. */
export type Errand = { readonly folder: string } & (
  | { readonly do: "work"; readonly plan: keyof typeof plans }
  /** Hands a plan in and waits for its end, without working. */
  | { readonly do: "order"; readonly plan: keyof typeof plans }
  | { readonly do: "approve"; readonly gate: string; readonly times: number }
  | { readonly do: "cancel"; readonly run: string }
);

const send = { step_id: "send", name: "mail.send", payload: { to: "ana@example.org" } };

const plans = {
  gated: [send],
  /** The page never ends; only a signal stops the reading. */
  endless: [{ step_id: "read", name: "page.read", payload: { to: "nobody" } }],
  /** The page ends when the mail is out, so the approval must be noticed while the run is held. */
  held: [{ step_id: "read", name: "page.read", payload: { to: "ana@example.org" } }, send],
};

/** Reads until a mail to someone is out or until it is told to stop. */
function reader({ witness }: World): Tool {
  return defineTool({
    name: "page.read",
    effect: "reads",
    input: shape<Mail>(),
    output: shape<Sent>(),
    run: async ({ to }, { signal }) => {
      say({ reading: to });
      while (witness.count("send", to) === 0) {
        signal.throwIfAborted();
        await new Promise<void>((resolve) => setTimeout(resolve, 5));
      }
      return { sent: to };
    },
  });
}

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function carryOut(engine: Engine, errand: Errand): Promise<void> {
  switch (errand.do) {
    case "work":
    case "order": {
      const run = await engine.submit({ steps: plans[errand.plan] }, { principal: agent, requestKey: errand.plan });
      say({ run: run.run_id });
      const following = follow(engine, run.run_id);
      const { status, steps } = await run.finished();
      await following;
      return say({ status, steps });
    }
    case "approve":
      for (let time = 0; time < errand.times; time += 1) {
        const refused = await engine.approve(errand.gate, { principal: ana }).then(() => null, codeOf);
        say({ approved: refused ?? true });
      }
      return;
    case "cancel": {
      const run = await engine.run(errand.run, { principal: ana });
      await run.cancel({ reason: "nobody needs it" });
      return say({ cancelled: true });
    }
  }
}

/** Tells of every gate that opens. */
async function follow(engine: Engine, run_id: string): Promise<void> {
  const run = await engine.run(run_id, { principal: agent });
  for await (const { event } of run.events({ follow: true })) {
    if (event.type === "gate.opened") say({ gate: event.gate_id });
  }
}

function codeOf(error: FaultError): string {
  return error.fault.code;
}

async function main(errand: Errand): Promise<void> {
  const witness = new Witness(worldFile(errand.folder), "neighbours");
  const world: World = { witness, at: () => {}, named: (tool) => tool };
  const store = sqlite(storeFile(errand.folder));
  try {
    const tools = [mailer(world), reader(world)];
    const engine = await createEngine({ store, tools, work: errand.do === "work" });
    await carryOut(engine, errand);
    await engine.close();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    say({ fault: error.fault.code });
    await store.close();
  }
}

await main(JSON.parse(process.env.WRIT_CRASH_ERRAND ?? "{}") as Errand);
