import { appendFile, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import type { RunResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { RunHandle } from "../../engine/api.ts";
import { createEngine } from "../../engine/engine.ts";
import { defineTool } from "../../schema/define-tool.ts";
import { sqlite } from "../../store/sqlite/sqlite-store.ts";
import { followed, positionOf } from "../following.ts";
import { example, type Invocation } from "../invocation.ts";
import { jsonLines, line } from "../line.ts";
import { commandLineOf, type Opened } from "../opening.ts";
import { resultLines } from "../result-text.ts";

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
    .description("run a plan of two steps on a scratch store, with a real approval")
    .addHelpText("after", example("writ demo"));
  return invocation.does(command, async () => {
    const folder = await mkdtemp(join(tmpdir(), "writ-demo-"));
    const it = await openScratch(invocation, folder);
    try {
      await shown(invocation, it, folder);
      return 0;
    } finally {
      await it.engine.close();
    }
  });
}

async function openScratch({ host }: Invocation, folder: string): Promise<Opened> {
  const path = join(folder, "writ.db");
  const store = sqlite(path);
  return {
    engine: await createEngine({ store, tools: tools(outboxIn(folder)) }),
    works: true,
    store,
    isExecuted: () => true,
    person: { id: host.user, kind: "person", tenant: "default" },
    proposer: { id: "agent", kind: "agent", tenant: "default" },
    commandLine: commandLineOf(host, { store: path }),
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

/** The plan, its approval, and the same request once more. */
async function shown(invocation: Invocation, it: Opened, folder: string): Promise<void> {
  const { terminal } = invocation;
  const submit = () => it.engine.submit(plan, { principal: it.proposer, requestKey: "welcome ana" });
  terminal.say(
    line`An agent proposes a plan of two steps:`,
    line`  write   mail.write   asks for a text: recorded, and not asked again`,
    line`  send    mail.send    changes the world: held for a person, never repeated on a guess`,
    line``,
  );
  const handle = await submit();
  const held = await followed(invocation, it, handle, { stay: false, after: 0 });
  const result = await decided(invocation, it, handle, held);
  terminal.say(line``, ...resultLines(result, it.commandLine, terminal.paint), line``);

  const again = await submit();
  await again.result();
  const sent = await mailsIn(folder);
  terminal.say(
    line`The same request again: ${again.attached ? `attached to ${again.run_id}, nothing was started` : "a new run"}.`,
    line`Mails in ${outboxIn(folder)}: ${sent}`,
    line``,
    line`The record is in ${join(folder, "writ.db")}. Look at it:`,
    ...["show", "events", "audit"].map((verb) => line`  ${it.commandLine(verb, handle.run_id)}`),
  );
  if (terminal.json)
    terminal.document({ ...result, again: { run_id: again.run_id, attached: again.attached }, sent, folder });
}

async function decided(invocation: Invocation, it: Opened, handle: RunHandle, held: RunResult): Promise<RunResult> {
  const { terminal } = invocation;
  const after = await positionOf(handle);
  for (const gate of held.gates) {
    terminal.say(line``, line`${gate.step_id} wants to call ${gate.tool} with`, ...jsonLines(gate.input, "    "));
    const yes = !terminal.canAsk || (await asked(invocation));
    if (!terminal.canAsk) terminal.say(line`No terminal to ask at, so the demo approves by itself.`);
    const reason = terminal.canAsk ? "answered in the demo" : "nobody to ask: the demo approves by itself";
    await it.engine[yes ? "approve" : "reject"](gate.gate_id, { principal: it.person, reason });
  }
  return followed(invocation, it, handle, { stay: false, after });
}

/** Anything but yes is no, an ended input too. */
async function asked({ host }: Invocation): Promise<boolean> {
  const prompt = createInterface({ input: host.stdin, output: host.stdout });
  try {
    const closed = new Promise<string>((resolve) => prompt.once("close", () => resolve("")));
    const answer = await Promise.race([prompt.question("Approve it? [y/N] "), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    prompt.close();
  }
}

async function mailsIn(folder: string): Promise<number> {
  try {
    return (await readFile(outboxIn(folder), "utf8")).trimEnd().split("\n").length;
  } catch {
    return 0; // Nothing was sent, so there is no outbox.
  }
}
