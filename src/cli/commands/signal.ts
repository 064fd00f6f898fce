import { Command } from "commander";
import { helpExample, type Invocation } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { line } from "../safe-line.ts";
import { withEngine } from "../with-engine.ts";

interface SignalOptions {
  readonly payload?: string;
  readonly id?: string;
}

const deliveryTexts = {
  delivered: "delivered: a step waited for it",
  kept: "stored: no step waits for it yet; the first step that waits receives it",
  duplicate: "duplicate: a signal with this id was sent before; it is ignored",
} as const;

export function signalCommand(invocation: Invocation): Command {
  const command = new Command("signal")
    .description("send the signal that a step waits for; if no step waits yet, it is stored for the first that does")
    .argument("<key>", "key of the signal, as in the plan")
    .option("--payload <json>", "payload, which becomes the output of the step (default: null)")
    .option("--id <id>", "id of this signal; a second signal with the same id is ignored")
    .addHelpText("after", helpExample(`writ signal invoice-42-paid --payload '{"amount": 100}'`));
  return invocation.withAction<SignalOptions>(command, ([key = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person: principal }) => {
      const payload = options.payload === undefined ? null : readInline(options.payload, "--payload");
      const id = options.id === undefined ? {} : { id: options.id };
      const reception = await engine.signal(key, payload, { principal, ...id });
      invocation.terminal.printResult({ key, reception }, () => [line`${deliveryTexts[reception]}`]);
      return 0;
    }),
  );
}
