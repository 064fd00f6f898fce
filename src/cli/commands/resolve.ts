import { Command, InvalidArgumentError } from "commander";
import type { ResolveOptions } from "../../engine/api.ts";
import { example, type Invocation, invalid } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { opened } from "../opening.ts";
import { resultLines } from "../result-text.ts";

interface Verdicts {
  readonly happened?: boolean;
  readonly output?: string;
  readonly absent?: boolean;
  readonly undo?: boolean;
  readonly giveUp?: boolean;
  readonly verify?: boolean;
  readonly attempt?: number;
  readonly reason?: string;
}

export function resolveCommand(invocation: Invocation): Command {
  const command = new Command("resolve")
    .description("say what became of an act in doubt, or have it looked at again; say exactly one of the five")
    .argument("<run>", "the id of the run")
    .argument("<step>", "the id of the step")
    .option("--happened", "it happened")
    .option("--output <json>", "what it answered; with --happened, where later steps build on it")
    .option("--absent", "it did not happen: it is done again")
    .option("--undo", "undo it with the tool's compensation")
    .option("--give-up", "nobody can tell: it counts as failed and is never done again by itself")
    .option("--verify", "say nothing: let its tool's verifier look once more")
    .option("--attempt <n>", "the attempt you looked at, as show tells it; refused if there is another by now", whole)
    .option("--reason <text>", "how you know, for the record")
    .addHelpText(
      "after",
      example(
        `writ resolve run_01k2… send --happened --output '{"id":"m-7"}'`,
        `writ resolve run_01k2… send --absent --reason "not in the outbox"`,
      ),
    );
  return invocation.does<Verdicts>(command, async ([run = "", step = ""], options) => {
    const verdict = verdictOf(options);
    return opened(invocation, options, { work: "no", needs: "tools" }, async (it) => {
      const { engine, person } = it;
      const { terminal } = invocation;
      const reasoned = {
        principal: person,
        ...(options.reason !== undefined && { reason: options.reason }),
        ...(options.attempt !== undefined && { attempt: options.attempt }),
      };
      await engine.resolve(run, step, { ...reasoned, ...verdict });
      const standing = await (await engine.run(run, { principal: person })).now();
      const now = { ...standing, executing: it.isExecuted() };
      terminal.answer(now, () => resultLines(now, it.commandLine, terminal.paint));
      return 0;
    });
  });
}

type Verdict = ResolveOptions extends infer Options
  ? Options extends { as: unknown }
    ? Omit<Options, "principal" | "reason" | "attempt">
    : never
  : never;

function verdictOf({ happened, output, absent, undo, giveUp, verify }: Verdicts): Verdict {
  const said = [happened, absent, undo, giveUp, verify].filter(Boolean).length;
  if (said !== 1) throw invalid("say exactly one of --happened, --absent, --undo, --give-up and --verify");
  if (output !== undefined && !happened)
    throw invalid("--output says what an act answered that --happened; leave it out");
  if (happened) return { as: "happened", output: output === undefined ? null : readInline(output, "--output") };
  return { as: absent ? "absent" : undo ? "undo" : verify ? "verify" : "give_up" };
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1.");
  return Number(text);
}
