import { Command } from "commander";
import { example, type Invocation } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { line } from "../line.ts";
import { opened } from "../opening.ts";

interface SignalOptions {
  readonly payload?: string;
  readonly id?: string;
}

const said = {
  delivered: "delivered: a step waited for it",
  kept: "kept: nobody waits for it yet, the first that will is given it",
  duplicate: "sent before: nothing was done",
} as const;

export function signalCommand(invocation: Invocation): Command {
  const command = new Command("signal")
    .description("send the signal that a wait step is for; if none waits yet, it is kept for the first that will")
    .argument("<key>", "what the plan calls the signal")
    .option("--payload <json>", "what to say with it (default: null)")
    .option("--id <id>", "what you call this signal: sent twice under one id, it is sent once")
    .addHelpText("after", example(`writ signal invoice-42-paid --payload '{"amount": 100}'`));
  return invocation.does<SignalOptions>(command, ([key = ""], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person: principal }) => {
      const payload = options.payload === undefined ? null : readInline(options.payload, "--payload");
      const id = options.id === undefined ? {} : { id: options.id };
      const reception = await engine.signal(key, payload, { principal, ...id });
      invocation.terminal.answer({ key, reception }, () => [line`${said[reception]}`]);
      return 0;
    }),
  );
}
