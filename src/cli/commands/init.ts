import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { FaultError, fault } from "../../core/values/fault.ts";
import { configNames } from "../config.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line } from "../safe-line.ts";

/** The example uses no schema library, so it runs wherever writ is installed. */
const configText = `import { appendFileSync } from "node:fs";
import { defineTool } from "writ";

const text = { type: "string" };
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

const write = defineTool({
  name: "mail.write",
  effect: "reads", // asks a model: the answer is recorded and not asked again
  input: object({ to: text }),
  output: object({ body: text }),
  run: async ({ to }) => ({ body: \`Dear \${to}, welcome.\` }),
});

const send = defineTool({
  name: "mail.send",
  effect: "acts", // changes the outside world: held for a person, never repeated on a guess
  input: object({ to: text, body: text }),
  output: object({ id: text }),
  run: async ({ to, body }, { key }) => {
    appendFileSync("outbox.txt", \`to \${to}: \${body}\\n\`); // put your mailer here, and give it the key
    return { id: key };
  },
});

export default {
  store: "writ.db",
  tools: [write, send],
  principal: { id: "agent", kind: "agent", tenant: "default" },
};
`;

const planText = `{
  "plan_id": "welcome",
  "intent_id": "welcome-ana",
  "steps": [
    { "step_id": "write", "name": "mail.write", "payload": { "to": "ana@example.org" } },
    {
      "step_id": "send",
      "name": "mail.send",
      "payload": { "to": "ana@example.org" },
      "bindings": { "/body": { "step": "write", "path": "/body" } }
    }
  ]
}
`;

const files = [
  { name: configNames[0], text: configText },
  { name: "plan.json", text: planText },
];

export function initCommand(invocation: Invocation): Command {
  const command = new Command("init")
    .description(`write an example ${configNames[0]} and plan.json here; existing files are not overwritten`)
    .addHelpText("after", helpExample("writ init", "writ run plan.json"));
  return invocation.withAction(command, async () => {
    const { host, terminal } = invocation;
    const written: string[] = [];
    const kept: string[] = [];
    for (const { name, text } of files) {
      const isNew = await writeNew(resolve(host.cwd, name), text);
      (isNew ? written : kept).push(name);
    }
    terminal.printResult({ written, kept }, () => [
      ...written.map((name) => line`written: ${name}`),
      ...kept.map((name) => line`exists, not changed: ${name}`),
      line`next:  ${host.self} run plan.json`,
    ]);
    return 0;
  });
}

/** Writes a file, or returns false if a file with that name exists. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") return false;
    throw new FaultError(
      fault(
        "CONFIG_INVALID",
        `${path} cannot be written (${String(code)}); change to a directory that you may write to`,
      ),
      { cause: error },
    );
  }
}
