import { Command, InvalidArgumentError } from "commander";
import type { ResolveOptions } from "../../engine/api/engine-api.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { printRun } from "../print-run.ts";
import { withEngine } from "../with-engine.ts";

interface ResolveFlags {
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
    .description("settle or undo an act in doubt, or verify it again; give exactly one of the five verdicts")
    .argument("<run>", "id of the run")
    .argument("<step>", "id of the step")
    .option("--happened", "the act happened")
    .option("--output <json>", "with --happened: the output of the act, for later steps; checked by its tool")
    .option("--absent", "the act did not happen: it runs again")
    .option("--undo", "undo the act with the tool's compensation")
    .option("--give-up", "final: the step fails, its outcome stays unknown, and the act is not repeated")
    .option("--verify", "run the tool's verifier once more")
    .option(
      "--attempt <n>",
      "the attempt that you looked at, as show prints it; refused if there is a later one",
      parseAttempt,
    )
    .option("--reason <text>", "the reason, for the record")
    .addHelpText(
      "after",
      helpExample(
        `writ resolve run_01k2… send --happened --output '{"id":"m-7"}'`,
        `writ resolve run_01k2… send --absent --reason "not in the outbox"`,
      ),
    );
  return invocation.withAction<ResolveFlags>(command, async ([run = "", step = ""], options) => {
    const verdict = verdictOf(options);
    // Only an undo needs the tool. An output is checked by the tool if a config has it.
    const needs = verdict.as === "undo" ? "tools" : "store";
    return withEngine(invocation, options, { work: "no", needs }, async (opened) => {
      const { engine, person } = opened;
      const decision = {
        principal: person,
        ...(options.reason !== undefined && { reason: options.reason }),
        ...(options.attempt !== undefined && { attempt: options.attempt }),
      };
      await engine.resolve(run, step, { ...decision, ...verdict });
      const current = await (await engine.run(run, { principal: person })).now();
      await printRun(invocation, opened, { ...current, executing: opened.isExecuted() });
      return 0;
    });
  });
}

type Verdict = ResolveOptions extends infer Options
  ? Options extends { as: unknown }
    ? Omit<Options, "principal" | "reason" | "attempt">
    : never
  : never;

function verdictOf({ happened, output, absent, undo, giveUp, verify }: ResolveFlags): Verdict {
  const verdicts = [happened, absent, undo, giveUp, verify].filter(Boolean).length;
  if (verdicts !== 1) throw invalidInput("give exactly one of --happened, --absent, --undo, --give-up and --verify");
  if (output !== undefined && !happened)
    throw invalidInput("--output is the output of an act that --happened; leave it out");
  if (happened) return { as: "happened", ...(output !== undefined && { output: readInline(output, "--output") }) };
  return { as: absent ? "absent" : undo ? "undo" : verify ? "verify" : "give_up" };
}

function parseAttempt(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1.");
  return Number(text);
}
