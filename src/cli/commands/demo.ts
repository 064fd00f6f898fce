import { appendFile, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import type { RunResult } from "../../core/run/run-result.ts";
import type { Tool } from "../../core/tool/tool.ts";
import type { RunHandle } from "../../engine/api/engine-api.ts";
import { createEngine } from "../../engine/engine.ts";
import { defineTool } from "../../schema/define-tool.ts";
import { sqlite } from "../../store/sqlite/sqlite-store.ts";
import { commandToPaste } from "../command-to-paste.ts";
import { followRun, lastPosition } from "../follow-run.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { printRun } from "../print-run.ts";
import { jsonLines, line } from "../safe-line.ts";
import type { OpenedEngine } from "../with-engine.ts";

const to = "ana@example.org";

const plan = {
  plan_id: "welcome",
  steps: [
    { step_id: "write", name: "mail.write", payload: { to } },
    { step_id: "send", name: "mail.send", payload: { to }, bindings: { "/body": { step: "write", path: "/body" } } },
  ],
};

export function demoCommand(invocation: Invocation): Command {
  const command = new Command("demo")
    .description("run a plan of two steps on a temporary store, with a real approval")
    .addHelpText("after", helpExample("writ demo"));
  return invocation.withAction(command, async () => {
    const folder = await mkdtemp(join(tmpdir(), "writ-demo-"));
    const opened = await openTemporaryStore(invocation, folder);
    try {
      await playDemo(invocation, opened, folder);
      return 0;
    } finally {
      await opened.engine.close();
    }
  });
}

async function openTemporaryStore({ host }: Invocation, folder: string): Promise<OpenedEngine> {
  const path = join(folder, "writ.db");
  const store = await sqlite(path);
  const known = tools(outboxIn(folder));
  return {
    engine: await createEngine({ store, tools: known }),
    works: true,
    store,
    now: () => store.clock.now(),
    isExecuted: () => true,
    person: { id: host.user, kind: "person", tenant: "default" },
    proposer: { id: "agent", kind: "agent", tenant: "default" },
    tenants: () => [],
    commandLine: commandToPaste(host, { store: path }),
    canExecute: false,
    server: {},
    adminRole: null,
    tool: (name) => known.find((tool) => tool.name === name),
  };
}

const outboxIn = (folder: string): string => join(folder, "outbox.txt");

function tools(outbox: string): readonly Tool[] {
  const text = { type: "string" } as const;
  const object = (properties: Record<string, typeof text>) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  return [
    defineTool({
      name: "mail.write",
      effect: "reads",
      input: object({ to: text }),
      output: object({ body: text }),
      run: async () => ({ body: `Dear ${to}, welcome.` }),
    }),
    defineTool({
      name: "mail.send",
      effect: "acts",
      input: object({ to: text, body: text }),
      output: object({ id: text }),
      run: async (mail, { key }) => {
        await appendFile(outbox, `${JSON.stringify(mail)}\n`);
        return { id: key };
      },
    }),
  ];
}

/** Runs the plan, asks for its approval, and submits the same request again. */
async function playDemo(invocation: Invocation, opened: OpenedEngine, folder: string): Promise<void> {
  const { terminal } = invocation;
  const submit = () => opened.engine.submit(plan, { principal: opened.proposer, requestKey: "welcome ana" });
  terminal.print(
    line`An agent proposes a plan of two steps:`,
    line`  write   mail.write   reads a text: recorded, and not read again`,
    line`  send    mail.send    changes the outside world: held for a person, never repeated on a guess`,
    line``,
  );
  const handle = await submit();
  const held = await followRun(invocation, opened, handle, { stay: false, after: 0 });
  const result = await decideGate(invocation, opened, handle, held);
  if (!terminal.json) {
    terminal.print(line``);
    await printRun(invocation, opened, result);
    terminal.print(line``);
  }

  const again = await submit();
  await again.result();
  const sent = await countMails(folder);
  terminal.print(
    line`The same request again: ${again.attached ? `attached to ${again.run_id}, nothing was started` : "a new run"}.`,
    line`Mails in ${outboxIn(folder)}: ${sent}`,
    line``,
    line`The record is in ${join(folder, "writ.db")}. Inspect it:`,
    ...["show", "events", "audit"].map((verb) => line`  ${opened.commandLine(verb, handle.run_id)}`),
  );
  if (terminal.json)
    terminal.printJson({ ...result, again: { run_id: again.run_id, attached: again.attached }, sent, folder });
}

async function decideGate(
  invocation: Invocation,
  opened: OpenedEngine,
  handle: RunHandle,
  held: RunResult,
): Promise<RunResult> {
  const { terminal } = invocation;
  const after = await lastPosition(handle);
  for (const gate of held.gates) {
    terminal.print(
      line``,
      line`${opened.proposer.id} asks to call ${gate.tool} with`,
      ...jsonLines(gate.input, "    "),
    );
    const yes = !terminal.canAsk || (await askApproval(invocation));
    if (!terminal.canAsk) terminal.print(line`No terminal to ask at, so the demo approves by itself.`);
    const reason = terminal.canAsk ? "answered in the demo" : "no terminal: the demo approves by itself";
    await opened.engine[yes ? "approve" : "reject"](gate.gate_id, { principal: opened.person, reason });
  }
  return followRun(invocation, opened, handle, { stay: false, after });
}

/** Asks for an approval. Every answer but y or yes is a rejection, also the end of the input. */
async function askApproval({ host }: Invocation): Promise<boolean> {
  const prompt = createInterface({ input: host.stdin, output: host.stdout });
  try {
    const closed = new Promise<string>((resolve) => prompt.once("close", () => resolve("")));
    const answer = await Promise.race([prompt.question("Approve it? [y/N] "), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    prompt.close();
  }
}

async function countMails(folder: string): Promise<number> {
  try {
    return (await readFile(outboxIn(folder), "utf8")).trimEnd().split("\n").length;
  } catch {
    return 0; // The outbox is created with the first mail.
  }
}
