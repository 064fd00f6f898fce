import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import { configName } from "../config.ts";
import { example, type Invocation } from "../invocation.ts";
import { line } from "../line.ts";

/** Without a schema library, so that it runs wherever writ is installed. */
const configText = `import { appendFileSync } from "node:fs";
import { defineTool } from "writ";

const text = { type: "string" };
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

const write = defineTool({
  name: "mail.write",
  effect: "reads", // asks a model: recorded, and not asked again
  input: object({ to: text }),
  output: object({ body: text }),
  run: async ({ to }) => ({ body: \`Dear \${to}, welcome.\` }),
});

const send = defineTool({
  name: "mail.send",
  effect: "acts", // changes the world: held for a person, never repeated on a guess
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
  { name: configName, text: configText },
  { name: "plan.json", text: planText },
];

export function initCommand(invocation: Invocation): Command {
  const command = new Command("init")
    .description(`write an example ${configName} and plan.json here; what is there is never overwritten`)
    .addHelpText("after", example("writ init", "writ run plan.json"));
  return invocation.does(command, async () => {
    const { host, terminal } = invocation;
    const written: string[] = [];
    const kept: string[] = [];
    for (const { name, text } of files) {
      const isNew = await writeNew(resolve(host.cwd, name), text);
      (isNew ? written : kept).push(name);
    }
    terminal.answer({ written, kept }, () => [
      ...written.map((name) => line`written: ${name}`),
      ...kept.map((name) => line`kept as it is: ${name}`),
      line`next:  ${host.self} run plan.json`,
    ]);
    return 0;
  });
}

/** False if something by that name is there already. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") return false;
    throw new FaultError(
      fault("CONFIG_INVALID", `${path} cannot be written (${String(code)}); go to a directory you may write`),
      { cause: error },
    );
  }
}
